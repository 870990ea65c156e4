package command

import (
	"context"
	"fmt"

	"github.com/arithlang/mlc/ptxsim"
	"github.com/arithlang/mlc/ptxsim/ptxfile"
)

// Check is the command check.
type Check struct {
	Files []string `arg:"" name:"FILE.ptx" help:"PTX of any compiler."`
}

// Help is printed below the usage.
func (Check) Help() string { return CheckHelp("ptxsim") }

// CheckHelp returns the help of check; words are the program and commands before it.
func CheckHelp(words string) string {
	return `Checks everything possible before a kernel runs: syntax, and the operands, types,
version and target of each instruction. An instruction unknown to the simulator is
an error. ptxsim/README.md lists the known ones.

Example:
  ` + words + ` check kernels.ptx`
}

// Run checks the files and lists their kernels.
func (c *Check) Run(s *Shell) error {
	bad := false
	for _, path := range c.Files {
		f, err := await(s, func() (*ptxfile.File, error) { return load(path, ptxsim.Options{}) })
		if s.Context.Err() != nil {
			return context.Cause(s.Context)
		}
		if err != nil {
			bad = true
			if err := s.bad(err); err != nil {
				return err
			}
			continue
		}
		if err := s.list(f); err != nil {
			return err
		}
	}
	if bad {
		return ErrShown
	}
	return nil
}

// load reads a file and loads it on a new device.
func load(path string, o ptxsim.Options) (*ptxfile.File, error) {
	text, err := readUpTo(path, ptxfile.Most+1)
	if err != nil {
		return nil, err
	}
	return ptxfile.Load(path, text, o)
}

// list prints the kernels, one after another.
func (s *Shell) list(f *ptxfile.File) error {
	if !s.JSON {
		fmt.Fprintln(s.Out, f)
	}
	for _, k := range f.Kernels() {
		if s.JSON {
			if err := s.printJSON(k); err != nil {
				return err
			}
		} else if _, err := fmt.Fprintf(s.Out, "  %v\n", &k); err != nil {
			return err
		}
	}
	return nil
}
