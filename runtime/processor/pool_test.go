package processor

import (
	"math/rand/v2"
	goruntime "runtime"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/arithlang/mlc/runtime/cpu"
	"github.com/arithlang/mlc/runtime/device"
	"github.com/arithlang/mlc/runtime/device/treetest"
)

func TestEachRunsOnceOnOneWorkerAtATime(t *testing.T) {
	m := New(nil, cpu.Go, 4, &device.Plan{})
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
	for _, n := range []int{0, 1, MinRange, 2*MinRange + 5, 9 * MinRange} {
		m := New(nil, cpu.Go, 3, &device.Plan{})
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

// TestSumDoesNotDependOnWorkers sums values whose float32 sum depends on the order. Pieces end
// out of order; some tests have more of them than spare gradients.
func TestSumDoesNotDependOnWorkers(t *testing.T) {
	const n, size = 60, 2*MinRange + 17 // the remaining additions have two parts
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
	for to, from := range treetest.Tree(n) {
		for j := range sums[to] {
			sums[to][j] += sums[from][j]
		}
	}
	want := sums[0]
	for _, workers := range []int{1, 2, 3, 8, 32, 100} {
		m := New(nil, cpu.Go, workers, &device.Plan{NumParams: size})
		for range 3 {
			m.Sum(n, func(w device.Worker, i int) {
				if i%7 == 0 {
					time.Sleep(2 * time.Millisecond)
				}
				grads := w.(*worker).F32(device.Ref{Space: device.Grads})
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

// TestSumDoesNotWait delays the first piece until a worker has done two others.
func TestSumDoesNotWait(t *testing.T) {
	m := New(nil, cpu.Go, 2, &device.Plan{NumParams: 4})
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
