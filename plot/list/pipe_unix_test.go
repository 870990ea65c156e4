//go:build unix

package list

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/arithlang/mlc/runtime/damage"
	"github.com/arithlang/mlc/runtime/lock"
)

// TestPipes wants named pipes reported as damage, without waiting for them.
func TestPipes(t *testing.T) {
	for _, name := range []string{"spec.arith", "metrics.jsonl", "run.json"} {
		dir := t.TempDir()
		write(t, dir, map[string]string{"r/run.json": `{"name":"r"}`})
		path := filepath.Join(dir, "r", name)
		os.Remove(path)
		if err := syscall.Mkfifo(path, 0o644); err != nil {
			t.Skip(err)
		}
		runs, err := Runs(damage.At(dir))
		if err != nil || len(runs) != 1 || !strings.Contains(runs[0].Problem, "it is a named pipe") {
			t.Errorf("%s: %+v, %v", name, runs, err)
		}
	}
}

// TestLockPipe wants no waiting for a named pipe in the place of a lock file.
func TestLockPipe(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{"r/run.json": `{"name":"r"}`})
	if err := syscall.Mkfifo(filepath.Join(dir, "r", lock.File), 0o644); err != nil {
		t.Skip(err)
	}
	if runs, err := Runs(damage.At(dir)); err != nil || len(runs) != 1 || runs[0].State != Stopped {
		t.Errorf("%+v, %v", runs, err)
	}
}
