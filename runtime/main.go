// Package runtime is the command line of a generated trainer: given a model, Main is the whole
// program. All code that does not depend on a spec is here and below. Code that only some specs
// need is in packages that their programs pass to Main.
package runtime

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/pprof"

	"github.com/alecthomas/kong"

	"github.com/arithlang/mlc/runtime/bench"
	"github.com/arithlang/mlc/runtime/flag"
	"github.com/arithlang/mlc/runtime/flags"
	"github.com/arithlang/mlc/runtime/interrupt"
	"github.com/arithlang/mlc/runtime/program"
	"github.com/arithlang/mlc/runtime/verbs"
	"github.com/arithlang/mlc/runtime/world"
)

// Main is a generated trainer: it does what the command line says and exits.
func Main(m program.Model) { os.Exit(Run(m, nil, os.Args)) }

// Run executes a command line, the program's name first, for a model, and returns the exit
// code. The program may bring further devices.
func Run(m program.Model, devices []world.Device, args []string) int {
	return run(world.App{Model: m, Brought: devices, In: os.Stdin, Out: os.Stdout, Err: os.Stderr}, args, nil)
}

// MainLanes is Main for a spec with lanes, which package several trains.
func MainLanes(m program.Model, lanes verbs.Way) {
	os.Exit(run(world.App{Model: m, In: os.Stdin, Out: os.Stdout, Err: os.Stderr}, os.Args, lanes))
}

// Parse parses a command line of a trainer called NAME, without the name. It only writes the
// help, if args ask for it.
func Parse(out io.Writer, args ...string) error {
	_, err := newParser(new(commandLine), "NAME", "VERSION", kong.Writers(out, out), kong.Exit(func(int) {})).Parse(args)
	return err
}

// commandLine has the verbs of a program.
type commandLine struct {
	Train verbs.Train `cmd:"" help:"Train the model, then test it."`
	Eval  verbs.Eval  `cmd:"" help:"Test a trained model: exact match by length."`
	Solve verbs.Solve `cmd:"" help:"Answer problems with a trained model."`
	Bench bench.Cmd   `cmd:"" help:"Time training steps and their kernels."`
	Info  verbs.Info  `cmd:"" help:"Show parameters, spec hash and devices."`

	flags.Profiled
}

// newParser returns a parser for the command line of a trainer.
func newParser(v *commandLine, name, version string, options ...kong.Option) *kong.Kong {
	parser, err := kong.New(v, append(append(flag.Numbers(), kong.Name(name), kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
		kong.Description("Trains and tests the model of "+name+".arith, compiled by mlc "+version+".")), options...)...)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	flag.ShowValues(parser)
	return parser
}

// run does what args (the program's name first) say and returns the exit code.
func run(a world.App, args []string, way verbs.Way) (code int) {
	if a.Ctx == nil {
		ctx, release := interrupt.Context()
		defer release()
		a.Ctx = ctx
	}
	a.Args, a.Ranks = args, new(world.Ranks)
	defer func() {
		if a.Ranks.Several() {
			a.Ranks.End(code)
		}
	}()
	name := a.Identity().Name
	asked := false // help was printed: not an error
	v := commandLine{Train: verbs.Train{Way: way}}
	parser := newParser(&v, name, a.Model.Version, kong.Writers(a.Out, a.Err), kong.Exit(func(int) { asked = true }), kong.Bind(a))
	verb, err := parser.Parse(args[1:])
	if asked {
		return world.ExitOK
	}
	switch {
	case a.Idle():
		return world.ExitOK
	case err != nil && a.Other():
		return world.ExitUsage // the first rank reports why
	case err != nil:
		err = world.Usage(fmt.Errorf("%w (see %s --help)", err, flag.Verb(parser, args)))
	default:
		if a.Other() {
			v.Profile = "" // only the first rank is profiled
		}
		if err = flag.Positive(verb.Flags()); err != nil {
			err = world.Usage(err)
		} else {
			err = profiled(v.Profile, func() error { return verb.Run() })
		}
	}
	if err != nil && !errors.As(err, new(world.Ended)) {
		fmt.Fprintf(a.Err, "%s: %v\n", name, err)
	}
	return world.ExitCode(err)
}

// profiled calls do and writes a profile of it, unless path is "".
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

// MainStages is Main for a spec with stages, which package stages trains.
func MainStages(p world.Whole, stages verbs.Way) { os.Exit(RunStages(p, nil, os.Args, stages)) }

// RunStages is Run for a spec with stages.
func RunStages(p world.Whole, devices []world.Device, args []string, stages verbs.Way) int {
	return run(world.App{Whole: p, Model: *p.Model(p.Last()), Brought: devices, In: os.Stdin, Out: os.Stdout, Err: os.Stderr}, args, stages)
}
