package build

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"

	"github.com/arithlang/mlc/cli/project"
	"github.com/arithlang/mlc/cli/shell"
)

// An origin is a source of mlc for the go command: a checkout, or a version to download.
type origin struct{ checkout, version string }

// findOrigin returns the origin of this mlc. An mlc that the go command downloaded has a
// module with a checksum. Any other was built in a checkout, where sourceFile is. A given
// folder has precedence.
func findOrigin(given string, main debug.Module, sourceFile string) (origin, error) {
	if given == "" && main.Sum != "" {
		return origin{version: main.Version}, nil
	}
	dir := given
	if dir == "" {
		dir = filepath.Dir(filepath.Dir(filepath.Dir(sourceFile))) // from cli/build/FILE
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return origin{}, err
	}
	text, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if err == nil && modfile.ModulePath(text) == project.ThisModule {
		return origin{checkout: dir}, nil
	}
	if given != "" {
		return origin{}, shell.Usagef("--checkout: %s is no checkout of %s", given, project.ThisModule)
	}
	return origin{}, errNoOrigin
}

// errNoOrigin is the error for an mlc whose source cannot be found.
var errNoOrigin = errors.New("this mlc was built from a checkout and cannot find it: name it with --checkout DIR")

// A newModule describes the Go module that init needs in a folder.
type newModule struct {
	dir   string
	path  string // path of the new module; "" if there is a module
	needs bool   // the existing module does not require mlc
	from  origin
	none  bool // no module is made, as no source of mlc was found
}

// write makes the module, or prints the commands that the existing one needs.
func (m *newModule) write(sh *shell.Shell) error {
	switch {
	case m.none:
		sh.Say("no go.mod: this mlc cannot find its source; name it with --checkout DIR, or train without a module")
	case m.path != "" && m.from.checkout != "":
		return m.besideCheckout(sh)
	case m.path != "":
		return m.fromRelease(sh)
	case m.needs && m.from.checkout != "":
		sh.Say("first: go mod edit -require=%[1]s@v0.0.0 -replace=%[1]s=%[2]s && go get %[1]s/runtime", project.ThisModule, m.from.checkout)
	case m.needs:
		sh.Say("first: go get %s/runtime@%s", project.ThisModule, m.from.version)
	}
	return nil
}

// besideCheckout writes a go.mod that refers to a checkout and copies its requirements with
// checksums, so nothing has to be downloaded.
func (m *newModule) besideCheckout(sh *shell.Shell) error {
	text, err := os.ReadFile(filepath.Join(m.from.checkout, "go.mod"))
	if err != nil {
		return err
	}
	theirs, err := modfile.Parse("go.mod", text, nil)
	if err != nil {
		return err
	}
	ours, err := m.goMod(theirs)
	if err != nil {
		return err
	}
	sums, err := os.ReadFile(filepath.Join(m.from.checkout, "go.sum"))
	if err != nil {
		return err
	}
	for _, f := range []struct {
		name string
		data []byte
	}{{"go.mod", ours}, {"go.sum", sums}} {
		if err := createFile(filepath.Join(m.dir, f.name), f.data); err != nil {
			return err
		}
		sh.Say("%s", f.name)
	}
	return nil
}

// goMod returns the go.mod for a module that uses a checkout with the go.mod theirs.
func (m *newModule) goMod(theirs *modfile.File) ([]byte, error) {
	f := &modfile.File{Syntax: &modfile.FileSyntax{}}
	errs := []error{
		f.AddModuleStmt(m.path),
		f.AddGoStmt(theirs.Go.Version),
		f.AddReplace(project.ThisModule, "", m.from.checkout, ""),
	}
	f.AddNewRequire(project.ThisModule, "v0.0.0", false)
	for _, r := range theirs.Require {
		f.AddNewRequire(r.Mod.Path, r.Mod.Version, true)
	}
	f.SetRequireSeparateIndirect(f.Require)
	f.Cleanup()
	text, err := f.Format()
	return text, errors.Join(append(errs, err)...)
}

// fromRelease writes a go.mod and lets the go command add the released mlc.
func (m *newModule) fromRelease(sh *shell.Shell) error {
	tool, err := findGo()
	if err != nil {
		return err
	}
	if err := createFile(filepath.Join(m.dir, "go.mod"), []byte("module "+m.path+"\n")); err != nil {
		return err
	}
	sh.Say("go.mod")
	cmd := sh.Command(tool.Path, "get", project.ThisModule+"/runtime@"+m.from.version)
	cmd.Dir, cmd.Env = m.dir, tool.environ()
	if sh.Verbose {
		sh.Say("%s", strings.Join(cmd.Args, " "))
	}
	text, err := cmd.CombinedOutput()
	if err = sh.Ended(err); err != nil && sh.Context.Err() == nil {
		return fmt.Errorf("%s failed: %w\n%s", strings.Join(cmd.Args, " "), err, text)
	}
	return err
}

// moduleFor finds the module of a folder, or describes a new one with a name.
func moduleFor(dir, name, checkout string) (*newModule, error) {
	m := &newModule{dir: dir}
	if root := project.ModuleRoot(dir); root != "" {
		text, err := os.ReadFile(filepath.Join(root, "go.mod"))
		if err != nil {
			return nil, err
		}
		m.needs = !project.Requires(text, project.ThisModule)
	} else {
		m.path = "example.com/" + name
		if err := module.CheckPath(m.path); err != nil {
			return nil, shell.Usagef("%q cannot be part of the path of a Go module, choose another name: %w", name, err)
		}
	}
	if m.path == "" && !m.needs {
		return m, nil
	}
	info, _ := debug.ReadBuildInfo()
	var main debug.Module
	if info != nil {
		main = info.Main
	}
	_, file, _, _ := runtime.Caller(0)
	var err error
	m.from, err = findOrigin(checkout, main, file)
	if errors.Is(err, errNoOrigin) && m.path != "" { // trainers can be built without a module
		return &newModule{dir: dir, none: true}, nil
	}
	return m, err
}
