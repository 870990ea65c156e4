package cli

import (
	"fmt"

	"github.com/arithlang/mlc/cli/build"
	"github.com/arithlang/mlc/cli/look"
	"github.com/arithlang/mlc/cli/project"
	"github.com/arithlang/mlc/cli/shell"
	"github.com/arithlang/mlc/diff"
)

// diffCmd is the verb diff.
type diffCmd struct {
	look.Differences `embed:""`
	File             string   `arg:"" name:"FILE" help:"A spec."`
	Set              []string `help:"Set an attribute: --set model.width=32." sep:"none" placeholder:"PATH=VALUE"`
	Point            []string `help:"In a sweep: only these trainings." sep:"none" placeholder:"AXIS=VALUE,…"`
}

// Help is printed below the usage.
func (diffCmd) Help() string {
	return fmt.Sprintf(`Each kernel runs alone, on random inputs of order 1 for two examples. Its results
are compared with its tensor function, in float64, and bit by bit with the kernel
interpreter. Where the device uses tensor cores or BF16 instructions, the interpreter
adds products in their order. The output shows the element farthest from float64: its
distance, the distance in units of the largest element of its buffer, and the largest
allowed distance. This is %.0e of the largest element, or of 1 if that is smaller, and
more where rounding of the inputs has a larger effect.
Exit code 1 if an element is farther off, or with --exact if a bit differs. The
simulator checks every access of a kernel: a faulty access fails too.
In a sweep, kernels of earlier trainings are not compared again.

Examples:
  mlc diff x.arith --exact
  mlc diff x.arith --device sim --exact
  mlc diff x.arith --device ref --kernel attention_64_dropout --lengths 100`, diff.Tolerance)
}

// Run compares the kernels. It prints a line for each when it is done.
func (c *diffCmd) Run(b *build.Builder) error {
	if err := c.Check(); err != nil {
		return err
	}
	where, err := project.Find("", "")
	if err != nil {
		return err
	}
	trainings, err := project.Trainings(b.Shell, c.File, where.Root, c.Set, c.Point)
	if err != nil {
		return err
	}
	var out shell.Findings
	done := map[string]bool{}
	for _, t := range trainings {
		if err := out.Unless(c.CompareKernels(b.Shell, b.Build, where, t, done)); err != nil {
			return err
		}
	}
	return out.Err()
}
