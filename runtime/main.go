package runtime

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/pprof"

	"github.com/alecthomas/kong"

	"github.com/arithlang/mlc/runtime/comm"
	"github.com/arithlang/mlc/runtime/cuda"
	"github.com/arithlang/mlc/runtime/flag"
	"github.com/arithlang/mlc/runtime/flags"
	"github.com/arithlang/mlc/runtime/interrupt"
)

// The exit codes, but that of an interrupt, which interrupt.Error has.
const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 2
)

// Main is a generated trainer: it does what the command line says and exits.
func Main(m Model) { os.Exit(Run(m, nil, os.Args)) }

// Run does what a command line, the program's name first, says of a model, and returns the
// exit code. The program may bring devices of its own.
func Run(m Model, devices []Device, args []string) int {
	return run(app{model: m, brought: devices, in: os.Stdin, out: os.Stdout, err: os.Stderr}, args)
}

// app is a model and the world it runs in. Results go to out, the rest to err.
type app struct {
	ctx   context.Context // ends with a signal; its cause is an interrupt.Error; nil before run
	model Model
	whole *Pipeline // that the model is a stage of; nil: of none
	args  []string  // the command line, the program's name first
	in    io.Reader
	out   io.Writer
	err   *os.File
	gpu   func() (cuda.Driver, error) // nil: NVIDIA's driver

	brought []Device // of the program's own

	told  bool       // which device is used
	ranks *ranks     // that do the verb together
	world comm.World // in place of what the launcher has started; nil: that

	library func(d cuda.Driver, path string) (cuda.Multiplier, error) // of products; nil: NVIDIA's
	memory  func() (bytes float64, of string)                         // that is available; nil: as the system says
}

// verbs is the command line.
type verbs struct {
	Train trainCmd `cmd:"" help:"Train the model, then test it."`
	Eval  evalCmd  `cmd:"" help:"Test a trained model: exact match by length."`
	Solve solveCmd `cmd:"" help:"Answer problems with a trained model."`
	Bench benchCmd `cmd:"" help:"Time training steps and their kernels."`
	Info  infoCmd  `cmd:"" help:"Show parameters, spec hash and devices."`

	flags.Profiled
}

// usageError is a mistake on the command line.
type usageError struct{ error }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// run does what args (the program's name first) say and returns the exit code.
func run(a app, args []string) (code int) {
	if a.ctx == nil {
		ctx, release := interrupt.Context()
		defer release()
		a.ctx = ctx
	}
	a.args, a.ranks = args, new(ranks)
	defer func() {
		if a.ranks.several() {
			a.ranks.end(code)
		}
	}()
	name := a.identity().name
	asked := false // for help, which is an answer
	var v verbs
	parser, err := kong.New(&v, append(flag.Numbers(), kong.Name(name), kong.Writers(a.out, a.err),
		kong.Description("Trains and tests the model of "+name+".arith, compiled by mlc "+a.model.Version+"."),
		kong.Exit(func(int) { asked = true }), kong.Bind(a), kong.Bind(program(args[0])))...)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	flag.ShowValues(parser)
	verb, err := parser.Parse(args[1:])
	if asked {
		return exitOK
	}
	switch {
	case a.idle():
		return exitOK
	case err != nil && a.other():
		return exitUsage // the first rank says why
	case err != nil:
		err = usageError{fmt.Errorf("%w (see %s --help)", err, flag.Verb(parser, args))}
	default:
		if a.other() {
			v.Profile = "" // of the first rank is what is asked for
		}
		if err = flag.Positive(verb.Flags()); err != nil {
			err = usageError{err}
		} else {
			err = profiled(v.Profile, func() error { return verb.Run() })
		}
	}
	if err != nil && !errors.As(err, new(ended)) {
		fmt.Fprintf(a.err, "%s: %v\n", name, err)
	}
	return exitCode(err)
}

// profiled does something and writes a profile of it, if there is a path for that.
func profiled(path string, do func() error) error {
	if path == "" {
		return do()
	}
	f, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("cannot write a profile: %w", err)
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		return errors.Join(fmt.Errorf("cannot write a profile: %w", err), f.Close())
	}
	err = do()
	pprof.StopCPUProfile()
	return errors.Join(err, f.Close())
}

// again is the command line as a shell takes it.
func (a app) again() string { return flag.Line(a.args) }

// program is the name that the program was called by.
type program string

func exitCode(err error) int {
	var other ended
	switch e, interrupted := interrupt.In(err); {
	case err == nil:
		return exitOK
	case errors.As(err, &other):
		return int(other)
	case interrupted:
		return e.ExitCode()
	case errors.As(err, new(usageError)):
		return exitUsage
	}
	return exitFailed
}

// untilInterrupt returns a context that ends with a signal, which is said: it is for
// what goes on for a while then. It is told when it is over.
func (a app) untilInterrupt() (ctx context.Context, over func()) {
	stop := context.AfterFunc(a.ctx, func() { fmt.Fprintln(a.err, "\nstopping after this step (again to stop at once)") })
	return a.ctx, func() { stop() }
}

// await returns what f computes or reads, or the interrupt that comes first. Then f
// is left to itself, so it neither prints nor writes files.
func await[T any](a app, f func() (T, error)) (T, error) {
	if !a.ranks.several() {
		return interrupt.Await(a.ctx, f)
	}
	return interrupt.Await(a.ctx, func() (T, error) {
		a.ranks.busy.Add(1)
		defer a.ranks.busy.Add(-1)
		return f()
	})
}
