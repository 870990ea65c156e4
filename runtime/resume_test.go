package runtime

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/arithlang/mlc/runtime/rundir"
	"github.com/arithlang/mlc/runtime/world"
)

// TestResumeAuto enters one command line again and again: it begins a run, continues it, and
// leaves it alone when it is finished.
func TestResumeAuto(t *testing.T) {
	for _, c := range []struct {
		name  string
		whole func() string
		call  func(args ...string) said
		same  func(t *testing.T, want, got string)
	}{
		{"toy", func() string { return trained(t, toyModel(), "--steps", "8", "--seed", "5", "-q") },
			func(args ...string) said {
				m := toyModel()
				at(&m, 3, ctrlC)
				return call(t, m, "", args...)
			}, sameRun},
		{"stages", func() string { return travelled(t, toyPipeline(), "--steps", "8", "--seed", "5", "-q") },
			func(args ...string) said {
				p := toyPipeline()
				at(p.Stages[0].Model, 3, ctrlC)
				return callStages(t, p, args...)
			}, sameJourney},
	} {
		whole, dir := c.whole(), filepath.Join(t.TempDir(), "run")
		args := []string{"train", "--resume=auto", "--out", dir, "--steps", "8", "--seed", "5"}
		if s := c.call(args...); s.code != exitInterrupted {
			t.Fatalf("%s: begins: exit %d\n%s", c.name, s.code, s.err)
		}
		if s := c.call(args...); s.code != 0 { // step 3 is done
			t.Fatalf("%s: goes on: exit %d\n%s", c.name, s.code, s.err)
		}
		c.same(t, whole, dir)
		if s := c.call(args...); s.code != 0 {
			t.Errorf("%s: is done: exit %d\n%s", c.name, s.code, s.err)
		}
		c.same(t, whole, dir)
	}
}

// TestResumeAutoDated finds the newest run of the spec without a directory.
func TestResumeAutoDated(t *testing.T) {
	t.Chdir(t.TempDir())
	args := []string{"train", "--resume=auto", "--steps", "8", "-q"}
	for range 2 {
		if s := call(t, toyModel(), "", args...); s.code != 0 {
			t.Fatal(s.err)
		}
	}
	if s := call(t, toyModel(), "", append(args, "--seed", "9")...); s.code != 0 {
		t.Fatal(s.err)
	}
	if runs, _ := filepath.Glob("runs/toy/*"); len(runs) != 2 {
		t.Errorf("runs %v, want one of each seed", runs)
	}
}

// TestResumeAutoInit needs the file of initial weights until the run has a checkpoint.
func TestResumeAutoInit(t *testing.T) {
	path := foreign(t, trained(t, toyModel(), "--steps", "20", "-q"))
	dir := filepath.Join(t.TempDir(), "run")
	args := slices.Concat([]string{"train", "--resume=auto", "--out", dir, "--init", path}, []string{"--map", flipRule, "--map", flipOther, "--map", plainRule, "--steps", "8"})
	m := toyModel()
	at(&m, 3, ctrlC)
	if s := call(t, m, "", args...); s.code != exitInterrupted {
		t.Fatalf("exit %d: %s", s.code, s.err)
	}
	checkpoint := lastCheckpoint(dir)
	if err := os.Rename(checkpoint, filepath.Join(t.TempDir(), "away")); err != nil {
		t.Fatal(err)
	}
	first, _ := filepath.Glob(filepath.Join(dir, "ckpt", "step-*"))
	for _, old := range first {
		os.Remove(old)
	}
	other := filepath.Join(t.TempDir(), "other.safetensors")
	text, err := os.ReadFile(path)
	if err != nil || os.WriteFile(other, text, 0o644) != nil {
		t.Fatal(err)
	}
	if s := call(t, toyModel(), "", slices.Concat(args[:5], []string{other}, args[6:])...); s.code != 1 || !strings.Contains(s.err, "has begun with other weights") {
		t.Errorf("exit %d: %s", s.code, s.err)
	}
	if s := call(t, toyModel(), "", args...); s.code != 0 {
		t.Fatalf("exit %d: %s", s.code, s.err)
	}
	sameRun(t, trained(t, toyModel(), slices.Concat([]string{"--init", path}, args[6:])...), dir)
	os.Remove(path)
	if s := call(t, toyModel(), "", args...); s.code != 0 {
		t.Errorf("without the file that it does not need any more: exit %d: %s", s.code, s.err)
	}
}

func TestResumeValues(t *testing.T) {
	s := call(t, toyModel(), "", "train", "--resume=perhaps")
	if s.code != world.ExitUsage || !strings.Contains(s.err, `"perhaps": want --resume, or --resume=auto`) {
		t.Errorf("exit %d: %s", s.code, s.err)
	}
	if s := call(t, toyModel(), "", "train", "--help"); !strings.Contains(s.out, "--resume") || strings.Contains(s.out, "--[no-]resume") {
		t.Error(s.out)
	}
}

// TestResumeAutoWaits waits for a process that is about to end.
func TestResumeAutoWaits(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	other := toyCommand("toy", "train", "--out", dir, "--steps", "1000", "-q")
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	for !rundir.Exists(filepath.Join(dir, "run.json")) {
		time.Sleep(5 * time.Millisecond)
	}
	s := call(t, toyModel(), "", "train", "--resume=auto", "--out", dir, "--steps", "1000")
	if s.code != 0 || !strings.Contains(s.err, " is training in "+dir+": waiting for its end") {
		t.Errorf("exit %d: %s", s.code, s.err)
	}
	if err := other.Wait(); err != nil {
		t.Error(err)
	}
}
