package cli

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/arithlang/mlc/compiler"
	"github.com/arithlang/mlc/compiler/check"
	"github.com/arithlang/mlc/dsl/diag"
)

// A source is a spec's file. Its name, which generated code repeats, is the path
// from base with forward slashes, so that it does not depend on the directory
// that mlc runs in.
type source struct{ base, name string }

// findSource names a spec below the root of the project, and any other as it was
// given.
func findSource(file, root string) (source, error) {
	here, err := os.Getwd()
	if err != nil {
		return source{}, err
	}
	if abs, err := filepath.Abs(file); err == nil {
		if rel, err := filepath.Rel(root, abs); err == nil && filepath.IsLocal(rel) {
			return source{root, filepath.ToSlash(rel)}, nil
		}
	}
	return source{here, filepath.ToSlash(filepath.Clean(file))}, nil
}

// path is where the file with a name like the source's is.
func (s source) path(name string) string {
	if name = filepath.FromSlash(name); filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(s.base, name)
}

// read gives the text of a file: of one that is too long, enough to see that.
func (s source) read(name string) ([]byte, error) {
	return readUpTo(s.path(name), check.MaxFile+1)
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
	return a.findingsIn(s, list, source{name: s.name}.read)
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
