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
	return `mlc export RUN --to FORM OUT

Writes the trained model of a run for other programs. Everything that a spec can say is
exported; it needs neither Go nor the trainer.

Examples:
  mlc export runs/mine/* --to python model.py && python3 model.py 123+456
  mlc export runs/mine/* --to numpy --store literals adder.py
  mlc export runs/mine/* --to hf model
  mlc export runs/mine/* --to onnx model.onnx`
}

// Run writes an export.
func (c *exportCmd) Run(sh *shell.Shell) error { return c.Write(sh) }
