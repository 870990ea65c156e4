package cli

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
)

// initCmd is the verb init.
type initCmd struct {
	Name     string `arg:"" name:"NAME" help:"What the spec is called: it becomes NAME.arith in the current folder."`
	From     string `help:"Begin with ${enum}." enum:"${starters}" default:"successor" placeholder:"STARTER"`
	Checkout string `help:"Folder of mlc's source that trainers are built with, for an mlc that cannot tell where its own is." placeholder:"DIR"`
}

// Help is printed below the usage.
func (initCmd) Help() string {
	var b strings.Builder
	b.WriteString("Starters:\n")
	for _, s := range starters {
		fmt.Fprintf(&b, "  %-10s %s\n", s.name, s.doc)
	}
	b.WriteString(`
In a folder that is in no Go module, a go.mod is written as well, so that the
trainer can be built. Nothing is overwritten.

Examples:
  mlc init mine
  mlc init mine --from window`)
	return b.String()
}

// starters are the specs that one can begin with, as they are in folder starter.
var starters = []struct{ name, doc string }{
	{"successor", "n + 1 with windows of attention: the quick start"},
	{"window", "addition with windows of attention and cyclic positions"},
	{"fire", "a bias of attention of one's own, written out: FIRE"},
	{"looped", "addition with a looped decoder and Abacus positions"},
	{"abc", "train, calibrate a bias on what was learnt, train again"},
}

//go:embed starter/*.arith
var starterFiles embed.FS

// starterNames is the enumeration of --from.
func starterNames() string {
	names := make([]string, len(starters))
	for i, s := range starters {
		names[i] = s.name
	}
	return strings.Join(names, ",")
}

// Run writes the spec, then the module if there is none.
func (c *initCmd) Run(a *app) error {
	given := strconv.Quote(c.Name)
	c.Name = strings.TrimSuffix(c.Name, ".arith")
	if err := checkName(given, c.Name); err != nil {
		return err
	}
	file := c.Name + ".arith"
	text, err := starterFiles.ReadFile("starter/" + c.From + ".arith")
	if err != nil {
		return fmt.Errorf("BUG: %w", err)
	}
	here, err := os.Getwd()
	if err != nil {
		return err
	}
	m, err := c.module(here)
	if err != nil {
		return err
	}
	if err := createFile(file, text); err != nil {
		return err
	}
	a.say("%s", file)
	if err := m.write(a); err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.out, "next: mlc train %s\n", file)
	return err
}

// createFile writes a file that must not be there.
func createFile(name string, data []byte) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s is there already, and init overwrites nothing: choose another name", name)
	}
	if err != nil {
		return fmt.Errorf("cannot write %s: %w: go to a folder that you may write to", name, err)
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Close())
}
