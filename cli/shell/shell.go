// Package shell has the world that a verb of mlc runs in: the signals that end it, where it
// prints and how, the programs that it starts, and the errors that tell how it ended.
package shell

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/arithlang/mlc/runtime/interrupt"
)

// Version is the release of the language and of the generated code. It stands in
// every generated program, so it does not change from commit to commit.
const Version = "0.3.0"

// The exit codes, but that of an interrupt, which interrupt.Error has.
const (
	ExitOK       = 0
	ExitFindings = 1
	ExitUsage    = 2
)

// A Shell is the world that a verb runs in. Results go to Out, the rest to Err.
type Shell struct {
	Context  context.Context // ends with a signal; its cause is an interrupt.Error
	Release  func()          // gives signals their ordinary effect again
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

// Await returns what f computes or reads, or the interrupt that comes first. Then f
// is left to itself, so it neither prints nor writes files.
func Await[T any](sh *Shell, f func() (T, error)) (T, error) { return interrupt.Await(sh.Context, f) }

// A UsageError is a mistake on the command line.
type UsageError struct{ error }

// Usagef is a UsageError.
func Usagef(format string, args ...any) error { return UsageError{fmt.Errorf(format, args...)} }

// Misused makes an error that of a mistake on the command line.
func Misused(err error) error { return UsageError{err} }

// ErrShown ends a verb whose findings have been printed.
var ErrShown = errors.New("findings were printed")

// Findings remembers that something was found, while a verb goes on.
type Findings bool

// Unless returns an error that is more than findings.
func (f *Findings) Unless(err error) error {
	if errors.Is(err, ErrShown) {
		*f = true
		return nil
	}
	return err
}

// Err is ErrShown if there were any.
func (f Findings) Err() error {
	if f {
		return ErrShown
	}
	return nil
}
