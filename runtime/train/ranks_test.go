package train

import (
	"errors"
	"slices"
	"testing"

	"github.com/arithlang/mlc/runtime/config"
	"github.com/arithlang/mlc/runtime/device"
	"github.com/arithlang/mlc/runtime/task"
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

// A told is a rank that records what it tells the others, and fails if it should.
type told struct {
	shardsOf
	steps, collected []int // examples of steps, and lengths of arrays of losses
	shared           []device.Space
	err              error
}

func (r *told) Step(examples int, _ float64) error {
	r.steps = append(r.steps, examples)
	return r.err
}

func (r *told) Collect(arrays [][]float32, _ []int) error {
	for _, x := range arrays {
		r.collected = append(r.collected, len(x))
	}
	return r.err
}

func (r *told) Share(s device.Space, _ []int) error {
	r.shared = append(r.shared, s)
	return r.err
}

// TestLead tells the other ranks of a step only on rank 0. Each knows the rows of all.
func TestLead(t *testing.T) {
	failed := errors.New("failed")
	for _, c := range []struct {
		rank  int
		err   error
		steps []int
	}{{0, nil, []int{6}}, {1, nil, nil}, {2, nil, nil}, {0, failed, []int{6}}} {
		ranks := &told{shardsOf: shardsOf{rank: c.rank, size: 3}, err: c.err}
		s := &stepper{Trainer: &Trainer{Ranks: ranks, Config: Config{MicroBatch: 2}}}
		s.batch = task.Batch{B: 6, T: 4, Target: make([]int32, 24), Labels: make([]int32, 24)}
		f := &flight{examples: 6}
		if err := s.lead(f); !errors.Is(err, c.err) || !slices.Equal(ranks.steps, c.steps) || !slices.Equal(f.bounds, []int{0, 8, 16, 24}) {
			t.Errorf("rank %d tells of steps of %v, and rows from %v, %v", c.rank, ranks.steps, f.bounds, err)
		}
	}
	s := &stepper{Trainer: &Trainer{Config: Config{MicroBatch: 2}}}
	if f := (&flight{}); s.lead(f) != nil || f.bounds != nil || s.collect(f) != nil {
		t.Errorf("one process alone has rows from %v", f.bounds)
	}
}

// TestCollect gives losses to rank 0. The other ranks have none.
func TestCollect(t *testing.T) {
	for rank, want := range [][]float32{{1, 2}, {0, 0}} {
		ranks := &told{shardsOf: shardsOf{rank: rank, size: 2}}
		s := &stepper{Trainer: &Trainer{Ranks: ranks, Config: Config{Progressive: true, Alpha: 1, Times: 2, Backprop: 1}}}
		f := &flight{losses: [maxPasses][]float32{{7, 8, 9}, {1, 2}}} // the first pass has no share
		if err := s.collect(f); err != nil || !slices.Equal(ranks.collected, []int{2}) || !slices.Equal(f.losses[1], want) {
			t.Errorf("rank %d collects arrays of %v and has %v, want %v; %v", rank, ranks.collected, f.losses[1], want, err)
		}
	}
}

// TestShare gives the other ranks parameters, and the state that the next step reads.
func TestShare(t *testing.T) {
	failed := errors.New("failed")
	for _, c := range []struct {
		name   string
		states []string
		shards []int
		err    error
		want   []device.Space
	}{
		{"all update all", []string{config.SlowState}, nil, nil, nil},
		{"parameters", []string{"m"}, []int{0, 5, 9}, nil, []device.Space{device.Params}},
		{"the first state", []string{config.SlowState}, []int{0, 5, 9}, nil, []device.Space{device.State, device.Params}},
		{"the second state", []string{"m", config.SlowState}, []int{0, 5, 9}, nil, []device.Space{device.State + 1, device.Params}},
		{"a failure", []string{config.SlowState}, []int{0, 5, 9}, failed, []device.Space{device.State}},
	} {
		ranks := &told{err: c.err}
		s := &stepper{Trainer: &Trainer{Ranks: ranks, Plan: &device.Plan{States: c.states}}, shards: c.shards}
		if err := s.share(); !errors.Is(err, c.err) || !slices.Equal(ranks.shared, c.want) {
			t.Errorf("%s: it shares %v, %v, want %v", c.name, ranks.shared, err, c.want)
		}
	}
}
