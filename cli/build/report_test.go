package build

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/arithlang/mlc/cli/project"
	"github.com/arithlang/mlc/compiler"
	"github.com/arithlang/mlc/compiler/check"
)

// TestReport prints a line for the program and a line for its binary.
func TestReport(t *testing.T) {
	for _, c := range []struct {
		name string
		r    Report
		want string
	}{
		{"a program", Report{Dir: "generated/a", Files: 9, Changed: []string{"x.go", "y.go"}, Seconds: 0.128}, "generated/a  9 files, 2 changed, 0.13 s\n"},
		{"each file", Report{Dir: "generated/a", Files: 9, Changed: []string{"x.go", "y.go"}, verbose: true}, "generated/a  9 files, 2 changed, 0.00 s\n  x.go\n  y.go\n"},
		{"a binary", Report{Dir: "generated/a", Files: 9, Binary: "bin/a", Link: 2.5}, "generated/a  9 files, 0 changed, 0.00 s\nbin/a  2.50 s\n"},
		{"in the cache", Report{Binary: "bin/a", Files: 9, Link: 2.5}, "bin/a  2.50 s\n"},
	} {
		if got := c.r.String(); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	for text, want := range map[string]string{
		"a.go:1:1: syntax error": "", "go: go.mod requires go >= 1.99": "newer Go toolchain", "write x: no space left on device": "the disk is full",
		"compile: signal: killed": "GOFLAGS=-p=1", "open x: permission denied": "that you may write to",
	} {
		if got := buildAdvice([]byte(text)); (want == "") != (got == "") || !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

// TestProgramNames names programs after their specs and settings, and packages after their
// import paths.
func TestProgramNames(t *testing.T) {
	prog := &compiler.Program{Spec: &check.Spec{Name: "a", Hash: "0123456789abcdef"}}
	for want, training := range map[string]project.Training{"a": {}, "a-01234567": {Set: []string{"x=1"}}} {
		if got := programOf(training, prog); got != want {
			t.Errorf("a training with %q is of the program %s, want %s", training.Set, got, want)
		}
	}
	root, alone := t.TempDir(), t.TempDir()
	for text, want := range map[string]string{
		"module example.com/m\n\ngo 1.26\n": "example.com/m/generated/a", "// about\nmodule \"example.com/q\" // it\n": "example.com/q/generated/a", "go 1.26\n": "generated/a",
	} {
		if err := os.WriteFile(filepath.Join(root, "go.mod"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if got := importPath(filepath.Join(root, "generated", "a")); got != want {
			t.Errorf("%q: the path is %s, want %s", text, got, want)
		}
	}
	if got := importPath(filepath.Join(alone, "x", "a")); got != "generated/a" {
		t.Errorf("outside of a module the path is %s", got)
	}
}
