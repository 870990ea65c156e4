package cli

import (
	"github.com/arithlang/mlc/cli/build"
	"github.com/arithlang/mlc/cli/shell"
)

// initCmd is the verb init.
type initCmd struct {
	Name     string `arg:"" name:"NAME" help:"Name of the spec: NAME.arith in the current folder."`
	From     string `help:"Starter." enum:"${starters}" default:"successor"`
	Checkout string `help:"Folder of mlc's source for building trainers, if mlc cannot find it." placeholder:"DIR"`
}

// Help is printed below the usage.
func (initCmd) Help() string {
	return "Starters:\n" + build.StarterDocs() + `
Outside a Go module, a go.mod is written as well, so that the trainer can be built.
Nothing is overwritten.

Examples:
  mlc init mine
  mlc init mine --from window`
}

// Run writes the spec, and the module unless there is one.
func (c *initCmd) Run(sh *shell.Shell) error { return build.Begin(sh, c.Name, c.From, c.Checkout) }
