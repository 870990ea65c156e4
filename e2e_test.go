package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/arithlang/mlc/codegen"
	"github.com/arithlang/mlc/compiler"
	"github.com/arithlang/mlc/compiler/check"
)

// TestTrainerOfTheQuickStart generates the quick start's program, trains it for a
// few steps and holds what comes of it: the same bytes on any number of threads
// and any instruction set, and decoding that agrees with verification.
func TestTrainerOfTheQuickStart(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a program")
	}
	dir := generate(t, "specs/successor.arith")
	binary := filepath.Join(t.TempDir(), "successor")
	command(t, dir, nil, "go", "build", "-o", binary, ".")

	train := func(name string, flags ...string) (checkpoint string) {
		run := filepath.Join(t.TempDir(), name)
		args := append([]string{"train", "--quiet", "--out", run}, flags...)
		command(t, dir, nil, binary, args...)
		files, err := filepath.Glob(filepath.Join(run, "ckpt", "*.safetensors"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s has no checkpoint: %v", run, err)
		}
		return files[len(files)-1]
	}
	first := read(t, train("two threads", "--steps", "2", "--threads", "2"))
	for name, flags := range map[string][]string{
		"one thread":   {"--threads", "1"},
		"plain go":     {"--cpu", "go"},
		"five threads": {"--threads", "5"},
	} {
		if !bytes.Equal(first, read(t, train(name, append(flags, "--steps", "2")...))) {
			t.Errorf("two steps with %s give another checkpoint", name)
		}
	}
	command(t, dir, nil, "go", "test", "-v", "-run", "Allocate", ".")
	command(t, dir, []string{"CHECKPOINT=" + train("undertrained", "--steps", "30")}, "go", "test", "-v", "-run", "Agrees", ".")
}

// generate writes the program of a spec, with the tests of testdata/e2e beside it,
// into a folder of this module.
func generate(t *testing.T, spec string) (dir string) {
	t.Helper()
	p, found, err := compiler.Compile(check.Options{Path: spec, Read: os.ReadFile, Set: []string{"eval.samples=20", "eval.digits=[6]", "train.batch=64"}})
	if err != nil || found.HasErrors() {
		t.Fatal(err, found)
	}
	files, err := codegen.Generate(p, "test")
	if err != nil {
		t.Fatal(err)
	}
	if dir, err = os.MkdirTemp("testdata/e2e", "program-"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	for _, test := range []string{"agree_test.go", "alloc_test.go"} {
		files = append(files, codegen.File{Path: test, Data: read(t, "testdata/e2e/"+test+".txt")})
	}
	for _, f := range files {
		if err := os.WriteFile(filepath.Join(dir, f.Path), f.Data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func command(t *testing.T, dir string, env []string, name string, args ...string) {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s %v: %v\n%s", name, args, err, out)
	} else if name == "go" {
		t.Logf("%s", out)
	}
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
