package shell

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"syscall"
	"time"

	"github.com/arithlang/mlc/runtime/interrupt"
)

// Command is another program, which the signal that interrupts mlc ends, too.
func (sh *Shell) Command(tool string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(sh.Context, tool, args...)
	cmd.SysProcAttr = OwnGroup() // or a terminal's signal would end it before mlc knows of that
	cmd.Cancel = func() error {
		e, _ := interrupt.In(context.Cause(sh.Context))
		return signalGroup(cmd.Process, e.Signal)
	}
	cmd.WaitDelay = time.Second
	return cmd
}

// Ended is the error of a command that has ended, nil if all went well. It says so
// where mlc was interrupted, or where the kernel has killed the command.
func (sh *Shell) Ended(err error) error {
	var exit *exec.ExitError
	switch {
	case err == nil:
		return nil
	case sh.Context.Err() != nil:
		return context.Cause(sh.Context)
	case errors.As(err, &exit) && ExitOf(exit).Killed():
		return ErrKilled
	}
	return err
}

// ErrKilled is the end of a process that nobody here has killed.
var ErrKilled = errors.New("killed by the kernel (SIGKILL): probably out of memory")

// ExitStatus is how a program that was run in mlc's place has ended.
type ExitStatus int

// ExitOf is the status of a process as a shell has it, where a signal is a number
// from 128.
func ExitOf(e *exec.ExitError) ExitStatus {
	if w, ok := e.Sys().(syscall.WaitStatus); ok && w.Signaled() {
		return ExitStatus(128 + int(w.Signal()))
	}
	return ExitStatus(e.ExitCode())
}

// Killed reports whether it was by the kernel, or by somebody who means it.
func (s ExitStatus) Killed() bool { return s == 128+ExitStatus(syscall.SIGKILL) }

// Interrupted reports whether an error is that mlc, or what it ran in its place, was
// asked to end.
func Interrupted(err error) bool {
	var s ExitStatus
	if errors.As(err, &s) {
		return interrupt.Coded(int(s))
	}
	_, ok := interrupt.In(err)
	return ok
}

func (s ExitStatus) Error() string {
	if s.Killed() {
		return ErrKilled.Error()
	}
	return fmt.Sprintf("exit status %d", int(s))
}
