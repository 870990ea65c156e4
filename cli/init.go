package cli

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
)

// initCmd is the verb init.
type initCmd struct {
	Name     string `arg:"" name:"NAME" help:"Name of the spec: NAME.arith in the current folder."`
	From     string `help:"Starter." enum:"${starters}" default:"successor"`
	Checkout string `help:"Folder of mlc's source for building trainers, if mlc cannot find it." placeholder:"DIR"`
}

// Help is printed below the usage.
func (initCmd) Help() string {
	var b strings.Builder
	b.WriteString("Starters:\n")
	for _, s := range starters {
		fmt.Fprintf(&b, "  %-10s %s\n", s.name, s.doc)
	}
	b.WriteString(`
Outside a Go module, a go.mod is written as well, so that the trainer can be built.
Nothing is overwritten.

Examples:
  mlc init mine
  mlc init mine --from window`)
	return b.String()
}

// A starter is a spec that one can begin with, as it is in folder starter.
type starter struct {
	name, doc string
	problems  func() []byte // of the file that its task reads, NAME.txt; nil: it reads none
}

var starters = []starter{
	{"successor", "n + 1 with attention windows: the quick start", nil},
	{"window", "addition with attention windows and cyclic positions", nil},
	{"fire", "a custom attention bias, written out: FIRE", nil},
	{"looped", "addition with a looped decoder and Abacus positions", nil},
	{"abc", "train, calibrate a bias from the attention, train again", nil},
	{"grokking", "a + b modulo 97 from a file: memorized first, generalized later", sums},
}

// sums are all problems of a + b modulo 97.
func sums() []byte {
	const modulus = 97
	var b bytes.Buffer
	for x := range modulus {
		for y := range modulus {
			fmt.Fprintf(&b, "%d + %d = %d\n", x, y, (x+y)%modulus)
		}
	}
	return b.Bytes()
}

// files are what it begins with, under a name.
func (s starter) files(name string) (map[string][]byte, error) {
	spec, err := starterFiles.ReadFile("starter/" + s.name + ".arith")
	if err != nil {
		return nil, fmt.Errorf("BUG: %w", err)
	}
	files := map[string][]byte{}
	if s.problems != nil {
		files[name+".txt"] = s.problems()
		spec = bytes.ReplaceAll(spec, []byte(s.name+".txt"), []byte(name+".txt"))
	}
	files[name+".arith"] = spec
	return files, nil
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
	from := starters[slices.IndexFunc(starters, func(s starter) bool { return s.name == c.From })]
	files, err := from.files(c.Name)
	if err != nil {
		return err
	}
	here, err := os.Getwd()
	if err != nil {
		return err
	}
	m, err := c.module(here)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if _, err := os.Lstat(name); err == nil {
			return thereAlready(name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if err := createFile(name, files[name]); err != nil {
			return err
		}
		a.say("%s", name)
	}
	if err := m.write(a); err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.out, "next: %s\n", hint("train", file))
	return err
}

func thereAlready(name string) error {
	return fmt.Errorf("%s is there already, and init overwrites nothing: choose another name", name)
}

// createFile writes a file that must not be there.
func createFile(name string, data []byte) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return thereAlready(name)
	}
	if err != nil {
		return fmt.Errorf("cannot write %s: %w: go to a folder that you may write to", name, err)
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Close())
}
