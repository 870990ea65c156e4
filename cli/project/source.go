package project

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"unicode"

	"github.com/arithlang/mlc/cli/paths"
	"github.com/arithlang/mlc/cli/shell"
	"github.com/arithlang/mlc/compiler"
	"github.com/arithlang/mlc/compiler/check"
	"github.com/arithlang/mlc/dsl/diag"
	"github.com/arithlang/mlc/runtime/damage"
)

// A Source is the file of a spec. Name, which generated code repeats, is its path from Base
// with forward slashes. So it does not depend on the current directory.
type Source struct {
	Base, Name string
	run        string // the run directory that the spec is from, which may be another user's; "": none
}

// FindSource names a spec below the project's root relative to it. It names any other spec
// as the user did.
func FindSource(file, root string) (Source, error) {
	here, err := os.Getwd()
	if err != nil {
		return Source{}, err
	}
	if abs, err := filepath.Abs(file); err == nil {
		if rel, err := filepath.Rel(root, abs); err == nil && filepath.IsLocal(rel) {
			return Source{Base: root, Name: filepath.ToSlash(rel)}.named()
		}
	}
	return Source{Base: here, Name: filepath.ToSlash(filepath.Clean(file))}.named()
}

// named returns an error if the name cannot be in a comment of the program.
func (s Source) named() (Source, error) {
	if strings.ContainsFunc(s.Name, unicode.IsControl) {
		return s, shell.Usagef("%q has a control character in it, and generated files contain the path of their spec: rename it", s.Name)
	}
	return s, nil
}

// Path returns the path of a file whose name is relative like the source's.
func (s Source) Path(name string) string {
	if name = filepath.FromSlash(name); filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(s.Base, name)
}

// Asks returns the checker's options for the source.
func (s Source) Asks(set []string) check.Options {
	return check.Options{Path: s.Name, Read: s.Read, Set: set, Include: s.include}
}

// Read reads a file, up to one byte more than a spec may have. It refuses devices and named
// pipes.
func (s Source) Read(name string) ([]byte, error) {
	f, err := damage.At(s.Path(name)).Open()
	if damage.Is(err) {
		return nil, fmt.Errorf("%s is a device or a named pipe: a spec and the files that it names must be regular files", name)
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, check.MaxFile+1))
}

// include returns an error for a file that must not be included: the spec of a run includes
// only files in the run's folder.
func (s Source) include(name string) error {
	if s.run == "" || isBelow(s.run, s.Path(name)) {
		return nil
	}
	return errors.New("the spec of a run may only include files in the run's folder")
}

// quote reads a file whose lines may be printed. shown is its printed path. The file must
// be below the folder of the spec or of the project: a spec can name any file, and a
// finding would reveal its text.
func (s Source) quote(shown string) ([]byte, error) {
	of := Source{Name: s.Name}
	path := of.Path(shown)
	if (s.run != "" || !isBelow(s.Base, path)) && !isBelow(filepath.Dir(s.Path(s.Name)), path) {
		return nil, fmt.Errorf("%s is outside of the project", shown)
	}
	return of.Read(shown)
}

// Compile compiles a training and prints the findings. If some are errors, it returns
// shell.ErrShown.
func Compile(sh *shell.Shell, t Training) (*compiler.Program, error) {
	type compiled struct {
		program *compiler.Program
		found   diag.List
		bug     error
	}
	made, err := shell.Await(sh, func() (c compiled, _ error) {
		c.program, c.found, c.bug = compiler.Compile(t.Options())
		return c, nil
	})
	if err != nil {
		return nil, err
	}
	found := made.found
	news := found
	if t.printed != nil { // all but the limits of a sweep were printed before
		news = t.news(found)
	}
	if err := PrintFindings(sh, t.Source, news); err != nil {
		return nil, err
	}
	if made.bug != nil {
		return nil, fmt.Errorf("%s: this is a bug in mlc, please report it with the spec: %w", t.Name, made.bug)
	}
	if found.HasErrors() {
		return nil, shell.ErrShown
	}
	return made.program, nil
}

// PrintFindings prints findings with paths relative to the current directory.
func PrintFindings(sh *shell.Shell, s Source, list diag.List) error {
	return PrintFindingsIn(sh, s, list, s.quote)
}

// PrintFindingsIn is PrintFindings with a function that reads files by their printed paths.
func PrintFindingsIn(sh *shell.Shell, s Source, list diag.List, read func(path string) ([]byte, error)) error {
	for _, d := range list {
		d.Range.Start.File = s.Shown(d.Range.Start.File)
		for i := range d.Notes {
			d.Notes[i].Pos.File = s.Shown(d.Notes[i].Pos.File)
		}
	}
	if sh.JSON {
		return list.JSON(sh.Out)
	}
	text, err := shell.Await(sh, func() ([]byte, error) { // Text reads the files
		var b bytes.Buffer
		err := list.Text(&b, read, sh.Color)
		return b.Bytes(), err
	})
	if err != nil {
		return err
	}
	_, err = sh.Err.Write(text)
	return err
}

// Shown returns the path of a file relative to the current directory. It does not change
// options of the command line.
func (s Source) Shown(name string) string {
	if name == "" || strings.HasPrefix(name, "--") {
		return name
	}
	return filepath.ToSlash(paths.FromHere(s.Path(name)))
}

// isBelow reports whether a file is below a folder after following all links.
func isBelow(folder, file string) bool {
	folder, err := filepath.EvalSymlinks(folder)
	if err != nil {
		return false
	}
	if file, err = filepath.EvalSymlinks(file); err != nil {
		return false
	}
	if folder, err = filepath.Abs(folder); err != nil {
		return false
	}
	if file, err = filepath.Abs(file); err != nil {
		return false
	}
	rel, err := filepath.Rel(folder, file)
	return err == nil && filepath.IsLocal(rel)
}
