// Package cores predicts how long a training step takes on more cores than the machine has. It
// simulates the queue of chunks, the tree of sums and the optimizer, with the times that their
// pieces take on one core.
// The simulation leaves out shared caches, memory that is nearer to some cores, and clocks that
// fall when all cores work. Its times are therefore lower bounds.
package cores

import (
	"cmp"
	"slices"
)

// A Step holds the pieces of a step. Times are seconds on one core.
type Step struct {
	Draw    float64   // the next step's problems, drawn during this step
	Chunks  []float64 // gradients of each chunk, in the order in which chunks are taken
	Add     Stream    // adding the gradients of one chunk to those of another
	Norm    float64   // norm of the gradient, on one core
	Updates []Stream  // one after another
	Rest    float64   // before and after all that, on one core
	Wake    float64   // between the starts of two consecutive cores
}

// A Stream is work bound by memory, equally much for each of its parts.
type Stream struct {
	Seconds float64
	Bytes   float64 // read and written
	Parts   int     // most parts that it can be cut into
}

// A Result is a step on some number of cores. Times are seconds; Chunks to Rest are
// consecutive.
type Result struct {
	Cores   int     `json:"cores"`
	Seconds float64 `json:"step_seconds"`
	Speedup float64 `json:"speed_up"` // against one core

	Chunks float64 `json:"chunks_seconds"` // until the last chunk is done, with the additions on the way
	Sums   float64 `json:"sums_seconds"`   // additions that are left then
	Norm   float64 `json:"norm_seconds"`
	Update float64 `json:"update_seconds"`
	Rest   float64 `json:"rest_seconds"` // before and after
	Draw   float64 `json:"wait_seconds"` // waiting for the next problems

	Idle  float64 `json:"idle"`           // share of all cores' time
	Few   float64 `json:"idle_few"`       // part of Idle: cores that get no chunk
	Last  float64 `json:"idle_last"`      // cores that wait for the last chunk
	Alone float64 `json:"idle_alone"`     // while one core computes the norm and the rest, or draws
	Other float64 `json:"idle_streaming"` // sums and updates: memory, waking
}

// On simulates the step on n cores whose memory copies the given bytes per second in total; 0:
// no limit.
func (s *Step) On(n int, memory float64) Result {
	r := s.play(n, memory)
	if one := s.play(1, memory); r.Seconds > 0 {
		r.Speedup = one.Seconds / r.Seconds
	}
	return r
}

func (s *Step) play(n int, memory float64) Result {
	q := newQueue(s, n)
	q.run()
	free := n
	if q.drawn > q.through { // the drawing core is not there for the rest
		free--
	}
	left := s.Add.times(len(s.Chunks) - 1 - q.added)
	streams := left.Seconds
	r := Result{Cores: n, Chunks: q.through, Sums: left.on(free, s.Wake, memory), Norm: s.Norm, Rest: s.Rest}
	for _, u := range s.Updates {
		r.Update += u.on(free, s.Wake, memory)
		streams += u.Seconds
	}
	r.Seconds = r.Chunks + r.Sums + r.Norm + r.Update + r.Rest
	r.Draw = max(0, q.drawn-r.Seconds)
	r.Seconds += r.Draw
	if r.Seconds > 0 {
		r.idle(q, streams)
	}
	return r
}

// idle splits the idle time by its reasons. Streams is the time of all sums and updates on one
// core.
func (r *Result) idle(q *queue, streams float64) {
	all := float64(r.Cores) * r.Seconds
	busy := q.Draw + r.Norm + r.Rest + float64(q.added)*q.Add.Seconds + streams
	for _, c := range q.Step.Chunks {
		busy += c
	}
	r.Idle = max(0, 1-busy/all)
	if few := r.Cores - len(q.Step.Chunks); few > 0 {
		r.Few = max(0, float64(few)*r.Chunks-q.Draw) / all // one of them draws
	}
	r.Alone = max(0, float64(r.Cores-1)*(r.Norm+r.Rest+r.Draw)-max(0, q.drawn-r.Chunks)) / all
	r.Other = max(0, float64(r.Cores)*(r.Sums+r.Update)-streams) / all
	r.Last = max(0, r.Idle-r.Few-r.Alone-r.Other)
}

// times returns n streams in sequence, in the same parts.
func (s Stream) times(n int) Stream {
	n = max(0, n)
	return Stream{float64(n) * s.Seconds, float64(n) * s.Bytes, s.Parts}
}

// on returns how long the stream takes on n cores. Each core begins one wake after the last
// one; a core that begins too late finds nothing to do.
func (s Stream) on(n int, wake, memory float64) float64 {
	if s.Seconds == 0 {
		return 0
	}
	took := s.Seconds
	for k := 2; k <= min(n, s.Parts); k++ {
		late := wake * float64(k-1)
		took = min(took, max(s.Seconds/float64(k)+late/2, late))
	}
	if memory > 0 {
		took = max(took, s.Bytes/memory)
	}
	return took
}

// Median simulates steps on n cores and returns the result with the median time.
func Median(steps []Step, n int, memory float64) Result {
	results := make([]Result, len(steps))
	for i := range steps {
		results[i] = steps[i].On(n, memory)
	}
	slices.SortFunc(results, func(a, b Result) int { return cmp.Compare(a.Seconds, b.Seconds) })
	return results[len(results)/2]
}

// steady replaces times of work that is equal in all steps by their medians, since other work
// on the machine slows some steps. Chunks differ from step to step and stay.
func steady(steps []Step) {
	median := func(at func(s *Step) *float64) {
		var all []float64
		for i := range steps {
			all = append(all, *at(&steps[i]))
		}
		slices.Sort(all)
		for i := range steps {
			*at(&steps[i]) = all[len(all)/2]
		}
	}
	median(func(s *Step) *float64 { return &s.Add.Seconds })
	median(func(s *Step) *float64 { return &s.Norm })
	median(func(s *Step) *float64 { return &s.Rest })
	for u := range steps[0].Updates {
		median(func(s *Step) *float64 { return &s.Updates[u].Seconds })
	}
}
