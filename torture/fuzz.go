package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"time"
)

// A target is a fuzz test of this module.
type target struct{ dir, name string }

var fuzzTest = regexp.MustCompile(`(?m)^func (Fuzz\w+)\(`)

// targets finds all fuzz tests below the current folder.
func targets() ([]target, error) {
	var all []target
	for _, pattern := range []string{"*", "*/*", "*/*/*", "*/*/*/*"} {
		files, err := filepath.Glob(pattern + "_test.go")
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				return nil, err
			}
			for _, m := range fuzzTest.FindAllStringSubmatch(string(text), -1) {
				all = append(all, target{filepath.ToSlash(filepath.Dir(file)), m[1]})
			}
		}
	}
	slices.SortFunc(all, func(a, b target) int { return slices.Compare([]string{a.dir, a.name}, []string{b.dir, b.name}) })
	return all, nil
}

func (t target) String() string { return t.dir + " " + t.name }

var execs = regexp.MustCompile(`execs: (\d+)`)

// fuzz runs a target for some time and returns how many inputs that were. What it finds
// go test leaves in testdata.
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
