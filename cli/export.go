package cli

import (
	"github.com/arithlang/mlc/cli/results"
	"github.com/arithlang/mlc/cli/shell"
)

// exportCmd is the verb export.
type exportCmd struct {
	results.Export `embed:""`
}

// Help is printed below the usage.
func (exportCmd) Help() string {
	return `mlc export RUN --format FORM --out OUT

Writes the trained model of a run for other programs. Every spec can be exported, without
Go and without the trainer.

Examples:
  mlc export runs/mine/* --format python -o model.py && python3 model.py 123+456
  mlc export runs/mine/* --format numpy --store literals -o adder.py
  mlc export runs/mine/* --format hf -o model
  mlc export runs/mine/* --format onnx -o model.onnx`
}

// Run writes an export.
func (c *exportCmd) Run(sh *shell.Shell) error { return c.Write(sh) }
