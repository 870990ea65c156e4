package cpu

import (
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"testing"

	"github.com/arithlang/mlc/runtime/cpu/producttest"
	"github.com/arithlang/mlc/runtime/device"
)

// TestNothingBeyond places operands next to inaccessible memory; an access to it ends the test.
func TestNothingBeyond(t *testing.T) {
	debug.SetPanicOnFault(true)
	r := rand.New(rand.NewPCG(11, 12))
	a, b, c := producttest.NewFence(t), producttest.NewFence(t), producttest.NewFence(t)
	normal := func() float32 { return float32(r.NormFloat64()) }
	for _, isa := range isas()[1:] {
		w := NewWorker(nil, isa, Memory{})
		for i := range producttest.Rounds(600) {
			atEnd := i%4 != 0
			m, n, k := 1+r.IntN(30), 1+r.IntN(50), 1+r.IntN(20)
			if i%8 == 0 {
				m = 64 + r.IntN(20)
			}
			what := fmt.Sprintf("%s: m=%d n=%d k=%d", isa, m, n, k)
			p := newTestProduct(r, m, n, k)
			x, y, z := producttest.Fenced(a, p.a, atEnd), producttest.Fenced(b, p.b, atEnd), producttest.Fenced(c, p.c, atEnd)
			producttest.Touches(t, what, func() { p.tryOn(t, w, x, y, z) })
			words := producttest.Fenced(a, make([]uint32, n), atEnd)
			producttest.Touches(t, what+": random words", func() { w.RandFill(words, &device.Env{}, 1, 2, i) })
			w.Release(Mark{})
		}
	}
	for n := range 100 {
		dst, src := producttest.Fenced(a, producttest.Fill(n, normal), true), producttest.Fenced(b, producttest.Fill(n, normal), true)
		producttest.Touches(t, fmt.Sprintf("%d sums", n), func() { AddTo(dst, src) })
	}
}

// tryOn is try with operands at other places: it compares the result in z with the definition.
func (p *testProduct) tryOn(t *testing.T, w *Worker, x, y, z []float32) {
	w.Dot(p.M, p.N, p.K, x, p.Ars, p.Acs, y, p.Brs, p.Bcs, z, p.Ldc)
	if diff := producttest.Difference(z, p.sum); diff != "" {
		t.Fatalf("%s on %s: %s", p.Name, w.isa, diff)
	}
	copy(z, p.c)
	for _, rows := range []int{1, 1000} {
		w.ProductPacked(p.M, x, p.Ars, p.Acs, w.Pack(rows, p.K, p.N, y, p.Brs, p.Bcs), z, p.Ldc)
	}
	if diff := producttest.Difference(z, p.product); diff != "" {
		t.Fatalf("%s on %s: %s", p.Name, w.isa, diff)
	}
	w.DotVec(p.K, x, p.Acs, y, p.Brs, 0)
}
