//go:build linux

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/arithlang/mlc/internal/full"
)

// TestPython builds the library, and lets a Python program call each of its functions.
func TestPython(t *testing.T) {
	python, cc := full.Needs(t, full.Python), full.Needs(t, full.CC)
	library := filepath.Join(t.TempDir(), "libcuda.so")
	build := exec.Command("go", "build", "-buildmode=c-shared", "-o", library, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=1", "CC="+cc)
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	if out, err := exec.Command(python, "testdata/driver.py", library, "testdata/kernels.ptx").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}
