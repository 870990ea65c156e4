// Package shell is the environment of a verb of mlc: signals, output, child processes, and
// the errors that set the exit code.
package shell

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/arithlang/mlc/runtime/interrupt"
)

// Version is the release of the language and of the generated code. Every generated program
// contains it, so it does not change with each commit.
const Version = "0.4.0"

// The exit codes. interrupt.Error has the exit code of an interrupt.
const (
	ExitOK       = 0
	ExitFindings = 1
	ExitUsage    = 2
)

// A Shell is the environment of a verb. Results go to Out, messages to Err.
type Shell struct {
	Context  context.Context // ends with a signal; its cause is an interrupt.Error
	Release  func()          // restores the ordinary effect of signals
	In       io.Reader
	Out, Err io.Writer
	Color    bool
	JSON     bool
	Quiet    bool
	Verbose  bool
}

// Say writes a message that --quiet suppresses.
func (sh *Shell) Say(format string, args ...any) {
	if !sh.Quiet {
		fmt.Fprintf(sh.Err, format+"\n", args...)
	}
}

// PrintJSON writes one object on one line.
func (sh *Shell) PrintJSON(v any) error {
	enc := json.NewEncoder(sh.Out)
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// Await returns the result of f, or the interrupt if that comes first. Then f continues in
// the background, so f must neither print nor write files.
func Await[T any](sh *Shell, f func() (T, error)) (T, error) { return interrupt.Await(sh.Context, f) }

// A UsageError is a mistake on the command line.
type UsageError struct{ error }

// Usagef returns a UsageError.
func Usagef(format string, args ...any) error { return UsageError{fmt.Errorf(format, args...)} }

// Misused turns an error into a UsageError.
func Misused(err error) error { return UsageError{err} }

// ErrShown ends a verb that has printed its findings.
var ErrShown = errors.New("findings were printed")

// Findings records that a verb has printed findings and continues.
type Findings bool

// Unless returns err unless it is ErrShown, which it records.
func (f *Findings) Unless(err error) error {
	if errors.Is(err, ErrShown) {
		*f = true
		return nil
	}
	return err
}

// Err returns ErrShown if it was recorded.
func (f Findings) Err() error {
	if f {
		return ErrShown
	}
	return nil
}
