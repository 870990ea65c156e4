package plot

import (
	"bytes"
	"encoding/json"
	"fmt"
	"image/color"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"

	"github.com/arithlang/mlc/runtime/eval"
	"github.com/arithlang/mlc/runtime/thinking"
	"github.com/arithlang/mlc/runtime/track"
)

// runDir makes a run directory: a result over grid and diagonal, and two reports.
func runDir(t *testing.T, name string, seed uint64, right func(i, j int) int) string {
	t.Helper()
	dir := t.TempDir()
	r := &eval.Result{Settings: eval.Settings{Name: name, Seed: seed, Metric: eval.ExactMatch, Samples: 10}, Trained: &[2]int{4, 4}}
	for i := 1; i <= 12; i++ {
		for j := 1; j <= 10; j++ {
			r.ByCell = append(r.ByCell, eval.Cell{Pair: eval.Pair{I: i, J: j}, Samples: 10, Correct: right(i, j)})
		}
	}
	r.ByCell = append(r.ByCell, eval.Cell{Pair: eval.Pair{I: 14, J: 14}, Samples: 10, Correct: right(14, 14)})
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	for file, content := range map[string]string{
		"run.json":         fmt.Sprintf(`{"name":%q,"seed":%d}`, name, seed),
		"eval/result.json": string(text),
		"metrics.jsonl":    `{"step":1,"examples":50,"loss":2.5,"exact_match":0}` + "\n" + `{"step":2,"examples":100,"loss":0.5,"exact_match":0.25}` + "\n",
	} {
		path := filepath.Join(dir, file)
		os.MkdirAll(filepath.Dir(path), 0o777)
		if err := os.WriteFile(path, []byte(content), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func load(t *testing.T, dirs ...string) (runs []*Run) {
	t.Helper()
	for _, d := range dirs {
		r, err := Load(d, "")
		if err != nil {
			t.Fatal(err)
		}
		runs = append(runs, r)
	}
	return runs
}

func TestFigures(t *testing.T) {
	all := func(int, int) int { return 10 }
	runs := load(t, runDir(t, "a", 1, all), runDir(t, "a", 2, func(i, j int) int { return max(0, 10-max(i, j)) }), runDir(t, "b", 1, all))
	for _, c := range []struct {
		runs []*Run
		want string
	}{
		{runs[:1], "grid lengths loss training"},
		{runs, "grid-a grid-b lengths loss training"},
		{[]*Run{{Name: "fresh"}}, ""},
		{[]*Run{{Name: "without held-out problems", Trainings: []Training{{Reports: []track.Report{{Examples: 50}, {Examples: 100}}}}}}, "loss"},
	} {
		figures, err := Figures(c.runs, "", Options{})
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, f := range figures {
			names = append(names, f.Name)
			for _, format := range Formats() {
				path := filepath.Join(t.TempDir(), f.Name+"."+format)
				if err := f.Save(path); err != nil {
					t.Fatal(err)
				}
				text, _ := os.ReadFile(path)
				if magic := map[string]string{"png": "\x89PNG", "svg": "<?xml", "pdf": "%PDF"}[format]; !bytes.HasPrefix(text, []byte(magic)) {
					t.Errorf("%s begins with %q", path, text[:min(len(text), 10)])
				}
			}
		}
		if got := strings.Join(names, " "); got != c.want {
			t.Errorf("figures %q, want %q", got, c.want)
		}
	}
	if err := (&Figure{}).Save("x.gif"); err == nil || !strings.Contains(err.Error(), "png, svg, pdf") {
		t.Errorf("a format that is none: %v", err)
	}
}

// TestField compares the heat map with the cells: the mean of the runs, the first row on
// top, and nothing where nothing was tested.
func TestField(t *testing.T) {
	runs := load(t, runDir(t, "a", 1, func(i, j int) int { return (i + j) % 11 }), runDir(t, "a", 2, func(int, int) int { return 10 }))
	runs[0].Result.ByCell = runs[0].Result.ByCell[1:]
	runs[1].Result.ByCell = runs[1].Result.ByCell[2:] // without 1, 1 and 1, 2
	f, err := newField([]*eval.Result{runs[0].Result, runs[1].Result})
	if err != nil {
		t.Fatal(err)
	}
	rows, columns := len(f.mean), len(f.mean[0])
	if columns != 10 || rows != 12 {
		t.Fatalf("%d columns and %d rows", columns, rows)
	}
	for r := range rows {
		for c := range columns {
			i, j := r+1, c+1
			want := (float64((i+j)%11)/10 + 1) / 2
			switch {
			case i == 1 && j == 1:
				want = math.NaN()
			case i == 1 && j == 2:
				want = 0.3
			}
			if got := f.mean[r][c]; math.Abs(got-want) > 1e-12 || math.IsNaN(got) != math.IsNaN(want) {
				t.Errorf("%d, %d: %g, want %g", i, j, got, want)
			}
		}
	}
	pair := func(i, j int) eval.Cell { return eval.Cell{Pair: eval.Pair{I: i, J: j}} }
	if f, err := newField([]*eval.Result{{ByCell: []eval.Cell{pair(3, 3), pair(4, 0)}}}); f != nil || err != nil {
		t.Errorf("a grid of cells on the diagonal: %v", err)
	}
	if _, err := newField([]*eval.Result{{ByCell: []eval.Cell{pair(1, 2), pair(1<<20, 1<<19)}}}); err == nil {
		t.Error("a grid of 2^39 cells")
	}
}

// TestDamagedResult refuses counts that no test produces.
func TestDamagedResult(t *testing.T) {
	for _, cell := range []string{"[1,1,5,6]", "[1,1,5,-1]", "[0,1,5,5]", "[1,-1,5,5]", "[1,1000000000000,5,5]", "[1,1,-5,-5]"} {
		dir := runDir(t, "a", 1, func(int, int) int { return 1 })
		if err := os.WriteFile(filepath.Join(dir, "eval", "result.json"), []byte(`{"metric":"exact_match","by_cell":[`+cell+`]}`), 0o666); err != nil {
			t.Fatal(err)
		}
		if _, err := Load(dir, ""); err == nil || !strings.Contains(err.Error(), "result.json is damaged") {
			t.Errorf("%s: %v", cell, err)
		}
	}
}

// thought is the output of solve --thinking after two runs of a loop, the first of them
// wrong.
func thought(problem, answer, wrong string) *thinking.Thinking {
	t := &thinking.Thinking{Problem: problem, Answer: answer, Expected: answer, Settled: 2, After: make([][]thinking.Said, 2)}
	for i := range answer {
		t.After[0] = append(t.After[0], thinking.Said{Token: wrong[i : i+1], Right: wrong[i] == answer[i]})
		t.After[1] = append(t.After[1], thinking.Said{Token: answer[i : i+1], Right: true})
	}
	return t
}

func TestThinking(t *testing.T) {
	text, err := json.Marshal(thought("123", "124", "127"))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "t.json")
	os.WriteFile(path, text, 0o666)
	again, err := LoadThinking(path)
	if err != nil {
		t.Fatal(err)
	}
	checkThought := func(i, j int) color.Color {
		if i == 0 && j == 2 {
			return wrongToken
		}
		return rightToken
	}
	f := Thinking(again)
	l, img := f.layout(), picture(t, f)
	data := l.data[0][0]
	for i := range 2 {
		for j := range 3 { // the corner of a cell, next to its token
			x := data.Min.X + data.Size().X*vg.Length(j)/3 + 4*dot
			y := data.Max.Y - data.Size().Y*vg.Length(i)/2 - 4*dot
			if got := img.At(int(x/dot), img.Bounds().Dy()-int(y/dot)); color.RGBAModel.Convert(got) != checkThought(i, j) {
				t.Errorf("token %d after %d runs is on %v", j+1, i+1, got)
			}
		}
	}
	os.WriteFile(path, []byte(`{}`), 0o666)
	if _, err := LoadThinking(path); err == nil {
		t.Error("any JSON is a thinking")
	}
}

// TestTicks counts lengths from 1 and cells from 0, with as many ticks as there is room
// for.
func TestTicks(t *testing.T) {
	for _, c := range []struct {
		marker interface {
			Ticks(lo, hi float64) []plot.Tick
		}
		lo, hi float64
		want   string
	}{
		{cells{least: 1}, 0.5, 5.5, "1=1 2=2 3=3 4=4 5=5"},
		{cells{least: 1}, 0.5, 60.5, "1=1 10=10 20=20 30=30 40=40 50=50 60=60"},
		{cells{least: 1, down: true}, -20.5, -0.5, "-1=1 -4=4 -6=6 -8=8 -10=10 -12=12 -14=14 -16=16 -18=18 -20=20"},
		{cells{}, -0.5, 3.5, "0=0 1=1 2=2 3=3"},
		{cells{down: true}, -61.5, 0.5, "0=0 -10=10 -20=20 -30=30 -40=40 -50=50 -60=60"},
		{percents{}, -3, 103, "0=0 20=20 40=40 60=60 80=80 100=100"},
		{decades{}, -0.4, 0.4, "-0.398= -0.301=0.5 -0.222= -0.155= -0.0969= -0.0458= 0=1 0.301=2"},
		{decades{}, 1.301, 1.6021, "1.3=20 1.48=30 1.6=40"},
		{decades{}, -3.1, -0.5, "-3.1= -3.05= -3=0.001 -2.7= -2.52= -2.4= -2.3= -2.22= -2.15= -2.1= -2.05= -2=0.01 -1.7= -1.52= -1.4= -1.3= -1.22= -1.15= -1.1= -1.05= -1=0.1 -0.699= -0.523="},
		{numbers{6}, 0, 25600, "0=0 5e+03=5k 1e+04=10k 1.5e+04=15k 2e+04=20k 2.5e+04=25k"},
		{numbers{6}, 0, 3, "0=0 0.5=0.5 1=1 1.5=1.5 2=2 2.5=2.5 3=3"},
		{numbers{5}, -0.4, 0.6, "-0.4=−0.4 -0.2=−0.2 0=0 0.2=0.2 0.4=0.4 0.6=0.6"},
		{numbers{6}, 0, 50e6, "0=0 1e+07=10M 2e+07=20M 3e+07=30M 4e+07=40M 5e+07=50M"},
		{numbers{6}, 1, 1, ""},
	} {
		var got []string
		for _, tick := range c.marker.Ticks(c.lo, c.hi) {
			got = append(got, fmt.Sprintf("%.3g=%s", tick.Value+0, tick.Label))
		}
		if text := strings.Join(got, " "); text != c.want {
			t.Errorf("%v from %g to %g: %s, want %s", c.marker, c.lo, c.hi, text, c.want)
		}
	}
}

// TestTitles names systems without their common words, and without the seeds that a sweep
// puts into names.
func TestTitles(t *testing.T) {
	for names, want := range map[string]string{
		"a":                       "a: ",
		"sweep-a-seed-1":          "sweep-a: ",
		"sweep-a sweep-b":         "sweep: a b",
		"sweep-seed-1-a sweep-b":  "sweep: a b",
		"sweep-a-seed-2 sweep-ab": "sweep: a-seed-2 ab", // the seed is another one
		"sweep-a sweep-a-b":       "sweep: a a-b",
		"addition_a addition_b":   ": addition_a addition_b",
		"x-a-seed-1 x-a":          "x-a:  ",
	} {
		var runs []*Run
		for _, name := range strings.Fields(names) {
			runs = append(runs, &Run{Name: name, Seed: 1})
		}
		common, called := titles(runs)
		var got []string
		for _, r := range runs {
			got = append(got, called[r.System()])
		}
		if text := common + ": " + strings.Join(got, " "); text != want {
			t.Errorf("%s are called %s, want %s", names, text, want)
		}
	}
}

// TestLegend wants the systems of a sweep, the meaning of the red line, and a figure high
// enough for all lines.
func TestLegend(t *testing.T) {
	var dirs []string
	for seed := range uint64(20) {
		for _, row := range []string{"abs", "vanilla"} {
			dirs = append(dirs, runDir(t, fmt.Sprintf("sweep-%s-seed-%d", row, seed), seed, func(i, j int) int { return max(i, j) / 2 }))
		}
	}
	runs := load(t, dirs...)
	f, err := Lengths(runs, Options{Each: true})
	if err != nil {
		t.Fatal(err)
	}
	if h := f.layout().height; h <= f.sideHeight() {
		t.Errorf("%d lines in a legend of %v", len(dirs), h)
	}
	path := filepath.Join(t.TempDir(), "lengths.svg")
	if err := f.Save(path); err != nil {
		t.Fatal(err)
	}
	drawn, _ := os.ReadFile(path)
	for _, want := range []string{">abs, seed 0<", ">vanilla, seed 19<", ">sweep<", ">longest in training<", ">exact match (%)<", ">length of each operand (digits)<"} {
		if !bytes.Contains(drawn, []byte(want)) {
			t.Errorf("the figure has no %s", want)
		}
	}
}
