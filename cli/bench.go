package cli

import (
	"github.com/alecthomas/kong"

	"github.com/arithlang/mlc/cli/build"
	"github.com/arithlang/mlc/cli/shell"
	"github.com/arithlang/mlc/cli/train"
)

// benchCmd is the verb bench. Its arguments are taken apart as those of train.
type benchCmd struct {
	Args []string `arg:"" optional:"" name:"FILE" help:"Spec, then flags of the trainer."`
}

// Help is printed below the usage.
func (benchCmd) Help() string {
	return `mlc bench [--set PATH=VALUE] [--point AXIS=VALUE,…] FILE [FLAGS OF THE TRAINER]

The trainer is built where it is stale, and times its own steps and kernels.

With --device sim nothing is built: mlc itself does the steps, on a simulated GPU.
With --device count nothing is computed: mlc counts what steps ask of a card, or plans
a step that many GPUs share (docs/cluster-plan.md).
With --cores 8,32 a program is built that times the pieces of a step, and says what it
takes on so many cores (docs/cores.md).

Flags with --cores:

` + train.CoresHelp() + `
Flags with --device count:

` + train.CountHelp() + `
Examples:
  mlc bench specs/successor.arith --steps 20
  mlc bench specs/successor.arith --device count --card 4090
  mlc bench specs/successor.arith --device count --gpus 1,8,64
  mlc bench specs/successor.arith --cores 8,32,128` + flagsOf("bench")
}

// Run becomes the trainer, or counts.
func (c *benchCmd) Run(b *build.Builder, verb *kong.Context) error {
	line, err := train.Split(c.Args)
	if line.Help {
		return verb.PrintUsage(false)
	}
	if line.File == "" {
		return shell.Usagef("which spec? mlc bench FILE [FLAGS OF THE TRAINER] (see mlc bench --help)")
	}
	if err != nil {
		return err
	}
	return train.Bench(b, line)
}
