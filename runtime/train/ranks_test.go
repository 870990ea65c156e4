package train

import (
	"slices"
	"testing"

	"github.com/arithlang/mlc/runtime/device"
)

// shardsOf is one of several ranks.
type shardsOf struct {
	Ranks
	rank, size int
}

func (s shardsOf) Rank() int    { return s.rank }
func (s shardsOf) Size() int    { return s.size }
func (s shardsOf) Shards() bool { return true }

// TestShards checks that one rank updates each trained element, that one rank updates a whole
// matrix, and that each rank gives its updates to the others.
func TestShards(t *testing.T) {
	plan := &device.Plan{NumParams: 600, Matrices: []device.Matrix{{Rows: 10, Cols: 16}}}
	trainer := &Trainer{Plan: plan, Params: []device.Param{
		{Name: "a", Shape: []int{80}, Off: 0, Decay: true},
		{Name: "m", Shape: []int{10, 16}, Off: 80, Matrix: true},
		{Name: "b", Shape: []int{48}, Off: 240},
		{Name: "n", Shape: []int{10, 16}, Off: 288, Matrix: true},
		{Name: "c", Shape: []int{52}, Off: 448},
		{Name: "given", Shape: []int{100}, Off: 500, Fixed: true},
	}, Config: Config{Decay: 0.1}}
	for size := 1; size <= 9; size++ {
		updated := make([]int, 500)
		for rank := range size {
			s := &stepper{Trainer: trainer, stretches: trainer.stretches(), matrices: trainer.matrices()}
			trainer.Ranks = shardsOf{rank: rank, size: size}
			s.shard()
			update := func(lo, hi int) {
				if lo < s.shards[rank] || s.shards[rank+1] < hi {
					t.Errorf("rank %d of %d updates %d to %d and gives others %d to %d", rank, size, lo, hi, s.shards[rank], s.shards[rank+1])
				}
				for i := lo; i < hi; i++ {
					updated[i]++
				}
			}
			for _, x := range s.stretches {
				update(x.lo, x.hi)
			}
			end := 0
			for _, m := range s.matrices {
				if m.end-end != 160 {
					t.Errorf("a matrix of %d elements", m.end-end)
				}
				update(m.off, m.off+m.end-end)
				end = m.end
			}
		}
		if slices.ContainsFunc(updated, func(n int) bool { return n != 1 }) {
			t.Errorf("%d ranks update %v", size, updated)
		}
	}
}
