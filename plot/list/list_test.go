package list

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/arithlang/mlc/runtime/damage"
	"github.com/arithlang/mlc/runtime/lock"
)

// write makes files below a folder.
func write(t testing.TB, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// TestStates lists a run in each state, and damaged ones.
func TestStates(t *testing.T) {
	const budget = `{"name":"x","budget":{"steps":10}}`
	const done, half = "{\"step\":10,\"loss\":1}\n", "{\"step\":4,\"loss\":1}\n"
	dir := t.TempDir()
	for name, files := range map[string]map[string]string{
		"begun":        {"run.json": budget},
		"stopped":      {"run.json": budget, "metrics.jsonl": half},
		"half_written": {"run.json": budget, "metrics.jsonl": half + `{"step":10,"lo`},
		"trained":      {"run.json": budget, "metrics.jsonl": half + done},
		"tested":       {"run.json": budget, "metrics.jsonl": done, "eval/result.json": `{"id":1,"by_cell":[]}`},
		"running":      {"run.json": budget, "metrics.jsonl": half},
		"stages":       {"run.json": `{"name":"x","stages":[{"name":"a","kind":"training"},{"name":"b","kind":"training","budget":{"steps":10}}]}`, "a/metrics.jsonl": half, "b/metrics.jsonl": done},
		"first_stage":  {"run.json": `{"name":"x","stages":[{"name":"a","kind":"training","budget":{"steps":10}},{"name":"b","kind":"training","budget":{"steps":10}}]}`, "a/metrics.jsonl": half + done},
		"no_record":    {"run.json": `nothing`},
		"no_report":    {"run.json": budget, "metrics.jsonl": "{\"step\":\n"},
		"no_result":    {"run.json": budget, "metrics.jsonl": done, "eval/result.json": `[`},
		"escaping":     {"run.json": `{"name":"x","stages":[{"name":"../../etc","kind":"training"}]}`},
		"altered":      {"run.json": `{"name":"x","sha256":"00"}`},
		".hidden/run":  {"run.json": budget},
		"no_run":       {"notes.txt": budget},
	} {
		write(t, filepath.Join(dir, name), files)
	}
	held, err := lock.Try(filepath.Join(dir, "running"))
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	runs, err := Runs(damage.At(dir))
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]State{}
	for _, r := range runs {
		got[r.Dir] = r.State
		if (r.Problem != "") != (r.State == Damaged) {
			t.Errorf("%s is %s, and its problem %q", r.Dir, r.State, r.Problem)
		}
		if r.Dir == "first_stage" && (r.Stage != "a" || r.Step != 10) {
			t.Errorf("stage %q, step %d: want the first stage's, which alone has reported", r.Stage, r.Step)
		}
		if r.Dir == "stages" && (r.Stage != "b" || r.Step != 10) {
			t.Errorf("stage %q, step %d: want the last stage's", r.Stage, r.Step)
		}
	}
	want := map[string]State{"begun": Stopped, "stopped": Stopped, "half_written": Stopped, "trained": Trained, "tested": Tested, "running": Running,
		"stages": Trained, "first_stage": Stopped, "no_record": Damaged, "no_report": Damaged, "no_result": Damaged, "escaping": Damaged, "altered": Damaged}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if one, err := Runs(damage.At(filepath.Join(dir, "tested"))); err != nil || len(one) != 1 || one[0].Dir != "." {
		t.Errorf("a run itself: %v, %v", one, err)
	}
	if _, err := Runs(damage.At(filepath.Join(dir, "nowhere"))); err == nil {
		t.Error("no error for a folder that is not there")
	}
}

// TestDiffering counts a setting that only one run has as a difference.
func TestDiffering(t *testing.T) {
	var runs []*Run
	for _, spec := range []string{"a {\n x = 1\n y = 2\n}\n", "a {\n x = 1\n y = 3\n z = 4\n}\n", ""} {
		r := &Run{}
		r.Settings, r.order = settings(spec)
		runs = append(runs, r)
	}
	if got := Differing(runs); !slices.Equal(got, []string{"a.y", "a.z"}) {
		t.Errorf("%q", got)
	}
	if got := Differing(nil); got != nil {
		t.Errorf("%q", got)
	}
}

// TestInitSeeds tells runs of one spec apart by the seeds of their initial weights.
func TestInitSeeds(t *testing.T) {
	dir := t.TempDir()
	for name, seed := range map[string]string{"a": "", "b": `"init_seed":0,`, "c": `"init_seed":7,`} {
		write(t, filepath.Join(dir, name), map[string]string{"run.json": `{"name":"x",` + seed + `"budget":{"steps":10}}`, "spec.arith": "train {\n seed = 1\n}\n"})
	}
	runs, err := Runs(damage.At(dir))
	if err != nil {
		t.Fatal(err)
	}
	if got := Differing(runs); !slices.Equal(got, []string{"train.init_seed"}) {
		t.Errorf("%q", got)
	}
	for i, want := range []string{"", "0", "7"} {
		if r := runs[i]; r.Settings["train.init_seed"] != want || (r.InitSeed == nil) != (want == "") {
			t.Errorf("%s: %q, %v", r.Dir, r.Settings["train.init_seed"], r.InitSeed)
		}
	}
}

// BenchmarkRuns lists a thousand runs with a grid of 400 cells each.
func BenchmarkRuns(b *testing.B) {
	dir, cells := b.TempDir(), ""
	for i := range 400 {
		cells += fmt.Sprintf(",[%d,%d,100,99]", i/20+1, i%20+1)
	}
	spec, err := os.ReadFile("../../generated/successor/spec.arith")
	if err != nil {
		b.Fatal(err)
	}
	for i := range 1000 {
		write(b, filepath.Join(dir, fmt.Sprint(i)), map[string]string{
			"run.json":         fmt.Sprintf(`{"name":"x","seed":%d,"budget":{"steps":10},"started":%q}`, i, time.Unix(int64(i), 0).UTC().Format(time.RFC3339)),
			"spec.arith":       string(spec) + fmt.Sprintf("more {\n  seed = %d\n}\n", i),
			"metrics.jsonl":    "{\"step\":10,\"loss\":1}\n",
			"eval/result.json": `{"id":1,"by_cell":[` + cells[1:] + `]}`,
		})
	}
	for b.Loop() {
		runs, err := Runs(damage.At(dir))
		if err != nil || len(runs) != 1000 || len(Differing(runs)) != 1 {
			b.Fatal(len(runs), err)
		}
	}
}
