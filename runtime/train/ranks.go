package train

import (
	"slices"

	"github.com/arithlang/mlc/runtime/config"
	"github.com/arithlang/mlc/runtime/device"
)

// Ranks are the processes that train one model, as one of them sees them. Rank 0 leads: it
// draws up what is done, and the others do the same steps. The Machine of each adds the
// gradients of all.
type Ranks interface {
	Rank() int
	Size() int
	// Step has the other ranks enqueue the step that this one is about to; on rank 0.
	Step(examples int, rate float64) error
	// Collect gives rank 0 what the others have of arrays: rank r has bounds[r] … bounds[r+1]-1.
	Collect(arrays [][]float32, bounds []int) error
	// Shards says that each rank updates parameters of its own, and keeps what the optimizer
	// knows of them.
	Shards() bool
	// Share gives all ranks bounds[r] … bounds[r+1]-1 of a space of rank r's machine.
	Share(s device.Space, bounds []int) error
}

// lead has the other ranks do a step, too. It notes which rows each computes.
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

// collect gives rank 0 the losses of all rows. Others need none: what is not finite in a
// loss is not in the gradient, of which all ranks have the sum.
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

// Shards cuts the trained elements of the arenas into as many ranges, about equally
// large, none of which has a part of a matrix.
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

// shard keeps of stretches and matrices those that this rank updates.
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

// share gives all ranks the parameters that each has updated, and what the norm of the next
// gradient reads of the states.
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
