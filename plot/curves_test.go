package plot

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gonum.org/v1/plot/plotter"

	"github.com/arithlang/mlc/runtime/track"
)

// TestMean averages seeds. Steady series count wherever any of them has a point that lies
// in the range of all; other series count where all have a point.
func TestMean(t *testing.T) {
	all := []series{
		{system: "a", seed: "seed 1", points: plotter.XYs{{X: 1, Y: 0}, {X: 2, Y: 10}, {X: 4, Y: 30}, {X: 5, Y: 7}}},
		{system: "b", seed: "seed 1", points: plotter.XYs{{X: 1, Y: 5}, {X: 9, Y: 5}}},
		{system: "a", seed: "seed 2", points: plotter.XYs{{X: 1, Y: 2}, {X: 3, Y: 20}, {X: 4, Y: 30}}},
		{system: "a", seed: "seed 3", points: plotter.XYs{{X: 7, Y: 2}}}, // no line
	}
	for i := range all {
		all[i].steady = true
	}
	lines := curvesOf(all, false)
	if len(lines) != 2 || lines[0].name != "a, mean of 2 seeds" || lines[1].name != "b, seed 1" || lines[1].band != nil {
		t.Fatalf("%+v", lines)
	}
	if diff := cmp.Diff(plotter.XYs{{X: 1, Y: 1}, {X: 2, Y: 10.5}, {X: 3, Y: 20}, {X: 4, Y: 30}}, lines[0].points); diff != "" {
		t.Error(diff)
	}
	for i, want := range []float64{math.Sqrt2, math.Sqrt2 / 2, 0, 0} {
		if got := lines[0].band[i]; math.Abs(got-want) > 1e-12 {
			t.Errorf("deviation %g at %g, want %g", got, lines[0].points[i].X, want)
		}
	}
	for i := range all {
		all[i].steady = false
	}
	if diff := cmp.Diff(plotter.XYs{{X: 1, Y: 1}, {X: 4, Y: 30}}, curvesOf(all, false)[0].points); diff != "" {
		t.Errorf("points that all have: %s", diff)
	}
	all[2].points = all[2].points[1:]
	if lines := curvesOf(all, false); len(lines) != 3 {
		t.Errorf("%d lines where two seeds have one point in common, want 3", len(lines))
	}
	var names []string
	for _, l := range curvesOf(all, true) {
		names = append(names, l.name)
	}
	if got, want := strings.Join(names, "; "), "a, seed 1; b, seed 1; a, seed 2"; got != want {
		t.Errorf("each: %s, want %s", got, want)
	}
}

// TestReported draws measures over examples and over steps. It skips reports without the
// measure.
func TestReported(t *testing.T) {
	exact := &measure{of: "x", value: func(r *track.Report) *float64 { return r.ExactMatch }}
	reports := []track.Report{{Step: 0, Examples: 0, ExactMatch: new(3.0)}, {Step: 10, Examples: 640, ExactMatch: new(2.0)}, {Step: 100, Examples: 6400}, {Step: 1000, Examples: 64000, ExactMatch: new(1.0)}}
	for log, want := range map[bool]plotter.XYs{
		false: {{X: 0, Y: 3}, {X: 640, Y: 2}, {X: 64000, Y: 1}},
		true:  {{X: 1, Y: 2}, {X: 3, Y: 1}},
	} {
		if diff := cmp.Diff(want, exact.points(reports, log)); diff != "" {
			t.Errorf("log steps %t: %s", log, diff)
		}
	}
	right := func(int, int) int { return 10 }
	runs := load(t, runDir(t, "s-a-seed-1", 1, right), runDir(t, "s-a-seed-2", 2, right), runDir(t, "s-b-seed-1", 1, right))
	for _, c := range []struct {
		draw func([]*Run, Options) (*Figure, error)
		o    Options
		want string
	}{
		{Loss, Options{}, ">training loss (nats per token)< >training examples< >s< >a, mean of 2 seeds< >b, seed 1< >± one standard deviation< >20< >0.5<"},
		{Loss, Options{LogSteps: true, Each: true}, ">training steps< >a, seed 2< >1< >2<"},
		{Learning, Options{}, ">exact match of held-out problems (%)< >0< >100<"},
	} {
		f, err := c.draw(runs, c.o)
		if err != nil {
			t.Fatal(err)
		}
		drawn, err := os.ReadFile(saved(t, f, "svg"))
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range strings.SplitAfter(c.want, "< ") {
			if !bytes.Contains(drawn, []byte(strings.TrimSpace(want))) {
				t.Errorf("%s %+v has no %s", f.Name, c.o, want)
			}
		}
	}
}

// TestTrainingAndHeldOut draws both measures where each was measured, and the loss of
// batches only for runs without another training loss.
func TestTrainingAndHeldOut(t *testing.T) {
	full := runDir(t, "full", 1, func(int, int) int { return 1 })
	text := `{"step":1,"examples":10,"loss":9}
{"step":2,"examples":20,"loss":4,"exact_match":0.25,"held_out_loss":3,"train_exact_match":0.5,"train_loss":2}
{"step":3,"examples":30,"loss":9}
{"step":4,"examples":40,"loss":4,"exact_match":0.75,"held_out_loss":1,"train_exact_match":1,"train_loss":0.5}
`
	if err := os.WriteFile(filepath.Join(full, "metrics.jsonl"), []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	plain := runDir(t, "plain", 1, func(int, int) int { return 1 })
	for _, c := range []struct {
		draw func([]*Run, Options) (*Figure, error)
		dirs []string
		y    string
		want string
	}{
		{Learning, []string{full}, "exact match (%)", "seed 1: held-out problems; seed 1: training problems"},
		{Loss, []string{full}, "loss (nats per token)", "seed 1: held-out problems; seed 1: training problems"},
		{Loss, []string{plain}, "training loss (nats per token)", "seed 1"},
		{Loss, []string{plain, full}, "loss (nats per token)",
			"plain, seed 1: training batches; full, seed 1: held-out problems; full, seed 1: training problems"},
	} {
		f, err := c.draw(load(t, c.dirs...), Options{LogSteps: true})
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, e := range f.legend {
			names = append(names, e.what)
		}
		if got, y := strings.Join(names, "; "), f.panels[0][0].Y.Label.Text; got != c.want || y != c.y {
			t.Errorf("%s of %s, want %s of %s", y, got, c.y, c.want)
		}
	}
	r := load(t, full)[0].Trainings[0].Reports
	match := &measure{value: func(r *track.Report) *float64 { return percent(r.TrainExactMatch) }}
	if diff := cmp.Diff(plotter.XYs{{X: 20, Y: 50}, {X: 40, Y: 100}}, match.points(r, false)); diff != "" {
		t.Errorf("what is not measured is a gap: %s", diff)
	}
}

// TestTestsWhileTraining draws a line for each tested length, of the weights and of their
// average, next to the line of the reports.
func TestTestsWhileTraining(t *testing.T) {
	dir := runDir(t, "tested", 1, func(int, int) int { return 1 })
	half := 0.5
	log, _, err := track.OpenTests(dir, 0)
	if err != nil {
		t.Fatal(err)
	}
	for step := 1; step <= 2; step++ {
		test := track.Test{Step: step, Examples: int64(50 * step), Lengths: []track.Length{{Length: 3, ExactMatch: 1, Loss: &half}, {Length: 20, ExactMatch: half * half}}}
		if test.Average = test.Lengths[:1]; log.Write(test) != nil {
			t.Fatal("cannot write")
		}
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		draw func([]*Run, Options) (*Figure, error)
		want string
	}{
		{Learning, "seed 1: held-out problems; seed 1: length 3; seed 1: length 20; seed 1: length 3, averaged"},
		{Loss, "seed 1: training batches; seed 1: length 3; seed 1: length 3, averaged"}, // the other has no finite loss
	} {
		f, err := c.draw(load(t, dir), Options{})
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, e := range f.legend {
			names = append(names, e.what)
		}
		if got := strings.Join(names, "; "); got != c.want {
			t.Errorf("%s, want %s", got, c.want)
		}
	}
	want := plotter.XYs{{X: 50, Y: 25}, {X: 100, Y: 25}}
	all := byTest(load(t, dir)[0].Trainings[0].Tests, func(l *track.Length) *float64 { return percent(&l.ExactMatch) }, false)
	if diff := cmp.Diff(want, all[1].points); diff != "" {
		t.Error(diff)
	}
}

func TestRound125(t *testing.T) {
	for _, c := range []struct{ x, down, up float64 }{{3, 2, 5}, {0.007, 0.005, 0.01}, {1, 1, 1}, {20, 20, 20}, {99, 50, 100}} {
		down, up := math.Pow(10, round125(math.Log10(c.x), math.Floor)), math.Pow(10, round125(math.Log10(c.x), math.Ceil))
		if math.Abs(down/c.down-1) > 1e-9 || math.Abs(up/c.up-1) > 1e-9 {
			t.Errorf("%g: %g to %g, want %g to %g", c.x, down, up, c.down, c.up)
		}
	}
}
