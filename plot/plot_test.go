package plot

import (
	"bytes"
	"encoding/json"
	"fmt"
	"image"
	_ "image/png"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gonum.org/v1/plot"

	"github.com/arithlang/mlc/runtime/eval"
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
		figures, err := Figures(c.runs, "")
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

// TestField holds the heat map to the cells: the mean of the runs at each place, the
// first row on top, and nothing where nothing was tested.
func TestField(t *testing.T) {
	runs := load(t, runDir(t, "a", 1, func(i, j int) int { return (i + j) % 11 }), runDir(t, "a", 2, func(int, int) int { return 10 }))
	runs[0].Result.ByCell = runs[0].Result.ByCell[1:]
	runs[1].Result.ByCell = runs[1].Result.ByCell[2:] // without 1, 1 and 1, 2
	f := newField([]*eval.Result{runs[0].Result, runs[1].Result})
	columns, rows := f.Dims()
	if columns != 10 || rows != 12 {
		t.Fatalf("%d columns and %d rows", columns, rows)
	}
	for r := range rows {
		for c := range columns {
			i, j := -int(f.Y(r)), int(f.X(c))
			want := (float64((i+j)%11)/10 + 1) / 2
			switch {
			case i == 1 && j == 1:
				want = math.NaN()
			case i == 1 && j == 2:
				want = 0.3
			}
			if got := f.Z(c, r); math.Abs(got-want) > 1e-12 || math.IsNaN(got) != math.IsNaN(want) {
				t.Errorf("%d, %d: %g, want %g", i, j, got, want)
			}
		}
	}
	if newField([]*eval.Result{{ByCell: []eval.Cell{{Pair: eval.Pair{I: 3, J: 3}}, {Pair: eval.Pair{I: 4}}}}}) != nil {
		t.Error("a grid of cells on the diagonal")
	}
}

// TestGridPicture looks for the square and for light and dark cells in the pixels.
func TestGridPicture(t *testing.T) {
	runs := load(t, runDir(t, "a", 1, func(i, j int) int {
		if i <= 6 {
			return 10
		}
		return 0
	}))
	f, err := Grid([]*eval.Result{runs[0].Result})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "grid.png")
	if err := f.Save(path); err != nil {
		t.Fatal(err)
	}
	text, _ := os.ReadFile(path)
	img, _, err := image.Decode(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	var reds, lightRow, darkRow int
	size := img.Bounds()
	for y := range size.Dy() {
		for x := range size.Dx() * 3 / 4 { // the bar of colours is to the right
			r, g, b, _ := img.At(x, y).RGBA()
			switch [3]uint32{r >> 8, g >> 8, b >> 8} {
			case [3]uint32{0xd6, 0x1f, 0x1f}:
				reds++
			case [3]uint32{0xfd, 0xe7, 0x25}:
				lightRow += y
			case [3]uint32{0x44, 0x01, 0x54}:
				darkRow += y
			}
		}
	}
	if reds < 100 {
		t.Errorf("%d red pixels", reds)
	}
	if lightRow == 0 || darkRow < 2*lightRow {
		t.Errorf("light cells are not above dark ones: %d, %d", lightRow, darkRow)
	}
}

func TestThinking(t *testing.T) {
	thought := &eval.Thinking{Problem: "1+2", Answer: "3", Reply: "3", Settled: 2, After: [][]eval.Said{
		{{Token: "5"}, {Token: "$", Right: true}}, {{Token: "3", Right: true}, {Token: "$", Right: true}}}}
	text, err := json.Marshal(thought)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "t.json")
	os.WriteFile(path, text, 0o666)
	again, err := LoadThinking(path)
	if err != nil {
		t.Fatal(err)
	}
	svg := filepath.Join(t.TempDir(), "t.svg")
	if err := Thinking(again).Save(svg); err != nil {
		t.Fatal(err)
	}
	drawn, _ := os.ReadFile(svg)
	if n := bytes.Count(drawn, []byte("#C7E9C0")); n != 3 {
		t.Errorf("%d tokens on green, want 3", n)
	}
	os.WriteFile(path, []byte(`{}`), 0o666)
	if _, err := LoadThinking(path); err == nil {
		t.Error("any JSON is a thinking")
	}
}

// TestTicks counts lengths from 1 and cells from 0, and no more of them than there is
// room for.
func TestTicks(t *testing.T) {
	for _, c := range []struct {
		marker interface {
			Ticks(lo, hi float64) []plot.Tick
		}
		lo, hi float64
		want   string
	}{
		{lengths{1}, 0.5, 5.5, "1=1 2=2 3=3 4=4 5=5"},
		{lengths{1}, 1, 60, "1=1 10=10 20=20 30=30 40=40 50=50 60=60"},
		{lengths{-1}, -20.5, -0.5, "-1=1 -2=2 -4=4 -6=6 -8=8 -10=10 -12=12 -14=14 -16=16 -18=18 -20=20"},
		{tenths{}, 0, 1, "0=0.0 0.1= 0.2=0.2 0.3= 0.4=0.4 0.5= 0.6=0.6 0.7= 0.8=0.8 0.9= 1=1.0"},
		{decades{}, -0.4, 0.4, "-0.398= -0.301=0.5 -0.222= -0.155= -0.0969= -0.0458= 0=1 0.301=2"},
		{decades{}, -3.1, -0.01, "-3.1= -3.05= -3=0.001 -2.7= -2.52= -2.4= -2.3= -2.22= -2.15= -2.1= -2.05= -2=0.01 -1.7= -1.52= -1.4= -1.3= -1.22= -1.15= -1.1= -1.05= -1=0.1 -0.699= -0.523= -0.398= -0.301= -0.222= -0.155= -0.0969= -0.0458="},
		{indices{1}, -0.5, 3.5, "0=0 1=1 2=2 3=3"},
		{indices{-1}, -61.5, 0.5, "0=0 -10=10 -20=20 -30=30 -40=40 -50=50 -60=60"},
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

// TestTitles names systems without what they share, and without the seeds that trainings
// of a sweep have in their names.
func TestTitles(t *testing.T) {
	for names, want := range map[string]string{
		"a":                       "a",
		"sweep-a-seed-1":          "sweep-a",
		"sweep-a sweep-b":         "a b",
		"sweep-seed-1-a sweep-b":  "a b",
		"sweep-a-seed-2 sweep-ab": "a-seed-2 ab", // the seed is another one
		"sweep-a sweep-a-b":       "a a-b",
		"addition_a addition_b":   "addition_a addition_b",
		"x-a-seed-1 x-a":          "x-a x-a",
	} {
		var runs []*Run
		for _, name := range strings.Fields(names) {
			runs = append(runs, &Run{Name: name, Seed: 1})
		}
		called := titles(runs)
		var got []string
		for _, r := range runs {
			got = append(got, called[r.system()])
		}
		if text := strings.Join(got, " "); text != want {
			t.Errorf("%s are called %s, want %s", names, text, want)
		}
	}
}

// TestLegend wants the systems of a sweep by their rows, what the red line is, and room
// for as many lines as there are.
func TestLegend(t *testing.T) {
	var dirs []string
	for seed := range uint64(20) {
		for _, row := range []string{"abs", "vanilla"} {
			dirs = append(dirs, runDir(t, fmt.Sprintf("sweep-%s-seed-%d", row, seed), seed, func(i, j int) int { return max(i, j) / 2 }))
		}
	}
	f, err := Lengths(load(t, dirs...))
	if err != nil {
		t.Fatal(err)
	}
	if f.height <= curvesHeight {
		t.Errorf("%d lines in a legend of %v", len(dirs), f.height)
	}
	path := filepath.Join(t.TempDir(), "lengths.svg")
	if err := f.Save(path); err != nil {
		t.Fatal(err)
	}
	drawn, _ := os.ReadFile(path)
	for _, want := range []string{">abs, seed 0<", ">vanilla, seed 19<", ">longest of training<", ">exact match<", ">length of the operands<"} {
		if !bytes.Contains(drawn, []byte(want)) {
			t.Errorf("the figure has no %s", want)
		}
	}
}
