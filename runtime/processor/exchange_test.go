package processor

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/arithlang/mlc/runtime/comm"
	"github.com/arithlang/mlc/runtime/comm/commtest"
	"github.com/arithlang/mlc/runtime/cpu"
	"github.com/arithlang/mlc/runtime/device"
)

// chunkSum sums the gradients of chunks, on one of several ranks or alone.
func chunkSum(w comm.World, elems, chunks, threads int) (*Machine, []float32, error) {
	m := New(nil, cpu.Go, threads, &device.Plan{NumParams: elems})
	if w != nil {
		m.Join(w)
	}
	for range 2 { // memory is reused
		m.Sum(chunks, func(w device.Worker, i int) {
			r := rand.New(rand.NewPCG(7, uint64(i)))
			grads := w.(*worker).Mem.F32[device.Grads]
			for k := range grads {
				grads[k] += float32(r.NormFloat64())
			}
		})
	}
	return m, m.total.sum, m.Err()
}

// TestRanksSum wants the same bits on any number of ranks, with any number of threads.
func TestRanksSum(t *testing.T) {
	const elems = 1000
	for chunks := range 14 {
		_, want, _ := chunkSum(nil, elems, chunks, 1)
		for _, size := range []int{2, 3, 4, 7} {
			sums := make([][]float32, size)
			errs := commtest.Run(size, commtest.Faults{Delay: 3e5, Seed: uint64(chunks)}, func(w comm.World) (err error) {
				_, sums[w.Rank()], err = chunkSum(w, elems, chunks, 1+w.Rank()%3)
				return err
			})
			for rank := range size {
				if errs[rank] != nil || !slices.Equal(sums[rank], want) {
					t.Fatalf("%d chunks, rank %d of %d: other bits, %v", chunks, rank, size, errs[rank])
				}
			}
		}
	}
}

// TestRankFails wants all ranks to notice a failing rank.
func TestRankFails(t *testing.T) {
	for fail := 1; fail <= 4; fail++ { // two calls a sum
		errs := commtest.Run(3, commtest.Faults{Fail: fail}, func(w comm.World) error {
			_, _, err := chunkSum(w, 100, 8, 1)
			return err
		})
		for rank, err := range errs {
			if err == nil {
				t.Errorf("call %d: rank %d has not noticed", fail, rank)
			}
		}
	}
}

// TestReceived compares the predicted memory for other ranks' slices with the used memory.
func TestReceived(t *testing.T) {
	for _, size := range []int{2, 3, 4} {
		for chunks := 1; chunks < 20; chunks++ {
			most := make([]int, size)
			commtest.Run(size, commtest.Faults{}, func(w comm.World) error {
				m, _, err := chunkSum(w, 1<<10, chunks, 1)
				most[w.Rank()] = len(m.ranks.buffer)
				return err
			})
			if want := Received(1<<10, chunks, size); float64(slices.Max(most)) > want*1.05+64 {
				t.Errorf("%d chunks on %d ranks: %v elements, at most %g expected", chunks, size, most, want)
			}
		}
	}
	if got := fmt.Sprint(Received(100, 8, 1)); got != "0" {
		t.Error(got)
	}
}
