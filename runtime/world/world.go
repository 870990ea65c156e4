// Package world is what every verb of a program works with: an App, which is the program with its
// command line, input and output; Flags, which choose the device; the memory that a run needs; and
// Ranks, the processes that do a verb together. Rank 0 alone does what a verb says, and tells the
// others, which follow. Package verbs comes after it.
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

// The exit codes, but that of an interrupt, which interrupt.Error has.
const (
	ExitOK     = 0
	ExitFailed = 1
	ExitUsage  = 2
)

// App is a model and the world it runs in. Results go to out, the rest to err.
type App struct {
	Ctx   context.Context // ends with a signal; its cause is an interrupt.Error; nil before run
	Model program.Model
	Whole Whole    // that the model is a stage of; nil: of none
	Args  []string // the command line, the program's name first
	In    io.Reader
	Out   io.Writer
	Err   *os.File
	GPU   func() (cuda.Driver, error) // nil: NVIDIA's driver

	Brought []Device // of the program's own

	Told  bool       // which device is used
	Ranks *Ranks     // that do the verb together
	World comm.World // in place of what the launcher has started; nil: that

	Library func(d cuda.Driver, path string) (cuda.Multiplier, error) // of products; nil: NVIDIA's
	Memory  func() (bytes float64, of string)                         // that is available; nil: as the system says
}

// A Whole is a spec with stages: a Pipeline of package stages.
type Whole interface {
	Identity() rundir.Identity
	Swept() []string            // attributes that axes of a sweep set, of which this is one training
	Names() []string            // of the stages, in order
	Model(n int) *program.Model // that stage n trains; nil: it trains none
	Last() int                  // of the stages that train
	// At is the model of a run, and the directory of its training.
	At(dir string) (*program.Model, string, error)
}

// UsageError is a mistake on the command line.
type UsageError struct{ error }

// Usage makes an error a mistake on the command line.
func Usage(err error) error { return UsageError{err} }

// Usagef is such a mistake.
func Usagef(format string, args ...any) error { return UsageError{fmt.Errorf(format, args...)} }

// Again is the command line as a shell takes it.
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

// UntilInterrupt returns a context that ends with a signal, which is said: it is for
// what goes on for a while then. It is told when it is over.
func (a App) UntilInterrupt() (ctx context.Context, over func()) {
	stop := context.AfterFunc(a.Ctx, func() { fmt.Fprintln(a.Err, "\nstopping after this step (again to stop at once)") })
	return a.Ctx, func() { stop() }
}

// Await returns what f computes or reads, or the interrupt that comes first. Then f
// is left to itself, so it neither prints nor writes files.
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

// GoOn is the command that goes on with a run.
func (a App) GoOn(dir string) string {
	return fmt.Sprintf("%s train --resume --out %s", flag.Word(a.Args[0]), flag.Word(dir))
}

// Identity is what the program is of.
func (a App) Identity() rundir.Identity {
	if a.Whole != nil {
		return a.Whole.Identity()
	}
	return rundir.IdentityOf(&a.Model)
}

// Axes are the attributes that the program's name says.
func (a App) Axes() []string {
	if a.Whole != nil {
		return a.Whole.Swept()
	}
	return a.Model.Axes
}

// OnTerminal reports whether somebody sees what is written there.
func OnTerminal(out any) bool {
	f, ok := out.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// Columns is the width of a terminal, or what people can read elsewhere.
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
		err = Usagef("it is longer than %s bytes, which is no line of what is asked for here", track.Thousands(LongestLine))
	}
	return more, err
}

// longestLine is the most bytes of a line of standard input.
const LongestLine = 1 << 20

// At is what speaks of a run, and where it is: of the last stage that trains where
// the run is of a pipeline, else of the stage whose run it is.
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
