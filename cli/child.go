package cli

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"syscall"
	"time"

	"github.com/arithlang/mlc/runtime/interrupt"
)

// await returns what f computes or reads, or the interrupt that comes first. Then f
// is left to itself, so it neither prints nor writes files.
func await[T any](a *app, f func() (T, error)) (T, error) { return interrupt.Await(a.ctx, f) }

// command is another program, which the signal that interrupts mlc ends, too.
func (a *app) command(tool string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(a.ctx, tool, args...)
	cmd.SysProcAttr = ownGroup() // or a terminal's signal would end it before mlc knows of that
	cmd.Cancel = func() error {
		e, _ := interrupt.In(context.Cause(a.ctx))
		return signalGroup(cmd.Process, e.Signal)
	}
	cmd.WaitDelay = time.Second
	return cmd
}

// ended is the error of a command that has ended, nil if all went well. It says so
// where mlc was interrupted, or where the kernel has killed the command.
func (a *app) ended(err error) error {
	var exit *exec.ExitError
	switch {
	case err == nil:
		return nil
	case a.ctx.Err() != nil:
		return context.Cause(a.ctx)
	case errors.As(err, &exit) && exitOf(exit).killed():
		return errKilled
	}
	return err
}

// errKilled is the end of a process that nobody here has killed.
var errKilled = errors.New("killed by the kernel (SIGKILL): probably out of memory")

// exitStatus is how a program that was run in mlc's place has ended.
type exitStatus int

// exitOf is the status of a process as a shell has it, where a signal is a number
// from 128.
func exitOf(e *exec.ExitError) exitStatus {
	if w, ok := e.Sys().(syscall.WaitStatus); ok && w.Signaled() {
		return exitStatus(128 + int(w.Signal()))
	}
	return exitStatus(e.ExitCode())
}

func (s exitStatus) killed() bool { return s == 128+exitStatus(syscall.SIGKILL) }

// interrupted reports whether an error is that mlc, or what it ran in its place, was
// asked to end.
func interrupted(err error) bool {
	var s exitStatus
	if errors.As(err, &s) {
		return interrupt.Coded(int(s))
	}
	_, ok := interrupt.In(err)
	return ok
}

func (s exitStatus) Error() string {
	if s.killed() {
		return errKilled.Error()
	}
	return fmt.Sprintf("exit status %d", int(s))
}
