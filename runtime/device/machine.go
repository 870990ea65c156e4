package device

import "math"

// A Worker computes one micro-batch at a time: a Launcher with private Grads, Work and Ints.
// Its methods see the results of all launches before them.
type Worker interface {
	Launcher
	// Queue returns the queue of this worker's launches.
	Queue() Queue
	// Env returns an Env for this worker's next launches. It is always the same one, so that
	// launches allocate nothing.
	Env() *Env
	// Fit makes room for work and ints elements in Work and Ints; their contents are lost.
	Fit(work, ints int)
	PutInts(r Ref, src []int32)
	GetInts(dst []int32, r Ref)
	PutFloats(r Ref, src []float32)
	GetFloats(dst []float32, r Ref)
}

// Clip returns the factor that clips a gradient with the given sum of squares to a norm of at
// most limit, or 1 if limit is 0. It returns NaN if the sum is not finite.
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

// About describes a machine.
type About struct {
	Device    string // as --device takes it: cpu
	Name      string // name of the processor
	How       string // how it is used: "avx512, 2 threads"
	Schedules string // schedules of the program's kernels on a GPU; instruction set of a processor
	Gemm      string // library of matrix products: "cuBLASLt 12.9.3"; "" for the program's kernels
}

// String is the device and how it is used.
func (a About) String() string { return a.Device + ", " + a.How }

// A Machine trains and tests a model: one set of Params and states, and the workers that share
// it. Results do not depend on the number of workers. Only one method of a Machine may run at a
// time.
type Machine interface {
	About() About
	// Each calls f for i = 0 … n-1, several at a time. It does not change Params.
	Each(n int, f func(w Worker, i int))
	// Examples chooses how many examples a launch has: a multiple of least that divides most.
	// The bytes function returns the memory of a launch by its examples.
	Examples(least, most int, bytes func(examples int) float64) int
	// Repeats reports whether launches with the same shapes cost less.
	Repeats() bool
	// Sum is Each with Grads and Uses cleared before each call; Root's Grads become the sum of
	// all Grads, in the order of treetest.Tree. On one of several ranks it calls f only for the indices
	// that Deal gives it, and adds the sums of the other ranks. Destinations of GetInts and
	// GetFloats in f may be filled only when Sum returns.
	Sum(n int, f func(w Worker, i int))
	// Ranges calls f for ranges lo … hi-1 that partition 0 … n-1, several at a time, on workers
	// that share Root's Grads.
	Ranges(n int, f func(w Worker, lo, hi int))
	// Root returns the worker with the gradients of Sum.
	Root() Worker
	// Settle sets the gradient factor for the updates launched with e: Clip of element 0 of
	// Root's Work. With after, the step changes nothing if an earlier step, whose outcome the
	// host may not know yet, changed nothing.
	Settle(e *Env, limit float64, after bool)
	// Later calls work, which may use Sum (once), Ranges, Settle and Root. It calls done when
	// everything that work queued has finished: before Later returns, or in a later method
	// call. When done is called, the destinations of Get* in work are filled. Calls of done
	// follow the order of works; at most two are outstanding when Later returns. The error is
	// the first one known so far; after an error done is never called.
	Later(work, done func()) error
	// Err waits for all earlier work and returns the first error. After an error nothing more
	// is computed and destinations of Get* stay unchanged: check it before using results.
	Err() error
}
