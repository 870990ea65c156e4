package runtime

import (
	"fmt"
	goruntime "runtime"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/arithlang/mlc/compiler/tasks"
	"github.com/arithlang/mlc/runtime/cpu"
	"github.com/arithlang/mlc/runtime/device"
	"github.com/arithlang/mlc/runtime/processor"
	"github.com/arithlang/mlc/runtime/program"
	"github.com/arithlang/mlc/runtime/train"
)

// trainerOf returns the toy's trainer, ready for its first step.
func trainerOf(t *testing.T, m program.Model, machine device.Machine) *train.Trainer {
	t.Helper()
	problems, err := tasks.New(m.Task, 1)
	if err != nil {
		t.Fatal(err)
	}
	tr := &train.Trainer{Machine: machine, Plan: &m.Plan, Params: m.Params, Task: problems, Config: m.Train}
	tr.Start()
	return tr
}

// TestStepsDoNotAllocate waits for a few consecutive steps that allocate nothing. The first
// ones may allocate: which worker gets which work, and therefore room for it, is random.
func TestStepsDoNotAllocate(t *testing.T) {
	m := toyModel()
	m.Train.MicroBatch, m.Train.Chunk = 4, 8
	tr := trainerOf(t, m, processor.New(m.CPU, cpu.Detect(), 3, &m.Plan))
	var before, after goruntime.MemStats
	for range 100 {
		goruntime.ReadMemStats(&before)
		for range 10 {
			if _, err := tr.Step(0.01); err != nil {
				t.Fatal(err)
			}
		}
		goruntime.ReadMemStats(&after)
		if after.Mallocs == before.Mallocs {
			return
		}
	}
	t.Errorf("steps go on allocating: %d times in the last ten", after.Mallocs-before.Mallocs)
}

// TestChunks compares with the definition: a chunk's micro-batches add to one gradient, and the
// gradients of chunks are added in order. A recorder sees the launches.
func TestChunks(t *testing.T) {
	m := toyModel()
	m.Train.Batch, m.Train.MicroBatch, m.Train.Chunk = 50, 8, 16
	bits := map[string]bool{}
	for _, threads := range []int{1, 2, 5} {
		tr := trainerOf(t, m, processor.New(m.CPU, cpu.Go, threads, &m.Plan))
		for range 3 {
			if _, err := tr.Step(0.01); err != nil {
				t.Fatal(err)
			}
		}
		bits[parameterBits(tr)] = true
	}
	if len(bits) != 1 {
		t.Errorf("threads make %d different results", len(bits))
	}

	var launches atomic.Int64
	launched := [64]atomic.Int32{}
	healthy := m.CPU[toyGradients].Run
	m.CPU[toyGradients].Run = func(w *cpu.Worker, e *device.Env, a []device.Ref) {
		dirty := slices.ContainsFunc(w.F32(device.Ref{Space: device.Grads}), func(x float32) bool { return x != 0 })
		if first := e.Example%16 == 0; dirty == first {
			t.Errorf("example %d begins with old gradients: %t", e.Example, dirty)
		}
		launched[e.Example].Store(int32(e.B))
		launches.Add(1)
		healthy(w, e, a)
	}
	if _, err := trainerOf(t, m, processor.New(m.CPU, cpu.Go, 2, &m.Plan)).Step(0.01); err != nil {
		t.Fatal(err)
	}
	for first, examples := range map[int]int32{0: 8, 8: 8, 16: 8, 24: 8, 32: 8, 40: 8, 48: 2} {
		if got := launched[first].Load(); got != examples {
			t.Errorf("the launch from example %d on has %d examples, want %d", first, got, examples)
		}
	}
	if launches.Load() != 7 {
		t.Errorf("%d launches, want 7", launches.Load())
	}
}

// parameterBits returns a trainer's parameters.
func parameterBits(tr *train.Trainer) string {
	x := make([]float32, tr.Plan.NumParams)
	tr.Machine.Root().GetFloats(x, device.Ref{Space: device.Params})
	return fmt.Sprintf("%x", x)
}
