package runtime

import (
	"fmt"
	"github.com/arithlang/mlc/runtime/processor"
	"math"
	"os"
	"runtime/debug"
	"strings"

	"github.com/arithlang/mlc/runtime/available"
	"github.com/arithlang/mlc/runtime/cpu"
	"github.com/arithlang/mlc/runtime/device"
	"github.com/arithlang/mlc/runtime/task"
)

// A need is memory in bytes that the processor needs for a run. Numbers are floats:
// those of absurd models are beyond integers.
type need struct {
	params   float64 // one arena of parameters
	packed   float64 // matrices of them as products take them
	uses     float64 // gradients of further uses of parameters, of a thread with a chunk
	chunks   int     // of a step; 0: there is work for all threads
	states   float64 // how many more the optimizer has
	batch    float64 // tokens and losses of a step
	work     float64 // activations and saved values, of a thread with a chunk
	update   float64 // what the update of a matrix takes, of a thread
	matrices int     // that are updated
	arenas   bool    // parameters, gradients and states are still to be had
	ranks    int     // that share the chunks; 0: there is one
	side     int     // trainings side by side, among which threads are dealt out; 0: one
}

const elemBytes = 4 // F32 and I32

// shared is for all threads: parameters and the optimizer's states.
func (n need) shared() float64 {
	if !n.arenas {
		return n.packed + n.batch
	}
	return (1+n.states)*n.params + n.packed + n.batch
}

// busy is how many threads get one of so many pieces of work at a time.
func (n need) busy(threads, pieces int) float64 {
	return float64(min(threads, pieces*max(n.side, 1)))
}

// with is how many threads get a chunk.
func (n need) with(threads int) float64 {
	if n.chunks == 0 {
		return float64(threads)
	}
	return n.busy(threads, n.chunks)
}

// activations are what micro-batches leave, and what updates of matrices take.
func (n need) activations(threads int) float64 {
	return n.with(threads)*n.work + n.busy(threads, n.matrices)*n.update
}

// gradients is for the sums of chunks.
func (n need) gradients(threads int) float64 {
	if !n.arenas {
		return 0
	}
	if n.ranks < 2 {
		return float64(processor.Arrays(n.chunks, 0, threads)) * n.params
	}
	most := (n.chunks + n.ranks - 1) / n.ranks
	return float64(processor.Arrays(most, 1, threads))*n.params + processor.Received(n.params, n.chunks, n.ranks)
}

// all is the memory for a run with so many threads.
func (n need) all(threads int) float64 {
	return n.shared() + n.gradients(threads) + n.with(threads)*n.uses + n.activations(threads)
}

// needs is the memory for a model, without what its examples take unless it trains.
func (m *Model) needs(trains bool) (need, error) {
	const ways = 2 // of a matrix and of its transpose
	n := need{params: elemBytes * float64(m.Plan.NumParams), states: float64(len(m.Plan.States)), arenas: true}
	n.packed = min(ways*n.params, cpu.MostKept)
	if !trains {
		return n, nil
	}
	e, err := m.longest()
	if err != nil {
		return n, err
	}
	n.uses = elemBytes * float64(m.Plan.NumUses)
	n.chunks = m.Train.Chunks()
	n.batch = elemBytes * float64(m.Train.Batch) * float64(e.S+3*e.T)
	n.work = elemBytes * m.Plan.Gradients.Workspace(e.B, e)
	for _, x := range m.Plan.Matrices {
		n.update = max(n.update, elemBytes*x.Update.Workspace(1, e))
	}
	for _, p := range m.Params {
		if p.Matrix {
			n.matrices++
		}
	}
	return n, nil
}

// longest is the launch of a micro-batch of the longest problems of training.
func (m *Model) longest() (device.Env, error) {
	problems, err := task.New(m.Task, m.Train.Seed)
	if err != nil {
		return device.Env{}, err
	}
	c := &m.Train
	source, target := problems.Longest()
	return device.Env{B: min(c.MicroBatch, c.Batch), T: target, S: source, C: target,
		NoGrad: c.Times - c.Backprop, WithGrad: max(c.Backprop, 1), Times: max(c.Times, 1)}, nil
}

// indexed wants no tensor of a model, nor of training if it trains, to have more
// elements than kernels count.
func (m *Model) indexed(trains bool) error {
	if err := countable(m.Plan.NumParams, "of parameters"); err != nil {
		return fmt.Errorf("%w: make the model smaller", err)
	}
	if !trains {
		return nil
	}
	e, err := m.longest()
	if err != nil {
		return err
	}
	if err := countable(m.Plan.Gradients.Layout(&e).Largest, "of a launch of training"); err != nil {
		return fmt.Errorf("%w: make train.microbatch or the problems smaller", err)
	}
	return nil
}

// indexedLanes is indexed of several models that train at once.
func (m *Model) indexedLanes() error {
	e, err := m.longest()
	if err != nil {
		return err
	}
	largest := max(m.Plan.NumParams, m.Plan.Gradients.Layout(&e).Largest)
	if err := countable(m.Lanes.N*largest, "of models in lanes"); err != nil {
		return fmt.Errorf("%w: make train.lanes smaller", err)
	}
	return nil
}

// countable refuses tensors whose indices would wrap: those of kernels are whole
// numbers of 32 bits.
func countable(n int, of string) error {
	if n > math.MaxInt32 {
		return fmt.Errorf("a tensor %s would have %d elements, and kernels count to %d", of, n, math.MaxInt32)
	}
	return nil
}

// afford wants as much memory as is needed with so many threads.
func (a app) afford(n need, threads int) error {
	memory := a.memory
	if memory == nil {
		memory = func() (float64, string) { return available.Memory(os.DirFS("/")) }
	}
	if own := memory; a.ranks.several() {
		memory = func() (float64, string) {
			have, of := own()
			return have / float64(a.ranks.local), fmt.Sprintf("a share of 1 in %d of %s", a.ranks.local, of)
		}
	}
	all := n.all(threads)
	have, of := memory()
	if all > have {
		debug.FreeOSMemory() // what is left of another model
		have, of = memory()
	}
	if all <= have {
		return nil
	}
	var parts []string
	for _, p := range []struct {
		what  string
		bytes float64
	}{
		{"parameters, gradients and moments", n.shared() - n.batch + n.gradients(threads) + n.with(threads)*n.uses},
		{"a batch", n.batch},
		{fmt.Sprintf("the activations of %.0f threads", n.with(threads)), n.activations(threads)},
	} {
		if p.bytes > 0 {
			parts = append(parts, inBytes(p.bytes)+" for "+strings.Replace(p.what, " 1 threads", " 1 thread", 1))
		}
	}
	return fmt.Errorf("this needs %s of memory, and %s has %s available: %s; %s", inBytes(all), of, inBytes(have), strings.Join(parts, ", "), n.advice(threads, have))
}

// advice says how to come by with less memory.
func (n need) advice(threads int, have float64) string {
	for fit := threads - 1; fit > 0; fit-- {
		if n.all(fit) <= have {
			return fmt.Sprintf("it fits with --threads %d", fit)
		}
	}
	switch {
	case n.all(1)-n.batch-n.activations(1) > have:
		return "make the model smaller: model.width, its layers or its tables"
	case n.activations(1) > n.batch:
		return "make train.microbatch or the problems smaller, and use --threads 1"
	}
	return "make train.batch or the problems smaller"
}

// inBytes writes a number of bytes.
func inBytes(n float64) string {
	units := []string{"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"}
	i := 0
	for ; n >= 1000 && i < len(units)-1; i++ {
		n /= 1024
	}
	return fmt.Sprintf("%.3g %s", n, units[i])
}
