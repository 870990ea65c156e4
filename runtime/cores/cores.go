// Package cores foretells what a step of training takes on more cores than there are: it
// plays the queue of chunks, the tree of sums and the optimizer, with the times that their
// pieces take on one core.
//
// It knows nothing of caches that cores share, of memory that is nearer to some of them, nor
// of clocks that fall where all work: a step is as long at least as it says.
package cores

import (
	"cmp"
	"slices"
)

// A Step is the pieces of a step. Times are seconds of one core.
type Step struct {
	Draw    float64   // of the next step's problems, beside this one
	Chunks  []float64 // gradients of each, in the order in which they are taken
	Add     Stream    // adding the gradients of one chunk to those of another
	Norm    float64   // of the gradient, by one core
	Updates []Stream  // one after another
	Rest    float64   // by one core, before and after all that
	Wake    float64   // from when one core begins until the next one does
}

// A Stream is work through memory, as much for each of its parts.
type Stream struct {
	Seconds float64
	Bytes   float64 // read and written
	Parts   int     // that it can be cut into
}

// A Result is a step on so many cores. Times are seconds; Chunks to Rest follow each other.
type Result struct {
	Cores   int     `json:"cores"`
	Seconds float64 `json:"step_seconds"`
	Speedup float64 `json:"speed_up"` // against one core

	Chunks float64 `json:"chunks_seconds"` // until the last is through, with what is added on the way
	Sums   float64 `json:"sums_seconds"`   // what is added then
	Norm   float64 `json:"norm_seconds"`
	Update float64 `json:"update_seconds"`
	Rest   float64 `json:"rest_seconds"` // before and after
	Draw   float64 `json:"wait_seconds"` // for problems that are not drawn yet

	Idle  float64 `json:"idle"`           // share of the cores' time
	Few   float64 `json:"idle_few"`       // of that: cores that get no chunk
	Last  float64 `json:"idle_last"`      // cores that wait for the last chunk
	Alone float64 `json:"idle_alone"`     // while one core does the norm and the rest, or draws
	Other float64 `json:"idle_streaming"` // sums and updates: memory, waking
}

// On plays the step on n cores, whose memory copies so many bytes a second in all; 0: as
// many as each asks for.
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
	if q.drawn > q.through { // by a core that is not there for what follows
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

// idle says what cores wait for, that have so much to stream.
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

// times is the stream a number of times, in the same parts.
func (s Stream) times(n int) Stream {
	n = max(0, n)
	return Stream{float64(n) * s.Seconds, float64(n) * s.Bytes, s.Parts}
}

// on is how long it takes on n cores. Each begins a wake after the one before; what comes
// too late finds nothing to do.
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

// Median is the step of a median of others, on n cores.
func Median(steps []Step, n int, memory float64) Result {
	results := make([]Result, len(steps))
	for i := range steps {
		results[i] = steps[i].On(n, memory)
	}
	slices.SortFunc(results, func(a, b Result) int { return cmp.Compare(a.Seconds, b.Seconds) })
	return results[len(results)/2]
}

// steady gives what is as much work in each step the median of its times: what else the
// machine did meanwhile is in some of them. Chunks differ from step to step, and stay.
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
