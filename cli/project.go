package cli

import (
	"cmp"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/arithlang/mlc/codegen"
	"github.com/arithlang/mlc/compiler"
	"github.com/arithlang/mlc/compiler/check"
)

// A project says where what is made from specs goes.
type project struct {
	root     string // of the Go module, or the current directory outside of one
	programs string // generated programs, one folder each
	binaries string
	apart    bool // the current directory is in no module that has mlc: trainers are built in the cache
}

// findProject lays the project out below the root of the module that the current
// directory is in. Folders that are given are used instead.
func findProject(programs, binaries string) (project, error) {
	here, err := os.Getwd()
	if err != nil {
		return project{}, err
	}
	root := moduleRoot(here)
	p := project{root: cmp.Or(root, here), apart: !hasRuntime(root)}
	for _, d := range []struct {
		to           *string
		given, usual string
	}{{&p.programs, programs, "generated"}, {&p.binaries, binaries, "bin"}} {
		*d.to = filepath.Join(p.root, d.usual)
		if d.given != "" {
			if *d.to, err = filepath.Abs(d.given); err != nil {
				return project{}, err
			}
		}
	}
	return p, nil
}

// moduleRoot is the nearest folder at or above dir with a go.mod, "" if none is.
func moduleRoot(dir string) string {
	for {
		if info, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil && info.Mode().IsRegular() {
			return dir
		}
		up := filepath.Dir(dir)
		if up == dir {
			return ""
		}
		dir = up
	}
}

// A product is the program of one training. It is named after the spec and the
// point of its sweep; with attributes set on the command line it is another
// program, and has the spec's hash in its name.
type product struct {
	of      training
	program *compiler.Program
	name    string
	dir     string         // of the program
	binary  string         // path
	files   []codegen.File // what belongs in dir

	calledBy string // what its messages call it; "": by its path
}

// product compiles a training, in memory.
func (p project) product(a *app, t training) (*product, error) {
	prog, err := a.compile(t)
	if err != nil {
		return nil, err
	}
	if err := checkName(t.shown(t.name), prog.Spec.Name); err != nil {
		return nil, err
	}
	name := programOf(t, prog)
	dir := filepath.Join(p.programs, name)
	files, err := await(a, func() ([]codegen.File, error) {
		return codegen.Generate(prog, codegen.Options{Version: Version, Path: importPath(dir)})
	})
	if err != nil {
		return nil, err
	}
	return &product{of: t, program: prog, name: name, dir: dir, binary: filepath.Join(p.binaries, name+exeSuffix), files: files}, nil
}

// programOf is the name of a training's program.
func programOf(t training, prog *compiler.Program) string {
	if len(t.set) > 0 {
		return prog.Spec.Name + "-" + prog.Spec.Hash[:8]
	}
	return prog.Spec.Name
}

// importPath is the path by which Go imports packages from a folder. Outside of a
// module nothing can be built, and the path is one that reads well.
func importPath(dir string) string {
	root := moduleRoot(dir)
	if root != "" {
		text, err := os.ReadFile(filepath.Join(root, "go.mod"))
		rel, relErr := filepath.Rel(root, dir)
		if module := moduleLine.FindSubmatch(text); err == nil && relErr == nil && module != nil {
			return path.Join(strings.Trim(string(module[1]), "\"`"), filepath.ToSlash(rel))
		}
	}
	return path.Join("generated", filepath.Base(dir))
}

// moduleLine finds the path of the module in a go.mod.
var moduleLine = regexp.MustCompile(`(?m)^module[ \t]+([^ \t\r\n]+)`)

// programName is what the name of a program may be: it is a folder with a Go package.
var programName = regexp.MustCompile(`^[A-Za-z]([A-Za-z0-9_.-]*[A-Za-z0-9_-])?$`)

// checkName makes sure that the name of a spec can be that of its program. What is the
// name as it was given, or its file.
func checkName(what, name string) error {
	if !programName.MatchString(name) {
		return usagef("%s: the name of a spec becomes the name of its program: use letters, digits, -, _ and dots between them, and begin with a letter", what)
	}
	if check.IsDevice(name) {
		return usagef("%s: the name of a spec becomes the name of its program, and Windows has a device %s: choose another", what, name)
	}
	return nil
}
