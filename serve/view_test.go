package serve

import (
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/arithlang/mlc/plot"
	"github.com/arithlang/mlc/plot/list"
	"github.com/arithlang/mlc/runtime/eval"
	"github.com/arithlang/mlc/runtime/record"
	"github.com/arithlang/mlc/runtime/track"
	"github.com/arithlang/mlc/runtime/train"
)

// TestShort writes a duration in its two largest units.
func TestShort(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0 s", 59400 * time.Millisecond: "59 s", time.Minute: "1 min 00 s", 61 * time.Second: "1 min 01 s",
		time.Hour - time.Second: "59 min 59 s", time.Hour: "1 h 00 min", 25*time.Hour + 2*time.Minute: "25 h 02 min",
	} {
		if got := short(d); got != want {
			t.Errorf("%v is %q, want %q", d, got, want)
		}
	}
}

// TestShownPath shortens a path below the working directory, and leaves others whole.
func TestShownPath(t *testing.T) {
	t.Chdir(t.TempDir())
	here, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	for dir, want := range map[string]string{
		filepath.Join(here, "runs", "a"): filepath.Join("runs", "a"), filepath.Dir(here): filepath.Dir(here), here: ".",
	} {
		if got := shownPath(dir); got != want {
			t.Errorf("%s is shown as %s, want %s", dir, got, want)
		}
	}
}

// plotRun returns a run of addition with a result.
func plotRun(r *eval.Result) *plot.Run { return &plot.Run{Task: "addition", Result: r} }

// TestPace computes the recent speed of a run and the rest of its budget.
func TestPace(t *testing.T) {
	report := func(step int) track.Report {
		return track.Report{Step: step, Examples: int64(8 * step), Seconds: float64(step) / 2}
	}
	var many []track.Report // slow at first
	for step := 1; step <= 30; step++ {
		r := report(step)
		if step < 20 {
			r.Seconds = float64(step) - 1000
		}
		many = append(many, r)
	}
	for _, c := range []struct {
		name     string
		reports  []track.Report
		budget   train.Budget
		rate     float64
		left     time.Duration
		fraction float64
		progress string
	}{
		{"not begun", nil, train.Budget{Steps: 100}, 0, -1, -1, ""},
		{"no time", []track.Report{{Step: 1}}, train.Budget{Steps: 100}, 0, -1, 0.01, "0.010"},
		{"the first report", []track.Report{report(10)}, train.Budget{Steps: 100}, 16, 45 * time.Second, 0.1, "0.100"},
		{"steps", []track.Report{report(10), report(20)}, train.Budget{Steps: 100}, 16, 40 * time.Second, 0.2, "0.200"},
		{"examples", []track.Report{report(10), report(20)}, train.Budget{Examples: 1600}, 16, 90 * time.Second, 0.1, "0.100"},
		{"a time", []track.Report{report(10), report(20)}, train.Budget{Time: 40 * time.Second}, 16, 30 * time.Second, 0.25, "0.250"},
		{"FLOP", []track.Report{report(10), report(20)}, train.Budget{FLOP: 1e9}, 16, -1, -1, ""},
		{"at the end", []track.Report{report(50), report(100)}, train.Budget{Steps: 100}, 16, 0, 1, "1.000"},
		{"a slow one", []track.Report{{Step: 1, Examples: 1, Seconds: 10}, {Step: 2, Examples: 2, Seconds: 20}}, train.Budget{Examples: 4}, 0.1, 20 * time.Second, 0.5, "0.500"},
		{"one step", []track.Report{{Step: 1, Examples: 8, Seconds: 4}}, train.Budget{Steps: 1}, 2, 0, 1, "1.000"},
		{"one example", []track.Report{{Step: 1, Examples: 1, Seconds: 4}}, train.Budget{Examples: 1}, 0.25, 0, 1, "1.000"},
		{"no example", []track.Report{{Step: 1, Seconds: 4}}, train.Budget{Examples: 64}, 0, -1, 0, "0.000"},
		{"beyond", []track.Report{report(50), report(110)}, train.Budget{Steps: 100}, 16, -1, 1.1, "1.000"},
		{"of late", many, train.Budget{Steps: 40}, 16, 5 * time.Second, 0.75, "0.750"},
	} {
		v := &view{Run: &list.Run{}, Runs: &plot.Run{Trainings: []plot.Training{{Reports: c.reports}}}, How: record.Training{Budget: c.budget}}
		rate, left := v.pace()
		if rate != c.rate || left != c.left || v.fraction() != c.fraction || v.Progress() != c.progress {
			t.Errorf("%s: %g examples/s, %v left, %g used, %q; want %g, %v, %g, %q", c.name, rate, left, v.fraction(), v.Progress(), c.rate, c.left, c.fraction, c.progress)
		}
	}
}

// TestFacts has the last report of a run, and how fast it goes on.
func TestFacts(t *testing.T) {
	half, loss := 0.5, math.Ln2
	end := track.Report{Step: 1200, Examples: 9600, Loss: 2.5, Seconds: 61}
	measured, both := end, end
	measured.ExactMatch = &half
	both.ExactMatch, both.HeldOutLoss = &half, &loss
	read := end
	read.HeldOutLoss = &loss
	slow := end
	slow.Examples = 40
	const first, last = "step 1,200 of 2400 steps|loss 2.5 nats a token|", "|trained for 1 min 01 s "
	for _, c := range []struct {
		name  string
		r     track.Report
		state list.State
		want  string
	}{
		{"a loss", end, list.Stopped, first + "examples/s 157 " + last},
		{"exact match", measured, list.Stopped, first + "exact match 50.00 % held-out problems, while training|examples/s 157 " + last},
		{"both", both, list.Stopped, first + "exact match 50.00 % held-out problems, while training|examples/s 157 " + last},
		{"a text", read, list.Stopped, first + "held-out loss 0.693 nats a token; 1 bits|examples/s 157 " + last},
		{"running", end, list.Running, first + "examples/s 157 |time left 1 min 01 s " + last},
		{"slow", slow, list.Running, first + "examples/s 1 |time left 1 min 01 s " + last},
	} {
		v := &view{Run: &list.Run{State: c.state}, Runs: &plot.Run{Trainings: []plot.Training{{Reports: []track.Report{c.r}}}}, How: record.Training{Budget: train.Budget{Steps: 2400}}}
		var got []string
		for _, f := range v.Facts() {
			got = append(got, f.Name+" "+f.Value+" "+f.Note)
		}
		if diff := cmp.Diff(c.want, strings.Join(got, "|")); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
	v := &view{Run: &list.Run{State: list.Running}, Runs: new(plot.Run)}
	if got := v.Facts(); got != nil {
		t.Errorf("before the first report: %+v", got)
	}
}

// TestCommands wants commands that train a run again with its own budget.
func TestCommands(t *testing.T) {
	seed := uint64(7)
	for _, c := range []struct {
		name string
		v    view
		want []string // the first commands
	}{
		{"steps", view{How: record.Training{Budget: train.Budget{Steps: 5}}}, []string{"mlc train runs/a/spec.arith --seed 3 --steps 5", "mlc eval runs/a"}},
		{"examples", view{How: record.Training{Budget: train.Budget{Examples: 64}}}, []string{"mlc train runs/a/spec.arith --seed 3 --examples 64", "mlc eval runs/a"}},
		{"a time", view{How: record.Training{Budget: train.Budget{Time: 90 * time.Second}}}, []string{"mlc train runs/a/spec.arith --seed 3 --time 1m30s", "mlc eval runs/a"}},
		{"FLOP", view{How: record.Training{Budget: train.Budget{FLOP: 1e12}}}, []string{"mlc train runs/a/spec.arith --seed 3 --flop 1e+12", "mlc eval runs/a"}},
		{"initial weights", view{Record: record.Record{InitSeed: &seed}, How: record.Training{Budget: train.Budget{Steps: 5}}}, []string{"mlc train runs/a/spec.arith --seed 3 --init-seed 7 --steps 5", "mlc eval runs/a"}},
		{"stopped", view{Run: &list.Run{State: list.Stopped}, How: record.Training{Budget: train.Budget{Steps: 5}}}, []string{"mlc train runs/a/spec.arith --seed 3 --steps 5", "mlc train --resume --out runs/a", "mlc eval runs/a"}},
	} {
		if c.v.Run == nil {
			c.v.Run = &list.Run{State: list.Trained}
		}
		c.v.Shown, c.v.Record.Seed = filepath.Join("runs", "a"), 3
		for i, command := range c.v.Commands()[:len(c.want)] {
			if got := filepath.ToSlash(command.Line); got != c.want[i] {
				t.Errorf("%s: to %s %q, want %q", c.name, command.For, got, c.want[i])
			}
		}
	}
}

// TestProblemsOfAMean counts the problems of a mean's cells, if the mean is over these
// cells.
func TestProblemsOfAMean(t *testing.T) {
	r := &eval.Result{Settings: eval.Settings{Metric: eval.ExactMatch}, Trained: &[2]int{2, 2},
		ByCell: []eval.Cell{tenOf(1, 1, 10), tenOf(2, 2, 5), tenOf(3, 2, 1), tenOf(100, 100, 3), tenOf(101, 101, 4), tenOf(101, 7, 9), tenOf(160, 0, 2)}}
	set := func(x float64) *float64 { return &x }
	r.ID, r.OOD, r.OOD100, r.Overall = set(0.75), set(0.2), set(0.3), set(34./70)
	var got []string
	for _, f := range means(r) {
		got = append(got, f.Name+" "+f.Value+" "+f.Of)
	}
	want := []string{"ood 20.00 % of 20", "ood100 30.00 % of 20", "id 75.00 % of 20", "overall 48.57 % of 70"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	uneven := &eval.Result{Settings: eval.Settings{Metric: eval.ExactMatch}, ByCell: []eval.Cell{{Pair: eval.Pair{I: 1, J: 1}, Samples: 10, Correct: 10}, {Pair: eval.Pair{I: 2, J: 2}, Samples: 30, Correct: 2}}}
	for mean, want := range map[float64]string{0.3: "of 40", (1 + 2./30) / 2: "of 40", 0.5: ""} { // over problems, over cells, over neither
		uneven.Overall = &mean
		if got := means(uneven); len(got) != 1 || got[0].Of != want {
			t.Errorf("a mean of %g: %+v, want %q", mean, got, want)
		}
	}
	r.ID, r.OOD, r.OOD100, r.Overall = set(0.8), nil, nil, nil // mean of other cells
	if got := means(r); len(got) != 1 || got[0].Of != "" {
		t.Errorf("of a mean over other cells: %+v", got)
	}
}

// TestExample has an example for each task that has one.
func TestExample(t *testing.T) {
	for name, want := range map[string]string{"addition": "123+456", "sum": "12+34+56", "multiplication": "12*34", "successor": "12399", "parity": "12399", "copy": "12399", "file": "", "sort": ""} {
		if got := (&view{Runs: &plot.Run{Task: name}}).Example(); got != want {
			t.Errorf("of %s: %q, want %q", name, got, want)
		}
	}
	for times, want := range map[string]bool{"": false, "1": false, "2": true} {
		if got := (&view{Run: &list.Run{Settings: map[string]string{"model.decoder_only.times": times}}}).Loops(); got != want {
			t.Errorf("a loop of %q times loops: %v", times, got)
		}
	}
}
