package build

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/arithlang/mlc/cli/paths"
	"github.com/arithlang/mlc/cli/project"
	"github.com/arithlang/mlc/cli/shell"
	"github.com/arithlang/mlc/codegen"
	"github.com/arithlang/mlc/codegen/torch"
	"github.com/arithlang/mlc/compiler"
	"github.com/arithlang/mlc/export"
	"github.com/arithlang/mlc/runtime/flag"
)

// Attention writes the kernels of a spec of attention alone as a Python package.
type Attention struct {
	File  string   `arg:"" name:"FILE" help:"A spec with a block attention."`
	Out   string   `help:"Folder of the package. Its name is the package's name in Python." short:"o" required:"" placeholder:"DIR"`
	Set   []string `help:"Set an attribute: --set attention.heads=16." sep:"none" placeholder:"PATH=VALUE"`
	Force bool     `help:"Overwrite the files of an existing package."`
}

// identifier matches the names of Python packages.
var identifier = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// taken are names that Python has for itself, and the modules that a package imports.
const taken = `False None True and as assert async await break class continue def del elif else except finally for from global
	if import in is lambda nonlocal not or pass raise return try while with yield
	ctypes hashlib inspect json math os struct sys threading torch typing`

// Write compiles the spec and writes the package. It prints findings, and returns shell.ErrShown
// if they are errors.
func (c *Attention) Write(sh *shell.Shell) error {
	out := filepath.Clean(c.Out)
	switch name := filepath.Base(out); {
	case !identifier.MatchString(name):
		return shell.Usagef("--out %s: Python cannot import a package named %q: use letters, digits and _", c.Out, name)
	case slices.Contains(strings.Fields(taken), name):
		return shell.Usagef("--out %s: the name %s means something else in Python: use another one", c.Out, name)
	}
	where, err := project.Find("", "")
	if err != nil {
		return err
	}
	source, err := project.FindSource(c.File, where.Root)
	if err != nil {
		return err
	}
	if !c.Force {
		if err := paths.Vacant(out); err != nil {
			return err
		}
	}
	files, err := shell.Await(sh, func() ([]codegen.File, error) { return c.files(sh, source) })
	if err != nil {
		return err
	}
	var all []paths.File
	for _, f := range files {
		all = append(all, paths.File(f))
	}
	if err := paths.WriteFiles(out, all, true); err != nil {
		return err
	}
	sh.Say("wrote %s: %d files; in Python: from %s import attention", out, len(files), filepath.Base(out))
	return nil
}

func (c *Attention) files(sh *shell.Shell, source project.Source) ([]codegen.File, error) {
	a, found, err := compiler.CompileAttention(source.Asks(c.Set))
	if err != nil {
		return nil, fmt.Errorf("%s: this is a bug in mlc, please report it with the spec: %w", c.File, err)
	}
	if err := project.PrintFindings(sh, source, found); err != nil {
		return nil, err
	}
	if found.HasErrors() {
		return nil, shell.ErrShown
	}
	reference, err := export.Attention(a.Spec)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", c.File, err)
	}
	words := []string{"mlc", "attention", source.Name, "-o", filepath.Base(c.Out)}
	for _, set := range c.Set {
		words = append(words, "--set", set)
	}
	return torch.Package(a, flag.Line(words), reference)
}
