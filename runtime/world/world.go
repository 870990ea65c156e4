// Package world is the environment of every verb. An App is the program with its command line,
// input and output. Flags choose the device. A Need is the memory that a run needs. Ranks are
// the processes that execute a verb together. Rank 0 executes the verb and commands the others.
// Package verbs builds on it.
package world

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/term"

	"github.com/arithlang/mlc/runtime/comm"
	"github.com/arithlang/mlc/runtime/cuda"
	"github.com/arithlang/mlc/runtime/flag"
	"github.com/arithlang/mlc/runtime/interrupt"
	"github.com/arithlang/mlc/runtime/program"
	"github.com/arithlang/mlc/runtime/rundir"
	"github.com/arithlang/mlc/runtime/track"
)

// The exit codes. For an interrupt, interrupt.Error has the code.
const (
	ExitOK     = 0
	ExitFailed = 1
	ExitUsage  = 2
)

// App is a program with its environment. Results go to Out, everything else to Err.
type App struct {
	Ctx   context.Context // ends with a signal; its cause is an interrupt.Error; nil before Run
	Model program.Model
	Whole Whole    // the spec with stages that the model belongs to; nil: no stages
	Args  []string // the command line, the program's name first
	In    io.Reader
	Out   io.Writer
	Err   *os.File
	GPU   func() (cuda.Driver, error) // nil: NVIDIA's driver

	Brought []Device // further devices that the program brings along

	Told  bool       // the device was already announced
	Ranks *Ranks     // execute the verb together
	World comm.World // replaces the launcher's processes; nil: use those

	Library func(d cuda.Driver, path string) (cuda.Multiplier, error) // opens the library of products; nil: NVIDIA's
	Memory  func() (bytes float64, of string)                         // available memory and what limits it; nil: the system's
}

// A Whole is a spec with stages: a Pipeline of package stages.
type Whole interface {
	Identity() rundir.Identity
	Swept() []string            // attributes that the axes of a sweep set, if this is one of its trainings
	Names() []string            // of the stages, in order
	Model(n int) *program.Model // model of stage n; nil: it trains none
	Last() int                  // number of the last stage that trains
	// At returns the model of a run, and the directory of its training.
	At(dir string) (*program.Model, string, error)
}

// UsageError is a mistake on the command line.
type UsageError struct{ error }

// Usage marks an error as a mistake on the command line.
func Usage(err error) error { return UsageError{err} }

// Usagef formats such an error.
func Usagef(format string, args ...any) error { return UsageError{fmt.Errorf(format, args...)} }

// Again returns the command line for a shell.
func (a App) Again() string { return flag.Line(a.Args) }

func ExitCode(err error) int {
	var other Ended
	switch e, interrupted := interrupt.In(err); {
	case err == nil:
		return ExitOK
	case errors.As(err, &other):
		return int(other)
	case interrupted:
		return e.ExitCode()
	case errors.As(err, new(UsageError)):
		return ExitUsage
	}
	return ExitFailed
}

// UntilInterrupt returns a context that ends with a signal. It prints that the program is
// stopping, for work that still continues for a while. The caller calls over when the work has
// ended.
func (a App) UntilInterrupt() (ctx context.Context, over func()) {
	stop := context.AfterFunc(a.Ctx, func() { fmt.Fprintln(a.Err, "\nstopping after this step (again to stop at once)") })
	return a.Ctx, func() { stop() }
}

// Await returns the result of f, or the interrupt if that comes first. Then f keeps running, so
// it must neither print nor write files.
func Await[T any](a App, f func() (T, error)) (T, error) {
	if !a.Ranks.Several() {
		return interrupt.Await(a.Ctx, f)
	}
	return interrupt.Await(a.Ctx, func() (T, error) {
		a.Ranks.busy.Add(1)
		defer a.Ranks.busy.Add(-1)
		return f()
	})
}

// GoOn returns the command that resumes a run.
func (a App) GoOn(dir string) string {
	return fmt.Sprintf("%s train --resume --out %s", flag.Word(a.Args[0]), flag.Word(dir))
}

// Identity returns the identity of the program.
func (a App) Identity() rundir.Identity {
	if a.Whole != nil {
		return a.Whole.Identity()
	}
	return rundir.IdentityOf(&a.Model)
}

// Axes returns the attributes that the program's name fixes.
func (a App) Axes() []string {
	if a.Whole != nil {
		return a.Whole.Swept()
	}
	return a.Model.Axes
}

// OnTerminal reports whether out is a terminal.
func OnTerminal(out any) bool {
	f, ok := out.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// Columns returns the width of a terminal, or a readable width for other outputs.
func Columns(out any) int {
	f, ok := out.(*os.File)
	if !ok {
		return 120
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil || width <= 0 {
		return 120
	}
	return width
}

// PrintJSON prints a line of JSON.
func PrintJSON(a App, v any) error {
	return json.NewEncoder(a.Out).Encode(v)
}

// NextLine reads a line, and reports whether there is one.
func NextLine(a App, lines *bufio.Scanner) (bool, error) {
	more, err := Await(a, func() (bool, error) { return lines.Scan(), lines.Err() })
	if errors.Is(err, bufio.ErrTooLong) {
		err = Usagef("it is longer than %s bytes, too long for a valid line", track.Thousands(LongestLine))
	}
	return more, err
}

// LongestLine is the most bytes of a line on standard input.
const LongestLine = 1 << 20

// At returns the app and the directory for a run: for the last stage that trains if the run is
// a pipeline's, else for the stage of the run.
func (a App) At(dir string) (App, string, error) {
	if a.Whole == nil {
		return a, dir, nil
	}
	m, in, err := a.Whole.At(dir)
	if m != nil {
		a.Model = *m
	}
	return a, in, err
}
