package serve

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/arithlang/mlc/runtime/eval"
	"github.com/arithlang/mlc/runtime/track"
	"github.com/arithlang/mlc/serve/chart"
)

// tenOf is a cell of ten problems with so many correct.
func tenOf(i, j, correct int) eval.Cell {
	return eval.Cell{Pair: eval.Pair{I: i, J: j}, Samples: 10, Correct: correct}
}

// TestGridOf makes a grid of a result whose lengths differ, and refuses damaged and huge
// results.
func TestGridOf(t *testing.T) {
	for _, c := range []struct {
		name  string
		cells []eval.Cell
		rows  int // 0: no grid
		cols  int
		err   string
	}{
		{"no cells", nil, 0, 0, ""},
		{"a diagonal", []eval.Cell{tenOf(1, 1, 5), tenOf(2, 2, 5), tenOf(3, 0, 5)}, 0, 0, ""},
		{"a row", []eval.Cell{tenOf(3, 1, 5), tenOf(3, 2, 5)}, 1, 2, ""},
		{"a grid, and longer ones of equal lengths", []eval.Cell{tenOf(2, 3, 5), tenOf(4, 3, 5), tenOf(9, 9, 5)}, 3, 1, ""},
		{"bounds of a cell", []eval.Cell{tenOf(1, 2, 0), tenOf(1, 3, 10)}, 1, 2, ""},
		{"no length", []eval.Cell{tenOf(0, 2, 5)}, 0, 0, "5 of 10 right at lengths 0 and 2"},
		{"a negative length", []eval.Cell{tenOf(1, -1, 5)}, 0, 0, "damaged: 5 of 10 right at lengths 1 and -1"},
		{"fewer right than none", []eval.Cell{tenOf(1, 2, -1)}, 0, 0, "damaged: -1 of 10 right"},
		{"more right than there are", []eval.Cell{tenOf(1, 2, 11)}, 0, 0, "damaged: 11 of 10 right"},
		{"the largest", []eval.Cell{tenOf(1, 2, 5), tenOf(1, 40001, 5)}, 1, 40000, ""},
		{"too wide", []eval.Cell{tenOf(1, 2, 5), tenOf(1, 40002, 5)}, 0, 0, "a grid of 1 by 40001 cells is too large"},
		{"too high", []eval.Cell{tenOf(2, 1, 5), tenOf(40002, 1, 5)}, 0, 0, "a grid of 40001 by 1 cells is too large"},
		{"too many", []eval.Cell{tenOf(1, 2, 5), tenOf(201, 201, 5), tenOf(201, 202, 5)}, 0, 0, "a grid of 201 by 201 cells is too large"},
		{"endless", []eval.Cell{tenOf(1, 2, 5), tenOf(1<<40, 1<<40-1, 5)}, 0, 0, "too large"},
	} {
		g, err := gridOf(&eval.Result{ByCell: c.cells})
		if (c.err == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s: %v, want %q", c.name, err, c.err)
		}
		if (g != nil) != (c.rows > 0) || g != nil && (len(g.cells) != c.rows || len(g.cells[0]) != c.cols) {
			t.Errorf("%s: %+v, want %d by %d", c.name, g, c.rows, c.cols)
		}
		v := &view{Runs: plotRun(&eval.Result{ByCell: c.cells})}
		if figures := v.Grid(); (len(figures) == 1) != (c.rows > 0 || c.err != "") || len(figures) == 1 && (figures[0].Picture == "") != (c.err != "") {
			t.Errorf("%s: %d figures", c.name, len(figures))
		}
	}
	if g, err := gridOf(nil); g != nil || err != nil {
		t.Errorf("without a result %v, %v", g, err)
	}
}

// TestHeatOfAGrid wants the fraction of each cell at its place, and a square around the
// lengths of training.
func TestHeatOfAGrid(t *testing.T) {
	r := &eval.Result{Trained: &[2]int{3, 4}, ByCell: []eval.Cell{tenOf(2, 3, 5), tenOf(2, 4, 10), tenOf(4, 3, 0), tenOf(8, 8, 1)}}
	g, err := gridOf(r)
	if err != nil {
		t.Fatal(err)
	}
	h := g.heat(r, "addition")
	want := [][]float64{{0.5, 1}, {math.NaN(), math.NaN()}, {0, math.NaN()}}
	if diff := cmp.Diff(want, h.Values, cmpopts.EquateNaNs()); diff != "" || h.Square != [2]float64{2, 2} || h.Y.First != 2 || h.X.First != 3 {
		t.Errorf("a square of %v from %d and %d on, %s", h.Square, h.Y.First, h.X.First, diff)
	}
	if got := []string{h.Texts(0, 0), h.Texts(1, 1)}; !cmp.Equal(got, []string{"5 of 10 right, 50.00 %", "not tested"}) {
		t.Errorf("cells say %q", got)
	}
	if g.whole() {
		t.Error("a cell is not tested")
	}
	for _, c := range []struct {
		square, all bool
		says, not   []string
	}{
		{true, true, []string{"lengths of training"}, []string{"not tested"}},
		{false, false, []string{"not tested"}, []string{"lengths of training"}},
		{true, false, []string{"lengths of training", "not tested"}, nil},
	} {
		legend := string(gridLegend(c.square, c.all))
		for _, says := range c.says {
			if !strings.Contains(legend, says) {
				t.Errorf("%+v: no %q in %s", c, says, legend)
			}
		}
		for _, not := range c.not {
			if strings.Contains(legend, not) {
				t.Errorf("%+v: %q in %s", c, not, legend)
			}
		}
	}
	than := &eval.Result{ByCell: []eval.Cell{tenOf(2, 3, 8), tenOf(2, 4, 10), tenOf(4, 4, 7)}}
	d := difference(g, r, than, "addition")
	if diff := cmp.Diff([][]float64{{-0.3, 0}, {math.NaN(), math.NaN()}, {math.NaN(), math.NaN()}}, d.Values, cmpopts.EquateNaNs(), cmpopts.EquateApprox(0, 1e-12)); diff != "" {
		t.Errorf("differences: %s", diff)
	}
	if got := []string{d.Texts(0, 0), d.Texts(0, 1), d.Texts(1, 1)}; !cmp.Equal(got, []string{"-30.0 points", "+0.0 points", "not tested by both"}) {
		t.Errorf("differences say %q", got)
	}
	if got, want := gridCSV(r), "i,j,samples,correct\n2,3,10,5\n2,4,10,10\n4,3,10,0\n8,8,10,1\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestMeanOfCurves takes the mean at the points that all curves have.
func TestMeanOfCurves(t *testing.T) {
	got := spread("mean", [][]chart.Point{
		{{X: 1, Y: 10}, {X: 2, Y: 20}, {X: 4, Y: 5}, {X: 5, Y: 5}},
		{{X: 1, Y: 14}, {X: 3, Y: 0}, {X: 4, Y: 5}},
	}, 2)
	want := chart.Series{Name: "mean", Style: 2, Points: []chart.Point{{X: 1, Y: 12}, {X: 4, Y: 5}},
		Low: []float64{12 - 2*math.Sqrt2, 5}, High: []float64{12 + 2*math.Sqrt2, 5}}
	if diff := cmp.Diff(want, got, cmpopts.EquateApprox(0, 1e-12)); diff != "" {
		t.Error(diff)
	}
}

// TestCurvesCSV wants a line for each x of any curve, with an empty field for a curve
// without that x.
func TestCurvesCSV(t *testing.T) {
	got := curvesCSV("step", []chart.Series{
		{Name: "a, \"b\"", Points: []chart.Point{{X: 3, Y: 0.5}, {X: 1, Y: 1e-9}}},
		{Name: "c", Points: []chart.Point{{X: 2, Y: 1234567.5}, {X: 3, Y: 0}}},
	})
	if want := "step,\"a, \"\"b\"\"\",c\n1,1e-09,\n2,,1.23457e+06\n3,0.5,0\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	for text, want := range map[string]string{"plain": "plain", "a,b": `"a,b"`, "a\"b": `"a""b"`, "a\nb": "\"a\nb\"", "a\rb": "\"a\rb\""} {
		if got := csvText(text); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}

// TestMeasured leaves out measures with fewer than two reports, and batches where problems
// were measured.
func TestMeasured(t *testing.T) {
	x := 0.5
	for _, c := range []struct {
		name    string
		q       int // index in quantities
		reports []track.Report
		want    []string
	}{
		{"batches alone", 0, []track.Report{{Loss: 2}, {Loss: 1}}, []string{"training batches"}},
		{"once held out", 0, []track.Report{{Loss: 2, HeldOutLoss: &x}, {Loss: 1}}, []string{"training batches"}},
		{"twice held out", 0, []track.Report{{Loss: 2, HeldOutLoss: &x}, {Loss: 1, HeldOutLoss: &x}}, []string{"held-out problems"}},
		{"problems of training, too", 0, []track.Report{{HeldOutLoss: &x, TrainLoss: &x}, {HeldOutLoss: &x, TrainLoss: &x}}, []string{"held-out problems", "training problems"}},
		{"no match", 1, []track.Report{{}, {}}, nil},
		{"matches", 1, []track.Report{{ExactMatch: &x, TrainExactMatch: &x}, {ExactMatch: &x, TrainExactMatch: &x}}, []string{"held-out problems", "training problems"}},
		{"one report", 2, []track.Report{{LR: 1}}, nil},
		{"rates", 2, []track.Report{{LR: 1}, {LR: 2}}, []string{"learning rate"}},
	} {
		var names []string
		for _, m := range quantities[c.q].measured(c.reports) {
			names = append(names, m.name)
		}
		if diff := cmp.Diff(c.want, names); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
	reports := []track.Report{{Step: 1, Examples: 8, Loss: 2}, {Step: 2, Examples: 16, Loss: 1}}
	batches := quantities[0].measures[2]
	for _, c := range []struct {
		examples, percents bool
		want               []chart.Point
	}{
		{false, false, []chart.Point{{X: 1, Y: 2}, {X: 2, Y: 1}}}, {true, false, []chart.Point{{X: 8, Y: 2}, {X: 16, Y: 1}}}, {false, true, []chart.Point{{X: 1, Y: 200}, {X: 2, Y: 100}}},
	} {
		if diff := cmp.Diff(c.want, batches.points(reports, c.examples, c.percents)); diff != "" {
			t.Errorf("%+v: %s", c, diff)
		}
	}
}

// TestAttentionLayers names runs of a loop if there are several, and uses tokens if their
// number fits.
func TestAttentionLayers(t *testing.T) {
	values := [][]float64{{1, 0}, {0.5, 0.5}}
	a := &Attention{Rows: []string{"a", "b"}, Cols: []string{"c", "d"}, Maps: []Map{{Name: "x", Values: values}, {Name: "x", Head: 1, Values: values}, {Name: "y", Values: [][]float64{{1, 0}, {1}}}}}
	describe := func(a *Attention) (out []string) {
		for _, l := range attentionLayers(a) {
			for _, h := range l.Heads {
				out = append(out, l.Name+": "+h.Title+" "+h.Note)
			}
		}
		return out
	}
	if diff := cmp.Diff([]string{"x: head 0 ", "x: head 1 ", "y: head 0 the rows differ in length"}, describe(a)); diff != "" {
		t.Error(diff)
	}
	a.Maps[1].Run = 1
	if diff := cmp.Diff([]string{"x, run 1 of the loop: head 0 ", "x, run 2 of the loop: head 1 ", "y, run 1 of the loop: head 0 the rows differ in length"}, describe(a)); diff != "" {
		t.Error(diff)
	}
	if got := named([]string{"a", "b"}, 2); len(got.Names) != 2 {
		t.Errorf("two tokens of two rows: %+v", got)
	}
	if got := named([]string{"a", "b"}, 3); got.Names != nil {
		t.Errorf("two tokens of three rows: %+v", got)
	}
}

// TestBiasScale wants 0 in the middle of the scale for biases of both signs, and a scale
// for equal biases.
func TestBiasScale(t *testing.T) {
	inf := math.Inf(-1)
	for _, c := range []struct {
		name   string
		values [][]float64
		says   []string
	}{
		{"more and less", [][]float64{{-1, 3}}, []string{"−3", "3"}},
		{"less than more", [][]float64{{-4, 1}}, []string{"−4", "4"}},
		{"no 1", [][]float64{{-1, 0.5}}, []string{"−1", "1"}},
		{"less alone", [][]float64{{-4, -2}}, []string{"−4", "−2"}},
		{"less and none", [][]float64{{-4, 0}}, []string{"−4", "0"}},
		{"more alone", [][]float64{{0, 2}}, []string{"0", "2"}},
		{"equal", [][]float64{{2, 2}}, []string{"2", "3"}},
		{"masked", [][]float64{{inf, 2, math.NaN(), 5}}, []string{"2", "5"}},
	} {
		f := biasMap(Bias{Name: "b", Head: 1, Values: c.values})
		text := plain(string(f.Legend))
		if got := strings.Fields(text); len(got) != 2 || !cmp.Equal(got, c.says) || f.Title != "b, head 1" {
			t.Errorf("%s: the legend of %s is %q, want %q", c.name, f.Title, got, c.says)
		}
	}
}

// TestBiasFigures draws curves of a layer's heads together and each map alone, and nothing of biases
// whose sizes are wrong.
func TestBiasFigures(t *testing.T) {
	curve := func(x int, values ...[]float64) Bias {
		return Bias{Name: "a", Kind: "curve", X: make([]float64, x), Values: values}
	}
	square := func(values ...[]float64) Bias { return Bias{Name: "b", Kind: "map", Values: values} }
	for _, c := range []struct {
		name   string
		biases []Bias
		want   int
	}{
		{"two heads", []Bias{curve(2, []float64{1, 2}), curve(2, []float64{3, 4})}, 1},
		{"a curve without values", []Bias{curve(2)}, 0},
		{"a curve of too few values", []Bias{curve(3, []float64{1, 2})}, 0},
		{"two rows of a curve", []Bias{curve(2, []float64{1, 2}, []float64{1, 2})}, 0},
		{"maps", []Bias{square([]float64{1, 2}, []float64{3, -4}), square([]float64{1})}, 2},
		{"a map without rows", []Bias{square()}, 0},
		{"a map of uneven rows", []Bias{square([]float64{1, 2}, []float64{3})}, 0},
		{"another kind", []Bias{{Name: "c", Kind: "list", X: make([]float64, 1), Values: [][]float64{{1}}}}, 0},
	} {
		figures := biasFigures(c.biases)
		if len(figures) != c.want {
			t.Errorf("%s: %d figures, want %d", c.name, len(figures), c.want)
		}
		for _, f := range figures {
			if f.Picture == "" {
				t.Errorf("%s: a figure without a picture", c.name)
			}
		}
	}
}
