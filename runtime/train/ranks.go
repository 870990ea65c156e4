package train

import (
	"slices"

	"github.com/arithlang/mlc/runtime/config"
	"github.com/arithlang/mlc/runtime/device"
)

// Ranks are the processes that train one model, as one of them sees them. Rank 0 leads: it
// decides each step, and the others do the same step. Each rank's Machine adds the gradients of
// all.
type Ranks interface {
	Rank() int
	Size() int
	// Step makes the other ranks enqueue the step that rank 0 is about to enqueue.
	Step(examples int, rate float64) error
	// Collect gathers arrays on rank 0: rank r has elements bounds[r] … bounds[r+1]-1.
	Collect(arrays [][]float32, bounds []int) error
	// Shards reports whether each rank updates only its shard of the parameters and keeps the
	// optimizer's states of that shard.
	Shards() bool
	// Share gives all ranks the elements bounds[r] … bounds[r+1]-1 of a space of rank r's
	// machine.
	Share(s device.Space, bounds []int) error
}

// lead makes the other ranks do the same step. It records which rows each rank computes.
func (s *stepper) lead(f *flight) error {
	if s.Ranks == nil {
		return nil
	}
	f.bounds = resize(f.bounds, s.Ranks.Size()+1)
	for r := range f.bounds {
		lo, _ := device.Deal(s.chunks(), r, s.Ranks.Size())
		f.bounds[r] = len(s.batch.Labels)
		if first := lo * s.Config.chunk(); first < s.batch.B {
			part := s.batch.Slice(first, first+1)
			f.bounds[r] = part.At
		}
	}
	if s.Ranks.Rank() > 0 {
		return nil
	}
	return s.Ranks.Step(f.examples, f.rate)
}

// collect gives rank 0 the losses of all rows. Other ranks need no losses: a loss that is not
// finite also shows in the gradient, and all ranks have the gradient's sum.
func (s *stepper) collect(f *flight) error {
	if s.Ranks == nil {
		return nil
	}
	var arrays [][]float32
	for i, share := range s.Config.shares() {
		if share > 0 {
			arrays = append(arrays, f.losses[i])
		}
	}
	err := s.Ranks.Collect(arrays, f.bounds)
	if s.Ranks.Rank() > 0 {
		for _, losses := range arrays {
			clear(losses)
		}
	}
	return err
}

// Shards cuts the trained elements of the arenas into n ranges of about equal size. It cuts no
// matrix.
func (t *Trainer) Shards(n int) []int {
	all := device.Trained(t.Params, t.Plan.NumParams)
	bounds := make([]int, n+1)
	for r := 1; r < n; r++ {
		at := min(all, device.Aligned(all*r/n))
		for _, p := range t.Params {
			if p.Matrix && p.Off < at && at < p.Off+p.Elems() {
				at = p.Off + p.Elems()
			}
		}
		bounds[r] = max(at, bounds[r-1])
	}
	bounds[n] = all
	return bounds
}

// shard keeps only the stretches and matrices that this rank updates.
func (s *stepper) shard() {
	if s.Ranks == nil || !s.Ranks.Shards() {
		return
	}
	s.shards = s.Trainer.Shards(s.Ranks.Size())
	lo, hi := s.shards[s.Ranks.Rank()], s.shards[s.Ranks.Rank()+1]
	var stretches []stretch
	for _, x := range s.stretches {
		if x.lo, x.hi = max(x.lo, lo), min(x.hi, hi); x.lo < x.hi {
			stretches = append(stretches, x)
		}
	}
	var matrices []matrix
	end, before := 0, 0
	for _, m := range s.matrices {
		size := m.end - before
		before = m.end
		if lo <= m.off && m.off < hi {
			end += size
			m.end = end
			matrices = append(matrices, m)
		}
	}
	s.stretches, s.matrices = stretches, matrices
}

// share gives all ranks the parameters that each has updated, and the optimizer's slow state,
// which the next step reads.
func (s *stepper) share() error {
	if s.shards == nil {
		return nil
	}
	if slow := slices.Index(s.Plan.States, config.SlowState); slow >= 0 {
		if err := s.Ranks.Share(device.State+device.Space(slow), s.shards); err != nil {
			return err
		}
	}
	return s.Ranks.Share(device.Params, s.shards)
}
