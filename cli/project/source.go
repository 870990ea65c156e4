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

// A Source is a spec's file. Its name, which generated code repeats, is the path
// from base with forward slashes, so that it does not depend on the directory
// that mlc runs in.
type Source struct {
	Base, Name string
	run        string // directory of the run whose spec it is, which may be somebody else's; "": of none
}

// FindSource names a spec below the root of the project, and any other as it was
// given.
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

// named is an error where the name could not stand in a comment of the program.
func (s Source) named() (Source, error) {
	if strings.ContainsFunc(s.Name, unicode.IsControl) {
		return s, shell.Usagef("%q has a control character in it, and what is made of a spec says its path: rename it", s.Name)
	}
	return s, nil
}

// Path is where the file with a name like the source's is.
func (s Source) Path(name string) string {
	if name = filepath.FromSlash(name); filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(s.Base, name)
}

// Asks is what the checker is asked about the source.
func (s Source) Asks(set []string) check.Options {
	return check.Options{Path: s.Name, Read: s.Read, Set: set, Include: s.include}
}

// Read gives the text of a file: of one that is too long, enough to see that.
func (s Source) Read(name string) ([]byte, error) {
	f, err := damage.At(s.Path(name)).Open()
	if damage.Is(err) {
		return nil, fmt.Errorf("%s is a device or a named pipe: a spec and what it names are files", name)
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, check.MaxFile+1))
}

// include says why a file may not be included: the spec of a run has all that it needs in
// the folder of the run.
func (s Source) include(name string) error {
	if s.run == "" || isBelow(s.run, s.Path(name)) {
		return nil
	}
	return errors.New("the spec of a run includes nothing outside of the run's folder")
}

// quote gives the text of a file whose lines may be shown, by the path that is printed: of
// one below the folder of the spec or of the project. A spec can name any file that its
// reader can read, and a finding would show what is in that.
func (s Source) quote(shown string) ([]byte, error) {
	of := Source{Name: s.Name}
	path := of.Path(shown)
	if (s.run != "" || !isBelow(s.Base, path)) && !isBelow(filepath.Dir(s.Path(s.Name)), path) {
		return nil, fmt.Errorf("%s is outside of the project", shown)
	}
	return of.Read(shown)
}

// Compile takes a training through the compiler and prints what it finds. After
// findings that are errors it returns shell.ErrShown.
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
	if t.printed != nil { // what is in a sweep but for limits has been printed
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

// PrintFindings prints diagnostics with paths as seen from the current directory.
func PrintFindings(sh *shell.Shell, s Source, list diag.List) error {
	return PrintFindingsIn(sh, s, list, s.quote)
}

// PrintFindingsIn is PrintFindings for files that read gives the text of, by the paths that
// are printed.
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
	text, err := shell.Await(sh, func() ([]byte, error) { // it reads the files
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

// Shown is the path of a file as seen from the current directory. Options of the
// command line, which are no files, stay as they are.
func (s Source) Shown(name string) string {
	if name == "" || strings.HasPrefix(name, "--") {
		return name
	}
	return filepath.ToSlash(paths.FromHere(s.Path(name)))
}

// isBelow reports whether a file is below a folder, once all links are followed.
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
