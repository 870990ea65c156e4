package runtime

import (
	"fmt"
	"math/rand/v2"
	goruntime "runtime"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/arithlang/mlc/runtime/cpu"
	"github.com/arithlang/mlc/runtime/device"
	"github.com/arithlang/mlc/runtime/task"
	"github.com/arithlang/mlc/runtime/train"
)

func TestEachRunsOnceOnOneWorkerAtATime(t *testing.T) {
	m := NewCPU(nil, cpu.Go, 4, &device.Plan{})
	for _, n := range []int{0, 1, 2, 7, 100} {
		counts := make([]atomic.Int32, n)
		m.Each(n, func(w device.Worker, i int) {
			if w.Env().N != 0 {
				t.Error("a worker is used twice at once")
			}
			w.Env().N = 1
			counts[i].Add(1)
			goruntime.Gosched()
			w.Env().N = 0
		})
		for i := range counts {
			if c := counts[i].Load(); c != 1 {
				t.Errorf("%d of %d ran %d times", i, n, c)
			}
		}
	}
}

func TestRangesCoverAllOnce(t *testing.T) {
	for _, n := range []int{0, 1, minRange, 2*minRange + 5, 9 * minRange} {
		m := NewCPU(nil, cpu.Go, 3, &device.Plan{})
		counts := make([]atomic.Int32, n)
		m.Ranges(n, func(_ device.Worker, lo, hi int) {
			for i := lo; i < hi; i++ {
				counts[i].Add(1)
			}
		})
		for i := range counts {
			if c := counts[i].Load(); c != 1 {
				t.Fatalf("element %d of %d is in %d ranges", i, n, c)
			}
		}
	}
}

// TestSumDoesNotDependOnWorkers sums values whose float32 sum depends on the
// order, with pieces that end out of order: also more of them than there are spare
// gradients.
func TestSumDoesNotDependOnWorkers(t *testing.T) {
	const n, size = 60, 2*minRange + 17 // what is left to be added has two parts
	r := rand.New(rand.NewPCG(11, 12))
	values := make([][]float32, n)
	for i := range values {
		values[i] = make([]float32, size)
		for j := range values[i] {
			values[i][j] = float32(r.NormFloat64()) * float32(r.IntN(1000))
		}
	}
	sums := make([][]float32, n)
	for i := range sums {
		sums[i] = slices.Clone(values[i])
	}
	for to, from := range device.Tree(n) {
		for j := range sums[to] {
			sums[to][j] += sums[from][j]
		}
	}
	want := sums[0]
	for _, workers := range []int{1, 2, 3, 8, 32, 100} {
		m := NewCPU(nil, cpu.Go, workers, &device.Plan{NumParams: size})
		for range 3 {
			m.Sum(n, func(w device.Worker, i int) {
				if i%7 == 0 {
					time.Sleep(2 * time.Millisecond)
				}
				grads := w.(*cpuWorker).F32(device.Ref{Space: device.Grads})
				for j := range grads {
					grads[j] += values[i][j]
				}
			})
			got := make([]float32, size)
			m.Root().GetFloats(got, device.Ref{Space: device.Grads})
			if !slices.Equal(got, want) {
				t.Errorf("%d workers: another sum than the tree's", workers)
			}
		}
	}
}

// TestSumDoesNotWait makes a first piece that ends only when a worker has done two
// others.
func TestSumDoesNotWait(t *testing.T) {
	m := NewCPU(nil, cpu.Go, 2, &device.Plan{NumParams: 4})
	third := make(chan bool)
	m.Sum(3, func(_ device.Worker, i int) {
		switch i {
		case 0:
			select {
			case <-third:
			case <-time.After(10 * time.Second):
				t.Error("a worker waits for its turn to add although there is room for its gradients")
			}
		case 2:
			close(third)
		}
	})
}

// trainerOf is the toy's trainer, ready for its first step.
func trainerOf(t *testing.T, m Model, machine device.Machine) *train.Trainer {
	t.Helper()
	problems, err := task.New(m.Task, 1)
	if err != nil {
		t.Fatal(err)
	}
	tr := &train.Trainer{Machine: machine, Plan: &m.Plan, Params: m.Params, Task: problems, Config: m.Train}
	tr.Start()
	return tr
}

// TestStepsDoNotAllocate waits for a few steps in a row that allocate nothing. The
// first ones may: which worker gets which work, and so has room for it, is a
// matter of chance.
func TestStepsDoNotAllocate(t *testing.T) {
	m := toyModel()
	m.Train.MicroBatch, m.Train.Chunk = 4, 8
	tr := trainerOf(t, m, NewCPU(m.CPU, cpu.Detect(), 3, &m.Plan))
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

// TestChunks holds the definition: a chunk's micro-batches add to one gradient, and
// the gradients of chunks are added in order. A recorder sees the launches.
func TestChunks(t *testing.T) {
	m := toyModel()
	m.Train.Batch, m.Train.MicroBatch, m.Train.Chunk = 50, 8, 16
	bits := map[string]bool{}
	for _, threads := range []int{1, 2, 5} {
		tr := trainerOf(t, m, NewCPU(m.CPU, cpu.Go, threads, &m.Plan))
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
	if _, err := trainerOf(t, m, NewCPU(m.CPU, cpu.Go, 2, &m.Plan)).Step(0.01); err != nil {
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

// parameterBits is what a trainer has learned.
func parameterBits(tr *train.Trainer) string {
	x := make([]float32, tr.Plan.NumParams)
	tr.Machine.Root().GetFloats(x, device.Ref{Space: device.Params})
	return fmt.Sprintf("%x", x)
}
