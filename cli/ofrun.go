package cli

import (
	"github.com/arithlang/mlc/cli/build"
	"github.com/arithlang/mlc/cli/train"
)

// solveCmd and evalCmd are verbs of a run's trainer.
type (
	solveCmd struct {
		train.Solve `embed:""`
	}
	evalCmd struct {
		train.Eval `embed:""`
	}
)

// Help is printed below the usage.
func (solveCmd) Help() string {
	return `Builds the trainer from the spec in the run directory, unless it exists. With --device sim
mlc itself runs the model, on a simulated GPU. A problem that begins with - goes after --.

Example: mlc solve runs/mine/* '123'`
}

// Help is printed below the usage.
func (evalCmd) Help() string {
	return `Builds the trainer from the spec in the run directory, unless it exists. With --device sim
mlc itself runs the model, on a simulated GPU.

Example: mlc eval runs/mine/* --digits 100`
}

// Run becomes the trainer of the run.
func (c *solveCmd) Run(b *build.Builder) error { return c.Solve.Run(b) }

// Run becomes the trainer of the run.
func (c *evalCmd) Run(b *build.Builder) error { return c.Eval.Run(b) }
