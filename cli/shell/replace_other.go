//go:build !unix

package shell

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
)

const ExeSuffix = ".exe"

// OwnGroup leaves a child to the signals of the terminal.
func OwnGroup() *syscall.SysProcAttr { return nil }

// signalGroup ends a child: here there are no other signals.
func signalGroup(p *os.Process, _ syscall.Signal) error { return p.Kill() }

// Replace runs a program with this one's terminal and returns how it exited. A console
// sends Ctrl-C and its end to both. They are for the program, so they are caught here and
// come to nothing: what is merely ignored ends a process of Windows.
func Replace(path string, argv, env []string) error {
	signal.Notify(make(chan os.Signal, 1), os.Interrupt, syscall.SIGTERM)
	cmd := &exec.Cmd{Path: path, Args: argv, Env: env, Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr}
	err := cmd.Run()
	if exit := new(exec.ExitError); errors.As(err, &exit) {
		return ExitOf(exit)
	}
	if err != nil {
		return fmt.Errorf("cannot run %s: %w", path, err)
	}
	return nil
}
