//go:build linux && amd64

package prove

import (
	"context"
	"io/fs"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/arithlang/mlc/internal/full"
)

// mostBundle is the largest size in bytes of the folder for another machine.
const mostBundle = 60 << 20

// TestBundle makes the folder and runs it without Go, environment and checkout. It must end in
// time, twice, and find nothing wrong.
func TestBundle(t *testing.T) {
	full.Only(t)
	dir := filepath.Join(t.TempDir(), "a bundle")
	if out, err := exec.Command("../tools/bundle", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	size := int64(0)
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if info, _ := e.Info(); info != nil && !e.IsDir() {
			size += info.Size()
		}
		return err
	})
	if err != nil || size > mostBundle {
		t.Errorf("it has %d bytes, %v", size, err)
	}
	for _, c := range []struct {
		file string
		args []string
	}{
		{"result.json", []string{"--device", "sim", "--budget", "15s"}},
		{"result-2.json", []string{"--device", "sim", "--budget", "15s", "--only", "probes"}},
	} {
		out, took := runBundle(t, dir, c.args)
		r, err := Load(filepath.Join(dir, c.file))
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		if took > 15*time.Second+grace || r.Verdict != Pass && r.Verdict != Cut || !strings.Contains(out, r.Page()) {
			t.Errorf("%v after %v: %s\n%s", c.args, took, r.Verdict, out)
		}
		for _, p := range r.Phases {
			if len(p.Parts) == 0 && p.Reason == "" {
				t.Errorf("%v: phase %s has done nothing", c.args, p.Name)
			}
		}
	}
}

// runBundle runs the script with an empty environment.
func runBundle(t *testing.T, dir string, args []string) (string, time.Duration) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(dir, "run"), args...)
	cmd.Dir, cmd.Env = "/", []string{"PATH=/nowhere"}
	start := time.Now()
	out, err := cmd.CombinedOutput()
	if exit, ok := err.(*exec.ExitError); err != nil && (!ok || exit.ExitCode() != 1) {
		t.Fatalf("%v\n%s", err, out)
	}
	return string(out), time.Since(start)
}
