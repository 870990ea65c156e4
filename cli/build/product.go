package build

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/arithlang/mlc/cli/project"
	"github.com/arithlang/mlc/cli/shell"
	"github.com/arithlang/mlc/codegen"
	"github.com/arithlang/mlc/compiler"
)

// A Product is the program of one training. Its name is the spec's, with the point of the
// sweep. Attributes set on the command line make another program, whose name contains the
// spec's hash.
type Product struct {
	of      project.Training
	Program *compiler.Program
	Name    string
	dir     string         // folder of the program
	Binary  string         // path
	files   []codegen.File // files of the program, in dir

	calledBy string // its name in messages; "": its path
}

// Product compiles a training, in memory. It prints findings, and returns shell.ErrShown if
// they are errors.
func (b *Builder) Product(where project.Folders, t project.Training) (*Product, error) {
	prog, err := project.Compile(b.Shell, t)
	if err != nil {
		return nil, err
	}
	if err := project.CheckName(t.Shown(t.Name), prog.Spec.Name); err != nil {
		return nil, err
	}
	name := programOf(t, prog)
	dir := filepath.Join(where.Programs, name)
	files, err := shell.Await(b.Shell, func() ([]codegen.File, error) {
		return b.Generate(prog, codegen.Options{Version: shell.Version, Path: importPath(dir)})
	})
	if err != nil {
		return nil, err
	}
	return &Product{of: t, Program: prog, Name: name, dir: dir, Binary: filepath.Join(where.Binaries, name+shell.ExeSuffix), files: files}, nil
}

// programOf returns the name of a training's program.
func programOf(t project.Training, prog *compiler.Program) string {
	if len(t.Set) > 0 {
		return prog.Spec.Name + "-" + prog.Spec.Hash[:8]
	}
	return prog.Spec.Name
}

// importPath returns the import path of the packages in a folder. Outside of a module
// nothing can be built, and the path is only readable.
func importPath(dir string) string {
	root := project.ModuleRoot(dir)
	if root != "" {
		text, err := os.ReadFile(filepath.Join(root, "go.mod"))
		rel, relErr := filepath.Rel(root, dir)
		if module := moduleLine.FindSubmatch(text); err == nil && relErr == nil && module != nil {
			return path.Join(strings.Trim(string(module[1]), "\"`"), filepath.ToSlash(rel))
		}
	}
	return path.Join("generated", filepath.Base(dir))
}

// moduleLine matches the path of the module in a go.mod.
var moduleLine = regexp.MustCompile(`(?m)^module[ \t]+([^ \t\r\n]+)`)
