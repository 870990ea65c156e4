package plot

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/arithlang/mlc/runtime/eval"
)

// TestLabels wants the differences between runs of one name in their labels, and all labels
// different.
func TestLabels(t *testing.T) {
	for _, c := range []struct {
		change func(*Run)
		want   string
	}{
		{func(r *Run) { r.Name = "other" }, "small other"},
		{func(r *Run) { r.Seed = 2 }, "small, seed 1 small, seed 2"},
		{func(r *Run) { r.InitSeed = new(uint64(2)) }, "small, seed 1 small, seed 1, init seed 2"},
		{func(r *Run) { r.Trained = "50 steps" }, "small, 200 steps small, 50 steps"},
		{func(r *Run) { r.Trained = "" }, "small, 200 steps small"},
		{func(r *Run) { r.Trained = "50 steps, then 200 steps" }, "small, 200 steps small, 50 steps, then 200 steps"},
		{func(r *Run) { r.Result.ExamplesTrained = 77 }, "small, after 100 examples small, after 77 examples"},
		{func(r *Run) { r.SpecHash = "ffffffffffff" }, "small, 01234567 small, ffffffff"},
		{func(r *Run) { r.Dir = "runs/b" }, "small, runs/a small, runs/b"},
		{func(r *Run) {
			r.SpecHash, r.Seedless = "ffffffffffff", strings.Replace(r.Seedless, "0.001", "0.002", 1)
		}, "small, lr = 0.001 small, lr = 0.002"},
		{func(r *Run) { // more than a legend has room for
			r.SpecHash, r.Seedless = "ffffffffffff", strings.Replace(r.Seedless, "adamw", "adamw_"+strings.Repeat("x", mostTold), 1)
		}, "small, 01234567 small, ffffffff"},
		{func(r *Run) { r.Seed, r.Trained = 2, "50 steps" }, "small, seed 1 small, seed 2"},
	} {
		var runs []*Run
		for range 2 {
			runs = append(runs, &Run{Dir: "runs/a", Name: "small", Seed: 1, Seedless: "train {\n  optimizer = adamw(lr = 0.001, betas = [0.9, 0.98])\n}\n", SpecHash: "0123456789", Trained: "200 steps",
				Result: &eval.Result{Settings: eval.Settings{ExamplesTrained: 100}}})
		}
		c.change(runs[1])
		labels := Labels(runs)
		if got := labels[0] + " " + labels[1]; got != c.want {
			t.Errorf("%s, want %s", got, c.want)
		}
	}
}

// TestInitSeedsOfASystem groups runs that differ only in their initial weights into one
// system.
func TestInitSeedsOfASystem(t *testing.T) {
	var all []series
	for i := range uint64(3) {
		r := &Run{Name: fmt.Sprintf("sweep-init_seed-%d-seed-1", i), Seed: 1, InitSeed: &i}
		if got := r.System(); got != "sweep" {
			t.Errorf("%s is one of %s", r.Name, got)
		}
		all = append(all, series{system: r.System(), seed: r.Seeds()})
	}
	if got, want := mean(all[:1]).name+"; "+ofSeeds([]string{all[0].seed, all[1].seed}), "sweep, seed 1, init seed 0; mean of 2 seeds"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestDistinguish wants no mean over runs with different budgets.
func TestDistinguish(t *testing.T) {
	var runs []*Run
	for _, steps := range []int{200, 200, 50} {
		runs = append(runs, &Run{Name: "small", Seed: uint64(len(runs)), Trained: fmt.Sprintf("%d steps", steps)})
	}
	runs = append(runs, &Run{Name: "other"})
	Distinguish(runs)
	if got, want := names(runs), []string{"small, 200 steps", "small, 50 steps", "other"}; !slices.Equal(got, want) {
		t.Errorf("systems %q, want %q", got, want)
	}
	for i, r := range runs[:3] {
		r.Trained, r.SpecHash, r.Seedless = "200 steps", []string{"0123456789", "1123456789", "2123456789"}[i], []string{"a", "a", "b"}[i]
	}
	Distinguish(runs)
	if got, want := names(runs), []string{"small, 01234567", "small, 21234567", "other"}; !slices.Equal(got, want) {
		t.Errorf("systems %q, want %q", got, want)
	}
	for i, r := range runs[:3] {
		r.Seedless = "train {\n  optimizer = adamw(lr = 0.00" + []string{"1", "1", "2"}[i] + ", betas = [0.9, 0.98])\n}\n"
	}
	Distinguish(runs)
	if got, want := names(runs), []string{"small, lr = 0.001", "small, lr = 0.002", "other"}; !slices.Equal(got, want) {
		t.Errorf("systems %q, want %q", got, want)
	}
	Distinguish(runs[:2])
	if got := names(runs[:2]); !slices.Equal(got, []string{"small"}) {
		t.Errorf("systems %q", got)
	}
}
