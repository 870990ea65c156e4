package cli

import (
	"reflect"

	"github.com/alecthomas/kong"
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

Flags with --device count:

` + countHelp() + `
Examples:
  mlc bench specs/successor.arith --steps 20
  mlc bench specs/successor.arith --device count --card 4090
  mlc bench specs/successor.arith --device count --gpus 1,8,64` + flagsOf("bench")
}

// Run becomes the trainer, or counts.
func (c *benchCmd) Run(a *app, verb *kong.Context) error {
	line, err := splitTrain(c.Args)
	if line.help {
		return verb.PrintUsage(false)
	}
	if line.file == "" {
		return usagef("which spec? mlc bench FILE [FLAGS OF THE TRAINER] (see mlc bench --help)")
	}
	if err != nil {
		return err
	}
	if own := (ownFlags{Set: line.own.Set, Point: line.own.Point}); !reflect.DeepEqual(own, line.own) {
		return usagef("mlc bench trains nothing: of the flags that are for mlc it takes --set and --point")
	}
	where, err := findProject("", "")
	if err != nil {
		return err
	}
	all, err := a.trainings(line.file, where.root, line.own.Set, line.own.Point)
	if err != nil {
		return err
	}
	if len(all) > 1 {
		return usagef("%s asks for %d trainings: choose one by --point", line.file, len(all))
	}
	if onDevice(line.flags) == countDevice {
		return a.count(all[0], line.flags)
	}
	return a.become("bench", where, all[0], line)
}
