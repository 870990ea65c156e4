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

// signalGroup kills a child, as there are no other signals here.
func signalGroup(p *os.Process, _ syscall.Signal) error { return p.Kill() }

// Stops sends nothing: there is no Ctrl-Z here.
func Stops() (c <-chan os.Signal, stop func()) { return nil, func() {} }

// Suspend does nothing.
func Suspend(*os.Process) {}

// Replace runs a program on this terminal and returns its exit status as an error. A
// console sends Ctrl-C and its closing to both processes, and only the program should act
// on them. So this process catches and drops them. Ignoring them with signal.Ignore would
// end it.
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
