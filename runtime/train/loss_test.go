package train

import (
	"math"
	"testing"
)

func TestThrottle(t *testing.T) {
	for times, want := range map[int]float64{1: 1.25, 2: 1.5, 4: 1, 8: 0.75, 16: 0.625} {
		cfg := Config{Times: times, Backprop: max(times/2, 1)}
		if got := cfg.throttle(); got != want {
			t.Errorf("%d runs: %g, want %g", times, got, want)
		}
	}
}

// TestWeight has 10 examples with 7 labels each in 20 rows.
func TestWeight(t *testing.T) {
	for _, c := range []struct {
		sum, throttle, example bool
		want                   float64
	}{
		{false, false, false, 1. / 70}, {true, false, false, 1. / 200}, {false, true, false, 1.5 / 70}, {true, true, false, 1.5 / 200},
		{false, false, true, 1. / 10},
	} {
		cfg := Config{Times: 2, Backprop: 1, Rows: 20, SumLoss: c.sum, Throttle: c.throttle, ExampleLoss: c.example}
		if got := cfg.weight(10, 70); math.Abs(got-c.want) > 1e-15 {
			t.Errorf("sum %t, throttle %t: %g, want %g", c.sum, c.throttle, got, c.want)
		}
	}
}

// TestPassesAreDrawn compares means and shares with the code of arXiv:2405.17399. The number of
// all runs is as often 1, 2, … as in its fact sheet.
func TestPassesAreDrawn(t *testing.T) {
	for _, c := range []struct {
		times            int
		noGrad, withGrad float64         // means
		total            map[int]float64 // shares of some n + k
	}{
		{1, 0, 1, map[int]float64{1: 1}},
		{2, 0.5, 1, map[int]float64{1: 0.5, 2: 0.5}},
		{4, 1.5, 1.375, map[int]float64{1: 0.125, 2: 0.25, 3: 0.25, 4: 0.375}},
		{8, 3.5, 2.125, map[int]float64{8: 0.260}},
		{16, 7.5, 3.625, map[int]float64{16: 0.170}},
	} {
		cfg := Config{Progressive: true, Alpha: 1, Times: c.times, Backprop: max(c.times/2, 1), MicroBatch: 4, Group: 64, Seed: 9}
		const steps, groups = 2000, 10
		noGrad, withGrad, total := 0.0, 0.0, map[int]float64{}
		for step := range steps {
			for group := range groups {
				p := cfg.passes(step, 64*group)[1]
				if p.noGrad < 0 || p.withGrad < 1 || p.withGrad > cfg.Backprop || p.noGrad+p.withGrad > c.times {
					t.Fatalf("of %d runs: %+v", c.times, p)
				}
				noGrad += float64(p.noGrad) / (steps * groups)
				withGrad += float64(p.withGrad) / (steps * groups)
				total[p.noGrad+p.withGrad] += 1. / (steps * groups)
			}
		}
		// Five standard deviations of 20,000 draws of 0 … 15.
		if math.Abs(noGrad-c.noGrad) > 0.17 || math.Abs(withGrad-c.withGrad) > 0.08 {
			t.Errorf("of %d runs %g have no gradient and %g have one on average, want %g and %g", c.times, noGrad, withGrad, c.noGrad, c.withGrad)
		}
		for n, want := range c.total {
			if math.Abs(total[n]-want) > 0.018 {
				t.Errorf("of %d runs: %d in all with chance %g, want %g", c.times, n, total[n], want)
			}
		}
	}
}

func TestPassesOfAGroup(t *testing.T) {
	cfg := Config{Progressive: true, Alpha: 0.25, Times: 16, Backprop: 4, MicroBatch: 4, Group: 32, Seed: 1}
	if got, want := cfg.shares(), [maxPasses]float64{0.75, 0.25}; got != want {
		t.Errorf("shares %v, want %v", got, want)
	}
	for name, other := range map[string]func() [maxPasses]pass{
		"group": func() [maxPasses]pass { return cfg.passes(3, 32) },
		"step":  func() [maxPasses]pass { return cfg.passes(4, 0) },
		"seed":  func() [maxPasses]pass { c := cfg; c.Seed = 2; return c.passes(3, 0) },
	} {
		first := cfg.passes(3, 0)
		if want := (pass{12, 4}); first[0] != want {
			t.Errorf("the full pass is %+v, want %+v", first[0], want)
		}
		for lo := 0; lo < 32; lo += 4 {
			if cfg.passes(3, lo) != first {
				t.Errorf("example %d of the group has draws of its own", lo)
			}
		}
		if other() == first {
			t.Errorf("another %s has the same draws %v", name, first)
		}
	}
	cfg = Config{Times: 16, Backprop: 16, MicroBatch: 4}
	if got := cfg.passes(3, 8)[0]; got != (pass{0, 16}) || cfg.shares() != [maxPasses]float64{1} {
		t.Errorf("without a progressive loss: %+v, shares %v", got, cfg.shares())
	}
}
