package cli

import (
	"errors"
	"fmt"

	"github.com/arithlang/mlc/ptxsim"
	"github.com/arithlang/mlc/ptxsim/ptxfile"
)

// ptxCmd is the verb ptx: the simulator as a tool for anyone's PTX.
type ptxCmd struct {
	Check ptxCheckCmd `cmd:"" help:"Check that PTX can run, and list its kernels."`
	Run   ptxRunCmd   `cmd:"" help:"Run a kernel without a GPU, and check every access."`
}

// ptxCheckCmd is the verb ptx check.
type ptxCheckCmd struct {
	Files []string `arg:"" name:"FILE.ptx" help:"PTX of any compiler."`
}

// Help is printed below the usage.
func (ptxCheckCmd) Help() string {
	return `Checks everything possible before a kernel runs: syntax, and the operands, types,
version and target of each instruction. An instruction unknown to the simulator is
an error. ptxsim/README.md lists the known ones.

Example:
  mlc ptx check kernels.ptx`
}

// Run checks the files and lists their kernels.
func (c *ptxCheckCmd) Run(a *app) error {
	bad := false
	for _, path := range c.Files {
		f, err := await(a, func() (*ptxfile.File, error) { return loadPTX(path, ptxsim.Options{}) })
		if interrupted(err) {
			return err
		}
		if err != nil {
			bad = true
			if err := a.badPTX(err); err != nil {
				return err
			}
			continue
		}
		if err := a.listPTX(f); err != nil {
			return err
		}
	}
	if bad {
		return errShown
	}
	return nil
}

// badPTX prints why a file cannot be run.
func (a *app) badPTX(err error) error {
	var at *ptxfile.Error
	if !a.json || !errors.As(err, &at) {
		fmt.Fprintf(a.err, "mlc: %v\n", err)
		return nil
	}
	return a.printJSON(at)
}

// loadPTX reads a file and loads it on a device of its own.
func loadPTX(path string, o ptxsim.Options) (*ptxfile.File, error) {
	text, err := readUpTo(path, ptxfile.Most+1)
	if err != nil {
		return nil, err
	}
	return ptxfile.Load(path, text, o)
}

// listPTX prints the kernels, one after another.
func (a *app) listPTX(f *ptxfile.File) error {
	if !a.json {
		fmt.Fprintln(a.out, f)
	}
	for _, k := range f.Kernels() {
		if a.json {
			if err := a.printJSON(k); err != nil {
				return err
			}
		} else if _, err := fmt.Fprintf(a.out, "  %v\n", &k); err != nil {
			return err
		}
	}
	return nil
}
