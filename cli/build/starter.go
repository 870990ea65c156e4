package build

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

	"github.com/arithlang/mlc/cli/project"
	"github.com/arithlang/mlc/cli/shell"
)

// A starter is a spec in the folder starter, for users to begin with.
type starter struct {
	name, doc string
	problems  func() []byte // the file that its task reads, NAME.txt; nil: no file
}

// gptText is the text of the starter gpt: a play that a grammar has written.
//
//go:embed starter/gpt.txt
var gptText []byte

var starters = []starter{
	{"successor", "n + 1 with attention windows: the quick start", nil},
	{"window", "addition with attention windows and cyclic positions", nil},
	{"fire", "a custom attention bias, written out: FIRE", nil},
	{"looped", "addition with a looped decoder and Abacus positions", nil},
	{"abc", "train, calibrate a bias from the attention, train again", nil},
	{"grokking", "a + b modulo 97 from a file: memorized first, generalized later", sums},
	{"gpt", "the next character of a text: nanoGPT's model for a processor", play},
	{"gpt2", "the next character of a text, with the choices of GPT-2", play},
	{"llama", "the next character of a text, with the choices of Llama", play},
	{"t5", "addition, with the choices of T5", nil},
}

// play is the text of the starters that continue a text.
func play() []byte { return gptText }

// sums lists all problems of a + b modulo 97.
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

// files returns the starter's files, named after name.
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

// StarterDocs lists starters, one a line.
func StarterDocs() string {
	var b strings.Builder
	for _, s := range starters {
		fmt.Fprintf(&b, "  %-10s %s\n", s.name, s.doc)
	}
	return b.String()
}

// StarterNames lists the values of --from.
func StarterNames() string {
	names := make([]string, len(starters))
	for i, s := range starters {
		names[i] = s.name
	}
	return strings.Join(names, ",")
}

func thereAlready(name string) error {
	return fmt.Errorf("%s exists already, and init overwrites nothing: choose another name", name)
}

// createFile writes a file that must not exist.
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

// Begin writes a starter under a name, and a module unless the folder is in one. It returns an error
// if a file exists already.
func Begin(sh *shell.Shell, name, from, checkout string) error {
	given := strconv.Quote(name)
	name = strings.TrimSuffix(name, ".arith")
	if err := project.CheckName(given, name); err != nil {
		return err
	}
	file := name + ".arith"
	first := starters[slices.IndexFunc(starters, func(s starter) bool { return s.name == from })]
	files, err := first.files(name)
	if err != nil {
		return err
	}
	here, err := os.Getwd()
	if err != nil {
		return err
	}
	m, err := moduleFor(here, name, checkout)
	if err != nil {
		return err
	}
	for _, path := range slices.Sorted(maps.Keys(files)) {
		if _, err := os.Lstat(path); err == nil {
			return thereAlready(path)
		}
	}
	for _, path := range slices.Sorted(maps.Keys(files)) {
		if err := createFile(path, files[path]); err != nil {
			return err
		}
		sh.Say("%s", path)
	}
	if err := m.write(sh); err != nil {
		return err
	}
	_, err = fmt.Fprintf(sh.Out, "next: %s\n", shell.Hint("train", file))
	return err
}
