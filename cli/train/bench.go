package train

import (
	"github.com/arithlang/mlc/cli/build"
	"github.com/arithlang/mlc/cli/project"
	"github.com/arithlang/mlc/cli/shell"
	"github.com/arithlang/mlc/runtime/cores"
	"github.com/arithlang/mlc/runtime/flags"
)

// Bench is the verb bench.
type Bench struct {
	File string `arg:"" name:"FILE" help:"Spec."`
	Of
	Steps
	Count
	cores.Foretelling
}

// Steps selects the steps to time or count, and their device.
type Steps struct {
	flags.Machine
	flags.Timing
	flags.Profiled
}

// Run times or counts the steps of a training.
func (c *Bench) Run(b *build.Builder) error {
	if err := c.check(); err != nil {
		return err
	}
	where, err := project.Find("", "")
	if err != nil {
		return err
	}
	all, err := project.Trainings(b.Shell, c.File, where.Root, c.Set, c.Point)
	if err != nil {
		return err
	}
	if len(all) > 1 {
		return shell.Usagef("%s asks for %d trainings: choose one by --point", c.File, len(all))
	}
	if c.Device == countDevice {
		return countOn(b.Shell, all[0], &c.Steps, &c.Count)
	}
	if c.foretells() {
		return foretell(b, all[0], c.forecast())
	}
	b, quiet := loud(b)
	return become(b, "bench", where, all[0], c.Device, append(words(&c.Steps), saying(false, b.JSON)...), quiet)
}
