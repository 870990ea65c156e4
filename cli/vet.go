package cli

import (
	"fmt"
	"path/filepath"
	"slices"

	"github.com/arithlang/mlc/cli/project"
	"github.com/arithlang/mlc/cli/shell"
	"github.com/arithlang/mlc/compiler"
	"github.com/arithlang/mlc/dsl/diag"
)

// vetCmd is the verb vet.
type vetCmd struct {
	Files   []string `arg:"" name:"FILE" help:"Specs."`
	Set     []string `help:"Set an attribute: --set model.width=32." sep:"none" placeholder:"PATH=VALUE"`
	Disable []string `help:"Disable these warnings, by name or code: --disable no_key,V004." placeholder:"WARNING"`
	Strict  bool     `help:"Exit with 1 on warnings, too."`
}

// Help is printed below the usage.
func (vetCmd) Help() string {
	return `Prints nothing about a spec without findings. Only mlc build reports features that the
compiler does not support yet. mlc explain CODE shows the page of a code, and
mlc explain NAME of a warning.

Examples:
  mlc vet specs/*.arith
  mlc vet --strict --disable never_trained x.arith`
}

// Run checks all specs, without compiling them.
func (c *vetCmd) Run(sh *shell.Shell) error {
	disabled, err := warnings(c.Disable)
	if err != nil {
		return err
	}
	where, err := project.Find("", "")
	if err != nil {
		return err
	}
	for _, file := range c.Files {
		if err := project.CheckName(file, project.NameOf(filepath.ToSlash(file))); err != nil {
			return err
		}
	}
	failed := false
	for _, file := range c.Files {
		s, err := project.FindSource(file, where.Root)
		if err != nil {
			return err
		}
		found, err := shell.Await(sh, func() (diag.List, error) {
			found, err := compiler.Vet(s.Asks(c.Set))
			if err != nil {
				err = fmt.Errorf("%s: this is a bug in mlc, please report it with the spec: %w", file, err)
			}
			return found, err
		})
		if err != nil {
			return err
		}
		found = slices.DeleteFunc(found, func(d *diag.Diagnostic) bool { return slices.Contains(disabled, d.Code) })
		if err := project.PrintFindings(sh, s, found); err != nil {
			return err
		}
		failed = failed || found.HasErrors() || c.Strict && len(found) > 0
	}
	if failed {
		return shell.ErrShown
	}
	return nil
}

// warnings returns the codes of warnings that are given by name or code, or an error.
func warnings(given []string) ([]string, error) {
	var names []string
	for _, c := range diag.Codes() {
		if c.Name != "" {
			names = append(names, c.Name, c.ID)
		}
	}
	var out []string
	for _, text := range given {
		c, ok := diag.Named(text)
		if !ok || c.Name == "" {
			return nil, shell.Usagef("--disable: there is no warning %q: %s", text, diag.DidYouMean(text, names, "warnings are"))
		}
		out = append(out, c.ID)
	}
	return out, nil
}
