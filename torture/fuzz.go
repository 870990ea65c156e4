package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// A target is a fuzz test of this module.
type target struct{ dir, name string }

var fuzzTest = regexp.MustCompile(`(?m)^func (Fuzz\w+)\(`)

// targets finds all fuzz tests below a folder.
func targets(root string) ([]target, error) {
	var all []target
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || d.Name() == ".git"):
			return fs.SkipDir
		case !strings.HasSuffix(path, "_test.go"):
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, filepath.Dir(path))
		for _, m := range fuzzTest.FindAllStringSubmatch(string(text), -1) {
			all = append(all, target{filepath.ToSlash(rel), m[1]})
		}
		return err
	})
	return all, err // by folder
}

func (t target) String() string { return t.dir + " " + t.name }

var execs = regexp.MustCompile(`execs: (\d+)`)

// fuzz runs a target for a while and returns the number of inputs. go test leaves failing inputs
// in testdata.
func (t target) fuzz(d time.Duration, jobs int) (inputs int, err error) {
	cmd := exec.Command("go", "test", "./"+t.dir, "-run", "^$", "-fuzz", "^"+t.name+"$", "-fuzztime", d.String(), "-fuzzminimizetime", "5x", "-parallel", strconv.Itoa(jobs))
	out, err := cmd.CombinedOutput()
	if all := execs.FindAllSubmatch(out, -1); len(all) > 0 {
		inputs, _ = strconv.Atoi(string(all[len(all)-1][1])) // digits
	}
	late := bytes.Contains(out, []byte("context deadline exceeded")) && !bytes.Contains(out, []byte("Failing input"))
	if err == nil || late { // go test may end in the middle of an input
		return inputs, nil
	}
	return inputs, fmt.Errorf("%w\n%s", err, out)
}
