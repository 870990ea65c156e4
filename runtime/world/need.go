package world

import (
	"fmt"
	"math"
	"os"
	"runtime/debug"
	"strings"

	"github.com/arithlang/mlc/runtime/available"
	"github.com/arithlang/mlc/runtime/cpu"
	"github.com/arithlang/mlc/runtime/device"
	"github.com/arithlang/mlc/runtime/processor"
	"github.com/arithlang/mlc/runtime/program"
)

// A Need is the memory in bytes that a run on the processor takes. Numbers are floats because
// absurd models overflow integers.
type Need struct {
	Params   float64 // one arena of parameters
	packed   float64 // packed matrices of parameters, for products
	Uses     float64 // gradients of further uses of parameters, for a thread with a chunk
	chunks   int     // in a step; 0: all threads have work
	states   float64 // number of optimizer states
	Batch    float64 // tokens and losses of a step
	Work     float64 // activations and saved values, for a thread with a chunk
	Update   float64 // memory for updating a matrix, for a thread
	matrices int     // number of matrices to update
	arenas   bool    // parameters, gradients and states are not allocated yet
	ranks    int     // ranks that share the chunks; 0: one process
	Side     int     // simultaneous trainings that share the threads; 0: one
}

const ElemBytes = 4 // F32 and I32

// shared is the memory of all threads together: parameters and the optimizer's states.
func (n Need) shared() float64 {
	if !n.arenas {
		return n.packed + n.Batch
	}
	return (1+n.states)*n.Params + n.packed + n.Batch
}

// busy returns how many threads work at a time on the given number of pieces.
func (n Need) busy(threads, pieces int) float64 {
	return float64(min(threads, pieces*max(n.Side, 1)))
}

// with returns how many threads get a chunk.
func (n Need) with(threads int) float64 {
	if n.chunks == 0 {
		return float64(threads)
	}
	return n.busy(threads, n.chunks)
}

// activations is the memory for activations of micro-batches and updates of matrices.
func (n Need) activations(threads int) float64 {
	return n.with(threads)*n.Work + n.busy(threads, n.matrices)*n.Update
}

// gradients is the memory for the sums of chunks.
func (n Need) gradients(threads int) float64 {
	if !n.arenas {
		return 0
	}
	if n.ranks < 2 {
		return float64(processor.Arrays(n.chunks, 0, threads)) * n.Params
	}
	most := (n.chunks + n.ranks - 1) / n.ranks
	return float64(processor.Arrays(most, 1, threads))*n.Params + processor.Received(n.Params, n.chunks, n.ranks)
}

// All is the memory for a run with the given number of threads.
func (n Need) All(threads int) float64 {
	return n.shared() + n.gradients(threads) + n.with(threads)*n.Uses + n.activations(threads)
}

// Needs returns the memory for a model, including its examples only if it trains.
func Needs(m *program.Model, trains bool) (Need, error) {
	const ways = 2 // a matrix and its transpose
	n := Need{Params: ElemBytes * float64(m.Plan.NumParams), states: float64(len(m.Plan.States)), arenas: true}
	n.packed = min(ways*n.Params, cpu.MostKept)
	if m.Plan.Rounds {
		n.packed += n.Params / 2
	}
	if !trains {
		return n, nil
	}
	e, err := Longest(m)
	if err != nil {
		return n, err
	}
	n.Uses = ElemBytes * float64(m.Plan.NumUses)
	n.chunks = m.Train.Chunks()
	n.Batch = ElemBytes * float64(m.Train.Batch) * float64(e.S+3*e.T)
	n.Work = ElemBytes * m.Plan.Gradients.Workspace(e.B, e)
	for _, x := range m.Plan.Matrices {
		n.Update = max(n.Update, ElemBytes*x.Update.Workspace(1, e))
	}
	for _, p := range m.Params {
		if p.Matrix {
			n.matrices++
		}
	}
	return n, nil
}

// Longest returns the launch of a micro-batch with the longest problems of training.
func Longest(m *program.Model) (device.Env, error) {
	problems, err := m.NewTask(m.Train.Seed)
	if err != nil {
		return device.Env{}, err
	}
	c := &m.Train
	source, target := problems.Longest()
	return device.Env{B: min(c.MicroBatch, c.Batch), T: target, S: source, C: target,
		NoGrad: c.Times - c.Backprop, WithGrad: max(c.Backprop, 1), Times: max(c.Times, 1)}, nil
}

// indexed returns an error if a tensor of the model, or of its training, has more elements than
// kernels can index.
func indexed(m *program.Model, trains bool) error {
	if err := Countable(m.Plan.NumParams, "of parameters"); err != nil {
		return fmt.Errorf("%w: make the model smaller", err)
	}
	if !trains {
		return nil
	}
	e, err := Longest(m)
	if err != nil {
		return err
	}
	if err := Countable(m.Plan.Gradients.Layout(&e).Largest, "of a launch of training"); err != nil {
		return fmt.Errorf("%w: make train.microbatch or the problems smaller", err)
	}
	return nil
}

// Countable returns an error for tensors whose indices would overflow: kernels index with 32
// bits.
func Countable(n int, of string) error {
	if n > math.MaxInt32 {
		return fmt.Errorf("a tensor %s would have %d elements, and kernels count to %d", of, n, math.MaxInt32)
	}
	return nil
}

// Afford returns an error if a run with the given threads needs more memory than is available.
func (a App) Afford(n Need, threads int) error {
	memory := a.Memory
	if memory == nil {
		memory = func() (float64, string) { return available.Memory(os.DirFS("/")) }
	}
	if own := memory; a.Ranks.Several() {
		memory = func() (float64, string) {
			have, of := own()
			return have / float64(a.Ranks.Local), fmt.Sprintf("a share of 1 in %d of %s", a.Ranks.Local, of)
		}
	}
	all := n.All(threads)
	have, of := memory()
	if all > have {
		debug.FreeOSMemory() // a previous model's memory
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
		{"parameters, gradients and moments", n.shared() - n.Batch + n.gradients(threads) + n.with(threads)*n.Uses},
		{"a batch", n.Batch},
		{fmt.Sprintf("the activations of %.0f threads", n.with(threads)), n.activations(threads)},
	} {
		if p.bytes > 0 {
			parts = append(parts, inBytes(p.bytes)+" for "+strings.Replace(p.what, " 1 threads", " 1 thread", 1))
		}
	}
	return fmt.Errorf("this needs %s of memory, and %s has %s available: %s; %s", inBytes(all), of, inBytes(have), strings.Join(parts, ", "), n.advice(threads, have))
}

// advice says how a run could use less memory.
func (n Need) advice(threads int, have float64) string {
	for fit := threads - 1; fit > 0; fit-- {
		if n.All(fit) <= have {
			return fmt.Sprintf("it fits with --threads %d", fit)
		}
	}
	switch {
	case n.All(1)-n.Batch-n.activations(1) > have:
		return "make the model smaller: model.width, its layers or its tables"
	case n.activations(1) > n.Batch:
		return "make train.microbatch or the problems smaller, and use --threads 1"
	}
	return "make train.batch or the problems smaller"
}

// inBytes formats a number of bytes.
func inBytes(n float64) string {
	units := []string{"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"}
	i := 0
	for ; n >= 1000 && i < len(units)-1; i++ {
		n /= 1024
	}
	return fmt.Sprintf("%.3g %s", n, units[i])
}
