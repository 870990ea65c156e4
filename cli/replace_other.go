//go:build !unix

package cli

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
)

const exeSuffix = ".exe"

// ownGroup leaves a child to the signals of the terminal.
func ownGroup() *syscall.SysProcAttr { return nil }

// signalGroup ends a child: here there are no other signals.
func signalGroup(p *os.Process, _ syscall.Signal) error { return p.Kill() }

// replace runs a program with this one's terminal and returns how it exited. A console
// sends Ctrl-C and its end to both. They are for the program, so they are caught here and
// come to nothing: what is merely ignored ends a process of Windows.
func replace(path string, argv, env []string) error {
	signal.Notify(make(chan os.Signal, 1), os.Interrupt, syscall.SIGTERM)
	cmd := &exec.Cmd{Path: path, Args: argv, Env: env, Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr}
	err := cmd.Run()
	if exit := new(exec.ExitError); errors.As(err, &exit) {
		return exitOf(exit)
	}
	if err != nil {
		return fmt.Errorf("cannot run %s: %w", path, err)
	}
	return nil
}
