package look

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/arithlang/mlc/cli/paths"
	"github.com/arithlang/mlc/cli/project"
	"github.com/arithlang/mlc/cli/shell"
	"github.com/arithlang/mlc/compiler/kernel"
	"github.com/arithlang/mlc/compiler/kernel/remote"
)

// TestServesKernels is the process of TestStartKernels.
func TestServesKernels(t *testing.T) {
	if os.Getenv("MLC_TEST_SERVES") == "" {
		t.Skip("it is started by TestStartKernels")
	}
	err := remote.Serve(os.Stdin, os.Stdout, func(name string, _ kernel.Scalars, bufs []kernel.Buffer) error {
		switch name {
		case "fails":
			return errors.New("index out of range")
		case "dies":
			os.Exit(7)
		}
		bufs[0].F[0]++
		return nil
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(0)
}

// TestStartKernels writes the kernels of a program for a build, starts what was built, and leaves
// nothing.
func TestStartKernels(t *testing.T) {
	if shell.ExeSuffix != "" {
		t.Skip("there are no scripts")
	}
	temp, root := t.TempDir(), t.TempDir()
	t.Setenv("TMPDIR", temp)
	t.Setenv("MLC_TEST_SERVES", "1")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	sh := &shell.Shell{Context: t.Context(), Err: t.Output()}
	p, err := project.Compile(sh, project.Training{Source: project.Source{Base: "../..", Name: "cli/testdata/least.arith"}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := startKernels(sh, nil, p, root); err == nil || !strings.Contains(err.Error(), "is in no Go module that requires mlc") {
		t.Errorf("outside of a module: %v", err)
	}
	if err := os.WriteFile(filepath.Join(root, "go.mod"), []byte("module "+project.ThisModule+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	broken := errors.New("no compiler")
	if _, err := startKernels(sh, func(string, string, string) error { return broken }, p, root); err != broken {
		t.Errorf("a failed build: %v", err)
	}
	s, err := startKernels(sh, func(dir, pkg, binary string) error {
		if all, err := filepath.Glob(filepath.Join(dir, pkg, "*.go")); dir != root || len(all) == 0 || err != nil {
			t.Errorf("%s is built in %s, of %q, %v", pkg, dir, all, err)
		}
		return os.WriteFile(binary, []byte("#!/bin/sh\nexec '"+self+"' -test.run '^TestServesKernels$'\n"), 0o755)
	}, p, root)
	if err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(root); len(left) != 1 || err != nil {
		t.Errorf("left in the module: %v, %v", left, err)
	}
	bufs := []kernel.Buffer{{F: []float32{1}}}
	if err := s.run("adds", nil, bufs); err != nil || bufs[0].F[0] != 2 {
		t.Errorf("%v, %v", err, bufs)
	}
	if err := s.run("fails", nil, bufs); err == nil || err.Error() != "index out of range" {
		t.Error(err)
	}
	for range 2 {
		if err := s.run("dies", nil, bufs); err == nil || err.Error() != "the process that holds the kernels has ended: exit status 7" {
			t.Error(err)
		}
	}
	dir := s.dir
	s.stop()
	if left, err := os.ReadDir(temp); paths.Exists(dir) || len(left) > 0 || err != nil {
		t.Errorf("left: %v, %v", left, err)
	}
}
