// Package interrupt ends programs by signals: the first signal asks a program to end, by a
// context; a second one ends it at once. The trainers and mlc use it.
package interrupt

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"slices"
	"syscall"
)

// Error says which signal has interrupted the program.
type Error struct{ Signal syscall.Signal }

func (Error) Error() string { return "interrupted" }

// ExitCode is the exit code that shells report for the signal: 130 for Ctrl-C, 143 for SIGTERM,
// 129 for SIGHUP. On Linux it is 138 for SIGUSR1, 140 for SIGUSR2 and 152 for SIGXCPU.
func (e Error) ExitCode() int { return 128 + int(e.Signal) }

// Coded reports whether an exit code belongs to an interrupted program.
func Coded(code int) bool {
	return slices.ContainsFunc(signals, func(s os.Signal) bool { return code == Error{s.(syscall.Signal)}.ExitCode() })
}

// Notify sends the signals that ask a program to end. If the program was started with SIGHUP
// ignored, as by nohup, it stays ignored. An ignored Ctrl-C is not, since shells ignore it for
// all background programs. Stop restores the ordinary effect of signals.
func Notify(buffer int) (c <-chan os.Signal, stop func()) {
	to := make(chan os.Signal, buffer)
	for _, s := range signals {
		if s != syscall.SIGHUP || !signal.Ignored(s) {
			signal.Notify(to, s)
		}
	}
	return to, func() { signal.Stop(to) }
}

// Context returns a context that ends with the first signal. Its cause is an Error. A second
// signal has its ordinary effect, and so has every signal after release. Ctrl-C, SIGTERM and
// SIGHUP then end a program, and the others do nothing.
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

// In finds the Error in an error chain, and reports whether there is one.
func In(err error) (e Error, ok bool) {
	ok = errors.As(err, &e)
	return e, ok
}

// Await returns the result of f, or the cause of the context's end if that comes first. Then f
// keeps running: it must not change anything that outlives the process or that others read.
// Await is for work that cannot be cancelled: opening or reading a pipe, computing.
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
