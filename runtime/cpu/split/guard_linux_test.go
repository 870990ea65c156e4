package split

import (
	"math/rand/v2"
	"runtime/debug"
	"testing"

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
			p := newTestProduct(r, 1+r.IntN(30), 1+r.IntN(50), 1+r.IntN(20))
			x, y, z := producttest.Fenced(a, p.a, atEnd), producttest.Fenced(b, p.b, atEnd), producttest.Fenced(c, p.c, atEnd)
			producttest.Touches(t, isa.String()+": "+p.Name, func() { p.try(t, isa, w, x, y, z) })
		}
	}
}
