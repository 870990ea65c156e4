package list

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/arithlang/mlc/runtime/lock"
	"github.com/arithlang/mlc/runtime/record"
	"github.com/arithlang/mlc/runtime/train"
)

// TestTrainings walks a run and a pipeline, of which one stage is done, one has begun, and one
// has not.
func TestTrainings(t *testing.T) {
	dir := t.TempDir()
	write := func(r record.Record, names ...string) string {
		t.Helper()
		in := filepath.Join(append([]string{dir}, names...)...)
		err := os.MkdirAll(in, 0o755)
		if err == nil {
			err = r.Write(in)
		}
		if err != nil {
			t.Fatal(err)
		}
		return in
	}
	alone := write(record.Record{Name: "alone", Training: record.Training{Budget: train.Budget{Steps: 3}}}, "alone")
	staged := write(record.Record{Name: "staged", Stages: []*record.Stage{
		{Name: "a", Kind: "training", State: record.StageDone}, {Name: "b", Kind: "calibration"}, {Name: "c", Kind: "training"}, {Name: "d", Kind: "training"}}}, "staged")
	write(record.Record{Stage: "a"}, "staged", "a")
	write(record.Record{Stage: "c"}, "staged", "c")
	held, err := lock.Try(alone)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		dir     string
		broken  bool
		trained string
		want    map[string]Standing
	}{
		{alone, true, "alone", map[string]Standing{"alone": UnderWay}},
		{staged, false, "staged/d", map[string]Standing{"staged/a": Finished, "staged/c": Interrupted}},
		{staged, true, "staged/d", map[string]Standing{"staged/a": Finished, "staged/c": Failed}},
		{dir, true, ".", map[string]Standing{}},
	} {
		got := map[string]Standing{}
		err := EachTraining(c.dir, c.broken, func(in string, _ *record.Record, how Standing) error {
			name, err := filepath.Rel(dir, in)
			got[filepath.ToSlash(name)] = how
			return err
		})
		if diff := cmp.Diff(c.want, got); err != nil || diff != "" {
			t.Errorf("%s: %v %s", c.dir, err, diff)
		}
		if in, err := TrainedIn(c.dir); err != nil || in != filepath.Join(dir, filepath.FromSlash(c.trained)) {
			t.Errorf("%s is represented by %s: %v", c.dir, in, err)
		}
	}
	held.Close()
	if err := os.WriteFile(record.Path(alone), []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := TrainedIn(alone); err == nil {
		t.Error("a damaged record has no error")
	}
}
