package cpu

import (
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/arithlang/mlc/runtime/device"

	"github.com/arithlang/mlc/runtime/cpu/producttest"
)

// sharing returns workers that share parameters and Weights.
func sharing(isa ISA, n int, params []float32) ([]*Worker, *Weights) {
	var mem Memory
	mem.F32[device.Params] = params
	kept := &Weights{}
	var all []*Worker
	for range n {
		w := NewWorker(nil, isa, mem)
		w.Weights = kept
		all = append(all, w)
	}
	return all, kept
}

// TestWeights compares products of kept matrices with other products, with the parameters as of
// the last Renew.
func TestWeights(t *testing.T) {
	const m, k, n, first = 70, 24, 40, 16
	for _, isa := range isas() {
		params, a := producttest.Fill(first+k*n, rand.Float32), producttest.Fill(m*k, rand.Float32)
		workers, kept := sharing(isa, 3, params)
		for step := range 3 {
			kept.Renew()
			for i := range params {
				params[i] = rand.Float32()
			}
			for _, strides := range [][2]int{{n, 1}, {1, k}} {
				want := make([]float32, m*n)
				NewWorker(nil, Go, Memory{}).Product(m, n, k, a, k, 1, params[first:], strides[0], strides[1], want, n)
				var all sync.WaitGroup
				for _, w := range workers {
					all.Go(func() {
						for range 20 {
							got := make([]float32, m*n)
							w.Release(Mark{})
							w.ProductPacked(m, a, k, 1, w.Pack(m, k, n, params[first:], strides[0], strides[1]), got, n)
							if !slices.Equal(got, want) {
								t.Errorf("%s: another product in step %d", isa, step)
								return
							}
						}
					})
				}
				all.Wait()
			}
		}
		if both := 2; isa != Go && len(*kept.all.Load()) != both {
			t.Errorf("%s: %d matrices are kept, want %d", isa, len(*kept.all.Load()), both)
		}
	}
}

// TestWeightsKeepParameters wants a matrix to be packed once if it is a matrix of parameters
// and there is room for it.
func TestWeightsKeepParameters(t *testing.T) {
	const k, n = 16, 16
	for _, isa := range isas()[1:] {
		params, other := make([]float32, k*n), make([]float32, k*n)
		workers, kept := sharing(isa, 2, params)
		pack := func(w *Worker, b []float32) *float32 { return &w.Pack(100, k, n, b, n, 1).panels[0] }
		if pack(workers[0], params) != pack(workers[1], params) {
			t.Errorf("%s: parameters were packed twice", isa)
		}
		if pack(workers[0], other) == pack(workers[1], other) {
			t.Errorf("%s: a matrix that is not a parameter is kept", isa)
		}
		if n := testing.AllocsPerRun(10, func() { kept.Renew(); pack(workers[0], params) }); n > 0 {
			t.Errorf("%s: %v allocations for a matrix that is known", isa, n)
		}
		workers, kept = sharing(isa, 1, params)
		kept.size = MostKept/elemBytes - k*n + 1
		if pack(workers[0], params); kept.all.Load() != nil {
			t.Errorf("%s: more is kept than there is room for", isa)
		}
	}
}
