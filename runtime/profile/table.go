// Package profile finds out what steps of training take, whole and kernel by kernel,
// and holds it against what the machine does at best.
//
// Package cuda's Machine, and the processor's in package processor, are what it watches;
// the verb bench and mlc prove, after it, print what it finds.
package profile

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/arithlang/mlc/runtime/cpu"
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
	OfPeak   float64 `json:"of_peak,omitempty"` // of what bounds it; above 1 where that is faster than was measured
	Bound    string  `json:"bound,omitempty"`   // compute, memory; on a processor products, others, front end, the size of a Level, memory
}

// A Level is how fast a thread copies within so many bytes, while all work: a cache, if they fit.
type Level struct {
	Size  int     `json:"size"`             // bytes that are read and written
	Bytes float64 `json:"bytes_per_second"` // read and written
}

// Name is the size.
func (l Level) Name() string {
	if l.Size < 1<<20 {
		return fmt.Sprintf("%d KiB", l.Size>>10)
	}
	return fmt.Sprintf("%d MiB", l.Size>>20)
}

// A Table makes rows of laps.
type Table struct {
	Steps   int       // that were timed
	Threads int       // that worked
	Step    float64   // seconds of one, which the rows add up to
	Peak    peak.Peak // of a thread
	CPU     bool      // it is a processor: products and all else take turns
	Levels  []Level   // of memory, the smallest first; what is larger than all is copied at the peak
	ISA     cpu.ISA   // of a processor
	Begun   float64   // instructions that a thread can begin in a second; 0: not known
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
	if name, rate := t.copying(l); l.Bytes > 0 && rate > 0 {
		r.Bound, r.OfPeak = name, r.Bytes/rate
	}
	if name, seconds := t.compute(l); worker > 0 && seconds/worker > r.OfPeak {
		r.Bound, r.OfPeak = name, seconds/worker
	}
	t.Rows = append(t.Rows, r)
}

// copying is how fast memory is for launches of a lap, each by the bytes that it touches.
func (t *Table) copying(l Lap) (name string, rate float64) {
	for _, level := range t.Levels {
		if l.Bytes <= float64(level.Size)*float64(l.Launches) {
			return level.Name(), level.Bytes
		}
	}
	return "memory", t.Peak.Bytes
}

// compute is how many seconds a lap's operations take at the peak, and on a processor which
// of them take longer.
func (t *Table) compute(l Lap) (name string, seconds float64) {
	p := t.Peak
	switch {
	case p.Flops <= 0:
		return "compute", 0
	case t.CPU:
		return t.onCPU(l)
	case min(p.Narrow, p.TF32) <= 0:
		return "compute", l.Flops / p.Flops
	}
	return "compute", max((l.Flops-l.Narrow-l.Split)/p.Flops, l.Narrow/p.Narrow+l.Split/p.TF32)
}

// onCPU is compute where products and all else take turns: other operations are as many a
// second as multiply-adds, which count twice, or as the front end begins instructions for them.
func (t *Table) onCPU(l Lap) (name string, seconds float64) {
	narrow := t.Peak.Flops
	if t.Peak.Narrow > 0 {
		narrow = t.Peak.Narrow
	}
	products, others := (l.Cost.Products-l.Narrow)/t.Peak.Flops+l.Narrow/narrow, 2*l.Others/t.Peak.Flops
	name, front := "others", 0.0
	if t.Begun > 0 {
		front = l.Instructions.On(t.ISA) / t.Begun
	}
	if front > others {
		name, others = "front end", front
	}
	if others > products {
		return name, products + others
	}
	return "products", products + others
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
