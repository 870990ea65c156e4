package cli

import (
	"github.com/arithlang/mlc/cli/build"
	"github.com/arithlang/mlc/cli/train"
)

// benchCmd is the verb bench.
type benchCmd struct {
	train.Bench `embed:""`
}

// Help is printed below the usage.
func (benchCmd) Help() string {
	return `The trainer is built where it is stale, and times its own steps and kernels.

With --device sim nothing is built: mlc itself does the steps, on a simulated GPU.
With --device count nothing is computed: mlc counts what steps ask of a card, or plans
a step that many GPUs share (docs/cluster-plan.md).
With --cores 8,32 a program is built that times the pieces of a step, and says what it
takes on so many cores (docs/cores.md).

Examples:
  mlc bench specs/successor.arith --steps 20
  mlc bench specs/successor.arith --device count --card 4090
  mlc bench specs/successor.arith --device count --gpus 1,8,64
  mlc bench specs/successor.arith --cores 8,32,128`
}

// Run becomes the trainer, or counts.
func (c *benchCmd) Run(b *build.Builder) error { return c.Bench.Run(b) }
