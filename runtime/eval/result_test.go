package eval

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/arithlang/mlc/runtime/damage"
	"github.com/arithlang/mlc/runtime/task"
)

func TestResultFile(t *testing.T) {
	dir := t.TempDir()
	if r, err := Load(damage.At(dir)); r != nil || err != nil {
		t.Fatalf("a result where there is none: %v, %v", r, err)
	}
	r := &Result{Settings: Settings{Name: "x", SpecHash: "ab", Seed: 3, Mode: ModeVerify, Metric: ExactMatch, ExamplesTrained: 9, Samples: 4, Pad: [2]int{7, 3}},
		SecondsTrain: 1.5, SecondsEval: 0.5, ByCell: []Cell{{Pair{6, 6}, 4, 4, 0}, {Pair{7, 7}, 4, 2, 0}, {Pair{60, 60}, 4, 1, 0}, {Pair{101, 101}, 4, 0, 0}}}
	r.summarise(Pair{7, 7}, nil)
	if err := r.save(dir); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "result.json"))
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"name": "x", "spec_hash": "ab", "seed": 3., "mode": "verify", "metric": "exact_match", "examples_trained": 9., "samples": 4., "pad": []any{7., 3.},
		"seconds_train": 1.5, "seconds_eval": 0.5, "trained": []any{7., 7.}, "id": 0.75, "ood": 0.25, "ood100": 0., "over": map[string]any{"id": 2., "ood": 1., "ood100": 1.},
		"by_length": map[string]any{"6": 1., "7": 0.5, "60": 0.25, "101": 0.},
		"by_cell":   []any{[]any{6., 6., 4., 4.}, []any{7., 7., 4., 2.}, []any{60., 60., 4., 1.}, []any{101., 101., 4., 0.}},
	}
	delete(got, "sha256")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	again, err := Load(damage.At(dir))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(r, again); diff != "" {
		t.Error(diff)
	}
	table := " digits  problems  exact match\n      6         4     100.00 %\n      7         4      50.00 %\n     60         4      25.00 %\n    101         4       0.00 %\n"
	if diff := cmp.Diff(table, r.Table(80)); diff != "" {
		t.Error(diff)
	}
	if got := (&Result{Settings: Settings{Metric: ExactMatch}, ByCell: []Cell{{Pair{15, 15}, 2000, 1999, 0}}}).Table(80); !strings.Contains(got, " 99.95 %") {
		t.Errorf("one wrong answer of 2000 shows as\n%s", got)
	}
	cells := []Cell{{Pair{6, 6}, 4, 4, 9}, {Pair{7, 0}, 4, 2, 0}}
	if text, err := json.Marshal(cells); string(text) != "[[6,6,4,4,9],[7,0,4,2]]" || err != nil {
		t.Errorf("cells are %s, %v", text, err)
	}
	sums := &Result{Settings: Settings{Metric: ExactMatch}, Second: "operands", ByCell: []Cell{{Pair{6, 2}, 4, 4, 0}, {Pair{10, 10}, 4, 1, 0}}}
	sums.summarise(Pair{6, 5}, nil)
	table = " digits operands  problems  exact match\n      6        2         4     100.00 %\n     10       10         4      25.00 %\n"
	if diff := cmp.Diff(table, sums.Table(80)); diff != "" || len(sums.ByLength) > 0 || *sums.ID != 1 || *sums.OOD != 0.25 {
		t.Errorf("%s; %v", diff, sums)
	}
	share := 0.5
	listed := &Result{Settings: Settings{Metric: ExactMatch}, Overall: &share, Tested: task.OfTestFile, ByCell: []Cell{{Pair{1, 0}, 1, 1, 0}, {Pair{12, 0}, 3, 1, 0}}}
	table = " prompt length  problems  exact match\n             1         1     100.00 %\n            12         3      33.33 %\n       overall         4      50.00 %\nof problems of the test file; lengths are in tokens\n"
	if diff := cmp.Diff(table, listed.Table(80)); diff != "" {
		t.Error(diff)
	}
	listed.Tested = task.OfTraining
	if got := listed.Table(80); !strings.HasSuffix(got, "\nno problem is held out: these are problems of training\n") {
		t.Errorf("without held-out problems:\n%s", got)
	}
	for what, bad := range map[string][]byte{"cut": text[:20], "changed": bytes.Replace(text, []byte("[60,60,4,1]"), []byte("[60,60,4,3]"), 1), "empty": nil} {
		os.WriteFile(filepath.Join(dir, "result.json"), bad, 0o644)
		if r, err := Load(damage.At(dir)); r != nil || !damage.Is(err) || !strings.Contains(err.Error(), "the counts are also in "+filepath.Join(dir, "grid.csv")) {
			t.Errorf("a result that is %s: %v, %v", what, r, err)
		}
	}
}
