package cli

import (
	"bytes"
	"fmt"
	"io"
	"path/filepath"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/arithlang/mlc/cli/paths"
	"github.com/arithlang/mlc/cli/project"
	"github.com/arithlang/mlc/cli/shell"
	"github.com/arithlang/mlc/dsl"
)

// fmtCmd is the verb fmt.
type fmtCmd struct {
	Files []string `arg:"" optional:"" name:"FILE" help:"Specs, or - for standard input to standard output. Default: all in the current folder."`
	List  bool     `help:"List unformatted files, and change nothing." short:"l"`
	Diff  bool     `help:"Show changes, and make none." short:"d"`
	Check bool     `help:"Like -l, and exit with 1 if any are listed."`
}

// Help is printed below the usage.
func (fmtCmd) Help() string {
	return `Formats specs in the standard style and lists the changed ones. Comments and meaning
stay. A spec of version 1 of the language becomes version 2.

Examples:
  mlc fmt                       every spec in this folder
  mlc fmt --check specs/*.arith
  mlc fmt - < x.arith`
}

// stdinName names standard input in messages.
const stdinName = "<standard input>"

// Run formats each file. Files that do not parse do not stop the others.
func (c *fmtCmd) Run(sh *shell.Shell) error {
	files := c.Files
	if len(files) == 0 {
		files, _ = filepath.Glob("*.arith") // the pattern is valid
		if len(files) == 0 {
			return shell.Usagef("there are no specs in this folder: name some, or - for standard input")
		}
	}
	failed := false
	for _, file := range files {
		f, err := formatFile(sh, file)
		if err != nil {
			return err
		}
		if f == nil {
			failed = true
			continue
		}
		if err := c.put(sh, f); err != nil {
			return err
		}
		failed = failed || c.Check && f.Changed
	}
	if failed {
		return shell.ErrShown
	}
	return nil
}

// A formatted is a spec and its formatted text.
type formatted struct {
	File      string `json:"file"` // relative to the current directory
	Changed   bool   `json:"changed"`
	path      string // "" is standard input
	have, now []byte
}

// formatFile reads and formats a spec. If there are findings, it prints them and returns
// nil.
func formatFile(sh *shell.Shell, file string) (*formatted, error) {
	f := &formatted{File: stdinName}
	s := project.Source{Name: stdinName}
	var err error
	if file == "-" {
		f.have, err = shell.Await(sh, func() ([]byte, error) { return io.ReadAll(io.LimitReader(sh.In, dsl.MaxBytes+1)) })
	} else if s, err = project.FindSource(file, ""); err == nil {
		f.path, f.File = s.Path(s.Name), s.Shown(s.Name)
		f.have, err = shell.Await(sh, func() ([]byte, error) { return s.Read(s.Name) })
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read %s: %w", f.File, err)
	}
	now, found := dsl.FormatFile(s.Name, f.have)
	if len(found) > 0 {
		return nil, project.PrintFindingsIn(sh, s, found, func(string) ([]byte, error) { return f.have, nil })
	}
	f.now, f.Changed = now, !bytes.Equal(f.have, now)
	return f, nil
}

// put prints or writes a formatted spec.
func (c *fmtCmd) put(sh *shell.Shell, f *formatted) error {
	onlyShow := c.List || c.Diff || c.Check
	if f.Changed && !onlyShow && f.path != "" {
		if err := paths.Replace(f.path, f.now); err != nil {
			return fmt.Errorf("cannot write %s: %w", f.File, err)
		}
	}
	var err error
	switch {
	case sh.JSON:
		err = sh.PrintJSON(f)
	case f.path == "" && !onlyShow:
		_, err = sh.Out.Write(f.now)
	case !f.Changed:
	case c.Diff:
		_, err = sh.Out.Write(diff.Diff(f.File+".orig", f.have, f.File, f.now))
	case onlyShow || !sh.Quiet:
		_, err = fmt.Fprintln(sh.Out, f.File)
	}
	return err
}
