package cli

import (
	"errors"

	"github.com/arithlang/mlc/cli/paths"
	"github.com/arithlang/mlc/cli/shell"
	"github.com/arithlang/mlc/ptxsim/command"
	"github.com/arithlang/mlc/runtime/disk"
)

// ptxCmd is the verb ptx: the simulator as a tool for anyone's PTX.
type ptxCmd struct {
	Check ptxCheckCmd `cmd:"" help:"Check that PTX can run, and list its kernels."`
	Run   ptxRunCmd   `cmd:"" help:"Run a kernel without a GPU, and check every access."`
}

// ptxCheckCmd is the verb ptx check.
type ptxCheckCmd struct {
	Flags command.Check `embed:""`
}

// ptxRunCmd is the verb ptx run.
type ptxRunCmd struct {
	Flags command.Run `embed:""`
}

// Help is printed below the usage.
func (ptxCheckCmd) Help() string { return command.CheckHelp("mlc ptx") }

// Help is printed below the usage.
func (ptxRunCmd) Help() string { return command.RunHelp("mlc ptx") }

// Run checks the files and lists their kernels.
func (c *ptxCheckCmd) Run(sh *shell.Shell) error { return simulatePTX(sh, c.Flags.Run) }

// Run runs the kernel.
func (c *ptxRunCmd) Run(sh *shell.Shell) error { return simulatePTX(sh, c.Flags.Run) }

// simulatePTX runs a command of the simulator.
func simulatePTX(sh *shell.Shell, do func(*command.Shell) error) error {
	err := do(&command.Shell{Context: sh.Context, Program: "mlc", Out: sh.Out, Err: sh.Err, JSON: sh.JSON, Quiet: sh.Quiet, Temp: paths.WriteTemp, Rename: disk.Rename})
	switch {
	case errors.Is(err, command.ErrShown):
		return shell.ErrShown
	case errors.As(err, new(command.UsageError)):
		return shell.Misused(err)
	}
	return err
}
