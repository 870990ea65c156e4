package cli

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/arithlang/mlc/dsl"
	"github.com/arithlang/mlc/runtime/disk"
)

// fmtCmd is the verb fmt.
type fmtCmd struct {
	Files []string `arg:"" optional:"" name:"FILE" help:"Specs, or - for standard input to standard output. Default: all in the current folder."`
	List  bool     `help:"List files in another style, and change nothing." short:"l"`
	Diff  bool     `help:"Show changes, and make none." short:"d"`
	Check bool     `help:"Like -l, and exit with 1 if any are listed."`
}

// Help is printed below the usage.
func (fmtCmd) Help() string {
	return `Formats specs in the one style and lists those that changed. Comments and meaning
stay.

Examples:
  mlc fmt                       every spec in this folder
  mlc fmt --check specs/*.arith
  mlc fmt - < x.arith`
}

// stdinName is what standard input is called in messages.
const stdinName = "<standard input>"

// Run formats each file; one that does not parse does not keep the others from it.
func (c *fmtCmd) Run(a *app) error {
	files := c.Files
	if len(files) == 0 {
		files, _ = filepath.Glob("*.arith") // the pattern is a good one
		if len(files) == 0 {
			return usagef("there are no specs in this folder: name some, or - for standard input")
		}
	}
	failed := false
	for _, file := range files {
		f, err := a.format(file)
		if err != nil {
			return err
		}
		if f == nil {
			failed = true
			continue
		}
		if err := c.put(a, f); err != nil {
			return err
		}
		failed = failed || c.Check && f.Changed
	}
	if failed {
		return errShown
	}
	return nil
}

// formatted is a spec and its text in the one style.
type formatted struct {
	File      string `json:"file"` // as seen from the current directory
	Changed   bool   `json:"changed"`
	path      string // "" is standard input
	have, now []byte
}

// format reads and formats a spec. It is nil if there are findings, which are
// printed.
func (a *app) format(file string) (*formatted, error) {
	f := &formatted{File: stdinName}
	s := source{name: stdinName}
	var err error
	if file == "-" {
		f.have, err = await(a, func() ([]byte, error) { return io.ReadAll(io.LimitReader(a.in, dsl.MaxBytes+1)) })
	} else if s, err = findSource(file, ""); err == nil {
		f.path, f.File = s.path(s.name), s.shown(s.name)
		f.have, err = await(a, func() ([]byte, error) { return s.read(s.name) })
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read %s: %w", f.File, err)
	}
	now, found := dsl.FormatFile(s.name, f.have)
	if len(found) > 0 {
		return nil, a.findingsIn(s, found, func(string) ([]byte, error) { return f.have, nil })
	}
	f.now, f.Changed = now, !bytes.Equal(f.have, now)
	return f, nil
}

// put prints or writes what has been formatted.
func (c *fmtCmd) put(a *app, f *formatted) error {
	onlyShow := c.List || c.Diff || c.Check
	if f.Changed && !onlyShow && f.path != "" {
		if err := replaceFile(f.path, f.now); err != nil {
			return fmt.Errorf("cannot write %s: %w", f.File, err)
		}
	}
	var err error
	switch {
	case a.json:
		err = a.printJSON(f)
	case f.path == "" && !onlyShow:
		_, err = a.out.Write(f.now)
	case !f.Changed:
	case c.Diff:
		_, err = a.out.Write(diff.Diff(f.File+".orig", f.have, f.File, f.now))
	case onlyShow || !a.quiet:
		_, err = fmt.Fprintln(a.out, f.File)
	}
	return err
}

// putFile makes a file of some contents, which is never there in part. What is no
// ordinary file, such as a pipe, is written to.
func (a *app) putFile(path string, data []byte) error {
	info, err := os.Stat(path)
	switch {
	case err == nil && info.Mode().IsRegular():
		return replaceFile(path, data)
	case err == nil:
		_, err := await(a, func() (struct{}, error) { return struct{}{}, os.WriteFile(path, data, 0o644) }) // a pipe waits for a reader
		return err
	}
	return putWhole(path, data, 0o644)
}

// replaceFile gives a file other contents. It is never there in part: the new
// file takes the place of the old one, behind links, when it is complete.
func replaceFile(path string, data []byte) error {
	path, err := filepath.EvalSymlinks(path)
	if err != nil {
		return err
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	return putWhole(path, data, info.Mode().Perm())
}

// putWhole puts a complete file at a path.
func putWhole(path string, data []byte, mode fs.FileMode) error {
	defer turn(filepath.Dir(path))()
	temp, err := writeTemp(filepath.Dir(path), data)
	if err == nil {
		err = os.Chmod(temp, mode)
	}
	if err == nil {
		err = disk.Rename(temp, path)
	}
	if err != nil && temp != "" {
		os.Remove(temp)
	}
	return err
}
