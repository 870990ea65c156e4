// Package profile measures training steps, whole and kernel by kernel, and compares them with
// the machine's peaks.
// It watches the Machines of packages cuda and processor. The verb bench and mlc prove print
// its results.
package profile

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/arithlang/mlc/runtime/cpu"
	"github.com/arithlang/mlc/runtime/cuda/peak"
)

// A Row sums the launches of one kernel in a step.
type Row struct {
	Name     string  `json:"name"`
	Launches float64 `json:"launches"`               // in the plan
	OnGPU    float64 `json:"gpu_launches,omitempty"` // on the GPU, after combining
	Median   float64 `json:"median_us,omitempty"`    // microseconds per launch on a GPU
	Seconds  float64 `json:"seconds"`                // of all threads together, divided by their number
	Share    float64 `json:"share"`                  // share of a timed step
	Flops    float64 `json:"flops_per_second,omitempty"`
	Bytes    float64 `json:"bytes_per_second,omitempty"`
	OfPeak   float64 `json:"of_peak,omitempty"` // fraction of the bound; above 1 if faster than the measured peak
	Bound    string  `json:"bound,omitempty"`   // compute, memory; on a processor products, others, front end, the size of a Level, memory
}

// A Level is the copying rate of a thread within a working set, while all threads copy: a
// cache's rate if the set fits.
type Level struct {
	Size  int     `json:"size"`             // bytes of the working set
	Bytes float64 `json:"bytes_per_second"` // read and written
}

// Name is the size with its unit.
func (l Level) Name() string {
	if l.Size < 1<<20 {
		return fmt.Sprintf("%d KiB", l.Size>>10)
	}
	return fmt.Sprintf("%d MiB", l.Size>>20)
}

// A Table makes rows from laps.
type Table struct {
	Steps   int       // steps timed
	Threads int       // threads that worked
	Step    float64   // seconds of a step; the rows add up to it
	Peak    peak.Peak // for one thread
	CPU     bool      // on a processor: products and other operations share the units
	Levels  []Level   // of memory, smallest first; larger launches copy at the peak
	ISA     cpu.ISA   // of a processor
	Begun   float64   // instructions that a thread can begin per second; 0: unknown
	Rows    []Row
}

// Add adds the row of launches, if there were any. Its bound is the resource that takes longest
// at its peak.
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

// copying returns the copying rate for launches of a lap, by the bytes that each touches.
func (t *Table) copying(l Lap) (name string, rate float64) {
	for _, level := range t.Levels {
		if l.Bytes <= float64(level.Size)*float64(l.Launches) {
			return level.Name(), level.Bytes
		}
	}
	return "memory", t.Peak.Bytes
}

// compute returns how many seconds a lap's operations take at the peak, and on a processor
// which of them take longest.
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

// onCPU is compute for a processor, where products and other operations share the units. A
// multiply-add counts as two operations; other operations run at half that rate, or as fast as
// the front end begins their instructions.
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

// Rest is the step's time without the rows so far.
func (t *Table) Rest() float64 {
	rest := t.Step
	for _, r := range t.Rows {
		rest -= r.Seconds
	}
	return rest
}

// Median returns the median, the later one of two in the middle.
func Median(took []time.Duration) time.Duration {
	return slices.Sorted(slices.Values(took))[len(took)/2]
}

// Mean returns the mean in seconds.
func Mean(took []time.Duration) float64 {
	sum := time.Duration(0)
	for _, d := range took {
		sum += d
	}
	return sum.Seconds() / float64(len(took))
}
