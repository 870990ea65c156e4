// Package cpu runs a model's kernels on the processor. Generated code (printed by package
// codegen/cpu) supplies a table of kernels, and calls back for memory, scratch tiles, matrix
// products and random words. Package processor gives each core a Worker and runs training steps
// on it.
//
// Every function computes the bits that the kernel interpreter defines, on every instruction
// set. Products add in ascending k with a fused multiply-add. Sums keep 32 partial values.
// Nothing else fuses. The one exception is the ISA AVX512BF16, which flushes subnormals to 0 in
// products of BF16.
package cpu

import (
	"unsafe"

	"github.com/arithlang/mlc/runtime/device"
)

// A Kernel is one entry of a model's kernel table. Run computes all cells; a holds the buffers
// in the order of the kernel's parameters. Cost, if known, is the work of a launch.
type Kernel struct {
	Name string
	Run  func(w *Worker, e *device.Env, a []device.Ref)
	Cost func(e *device.Env) Cost
}

// Memory is the memory of a Worker: one slice for each float32 space, and Ints for device.Ints.
// Workers share the slices of Shared spaces and have private Grads, Uses, Work and Ints.
type Memory struct {
	F32  [device.NumSpaces][]float32 // F32[device.Ints] stays nil
	Ints []int32

	Rounded []uint16 // Params as BF16; nil: no kernel reads them
}

// A Worker runs launches one after another on the calling goroutine. It is a device.Launcher.
// Only one goroutine at a time may use it.
type Worker struct {
	Mem Memory
	// Lanes is how many models the kernels compute at once; 0 is one model. Each element of a
	// float32 space is then an array of Lanes values, and kernels get the space Each as their
	// last buffer.
	Lanes int
	// Weights keeps packed matrices of parameters; nil: each launch packs them.
	Weights *Weights

	all, isa ISA // as asked for, and of vectors
	kernels  []Kernel
	products products
	pairs    products // products of pairs, once they were asked for
	f32      scratch[float32]
	i32      scratch[int32]
	u32      scratch[uint32]
	u16      scratch[uint16]
	packed   workspace // blocks of factors
	frame    *byte
}

// FrameBytes is the size of a Frame.
const FrameBytes = 1 << 14

// NewWorker returns a Worker for a kernel table. The isa must come from ParseISA or Detect.
func NewWorker(kernels []Kernel, isa ISA, mem Memory) *Worker {
	return &Worker{Mem: mem, all: isa, isa: isa.vectors(), kernels: kernels, products: productsOf[isa.vectors()], frame: &aligned[byte](FrameBytes)[0]}
}

// ISA returns the instruction set that kernels should use: Go, AVX2, AVX512 or NEON.
func (w *Worker) ISA() ISA { return w.isa }

// Frame returns FrameBytes of memory, 64-byte aligned, that an assembly function may use until
// it returns.
func (w *Worker) Frame() *byte { return w.frame }

// Launch runs all cells of a kernel.
func (w *Worker) Launch(kernel int, env *device.Env, args ...device.Ref) {
	w.Release(Mark{})
	k := &w.kernels[kernel]
	if w.Lanes > 0 {
		if k.Run == nil {
			return // training does not use it
		}
		args = append(args, device.Ref{Space: device.Each})
	}
	k.Run(w, env, args)
}

// Join is Launch.
func (w *Worker) Join(kernel int, env *device.Env, args ...device.Ref) {
	w.Launch(kernel, env, args...)
}

// Zero clears n elements.
func (w *Worker) Zero(r device.Ref, n int) {
	if r.Space == device.Ints {
		clear(w.I32(r)[:n])
		return
	}
	clear(w.F32(r)[:n*max(w.Lanes, 1)])
	w.Round(r, n)
}

// Add adds n float32 elements at from to the elements at to.
func (w *Worker) Add(to, from device.Ref, n int) {
	n *= max(w.Lanes, 1)
	AddTo(w.F32(to)[:n], w.F32(from)[:n])
}

// Round updates the rounded copy of n parameters, if there is one.
func (w *Worker) Round(r device.Ref, n int) {
	if r.Space != device.Params || w.Mem.Rounded == nil {
		return
	}
	to := w.U16(r.Rounded())
	for i, x := range w.F32(r)[:n] {
		to[i] = RoundBF16(x)
	}
}

// F32 returns a float32 space from r to its end.
func (w *Worker) F32(r device.Ref) []float32 {
	return w.Mem.F32[r.Space][r.Off*max(w.Lanes, 1):]
}

// U16 returns a float32 space from r to its end as 16-bit elements, two a word, or the space
// Rounded.
func (w *Worker) U16(r device.Ref) []uint16 {
	if r.Space == device.Rounded {
		return w.Mem.Rounded[r.Off:]
	}
	words := w.F32(r)
	return unsafe.Slice((*uint16)(unsafe.Pointer(unsafe.SliceData(words))), 2*len(words))
}

// I32 returns the int32 space from r to its end.
func (w *Worker) I32(r device.Ref) []int32 { return w.Mem.Ints[r.Off:] }

// Tile returns n float32 of scratch with undefined contents, valid until the
// next Launch or the Release of an earlier Mark.
func (w *Worker) Tile(n int) []float32 { return w.f32.take(n) }

// TileI32 is Tile for int32.
func (w *Worker) TileI32(n int) []int32 { return w.i32.take(n) }

// TileU32 is Tile for uint32.
func (w *Worker) TileU32(n int) []uint32 { return w.u32.take(n) }

// TileU16 is Tile for uint16, the bits of BF16 and F16.
func (w *Worker) TileU16(n int) []uint16 { return w.u16.take(n) }

// A Mark remembers how much scratch is in use. The zero Mark is "none".
type Mark struct{ f32, i32, u32, u16 int }

// Mark returns the current use of scratch.
func (w *Worker) Mark() Mark { return Mark{w.f32.used, w.i32.used, w.u32.used, w.u16.used} }

// Release gives back all tiles taken since the Mark.
func (w *Worker) Release(m Mark) {
	w.f32.used, w.i32.used, w.u32.used, w.u16.used = m.f32, m.i32, m.u32, m.u16
}

// scratch hands out pieces of one slice, each on a separate cache line. Growing leaves earlier
// pieces on the old slice, where they stay valid.
type scratch[T float32 | int32 | uint32 | uint16] struct {
	buf  []T
	used int
}

// line is the number of 2-byte elements in a cache line of 64 bytes. Larger elements take
// several lines.
const line = 32

func (s *scratch[T]) take(n int) []T {
	size := (n + line - 1) / line * line
	if s.used+size > len(s.buf) {
		s.buf = aligned[T](2 * (s.used + size))
	}
	t := s.buf[s.used : s.used+n : s.used+n]
	s.used += size
	return t
}

// only is take from the start, for scratch that holds one piece at a time.
func (s *scratch[T]) only(n int) []T {
	s.used = 0
	return s.take(n)
}

// aligned makes a slice that begins on a 64-byte boundary.
func aligned[T any](n int) []T {
	const boundary = 64
	var zero T
	size := int(unsafe.Sizeof(zero))
	s := make([]T, n+boundary/size)
	skip := -int(uintptr(unsafe.Pointer(unsafe.SliceData(s)))) & (boundary - 1) / size
	return s[skip:][:n]
}
