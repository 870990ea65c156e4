package cuda

import (
	"math"

	"github.com/arithlang/mlc/runtime/device"
)

// A worker records its ops on the Machine's launch lists.
type worker struct {
	m     *Machine
	mem   *memory
	queue device.Queue
	env   device.Env
}

func newWorker(m *Machine, mem *memory) *worker {
	w := &worker{m: m, mem: mem}
	w.queue = device.NewQueue(w)
	return w
}

func (w *worker) Queue() device.Queue { return w.queue }
func (w *worker) Env() *device.Env    { return &w.env }

func (w *worker) Launch(number int, e *device.Env, args ...device.Ref) {
	w.m.listOf(w).launch(number, w.m.kernels[number], e, args)
}

func (w *worker) Join(number int, e *device.Env, args ...device.Ref) {
	w.m.listOf(w).join(number, w.m.kernels[number], e, args)
}

func (w *worker) Zero(r device.Ref, n int) {
	w.m.listOf(w).move(clearOp, r, n, 0)
	w.round(r, n)
}

func (w *worker) Add(to, from device.Ref, n int) { w.m.listOf(w).moves(addOp, to, from, n) }

// round updates the rounded copies of n elements that were set.
func (w *worker) round(r device.Ref, n int) {
	if w.m.rounds && r.Space == device.Params {
		w.m.listOf(w).moves(roundOp, r.Rounded(), r, n)
	}
}

func (w *worker) Fit(work, ints int) {
	if w.m.summing {
		t := w.m.listOf(w)
		t.work, t.ints = max(t.work, work), max(t.ints, ints)
		return
	}
	if !w.mem.fits(work, ints) {
		if !w.mem.empty() {
			w.m.flush() // recorded work may use the memory that is about to go
		}
		w.m.fail(w.m.grow(w.mem, 1, work, ints))
	}
}

// piece is the most words moved at once outside Sum. It bounds the pinned memory.
const piece = 1 << 20

func (w *worker) PutInts(r device.Ref, src []int32) {
	put(w, r, src, func(x int32) uint32 { return uint32(x) })
}

func (w *worker) PutFloats(r device.Ref, src []float32) {
	put(w, r, src, math.Float32bits)
	w.round(r, len(src))
}

func put[T int32 | float32](w *worker, r device.Ref, src []T, bits func(T) uint32) {
	for len(src) > 0 {
		n := min(len(src), piece)
		t := w.m.listOf(w)
		t.put(r, n)
		for _, x := range src[:n] {
			t.in = append(t.in, bits(x))
		}
		full := len(t.in) >= piece
		if r, src = r.Plus(n), src[n:]; full && !w.m.summing {
			w.m.flush()
		}
	}
}

func (w *worker) GetInts(dst []int32, r device.Ref) {
	get(w, dst, r, func(to []int32) result { return result{ints: to} })
}

func (w *worker) GetFloats(dst []float32, r device.Ref) {
	get(w, dst, r, func(to []float32) result { return result{floats: to} })
}

func get[T int32 | float32](w *worker, dst []T, r device.Ref, into func(to []T) result) {
	for len(dst) > 0 {
		n := min(len(dst), piece)
		w.m.listOf(w).get(r, into(dst[:n]))
		r, dst = r.Plus(n), dst[n:]
		w.m.got()
	}
}
