package results

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/arithlang/mlc/cli/project"
	"github.com/arithlang/mlc/plot"
	"github.com/arithlang/mlc/plot/list"
	"github.com/arithlang/mlc/runtime/eval"
)

// result has right of 1,000 problems correct at each length.
func result(lengths []int, right ...int) *eval.Result {
	r := new(eval.Result)
	for n, length := range lengths {
		r.ByCell = append(r.ByCell, eval.Cell{Pair: eval.Pair{I: length, J: length}, Samples: 1000, Correct: right[n]})
	}
	return r
}

// TestResults prints trainings with different tests as one table.
func TestResults(t *testing.T) {
	id, ood := 0.99996, 0.5
	digits, bits := []int{6, 10}, []int{20, 33, 200}
	grid := &eval.Result{ID: &id, OOD: &ood, Over: map[string]int{"id": 3, "ood": 54}, ByCell: []eval.Cell{{Pair: eval.Pair{I: 1, J: 2}}}}
	var b bytes.Buffer
	err := WriteTable(&b, []Row{
		{Name: "row=b", Missing: "failed"},
		{Name: "row=a", Result: result(digits, 1000, 999)},
		{Name: "row=c", Result: result([]int{2, 6, 10}, 1000, 7, 0), Lengths: digits},
		{Name: "row=d_which_is_long", Result: result(bits, 1000, 0, 1)},
		{Name: "row=e", Result: grid},
		{Name: "row=f", Missing: "no result"},
	})
	want := `exact match, %              6        10
row=b                  failed
row=a                  100.00     99.90
row=c                    0.70      0.00
                           20        33       200
row=d_which_is_long    100.00      0.00      0.10
                           id       ood
row=e                   99.99     50.00
row=f                no result
id: mean over 3 pairs of lengths of training; ood: mean over 54 longer ones, up to 100 digits
`
	if diff := cmp.Diff(want, b.String()); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
}

// TestReadRow has a row for a training that did not begin, and for a damaged one.
func TestReadRow(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "run.json"), []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	for dir, want := range map[string]string{"": "no result", dir: "unreadable"} {
		if r, err := ReadRow("a", dir); r.Missing != want || r.Name != "a" || r.Result != nil || (err == nil) != (dir == "") {
			t.Errorf("%q: %+v, %v; want %s", dir, r, err, want)
		}
	}
}

// TestMeans ends a table with the mean and the sample standard deviation of trainings that
// differ only in their seeds, each seed once and only if it has a result.
func TestMeans(t *testing.T) {
	digits := []int{6, 10}
	a := func(seed string) Kin { return Kin{Kind: "spec a", Name: "row=a", Seed: seed} }
	b := func(seed string) Kin { return Kin{Kind: "spec b", Name: "row=b", Seed: seed} }
	var out bytes.Buffer
	err := WriteTable(&out, []Row{
		{Name: "row=a,seed=1", Result: result(digits, 1000, 10), Of: a("1")},
		{Name: "row=a,seed=2", Result: result(digits, 990, 30), Of: a("2")},
		{Name: "row=a,seed=2", Result: result(digits, 0, 0), Of: a("2")},
		{Name: "row=a,seed=3", Result: result(digits, 980, 50), Of: a("3")},
		{Name: "row=a,seed=4", Missing: "failed", Of: a("4")},
		{Name: "row=b,seed=1", Result: result(digits, 1000, 0), Of: b("1")},
		{Name: "row=b,seed=2", Result: result(digits, 1000, 1000), Of: b("2")},
		{Name: "row=b,seed=3", Result: result([]int{6}, 7), Of: b("3")},
	})
	want := `exact match, %                              6             10
row=a,seed=1                           100.00           1.00
row=a,seed=2                            99.00           3.00
row=a,seed=2                             0.00           0.00
row=a,seed=3                            98.00           5.00
row=a,seed=4                           failed
row=b,seed=1                           100.00           0.00
row=b,seed=2                           100.00         100.00
row=b,seed=3                             0.70              -
row=a: mean ± deviation, n = 3   99.00 ± 1.00    3.00 ± 2.00
row=b: mean ± deviation, n = 3  66.90 ± 57.33              -
`
	if diff := cmp.Diff(want, out.String()); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
	for name, want := range map[string]string{"seed=1": "", "mask=f(a, seed=2),seed=1": "mask=f(a, seed=2)", "a=1,train.seed=2,b=3": "a=1,b=3", "seeds=1": "seeds=1", "init_seed=4,seed=1": "", "a=2,stage.b.train.init_seed=4": "a=2"} {
		if got := project.Seedless(name); got != want {
			t.Errorf("%s without its seed is %q, want %q", name, got, want)
		}
	}
}

// TestLegend counts lengths only if all results agree.
func TestLegend(t *testing.T) {
	half := 0.5
	count := func(id, ood int) *eval.Result {
		return &eval.Result{ID: &half, OOD: &half, Over: map[string]int{eval.ID: id, eval.OOD: ood}}
	}
	results := []*eval.Result{new(eval.Result), count(2, 3), count(1, 3)}
	const want = "id: mean over lengths of training; ood: mean over 3 longer ones, up to 100 digits"
	if got := legend([]string{eval.OOD, eval.ID}, results); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestManyLengths shows means if there are more lengths than columns.
func TestManyLengths(t *testing.T) {
	var lengths, right []int
	for n := range maxLengths + 1 {
		lengths, right = append(lengths, n+1), append(right, 0)
	}
	for n, want := range map[int]int{maxLengths: maxLengths, maxLengths + 1: 2} {
		if heads, cells := (&Row{Result: result(lengths[:n], right...)}).columns(); len(heads) != want || len(cells) != want {
			t.Errorf("%d lengths have %d columns, want %d", n, len(heads), want)
		}
	}
}

// TestTablesOfInitialWeights shows the seed of initial weights if some run has one.
func TestTablesOfInitialWeights(t *testing.T) {
	result := result([]int{3}, 2)
	plain, own := &plot.Run{Name: "a", Seed: 1, Result: result}, &plot.Run{Name: "b", Seed: 1, InitSeed: new(uint64(5)), Result: result}
	for _, c := range []struct {
		got  table
		want [][]any
	}{
		{runsTable([]*list.Run{{Seed: 1}}), [][]any{{"overall"}, {""}}},
		{runsTable([]*list.Run{{Seed: 1}, {Seed: 1, InitSeed: new(uint64(5))}}), [][]any{{"init_seed"}, {""}, {uint64(5)}}},
		{longResults([]*plot.Run{plain}), [][]any{{"correct"}, {2}}},
		{longResults([]*plot.Run{plain, own}), [][]any{{"init_seed"}, {""}, {uint64(5)}}},
	} {
		got := [][]any{{c.got.heads[len(c.got.heads)-1]}}
		for _, row := range c.got.rows {
			if len(row) != len(c.got.heads) {
				t.Errorf("%d cells below %d heads", len(row), len(c.got.heads))
			}
			got = append(got, row[len(row)-1:])
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Error(diff)
		}
	}
}

// share returns a pointer to a fraction.
func share(x float64) *float64 { return &x }

// TestCompare ranks results: problems unlike those of training come first.
func TestCompare(t *testing.T) {
	ranks := []*eval.Result{ // the worst first
		{},
		{Overall: share(0)},
		{Overall: share(0.5)},
		{ID: share(0.1)},
		{ID: share(0.1), Overall: share(0.2)},
		{ID: share(0.9)},
		{OOD100: share(0), ID: share(0)},
		{OOD100: share(0.2)},
		{OOD: share(0.1), OOD100: share(0), ID: share(1)},
		{OOD: share(0.1), OOD100: share(0.3), ID: share(0.5)},
		{OOD: share(0.2)},
	}
	for i, a := range ranks {
		for j, b := range ranks {
			want := 0
			switch {
			case i < j:
				want = -1
			case i > j:
				want = 1
			}
			if got := Compare(a, b); got != want {
				t.Errorf("results %d and %d compare as %d, want %d", i, j, got, want)
			}
		}
	}
}

// TestTitle heads results of a text by their loss, and means as the results that they are of.
func TestTitle(t *testing.T) {
	text := &Row{Result: &eval.Result{Text: eval.Text{Loss: 1.5}}}
	exact := &Row{Result: result([]int{6}, 7)}
	for want, rows := range map[string][]*Row{
		"loss a character": {text, {mean: []*Row{text}}, {mean: []*Row{text, text}}},
		"exact match, %":   {exact, {mean: []*Row{exact, exact}}, {Missing: "failed"}},
	} {
		for _, r := range rows {
			if got := r.title(); got != want {
				t.Errorf("%+v is headed %q, want %q", r, got, want)
			}
		}
	}
}

// TestCompareTexts orders texts by their loss, and others by their means, also beside a text.
func TestCompareTexts(t *testing.T) {
	ood := func(x float64) *eval.Result { return &eval.Result{OOD: &x} }
	text := func(loss float64) *eval.Result { return &eval.Result{Text: eval.Text{Loss: loss}} }
	for _, c := range []struct {
		worse, better *eval.Result
	}{{text(2), text(1)}, {ood(0.1), ood(0.2)}, {text(1), ood(0)}, {result([]int{3}, 1), ood(0)}} {
		if Compare(c.worse, c.better) >= 0 || Compare(c.better, c.worse) <= 0 {
			t.Errorf("%+v is not worse than %+v", c.worse, c.better)
		}
	}
	if Compare(text(1), text(1)) != 0 || Compare(ood(1), ood(1)) != 0 {
		t.Error("equal results are not equal")
	}
}
