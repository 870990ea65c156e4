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

// Command returns a command that the signal that interrupts mlc also ends.
func (sh *Shell) Command(tool string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(sh.Context, tool, args...)
	cmd.SysProcAttr = OwnGroup() // else a terminal's signal would end it before mlc
	cmd.Cancel = func() error {
		e, _ := interrupt.In(context.Cause(sh.Context))
		return signalGroup(cmd.Process, e.Signal)
	}
	cmd.WaitDelay = time.Second
	return cmd
}

// Ended turns the error of a finished command into the error for the user: the interrupt of
// mlc, ErrKilled, or err.
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

// ErrKilled is the error for a process that was killed, but not by mlc.
var ErrKilled = errors.New("killed by the kernel (SIGKILL): probably out of memory")

// ExitStatus is the exit status of a program that ran in mlc's place.
type ExitStatus int

// ExitOf returns the exit status of a process as shells number it: a signal is 128 plus its
// number.
func ExitOf(e *exec.ExitError) ExitStatus {
	if w, ok := e.Sys().(syscall.WaitStatus); ok && w.Signaled() {
		return ExitStatus(128 + int(w.Signal()))
	}
	return ExitStatus(e.ExitCode())
}

// Killed reports whether SIGKILL ended the program. The kernel sends it when memory runs
// out.
func (s ExitStatus) Killed() bool { return s == 128+ExitStatus(syscall.SIGKILL) }

// Interrupted reports whether an error means that a signal ended mlc, or the program that
// ran in its place.
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
