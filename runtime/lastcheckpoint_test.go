package runtime

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/arithlang/mlc/runtime/eval"
	"github.com/arithlang/mlc/runtime/record"
)

// TestLostCheckpoint wants a test of a finished run to report that its last checkpoint is
// missing: the checkpoint before it has another model, whose result would replace the run's.
func TestLostCheckpoint(t *testing.T) {
	interrupted := func() string { // with two checkpoints
		dir := filepath.Join(t.TempDir(), "run")
		m := toyModel()
		at(&m, 20, ctrlC)
		args := []string{"train", "--out", dir, "--steps", "40", "-q"}
		if s := call(t, m, "", args...); s.code != exitInterrupted {
			t.Fatalf("exit %d\n%s", s.code, s.err)
		}
		if s := call(t, toyModel(), "", append(args, "--resume")...); s.code != 0 {
			t.Fatalf("exit %d\n%s", s.code, s.err)
		}
		return dir
	}
	dir := interrupted()
	last := lastCheckpoint(dir)
	moved := filepath.Join(t.TempDir(), "last")
	if err := os.Rename(last, moved); err != nil {
		t.Fatal(err)
	}
	if lastCheckpoint(dir) == "" {
		t.Fatal("the run has one checkpoint only")
	}
	result := filepath.Join(record.Results(dir, ""), eval.File)
	before, err := os.ReadFile(result)
	if err != nil {
		t.Fatal(err)
	}
	refused := func(why string, args ...string) {
		t.Helper()
		s := call(t, toyModel(), "", args...)
		if s.code != 1 || !strings.Contains(s.err, "its last checkpoint is missing: by "+why) || !strings.Contains(s.err, "train --resume --out "+dir) {
			t.Errorf("%s: exit %d, %s", args[0], s.code, s.err)
		}
	}
	refused(filepath.Join(dir, "metrics.jsonl")+" it is of step 40", "eval", dir)
	refused(filepath.Join(dir, "metrics.jsonl")+" it is of step 40", "solve", dir, "12")
	if after, err := os.ReadFile(result); err != nil || string(before) != string(after) {
		t.Errorf("the result has changed: %v", err)
	}
	for _, name := range []string{"metrics.jsonl", "metrics.csv"} { // the result knows the last step, too
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	refused(result+" it is after ", "eval", dir)
	if s := call(t, toyModel(), "", "eval", "--weights", lastCheckpoint(dir), "-q"); s.code != 0 {
		t.Errorf("the older checkpoint as a file: exit %d, %s", s.code, s.err)
	}
	if err := os.Rename(moved, last); err != nil {
		t.Fatal(err)
	}
	if s := call(t, toyModel(), "", "eval", dir, "-q"); s.code != 0 {
		t.Errorf("the checkpoint is back: exit %d, %s", s.code, s.err)
	}

	mended := interrupted() // trained again, it has the same bytes
	want, err := os.ReadFile(lastCheckpoint(mended))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(lastCheckpoint(mended)); err != nil {
		t.Fatal(err)
	}
	if s := call(t, toyModel(), "", "train", "--resume", "--out", mended, "-q"); s.code != 0 {
		t.Fatalf("exit %d, %s", s.code, s.err)
	}
	if got, err := os.ReadFile(lastCheckpoint(mended)); err != nil || string(got) != string(want) {
		t.Errorf("trained again, the last checkpoint is another: %v", err)
	}
}

// TestLostCheckpointOfStage finds it by the record of the stages, which names the last one.
func TestLostCheckpointOfStage(t *testing.T) {
	dir := travelled(t, toyPipeline(), "--steps", "8", "-q")
	rec, err := record.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	in, _ := rec.Trained(dir)
	of, err := record.Read(in)
	if err != nil {
		t.Fatal(err)
	}
	path := lastCheckpoint(in)
	if err := of.Last(in, path, 8, 1<<40); err != nil {
		t.Errorf("the last one: %v", err)
	}
	other := filepath.Join(filepath.Dir(path), "step-00000004.safetensors")
	if err := of.Last(in, other, 8, 1<<40); err == nil || !strings.Contains(err.Error(), "by "+record.Path(dir)+" it is "+filepath.Base(path)) {
		t.Errorf("another one: %v", err)
	}
}
