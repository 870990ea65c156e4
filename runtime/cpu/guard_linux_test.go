package cpu

import (
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"testing"
	"unsafe"

	"github.com/arithlang/mlc/runtime/device"
	"golang.org/x/sys/unix"
)

// fence is memory between two inaccessible pages.
type fence struct {
	t      *testing.T
	mapped []byte
}

const fencePages = 64

func newFence(t *testing.T) *fence {
	t.Helper()
	page := unix.Getpagesize()
	all, err := unix.Mmap(-1, 0, (fencePages+2)*page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Munmap(all) })
	for _, edge := range [][]byte{all[:page], all[len(all)-page:]} {
		if err := unix.Mprotect(edge, unix.PROT_NONE); err != nil {
			t.Fatal(err)
		}
	}
	return &fence{t, all[page : len(all)-page]}
}

// fenced copies s to the end of a fence, or to its beginning.
func fenced[T any](f *fence, s []T, atEnd bool) []T {
	var zero T
	bytes := len(s) * int(unsafe.Sizeof(zero))
	if bytes > len(f.mapped) {
		f.t.Fatalf("%d bytes are more than a fence has", bytes)
	}
	place := f.mapped[:bytes]
	if atEnd {
		place = f.mapped[len(f.mapped)-bytes:]
	}
	to := unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(place))), len(s))
	copy(to, s)
	return to
}

// TestNothingBeyond places operands next to inaccessible memory; an access to it ends the test.
func TestNothingBeyond(t *testing.T) {
	debug.SetPanicOnFault(true)
	r := rand.New(rand.NewPCG(11, 12))
	a, b, c := newFence(t), newFence(t), newFence(t)
	normal := func() float32 { return float32(r.NormFloat64()) }
	for _, isa := range isas()[1:] {
		w := NewWorker(nil, isa, Memory{})
		for i := range rounds(600) {
			atEnd := i%4 != 0
			m, n, k := 1+r.IntN(30), 1+r.IntN(50), 1+r.IntN(20)
			if i%8 == 0 {
				m = 64 + r.IntN(20)
			}
			what := fmt.Sprintf("%s: m=%d n=%d k=%d", isa, m, n, k)
			p := newTestProduct(r, m, n, k)
			x, y, z := fenced(a, p.a, atEnd), fenced(b, p.b, atEnd), fenced(c, p.c, atEnd)
			touches(t, what, func() { p.tryOn(t, w, x, y, z) })
			q := newNarrowTest(r, m, n, k, normal)
			u, v := fenced(a, q.a, atEnd), fenced(b, q.b, atEnd)
			z = fenced(c, q.c, atEnd)
			touches(t, what+" of BF16", func() {
				w.DotBF16(m, n, k, u, q.ars, q.acs, v, q.brs, q.bcs, z, q.ldc)
				w.ProductPackedBF16(m, u, q.ars, q.acs, w.PackBF16(m, k, n, v, q.brs, q.bcs), z, q.ldc)
			})
			words := fenced(a, make([]uint32, n), atEnd)
			touches(t, what+": random words", func() { w.RandFill(words, &device.Env{}, 1, 2, i) })
			w.Release(Mark{})
		}
	}
	for n := range 100 {
		dst, src := fenced(a, fill(n, normal), true), fenced(b, fill(n, normal), true)
		touches(t, fmt.Sprintf("%d sums", n), func() { AddTo(dst, src) })
	}
}

// tryOn is try with operands at other places: it compares the result in z with the definition.
func (p *testProduct) tryOn(t *testing.T, w *Worker, x, y, z []float32) {
	w.Dot(p.m, p.n, p.k, x, p.ars, p.acs, y, p.brs, p.bcs, z, p.ldc)
	if diff := firstDifference(z, p.sum); diff != "" {
		t.Fatalf("%s on %s: %s", p.name, w.isa, diff)
	}
	copy(z, p.c)
	w.DotSplit(p.m, p.n, p.k, x, p.ars, p.acs, y, p.brs, p.bcs, z, p.ldc)
	for _, rows := range []int{1, 1000} {
		w.ProductPacked(p.m, x, p.ars, p.acs, w.Pack(rows, p.k, p.n, y, p.brs, p.bcs), z, p.ldc)
	}
	if diff := firstDifference(z, p.product); diff != "" {
		t.Fatalf("%s on %s: %s", p.name, w.isa, diff)
	}
	w.DotVec(p.k, x, p.acs, y, p.brs, 0)
}

// touches runs f, which must not touch inaccessible memory.
func touches(t *testing.T, what string, f func()) {
	t.Helper()
	defer func() {
		if err := recover(); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
	}()
	f()
}
