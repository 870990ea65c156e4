// Package profile finds out what steps of training take, whole and kernel by kernel,
// and holds it against what the machine does at best.
//
// Package cuda's Machine, and the processor's in package runtime, are what it watches;
// the verb bench and mlc prove, after it, print what it finds.
package profile

import (
	"cmp"
	"slices"
	"time"

	"github.com/arithlang/mlc/runtime/cuda/peak"
)

// A Row is the launches of one kernel in a step.
type Row struct {
	Name     string  `json:"name"`
	Launches float64 `json:"launches"`               // by the plan
	OnGPU    float64 `json:"gpu_launches,omitempty"` // that they became on a GPU
	Median   float64 `json:"median_us,omitempty"`    // microseconds of a launch on a GPU
	Seconds  float64 `json:"seconds"`                // of all threads together, divided by their number
	Share    float64 `json:"share"`                  // of a timed step
	Flops    float64 `json:"flops_per_second,omitempty"`
	Bytes    float64 `json:"bytes_per_second,omitempty"`
	OfPeak   float64 `json:"of_peak,omitempty"` // of what bounds it; above 1 where memory is the cache
	Bound    string  `json:"bound,omitempty"`   // compute, memory
}

// A Table makes rows of laps.
type Table struct {
	Steps   int       // that were timed
	Threads int       // that worked
	Step    float64   // seconds of one, which the rows add up to
	Peak    peak.Peak // of a thread
	Turns   bool      // products of 16-bit factors take turns with all else, as on a processor
	Rows    []Row
}

// Add adds the row of what was launched, if it was. What bounds it is what would take
// longer at the peak.
func (t *Table) Add(name string, l Lap) {
	if l.Launches == 0 && l.OnGPU == 0 {
		return
	}
	steps, worker := float64(t.Steps), l.Time.Seconds()
	r := Row{Name: name, Launches: float64(l.Launches) / steps, OnGPU: float64(l.OnGPU) / steps,
		Median: float64(l.Median) / float64(time.Microsecond), Seconds: worker / steps / float64(t.Threads)}
	if t.Step > 0 {
		r.Share = r.Seconds / t.Step
	}
	if worker > 0 {
		r.Flops, r.Bytes = l.Flops/worker, l.Bytes/worker
	}
	if l.Bytes > 0 && t.Peak.Bytes > 0 {
		r.Bound, r.OfPeak = "memory", r.Bytes/t.Peak.Bytes
	}
	if of := t.compute(l) / worker; worker > 0 && of > r.OfPeak {
		r.Bound, r.OfPeak = "compute", of
	}
	t.Rows = append(t.Rows, r)
}

// compute is how many seconds a lap's operations take at the peak.
func (t *Table) compute(l Lap) float64 {
	if t.Peak.Flops <= 0 {
		return 0
	}
	switch {
	case t.Turns && t.Peak.Narrow > 0:
		return (l.Flops-l.Narrow)/t.Peak.Flops + l.Narrow/t.Peak.Narrow
	case min(t.Peak.Narrow, t.Peak.TF32) <= 0:
		return l.Flops / t.Peak.Flops
	}
	return max((l.Flops-l.Narrow-l.Split)/t.Peak.Flops, l.Narrow/t.Peak.Narrow+l.Split/t.Peak.TF32)
}

// Finish sorts the rows, the longest first, and adds the rest of the step.
func (t *Table) Finish(rest string, seconds float64) {
	slices.SortStableFunc(t.Rows, func(a, b Row) int { return cmp.Compare(b.Seconds, a.Seconds) })
	r := Row{Name: rest, Seconds: seconds}
	if t.Step > 0 {
		r.Share = seconds / t.Step
	}
	t.Rows = append(t.Rows, r)
}

// Rest is what the rows so far leave of the step.
func (t *Table) Rest() float64 {
	rest := t.Step
	for _, r := range t.Rows {
		rest -= r.Seconds
	}
	return rest
}

// Median is the later one of two in the middle.
func Median(took []time.Duration) time.Duration {
	return slices.Sorted(slices.Values(took))[len(took)/2]
}

// Mean is in seconds.
func Mean(took []time.Duration) float64 {
	sum := time.Duration(0)
	for _, d := range took {
		sum += d
	}
	return sum.Seconds() / float64(len(took))
}
