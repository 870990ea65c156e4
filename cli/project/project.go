// Package project finds the input of a command line: the module for programs, a spec, its
// trainings, and the spec of a run. It prints the compiler's findings in them.
package project

import (
	"cmp"
	"os"
	"path/filepath"
	"regexp"
	"slices"

	"golang.org/x/mod/modfile"

	"github.com/arithlang/mlc/cli/shell"
	"github.com/arithlang/mlc/compiler/check"
)

// Folders are the places for programs and binaries.
type Folders struct {
	Root     string // of the Go module; outside of a module the current directory
	Programs string // generated programs, one folder each
	Binaries string
	Apart    bool // the current directory is in no module that has mlc, so trainers are built in the cache
}

// Find returns the folders below the root of the current directory's module. The arguments
// override them unless they are "".
func Find(programs, binaries string) (Folders, error) {
	here, err := os.Getwd()
	if err != nil {
		return Folders{}, err
	}
	root := ModuleRoot(here)
	p := Folders{Root: cmp.Or(root, here), Apart: !HasRuntime(root)}
	for _, d := range []struct {
		to           *string
		given, usual string
	}{{&p.Programs, programs, "generated"}, {&p.Binaries, binaries, "bin"}} {
		*d.to = filepath.Join(p.Root, d.usual)
		if d.given != "" {
			if *d.to, err = filepath.Abs(d.given); err != nil {
				return Folders{}, err
			}
		}
	}
	return p, nil
}

// ModuleRoot returns the nearest folder at or above dir with a go.mod, or "".
func ModuleRoot(dir string) string {
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

// programName matches the names of programs, which are folders with a Go package.
var programName = regexp.MustCompile(`^[A-Za-z]([A-Za-z0-9_.-]*[A-Za-z0-9_-])?$`)

// CheckName returns a shell.UsageError if the name of a spec cannot be the name of its
// program. what is the name as the user wrote it, or the spec's file.
func CheckName(what, name string) error {
	if !programName.MatchString(name) {
		return shell.Usagef("%s: the name of a spec becomes the name of its program: use letters, digits, -, _ and dots between them, and begin with a letter", what)
	}
	if check.IsDevice(name) {
		return shell.Usagef("%s: the name of a spec becomes the name of its program, and Windows has a device %s: choose another", what, name)
	}
	return nil
}

// HasRuntime reports whether the module at root provides mlc. root may be "" for no module.
func HasRuntime(root string) bool {
	if root == "" {
		return false
	}
	text, err := os.ReadFile(filepath.Join(root, "go.mod"))
	return err == nil && Requires(text, ThisModule)
}

// ThisModule is the module with the runtime that trainers import.
const ThisModule = "github.com/arithlang/mlc"

// Requires reports whether a go.mod declares or requires the module path.
func Requires(text []byte, path string) bool {
	f, err := modfile.ParseLax("go.mod", text, nil)
	if err != nil || f.Module == nil {
		return false
	}
	return f.Module.Mod.Path == path || slices.ContainsFunc(f.Require, func(r *modfile.Require) bool { return r.Mod.Path == path })
}

// FilesOf lists the files that specs are read from, including unreadable ones, as absolute
// paths.
func (p Folders) FilesOf(specs, set []string) ([]string, error) {
	var files []string
	for _, f := range specs {
		s, err := FindSource(f, p.Root)
		if err != nil {
			return nil, err
		}
		check.Resolve(check.Options{Path: s.Name, Set: set, Read: func(name string) ([]byte, error) {
			files = append(files, s.Path(name))
			return s.Read(name)
		}})
	}
	slices.Sort(files)
	return slices.Compact(files), nil
}
