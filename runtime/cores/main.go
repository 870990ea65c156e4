package cores

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	goruntime "runtime"

	"github.com/alecthomas/kong"

	"github.com/arithlang/mlc/runtime/cpu"
	"github.com/arithlang/mlc/runtime/flag"
	"github.com/arithlang/mlc/runtime/interrupt"
	"github.com/arithlang/mlc/runtime/processor"
	"github.com/arithlang/mlc/runtime/program"
)

// Foretelling holds the flags of the simulated machine.
type Foretelling struct {
	Cores   []int   `help:"Simulate a step on these numbers of cores, from times of its pieces measured here: 8,32,128. Shows what cores wait for, and which train.chunk keeps them busy." placeholder:"N,…"`
	Copying float64 `help:"With --cores: GB/s that all cores together read and write. Default: each core copies as fast as here." positive:"300" placeholder:"N"`
}

// Flags select the simulated machine and the timing of steps.
type Flags struct {
	Foretelling
	CPU     string `help:"Instruction set." name:"cpu" default:"auto" placeholder:"auto|go|avx2|avx512|avx512bf16|neon"`
	Threads int    `help:"Number of threads that steps are timed on, 0 for all." default:"0" placeholder:"N"`
	Steps   int    `help:"Steps to time; 0 for some seconds' worth." default:"0" placeholder:"N"`
	Batch   int    `help:"Examples per step, instead of the spec's." positive:"64" placeholder:"N"`
	Chunk   int    `help:"Examples per chunk, whose gradients one worker sums, instead of the spec's." positive:"16" placeholder:"N"`
	Padded  bool   `help:"Pad all sequences to the longest, like train.lengths = padded."`
	JSON    bool   `help:"Print the result as JSON." name:"json"`
}

// The limits of flags.
const (
	maxThreads = 1 << 10
	maxBatch   = 1 << 20 // as in the language: train.batch
)

// Check returns an error for a mistake in the flags.
func (f *Flags) Check() error {
	if len(f.Cores) == 0 {
		return errors.New("--copying needs --cores, the numbers of cores to simulate, such as --cores 8,32,128")
	}
	for _, n := range f.Cores {
		if n < 1 || n > Most {
			return fmt.Errorf("--cores %d: want 1 to %d", n, Most)
		}
	}
	switch {
	case f.Threads < 0 || f.Threads > maxThreads:
		return fmt.Errorf("--threads %d: want 1 to %d, or 0 for all", f.Threads, maxThreads)
	case f.Steps < 0:
		return fmt.Errorf("--steps %d must not be negative", f.Steps)
	case f.Batch > maxBatch:
		return fmt.Errorf("--batch %d: want at most %d examples", f.Batch, maxBatch)
	}
	return nil
}

// The exit codes. An interrupt has its own.
const (
	exitFailed = 1
	exitUsage  = 2
)

// Main is a program that simulates a model's step on more cores. It reads the command line and
// exits.
func Main(m program.Model) { os.Exit(run(m, os.Args, os.Stdout, os.Stderr)) }

// run does what args say, the program's name first, and returns the exit code.
func run(m program.Model, args []string, out, to io.Writer) int {
	fail := func(code int, err error) int {
		fmt.Fprintf(to, "%s: %v\n", m.Name, err)
		return code
	}
	var f Flags
	parser, err := kong.New(&f, append(flag.Numbers(), kong.Name("mlc bench"), kong.Writers(out, to))...)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	flag.ShowValues(parser)
	line, err := parser.Parse(args[1:])
	if err == nil {
		err = errors.Join(flag.Positive(line.Flags()), f.Check())
	}
	var isa cpu.ISA
	if err == nil {
		if isa, err = cpu.ParseISA(f.CPU); err != nil {
			err = fmt.Errorf("--cpu: %w", err)
		}
	}
	if err != nil {
		return fail(exitUsage, err)
	}
	ctx, release := interrupt.Context()
	defer release()
	plan, err := interrupt.Await(ctx, func() (*Plan, error) { return f.plan(m, isa) })
	if e, interrupted := interrupt.In(err); interrupted {
		return fail(e.ExitCode(), err)
	}
	if err == nil && f.JSON {
		err = json.NewEncoder(out).Encode(plan)
	} else if err == nil {
		_, err = fmt.Fprint(out, plan)
	}
	if err != nil {
		return fail(exitFailed, err)
	}
	return 0
}

// plan times the model with the flags' settings.
func (f *Flags) plan(m program.Model, isa cpu.ISA) (*Plan, error) {
	m.Train.Batch = cmp.Or(f.Batch, m.Train.Batch)
	if f.Chunk > 0 {
		m.Train.Chunk, m.Train.MicroBatch = f.Chunk, min(m.Train.MicroBatch, f.Chunk)
	}
	m.Task.Padded = m.Task.Padded || f.Padded
	machine := processor.New(m.CPU, isa, cmp.Or(f.Threads, goruntime.GOMAXPROCS(0)), &m.Plan)
	return f.plans(&m, machine)
}
