// Package interrupt ends programs by signals: the first asks a program to end, by a
// context, and a second one ends it at once. The trainers and mlc use it.
package interrupt

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"slices"
	"syscall"
)

// Error says which signal has ended something.
type Error struct{ Signal syscall.Signal }

func (Error) Error() string { return "interrupted" }

// ExitCode is what shells say of a program that the signal has ended: 130 for Ctrl-C,
// 143 for SIGTERM, 129 for SIGHUP, and on Linux 138 for SIGUSR1, 140 for SIGUSR2 and 152
// for SIGXCPU.
func (e Error) ExitCode() int { return 128 + int(e.Signal) }

// Coded says whether an exit code is that of a program that was asked to end.
func Coded(code int) bool {
	return slices.ContainsFunc(signals, func(s os.Signal) bool { return code == Error{s.(syscall.Signal)}.ExitCode() })
}

// Notify sends the signals that ask a program to end. A hang-up that the program was
// started to ignore, as nohup does, stays ignored; Ctrl-C does not, since shells
// ignore it for all that they start in the background. Stop gives signals their
// ordinary effect again.
func Notify(buffer int) (c <-chan os.Signal, stop func()) {
	to := make(chan os.Signal, buffer)
	for _, s := range signals {
		if s != syscall.SIGHUP || !signal.Ignored(s) {
			signal.Notify(to, s)
		}
	}
	return to, func() { signal.Stop(to) }
}

// Context is a context that ends with the first signal, which its cause, an Error,
// says. A second one has its ordinary effect, as has each after release: Ctrl-C, SIGTERM
// and SIGHUP end a program, and the others do nothing.
func Context() (ctx context.Context, release func()) {
	ctx, cancel := context.WithCancelCause(context.Background())
	c, stop := Notify(1)
	go func() {
		select {
		case s := <-c:
			stop()
			cancel(Error{s.(syscall.Signal)})
		case <-ctx.Done():
		}
	}()
	return ctx, func() {
		stop()
		cancel(nil)
	}
}

// In finds the Error that an error has come from, and reports whether there is one.
func In(err error) (e Error, ok bool) {
	ok = errors.As(err, &e)
	return e, ok
}

// Await returns what f returns, or the cause of the context's end if that comes
// first. Then f is left to itself: it must change nothing that outlives the process
// or that others read. It is for what cannot be told to end: reading a pipe, opening
// one, computing.
func Await[T any](ctx context.Context, f func() (T, error)) (T, error) {
	if ctx.Err() != nil {
		var none T
		return none, context.Cause(ctx)
	}
	type outcome struct {
		value T
		err   error
	}
	ended := make(chan outcome, 1)
	go func() {
		value, err := f()
		ended <- outcome{value, err}
	}()
	select {
	case o := <-ended:
		return o.value, o.err
	case <-ctx.Done():
		var none T
		return none, context.Cause(ctx)
	}
}
