//go:build !nogpu && linux && (amd64 || arm64)

package live_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/arithlang/mlc/codegen/live"
	"github.com/arithlang/mlc/internal/full"
	"github.com/arithlang/mlc/ptxsim/card"
	"github.com/arithlang/mlc/ptxsim/count"
	"github.com/arithlang/mlc/runtime/cpu"
	"github.com/arithlang/mlc/runtime/cuda"
	"github.com/arithlang/mlc/runtime/cuda/libcuda"
	"github.com/arithlang/mlc/runtime/cuda/libcuda/fakecuda"
	"github.com/arithlang/mlc/runtime/device"
	"github.com/arithlang/mlc/sim/counted"
)

// steps includes a step that launches, one that records a graph and one that replays it.
const steps = 4

// train does steps on a driver and returns the machine's first error.
func train(t *testing.T, m *live.Model, d cuda.Driver) {
	t.Helper()
	machine, err := m.Machine(d)
	if err != nil {
		t.Fatal(err)
	}
	trainer, err := m.Trainer(machine)
	if err != nil {
		t.Fatal(err)
	}
	for range steps {
		if _, err := trainer.Step(m.Train.LR); err != nil {
			t.Fatal(err)
		}
	}
	if err := machine.Err(); err != nil {
		t.Fatal(err)
	}
}

// like returns a card with a driver's properties.
func like(i cuda.Info) card.Card {
	return card.Card{Name: i.Name, SMs: i.SMs, Memory: i.Memory, FP32: 1, Bandwidth: 1, Arch: card.Arch{
		Major: i.Major, Minor: i.Minor, Shared: i.SharedOptIn + 1<<10, Threads: 2048, Blocks: 32}}
}

// A launched is the data about a kernel's launches that both drivers have.
type launched struct {
	launches, replicas, blocks, least, most int64
	threads, shared                         int
}

// TestCountsAreWhatADriverSees trains on the fake library of NVIDIA's driver and on the counting
// driver. Both have the same kernels, grids, graphs, waits and memory.
func TestCountsAreWhatADriverSees(t *testing.T) {
	lib := fakecuda.Build(t)
	for _, spec := range []string{"tiny", "successor", "kerple"} {
		m, err := live.New(compile(t, spec, nil))
		if err != nil {
			t.Fatal(err)
		}
		lib.Reset()
		lib.Set("fill", 0)
		fake, err := libcuda.Open(libcuda.Options{Library: lib.Path})
		if err != nil {
			t.Fatal(err)
		}
		train(t, m, fake)
		counting, err := counted.Open(counted.Options{Card: like(fake.Info()), Program: m.GPU, Costs: m.Costs})
		if err != nil {
			t.Fatal(err)
		}
		train(t, m, counting)
		c := counting.Counts()
		got, want := map[string]launched{}, map[string]launched{}
		for _, k := range c.Kernels {
			got[k.Name] = launched{k.Launches, k.Replicas, k.Blocks, k.Least, k.Most, k.Threads, k.Dynamic}
		}
		for _, l := range lib.Launches() {
			want[l.Name] = want[l.Name].plus(l)
		}
		if !maps.Equal(got, want) {
			for name := range maps.Keys(want) {
				if got[name] != want[name] {
					t.Errorf("%s, %s: counted %+v, the driver saw %+v", spec, name, got[name], want[name])
				}
			}
			t.Errorf("%s: %d kernels were counted, the driver saw %d", spec, len(got), len(want))
		}
		free, total, err := fake.MemInfo()
		if err != nil || c.Memory != total-free {
			t.Errorf("%s: %d bytes, the driver gave %d, %v", spec, c.Memory, total-free, err)
		}
		for function, n := range map[string]int64{"cuGraphLaunch": c.Replays, "cuGraphInstantiateWithFlags": c.Captures,
			"cuStreamSynchronize": c.Waits, "cuEventSynchronize": c.Behind, "cuFuncSetAttribute": c.Allowed} {
			if called := int64(lib.Calls(function)); called != n {
				t.Errorf("%s: %s was called %d times, %d were counted", spec, function, called, n)
			}
		}
		if c.Captures == 0 || c.Replays == 0 {
			t.Errorf("%s: no graphs: %+v", spec, c)
		}
		if err := fake.Close(); err != nil {
			t.Error(err)
		}
	}
}

func (k launched) plus(l fakecuda.Launch) launched {
	blocks := int64(l.Grid[0] * l.Grid[1] * l.Grid[2])
	if k.launches == 0 {
		k.least = blocks
	}
	return launched{k.launches + 1, k.replicas + int64(l.Grid[1]*l.Grid[2]), k.blocks + blocks, min(k.least, blocks), max(k.most, blocks),
		max(k.threads, l.Block[0]*l.Block[1]*l.Block[2]), max(k.shared, l.Shared)}
}

// An audit adds up the costs of a plan's launches from their scalars.
type audit struct {
	device.Machine
	costs []func(*device.Env) cpu.Cost
	sums  []cpu.Cost
	times []int64
}

type audited struct {
	device.Worker
	a     *audit
	queue device.Queue
}

func (a *audit) of(w device.Worker) device.Worker {
	out := &audited{Worker: w, a: a}
	out.queue = device.NewQueue(out)
	return out
}

func (a *audit) Sum(n int, f func(w device.Worker, i int)) {
	a.Machine.Sum(n, func(w device.Worker, i int) { f(a.of(w), i) })
}

func (a *audit) Ranges(n int, f func(w device.Worker, lo, hi int)) {
	a.Machine.Ranges(n, func(w device.Worker, lo, hi int) { f(a.of(w), lo, hi) })
}

func (a *audit) Root() device.Worker { return a.of(a.Machine.Root()) }

func (w *audited) Queue() device.Queue { return w.queue }

func (w *audited) Launch(kernel int, e *device.Env, args ...device.Ref) {
	w.note(kernel, e)
	w.Worker.Launch(kernel, e, args...)
}

func (w *audited) Join(kernel int, e *device.Env, args ...device.Ref) {
	w.note(kernel, e)
	w.Worker.Join(kernel, e, args...)
}

// note adds up a launch of the plan.
func (w *audited) note(kernel int, e *device.Env) {
	launched := e.Launched()
	c := w.a.costs[kernel](&launched)
	w.a.sums[kernel].Flops += c.Flops
	w.a.sums[kernel].Bytes += c.Bytes
	w.a.times[kernel]++
}

// TestCostsComeBackFromParameters adds up the costs of all launches twice: from all scalars of the
// plan, and from the parameters that a driver sees. Both are equal.
func TestCostsComeBackFromParameters(t *testing.T) {
	h200, err := card.Find("H200")
	if err != nil {
		t.Fatal(err)
	}
	for _, spec := range full.Some([]string{"tiny", "successor", "kerple", "small/looped", "small/recurrence", "bias/parity_rope", "bias/addition_rpe"}, 2) {
		m, err := live.New(compile(t, spec, nil))
		if err != nil {
			t.Fatal(err)
		}
		d, err := counted.Open(counted.Options{Card: h200, Program: m.GPU, Costs: m.Costs})
		if err != nil {
			t.Fatal(err)
		}
		machine, err := m.Machine(d)
		if err != nil {
			t.Fatal(err)
		}
		a := &audit{Machine: machine, costs: m.Costs, sums: make([]cpu.Cost, len(m.Costs)), times: make([]int64, len(m.Costs))}
		trainer, err := m.Trainer(a)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := trainer.Step(m.Train.LR); err != nil {
			t.Fatal(err)
		}
		c := d.Counts()
		for i, k := range m.GPU.Kernels {
			var got count.Kernel
			if at := slices.IndexFunc(c.Kernels, func(x count.Kernel) bool { return x.Name == k.Name }); at >= 0 {
				got = c.Kernels[at]
			}
			if got.Replicas != a.times[i] || got.Flops != a.sums[i].Flops || got.Bytes != a.sums[i].Bytes {
				t.Errorf("%s, %s: %d launches, %g FLOP and %g bytes by their parameters; the plan makes %d of %+v", spec, k.Name,
					got.Replicas, got.Flops, got.Bytes, a.times[i], a.sums[i])
			}
		}
	}
}

// TestCount compares a report with known figures of the model, and with a second report.
func TestCount(t *testing.T) {
	h200, err := card.Find("H200")
	if err != nil {
		t.Fatal(err)
	}
	m, err := live.New(compile(t, "successor", nil))
	if err != nil {
		t.Fatal(err)
	}
	r, err := m.Count(counted.Options{Card: h200})
	if err != nil {
		t.Fatal(err)
	}
	// 256 examples in chunks of 64: four replicas of the plan's launches.
	if r.Name != m.Name || r.Steps != 10 || r.Replays != 9 || r.Captures != 1 || r.Misses != 1 || r.Launches*3 > r.Plan || r.Host != 0 || r.Bound <= 0 {
		t.Errorf("%+v", r)
	}
	again, err := m.Count(counted.Options{Card: h200})
	if err != nil || again.String() != r.String() {
		t.Errorf("counted again: %v\n%s\nafter\n%s", err, again.String(), r.String())
	}
}
