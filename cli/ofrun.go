package cli

import (
	"github.com/alecthomas/kong"

	"github.com/arithlang/mlc/cli/build"
	"github.com/arithlang/mlc/cli/train"
)

// solveCmd and evalCmd are verbs of a trainer, for a run wherever its trainer is. Their
// arguments are the trainer's, but that the run comes first.
type (
	solveCmd struct {
		Args []string `arg:"" optional:"" name:"RUN" help:"Run directory, then what the trainer's verb takes."`
	}
	evalCmd struct {
		Args []string `arg:"" optional:"" name:"RUN" help:"Run directory, then what the trainer's verb takes."`
	}
)

// Help is printed below the usage.
func (solveCmd) Help() string {
	return `mlc solve RUN [PROBLEM …] [FLAGS OF THE TRAINER]

The trainer is built from the spec in the run directory, where that has not been done.
With --device sim none is: mlc itself runs the model, on a simulated GPU.

Example: mlc solve runs/mine/* '123'` + flagsOf("solve")
}

// Help is printed below the usage.
func (evalCmd) Help() string {
	return `mlc eval RUN [FLAGS OF THE TRAINER]

The trainer is built from the spec in the run directory, where that has not been done.
With --device sim none is: mlc itself runs the model, on a simulated GPU.

Example: mlc eval runs/mine/* --digits 100` + flagsOf("eval")
}

// Run becomes the trainer of the run.
func (c *solveCmd) Run(b *build.Builder, verb *kong.Context) error {
	return train.VerbOfRun(b, "solve", c.Args, verb)
}

// Run becomes the trainer of the run.
func (c *evalCmd) Run(b *build.Builder, verb *kong.Context) error {
	return train.VerbOfRun(b, "eval", c.Args, verb)
}
