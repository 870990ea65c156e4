package bf16

import (
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"testing"

	"github.com/arithlang/mlc/runtime/cpu"
	"github.com/arithlang/mlc/runtime/cpu/producttest"
)

// TestNothingBeyond places operands next to inaccessible memory; an access to it ends the test.
func TestNothingBeyond(t *testing.T) {
	debug.SetPanicOnFault(true)
	r := rand.New(rand.NewPCG(11, 12))
	a, b, c := producttest.NewFence(t), producttest.NewFence(t), producttest.NewFence(t)
	for _, isa := range isas()[1:] {
		w := newWorker(isa)
		for i := range producttest.Rounds(600) {
			atEnd := i%4 != 0
			m, n, k := 1+r.IntN(30), 1+r.IntN(50), 1+r.IntN(20)
			if i%8 == 0 {
				m = 64 + r.IntN(20)
			}
			p := newTestProduct(r, m, n, k, func() float32 { return float32(r.NormFloat64()) })
			x, y, z := producttest.Fenced(a, p.a, atEnd), producttest.Fenced(b, p.b, atEnd), producttest.Fenced(c, p.c, atEnd)
			producttest.Touches(t, fmt.Sprintf("%s: %s", isa, p.Name), func() {
				Dot(w, m, n, k, x, p.Ars, p.Acs, y, p.Brs, p.Bcs, z, p.Ldc)
				ProductPacked(w, m, x, p.Ars, p.Acs, Pack(w, m, k, n, y, p.Brs, p.Bcs), z, p.Ldc)
			})
			w.Release(cpu.Mark{})
		}
	}
}
