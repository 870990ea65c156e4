package prove

import (
	"context"
	"strings"
	"testing"

	"github.com/arithlang/mlc/internal/full"
	"github.com/arithlang/mlc/prove/timing"
	"github.com/arithlang/mlc/runtime/cuda"
	"github.com/arithlang/mlc/runtime/profile"
	"github.com/arithlang/mlc/sim/simulated"
)

// TestTimed wants the launches of every kernel, and no times of a device without a clock.
func TestTimed(t *testing.T) {
	t.Parallel()
	for _, device := range full.Some([]string{"count", "sim"}, 1) {
		p := conclude(t, runTimed, &Env{Device: device}, "small/looped")
		if p.Verdict != Pass || len(p.Timed.Rows) < 20 || p.Timed.Launches == 0 || p.Timed.Seconds != 0 || p.Timed.Peak.Flops != 0 {
			t.Errorf("%s: %+v", device, p)
			continue
		}
		for _, r := range p.Timed.Rows {
			if r.Launches+r.OnGPU == 0 || r.Seconds != 0 || r.Median != 0 {
				t.Errorf("%s: %+v", device, r)
			}
		}
	}
}

// TestWorstKernels wants the longest kernels on the page, with their share of the peak.
func TestWorstKernels(t *testing.T) {
	m := &timing.Timing{Batch: 128, GPU: profile.GPU{Seconds: 0.002, Ahead: 0.001, Busy: 0.5, Launches: 90, Kernels: 12}}
	for _, name := range strings.Split("abcdefghijk", "") {
		m.Rows = append(m.Rows, profile.Row{Name: "kernel_" + name, OnGPU: 3, Median: 12.5, Seconds: 37.5e-6, OfPeak: 0.125, Bound: "memory"})
	}
	m.Rows = append(m.Rows, profile.Row{Name: "(the GPU waits for the host)", Seconds: 1}) // has no share
	page := strings.Join((&Part{Name: "m", Timed: m}).lines(), "\n")
	for _, want := range []string{"128 examples in 1.000 ms as in training; alone 2.000 ms, the device busy for 50 %", "kernel_a                             3       12.5   9.1 %   12.5 % memory"} {
		if !strings.Contains(page, want) {
			t.Errorf("no %q in\n%s", want, page)
		}
	}
	if strings.Contains(page, "kernel_i") {
		t.Errorf("all kernels are on the page:\n%s", page)
	}
}

// TestTimedWithALibrary compares products if there is a library, and reports the result on the
// page; without times on a device without speed.
func TestTimedWithALibrary(t *testing.T) {
	full.Only(t)
	t.Parallel()
	var library *simulated.Multiplier
	env := &Env{Device: "sim", multiplier: func(d cuda.Driver) cuda.Multiplier {
		library = simulated.NewMultiplier(d)
		return library
	}}
	tiny := trials()[0]
	p := conclude(t, func(ctx context.Context, e *Env, p *Part) error {
		return e.race(ctx, p, race{model: tiny.model, fewer: tiny.fewer})
	}, env, tiny.name)
	if p.Verdict != Pass || library.Calls == 0 || len(p.Timed.Rows) < 50 || p.Timed.Products != nil || p.Timed.NoLibrary != "" {
		t.Errorf("%d products, %+v", library.Calls, p)
	}
	m := &timing.Timing{Batch: 128, GPU: profile.GPU{Seconds: 0.002, Products: &profile.Products{Library: "cuBLASLt 12.9.3", Theirs: 0.001, Ours: 0.0015, Ratio: 1.5}}}
	page := strings.Join((&Part{Name: "m", Timed: m}).lines(), "\n")
	if want := "products by cuBLASLt 12.9.3 take 1.000 ms a step, by mlc's kernels 1.500 ms for the same FLOP: 1.50 times as long"; !strings.Contains(page, want) {
		t.Errorf("no %q in\n%s", want, page)
	}
}
