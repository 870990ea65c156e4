package device

import "math"

// A Worker computes one micro-batch at a time: a Launcher with Grads, Work and
// Ints of its own. Its methods see what the launches before them have done.
type Worker interface {
	Launcher
	// Queue is the Queue of this worker's launches.
	Queue() Queue
	// Env is for the next launches of this worker: a place that need not be allocated.
	Env() *Env
	// Fit makes room for so many elements of Work and Ints; their contents are lost.
	Fit(work, ints int)
	PutInts(r Ref, src []int32)
	GetInts(dst []int32, r Ref)
	PutFloats(r Ref, src []float32)
	GetFloats(dst []float32, r Ref)
}

// Clip is the factor on a gradient whose elements' squares have this sum: such that its
// norm is the limit at most, 0: any. It is NaN if the sum is not a finite number.
func Clip(limit float64, squares float32) float32 {
	norm := math.Sqrt(float64(squares))
	switch {
	case math.IsNaN(norm) || math.IsInf(norm, 0):
		return float32(math.NaN())
	case limit > 0 && norm > limit:
		return float32(limit / norm)
	}
	return 1
}

// About names a machine.
type About struct {
	Device    string // as --device takes it: cpu
	Name      string // of the processor
	How       string // it is used: "avx512, 2 threads"
	Schedules string // of the program's kernels on a GPU; of a processor, its instruction set
	Gemm      string // whose matrix products it has: "cuBLASLt 12.9.3"; "" for those of the program's kernels
}

// String is what a person wants to know.
func (a About) String() string { return a.Device + ", " + a.How }

// A Machine is what a model trains and is tested on: one set of Params and
// states, and the workers that share it. No result depends on their number. A
// Machine does one thing at a time: its methods must not be called together.
type Machine interface {
	About() About
	// Each calls f for i = 0 … n-1, several at a time. It leaves Params as they are.
	Each(n int, f func(w Worker, i int))
	// Examples is how many examples a launch should have that needs so many bytes for its
	// memory: from least to most, a multiple of least that divides most.
	Examples(least, most int, bytes func(examples int) float64) int
	// Repeats reports whether launches cost less that differ from others in their data alone.
	Repeats() bool
	// Sum is Each with Grads and Uses cleared before each call; Root's Grads become the
	// sum of all of them, added as Tree says. A machine that is one of several ranks calls f
	// only for those that Deal gives it, and adds what the others have. What GetInts and
	// GetFloats fill within f may be there only when Sum returns.
	Sum(n int, f func(w Worker, i int))
	// Ranges calls f for ranges lo … hi-1 that make up 0 … n-1, several at a time,
	// on workers that share Root's Grads.
	Ranges(n int, f func(w Worker, lo, hi int))
	// Root is the worker with the gradients of Sum.
	Root() Worker
	// Settle decides with which factor of the gradient the launches that have e update
	// parameters: with what Clip says of element 0 of Root's Work. A step that comes
	// after one of which the host does not yet know the outcome changes nothing if that
	// changed nothing.
	Settle(e *Env, limit float64, after bool)
	// Later calls work, in which Sum (once), Ranges, Settle and Root are used, and done when all
	// that was asked for in it is through: before it returns, or in a later call of a
	// method. What Get* fill in work is there when done is called, in the order of the
	// works; two at most are not through when Later returns. The error is the first one
	// as far as it is known, after which no done is called.
	Later(work, done func()) error
	// Err waits for everything before it and is the first thing that went wrong.
	// After an error nothing is done any more and what Get* fills is left as it was:
	// ask before results are used.
	Err() error
}
