package train

import (
	"slices"

	"github.com/arithlang/mlc/cli/build"
	"github.com/arithlang/mlc/cli/project"
	"github.com/arithlang/mlc/cli/shell"
	"github.com/arithlang/mlc/runtime/cores"
	"github.com/arithlang/mlc/runtime/flags"
)

// foretells reports whether the flags ask for the time of a step on other numbers of cores.
func (c *Bench) foretells() bool { return len(c.Cores) > 0 || c.Copying > 0 }

// forecast returns the flags for the program that times the pieces of steps.
func (c *Bench) forecast() *cores.Flags {
	return &cores.Flags{Foretelling: c.Foretelling, CPU: c.CPU, Threads: c.Threads, Steps: c.Timing.Steps, Batch: c.Batch, Chunk: c.Chunk, Padded: c.Padded}
}

// check returns an error for flags that exclude each other.
func (c *Bench) check() error {
	if err := c.Count.check(&c.Steps); err != nil || !c.foretells() {
		return err
	}
	if c.Device == countDevice {
		return shell.Usagef("--cores: with --device count nothing is timed or computed: leave it out")
	}
	other := c.Steps
	other.CPU, other.Threads, other.Timing = "auto", 0, flags.Timing{Kernels: c.Kernels, Serve: c.Serve, Trace: c.Trace}
	if given := words(&other); len(given) > 0 {
		return shell.Usagef("%s: --cores simulates steps from times on the processor: leave it out", given[0])
	}
	return nil
}

// foretell builds the program that times the pieces of a training's steps, and becomes it.
func foretell(b *build.Builder, t project.Training, f *cores.Flags) error {
	p, err := b.Forecast(t)
	if err != nil {
		return err
	}
	return replaced(b.Shell, p.Binary, slices.Concat([]string{shell.CalledBy()}, words(f), saying(false, b.JSON)), "bench", false)
}
