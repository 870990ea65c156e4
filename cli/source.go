package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"unicode"

	"github.com/arithlang/mlc/compiler"
	"github.com/arithlang/mlc/compiler/check"
	"github.com/arithlang/mlc/dsl/diag"
	"github.com/arithlang/mlc/runtime/damage"
)

// A source is a spec's file. Its name, which generated code repeats, is the path
// from base with forward slashes, so that it does not depend on the directory
// that mlc runs in.
type source struct {
	base, name string
	run        string // directory of the run whose spec it is, which may be somebody else's; "": of none
}

// findSource names a spec below the root of the project, and any other as it was
// given.
func findSource(file, root string) (source, error) {
	here, err := os.Getwd()
	if err != nil {
		return source{}, err
	}
	if abs, err := filepath.Abs(file); err == nil {
		if rel, err := filepath.Rel(root, abs); err == nil && filepath.IsLocal(rel) {
			return source{base: root, name: filepath.ToSlash(rel)}.named()
		}
	}
	return source{base: here, name: filepath.ToSlash(filepath.Clean(file))}.named()
}

// named is an error where the name could not stand in a comment of the program.
func (s source) named() (source, error) {
	if strings.ContainsFunc(s.name, unicode.IsControl) {
		return s, usagef("%q has a control character in it, and what is made of a spec says its path: rename it", s.name)
	}
	return s, nil
}

// path is where the file with a name like the source's is.
func (s source) path(name string) string {
	if name = filepath.FromSlash(name); filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(s.base, name)
}

// asks is what the checker is asked about the source.
func (s source) asks(set []string) check.Options {
	return check.Options{Path: s.name, Read: s.read, Set: set, Include: s.include}
}

// read gives the text of a file: of one that is too long, enough to see that.
func (s source) read(name string) ([]byte, error) {
	f, err := damage.At(s.path(name)).Open()
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
func (s source) include(name string) error {
	if s.run == "" || isBelow(s.run, s.path(name)) {
		return nil
	}
	return errors.New("the spec of a run includes nothing outside of the run's folder")
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

// quote gives the text of a file whose lines may be shown, by the path that is printed: of
// one below the folder of the spec or of the project. A spec can name any file that its
// reader can read, and a finding would show what is in that.
func (s source) quote(shown string) ([]byte, error) {
	of := source{name: s.name}
	path := of.path(shown)
	if (s.run != "" || !isBelow(s.base, path)) && !isBelow(filepath.Dir(s.path(s.name)), path) {
		return nil, fmt.Errorf("%s is outside of the project", shown)
	}
	return of.read(shown)
}

// readUpTo reads a file, which may have no end, up to so many bytes.
func readUpTo(path string, most int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, most))
}

// compile takes a training through the compiler and prints what it finds. After
// findings that are errors it returns errShown.
func (a *app) compile(t training) (*compiler.Program, error) {
	type compiled struct {
		program *compiler.Program
		found   diag.List
		bug     error
	}
	made, err := await(a, func() (c compiled, _ error) {
		c.program, c.found, c.bug = compiler.Compile(t.options())
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
	if err := a.findings(t.source, news); err != nil {
		return nil, err
	}
	if made.bug != nil {
		return nil, fmt.Errorf("%s: this is a bug in mlc, please report it with the spec: %w", t.name, made.bug)
	}
	if found.HasErrors() {
		return nil, errShown
	}
	return made.program, nil
}

// findings prints diagnostics with paths as seen from the current directory.
func (a *app) findings(s source, list diag.List) error {
	return a.findingsIn(s, list, s.quote)
}

// findingsIn is findings for files that read gives the text of, by the paths that
// are printed.
func (a *app) findingsIn(s source, list diag.List, read func(path string) ([]byte, error)) error {
	for _, d := range list {
		d.Range.Start.File = s.shown(d.Range.Start.File)
		for i := range d.Notes {
			d.Notes[i].Pos.File = s.shown(d.Notes[i].Pos.File)
		}
	}
	if a.json {
		return list.JSON(a.out)
	}
	text, err := await(a, func() ([]byte, error) { // it reads the files
		var b bytes.Buffer
		err := list.Text(&b, read, a.color)
		return b.Bytes(), err
	})
	if err != nil {
		return err
	}
	_, err = a.err.Write(text)
	return err
}

// shown is the path of a file as seen from the current directory. Options of the
// command line, which are no files, stay as they are.
func (s source) shown(name string) string {
	if name == "" || strings.HasPrefix(name, "--") {
		return name
	}
	return filepath.ToSlash(fromHere(s.path(name)))
}

// fromHere is a path relative to the current directory, if it is in or near it.
func fromHere(path string) string {
	here, err := os.Getwd()
	if err != nil {
		return path
	}
	rel, err := filepath.Rel(here, path)
	if err != nil || len(rel) > len(path) {
		return path
	}
	return rel
}
