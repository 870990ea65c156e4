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
	return `Builds the trainer if it is stale, and times its steps and kernels.

With --device sim mlc itself runs the steps, on a simulated GPU.
With --device count nothing is computed: mlc counts the demands of steps on a card, or
plans a step for many GPUs (docs/cluster-plan.md).
With --cores 8,32 mlc builds a program that times the pieces of a step and predicts the
step's time on 8 and 32 cores (docs/cores.md).

Examples:
  mlc bench specs/successor.arith --steps 20
  mlc bench specs/successor.arith --device count --card 4090
  mlc bench specs/successor.arith --device count --gpus 1,8,64
  mlc bench specs/successor.arith --cores 8,32,128`
}

// Run becomes the trainer, or counts.
func (c *benchCmd) Run(b *build.Builder) error { return c.Bench.Run(b) }
