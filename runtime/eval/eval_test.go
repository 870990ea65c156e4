package eval

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/arithlang/mlc/compiler/tasks"
	"github.com/arithlang/mlc/runtime/damage"
	"github.com/arithlang/mlc/runtime/task"
)

func spans(a, b, c, d int) Grid {
	return Grid{First: Span{Lo: a, Hi: b}, Second: Span{Lo: c, Hi: d}}
}

func TestCells(t *testing.T) {
	for _, c := range []struct {
		task string
		cfg  Config
		want []Pair
	}{
		{"addition", Config{Grid: spans(1, 2, 1, 3), Diagonal: Span{Lo: 2, Hi: 4}, Digits: []int{9}},
			[]Pair{{1, 1}, {1, 2}, {2, 1}, {1, 3}, {2, 2}, {2, 3}, {3, 3}, {4, 4}, {9, 9}}},
		{"sort", Config{Grid: spans(1, 2, 1, 1), Digits: []int{2}}, []Pair{{1, 1}, {2, 1}, {2, 5}}},
		{"successor", Config{Grid: spans(1, 2, 1, 3), Digits: []int{6, 2}}, []Pair{{1, 0}, {2, 0}, {6, 0}}},
		{"sum", Config{Digits: []int{60, 6}, Operands: []int{10, 2}}, []Pair{{6, 2}, {6, 10}, {60, 2}, {60, 10}}},
		{"sum", Config{Digits: []int{6}}, []Pair{{6, 5}}},
		{"file", Config{Grid: spans(1, 2, 1, 3), Digits: []int{6, 2}}, []Pair{{1, 0}, {4, 0}}},
	} {
		cfg, ok := sequences[c.task]
		if !ok {
			cfg = task.Config{Kind: c.task, DigitsLo: 1, DigitsHi: 6, OperandsLo: 2, OperandsHi: 5, Base: 10, Pad: task.Pad{To: 8, Step: 3}}
		}
		tk, err := tasks.New(cfg, 1)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.want, c.cfg.Cells(tk)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.task, diff)
		}
	}
}

func TestGridOnTheCommandLine(t *testing.T) {
	for text, want := range map[string]Grid{
		"1..100,2..30": spans(1, 100, 2, 30),
		"1..7":         spans(1, 7, 1, 7),
		"5,1..2":       spans(5, 5, 1, 2),
	} {
		var g Grid
		if err := g.UnmarshalText([]byte(text)); err != nil || g != want {
			t.Errorf("%s is %v, %v", text, g, err)
		}
	}
	for _, text := range []string{"", "0..3", "3..2", "1..2..3", "1..3,", "a..b", "1-3"} {
		var g Grid
		if err := g.UnmarshalText([]byte(text)); err == nil || !strings.Contains(err.Error(), "want 1..20") {
			t.Errorf("%q is %v, %v", text, g, err)
		}
	}
}

// grid returns a test of a grid of additions.
func grid(t *testing.T, patience time.Duration) *Test {
	t.Helper()
	cfg := Config{Grid: spans(1, 4, 1, 4), Diagonal: Span{Lo: 5, Hi: 6}}
	p, _ := newPupil(t, sequences["addition"], func(t *task.Task) (all []task.Problem) {
		for _, c := range cfg.Cells(t) {
			all = append(all, t.Cell(c.I, c.J, 25)...)
		}
		return all
	})
	return &Test{Model: *p.model(), Settings: Settings{Name: "x", Mode: ModeVerify, Metric: ExactMatch, Samples: 25, Times: 2},
		Cells: cfg.Cells(p.task), Trained: Pair{2, 3}, Patience: patience}
}

// TestGridGoesOn kills an evaluation again and again. Each one resumes with the cell that the
// last one did not finish, and the result is the same as without interruption.
func TestGridGoesOn(t *testing.T) {
	ctx := context.Background()
	want, err := grid(t, time.Hour).Run(ctx, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	killed := errors.New("killed")
	tested := map[Pair]int{}
	for run := 0; ; run++ {
		test := grid(t, 0)
		steps := 0
		test.Progress = func(p Progress) {
			if steps++; steps > 3 {
				panic(killed) // the cell is untested
			}
			for _, c := range p.Next {
				tested[c]++
			}
			if p.Done != len(tested)-1 || p.Total != 18 {
				t.Errorf("progress says %d of %d, after %d", p.Done, p.Total, len(tested)-1)
			}
		}
		got, err := func() (r *Result, err error) {
			defer func() {
				if v := recover(); v != nil {
					err = v.(error)
				}
			}()
			return test.Run(ctx, dir)
		}()
		if errors.Is(err, killed) && run < 20 {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		got.SecondsEval, want.SecondsEval = 0, 0
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("pieces give another result (-whole +pieces):\n%s", diff)
		}
		if run != 5 {
			t.Errorf("18 cells, 3 a run, took %d runs", run+1)
		}
		break
	}
	for c, n := range tested {
		if n != 1 {
			t.Errorf("%v was tested %d times", c, n)
		}
	}
	table, err := os.ReadFile(filepath.Join(dir, gridFile))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(table)), "\n")
	if lines[0] != "i,j,samples,correct,exact_match" || len(lines) != 19 || !slices.IsSorted(lines[1:]) {
		t.Errorf("grid.csv:\n%s", table)
	}
}

// TestAtOnce runs a second evaluation of the same result in the middle of the first. No cell is
// lost or tested twice.
func TestAtOnce(t *testing.T) {
	ctx, dir := context.Background(), t.TempDir()
	want, err := grid(t, time.Hour).Run(ctx, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	one, other := grid(t, 0), grid(t, 0)
	one.Cells = slices.DeleteFunc(one.Cells, func(p Pair) bool { return p == Pair{6, 6} })
	other.Cells = []Pair{{4, 4}, {6, 6}}
	var tested []Pair
	one.Progress = func(p Progress) {
		if tested = append(tested, p.Next...); len(tested) == 3 {
			if _, err := other.Run(ctx, dir); err != nil {
				t.Fatal(err)
			}
		}
	}
	got, err := one.Run(ctx, dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(tested) != 16 || slices.Contains(tested, Pair{4, 4}) {
		t.Errorf("the other evaluation did 2 of 18 cells; this one tested %d: %v", len(tested), tested)
	}
	there, err := Load(damage.At(dir))
	if err != nil {
		t.Fatal(err)
	}
	for where, r := range map[string]*Result{"returned": got, "saved": there} {
		if diff := cmp.Diff(want.ByCell, r.ByCell); diff != "" {
			t.Errorf("cells of two evaluations at once, %s (-alone +at once):\n%s", where, diff)
		}
	}
}

// TestManyAtOnce lets evaluations of one result wait for each other while they add to it.
func TestManyAtOnce(t *testing.T) {
	dir := t.TempDir()
	var all sync.WaitGroup
	var tests []*Test
	cells := grid(t, 0).Cells
	for i := range 6 {
		test := grid(t, 0)
		test.Cells = cells[3*i : 3*i+3]
		tests = append(tests, test)
	}
	for _, test := range tests {
		all.Go(func() {
			if _, err := test.Run(context.Background(), dir); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if r, err := Load(damage.At(dir)); err != nil || len(r.ByCell) != len(cells) {
		t.Errorf("of %d cells %v are left, %v", len(cells), r.ByCell, err)
	}
}

// TestPortions wants counts that do not depend on how many problems are in memory, and problems
// that are drawn as they are needed.
func TestPortions(t *testing.T) {
	ctx := context.Background()
	for _, mode := range []string{ModeVerify, ModeGreedy, ModeSettle} {
		test := grid(t, 0)
		test.Mode = mode
		want, err := test.cells(ctx, test.Cells, portion)
		if err != nil {
			t.Fatal(err)
		}
		for _, few := range []int{1, 7, 25} {
			got, err := test.cells(ctx, test.Cells, few)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s, %d at a time (-at once +by and by):\n%s", mode, few, diff)
			}
		}
	}

	tk, err := tasks.New(sequences["successor"], 1)
	if err != nil {
		t.Fatal(err)
	}
	machine := &idleMachine{}
	test := &Test{Model: Model{Machine: machine, Plan: fakePlan(), Task: tk}, Settings: Settings{Mode: ModeVerify, Metric: ExactMatch, Samples: 3 * portion},
		Cells: []Pair{{6, 0}}, Trained: Pair{6, 0}}
	r, err := test.Run(ctx, t.TempDir())
	if err != nil || r.ByCell[0].Samples != test.Samples {
		t.Fatalf("%v, %v", r, err)
	}
	if rows := len("123456=123457"); machine.most > 2*portion*rows/maxTokens {
		t.Errorf("%d launches at a time of %d problems", machine.most, test.Samples)
	}
}

// TestOtherLengths adds cells to a result. The means in its file keep covering the spec's
// cells.
func TestOtherLengths(t *testing.T) {
	ctx, dir := context.Background(), t.TempDir()
	test := grid(t, time.Hour)
	test.Own = test.Cells
	own, err := test.Run(ctx, dir)
	if err != nil {
		t.Fatal(err)
	}
	test.Cells = []Pair{{1, 1}, {7, 7}, {8, 8}}
	asked, err := test.Run(ctx, dir)
	if err != nil {
		t.Fatal(err)
	}
	all, err := Load(damage.At(dir))
	if err != nil {
		t.Fatal(err)
	}
	if len(all.ByCell) != len(own.ByCell)+2 || len(all.ByLength) != len(own.ByLength)+2 {
		t.Errorf("cells %v, by length %v", all.ByCell, all.ByLength)
	}
	if diff := cmp.Diff([]*float64{own.ID, own.OOD}, []*float64{all.ID, all.OOD}); diff != "" {
		t.Errorf("other lengths change the means (-before +after):\n%s", diff)
	}
	if want := (all.ByLength["7"] + all.ByLength["8"]) / 2; *asked.OOD != want || *asked.ID != all.ByLength["1"] || want == *own.OOD {
		t.Errorf("of the lengths that were asked for %g and %g are right, want %g and %g", *asked.ID, *asked.OOD, all.ByLength["1"], want)
	}
}

// TestNothingLeft repairs the files of a killed evaluation, although every cell is done.
func TestNothingLeft(t *testing.T) {
	ctx, dir := context.Background(), t.TempDir()
	if _, err := grid(t, time.Hour).Run(ctx, dir); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, gridFile)
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, want[:len(want)/2], 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := grid(t, time.Hour).Run(ctx, dir); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(path); string(got) != string(want) || err != nil {
		t.Errorf("grid.csv is\n%s, %v", got, err)
	}
}

// TestMeans compares the three means with their cells.
func TestMeans(t *testing.T) {
	r := &Result{}
	for _, c := range []struct{ i, j, correct int }{
		{1, 1, 10}, {2, 3, 8}, // in distribution
		{3, 3, 6}, {1, 4, 0}, {100, 100, 3}, // out of distribution
		{101, 101, 5}, {160, 160, 0}, // above 100
		{101, 7, 10}, // neither: only equal lengths count above 100
	} {
		r.ByCell = append(r.ByCell, Cell{Pair{c.i, c.j}, 10, c.correct, 0})
	}
	r.summarise(Pair{2, 3}, []Pair{{1, 1}, {100, 100}, {4, 4}})
	if *r.ID != 1 || *r.OOD != 0.3 || r.OOD100 != nil || r.ByLength["3"] != 0.6 {
		t.Errorf("means over some cells: %g, %g, %v", *r.ID, *r.OOD, r.OOD100)
	}
	r.summarise(Pair{2, 3}, nil)
	if *r.ID != 0.9 || *r.OOD != (0.6+0+0.3)/3 || *r.OOD100 != 0.25 {
		t.Errorf("means %g, %g, %g", *r.ID, *r.OOD, *r.OOD100)
	}
	if got, want := r.Summary(), "id 90.00 % over 2 pairs of lengths, ood 30.00 % over 3 pairs of lengths, ood100 25.00 % over 2 pairs of lengths"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	want := map[string]float64{"1": 1, "3": 0.6, "100": 0.3, "101": 0.5, "160": 0}
	if diff := cmp.Diff(want, r.ByLength); diff != "" {
		t.Error(diff)
	}
}

func TestTableOfAGrid(t *testing.T) {
	r := &Result{Settings: Settings{Metric: FirstToken}}
	for i := 1; i <= 4; i++ {
		for j := 1; j <= 5; j++ {
			r.ByCell = append(r.ByCell, Cell{Pair{i, j}, 10, max(0, 14-2*max(i, j)-i), 0})
			r.ByCell[len(r.ByCell)-1].Correct = min(10, r.ByCell[len(r.ByCell)-1].Correct)
		}
	}
	r.ByCell = append(r.ByCell, Cell{Pair{7, 7}, 10, 5, 0}, Cell{Pair{8, 8}, 10, 0, 0})
	r.summarise(Pair{2, 3}, nil)
	want := `first token: id 80.00 %, mean over 6 pairs of lengths of training; ood 28.75 %, mean over 16 longer ones, up to 100 digits

    1   5
  1 █97│53
  2 886│42
    ───┘
  3 55531
  4 2222·

both of 7 to 8: 5·

█ all right, 9 to 1 tenths of them, · none; lengths of the first down, of the second across
`
	if diff := cmp.Diff(want, r.Table(80)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	r.summarise(Pair{4, 3}, nil) // all rows, so no cells lie below the grid
	if got := r.Table(80); strings.Contains(got, "┘") || !strings.Contains(got, "\n  4 222│2·\n") {
		t.Errorf("all rows are trained on:\n%s", got)
	}
	narrow := r.Table(9) // three columns for five
	if !strings.Contains(narrow, "\n  1 9") {
		t.Errorf("narrow:\n%s", narrow)
	}
}
