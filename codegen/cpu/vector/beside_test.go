package vector

import (
	"fmt"
	"strings"
	"testing"

	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/kernel"
)

// sumsBeside returns a kernel with sums over rows. If maximum is set, the last sum is a
// maximum.
func sumsBeside(t *testing.T, sums, elements int, maximum bool) *kernel.Kernel {
	t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "kernel beside_%d_%d_%t row\n  in     x f32[B * T, %[1]d, %[2]d]\n  in     w f32[B * T, %[2]d]\n  out    y f32[B * T, %[1]d]\n  scalar B, T\n  grid   r < B * T\n\n", sums, elements, maximum)
	for i := range sums {
		op := "sum"
		if maximum && i == sums-1 {
			op = "max"
		}
		fmt.Fprintf(&b, "  reduce s%d = %s(x[r, %[1]d, e] * w[r, e])\n  set    y[r, %[1]d] = s%[1]d * 0.5\n", i, op)
	}
	ks, err := kernel.Parse(b.String() + "end\n")
	if err != nil {
		t.Fatal(err)
	}
	return ks[0]
}

// TestBeside checks that sums run side by side exactly if each has a few whole vectors, and
// how many registers they need.
func TestBeside(t *testing.T) {
	ofEight, ofSixteen := &fn{isa: &avx2.isa}, &fn{isa: &avx512.isa}
	for _, c := range []struct {
		f              *fn
		sums, elements int
		maximum        bool
		vectors, regs  int
	}{
		{ofEight, 1, 16, false, 0, 3},
		{ofEight, 2, 16, false, 2, 3},
		{ofEight, 4, 16, false, 2, 5},
		{ofEight, 8, 16, false, 2, 7},
		{ofEight, 5, 32, false, 4, 11},
		{ofEight, 3, 24, false, 0, 12},
		{ofEight, 2, 64, false, 0, 10},
		{ofEight, 2, 12, false, 0, 6},
		{ofEight, 3, 16, true, 0, 8},
		{ofSixteen, 4, 16, false, 1, 4},
		{ofSixteen, 4, 64, false, 4, 7},
		{ofSixteen, 4, 8, false, 0, 8},
	} {
		var rs []*kernel.Reduce
		for _, s := range sumsBeside(t, c.sums, c.elements, c.maximum).Body {
			if r, ok := s.(*kernel.Reduce); ok {
				rs = append(rs, r)
			}
		}
		vectors, ok := c.f.beside(rs)
		if !ok {
			vectors = 0
		}
		if regs := c.f.allRegs(rs); vectors != c.vectors || regs != c.regs {
			t.Errorf("%s, %d sums of %d, maximum %t: %d vectors and %d registers, want %d and %d", c.f.name, c.sums, c.elements, c.maximum, vectors, regs, c.vectors, c.regs)
		}
	}
	any := &kernel.Reduce{Op: expr.Add, Axis: kernel.Axis{Var: "e", Size: expr.NewVar("T", expr.I32)}}
	if _, ok := ofEight.beside([]*kernel.Reduce{any, any}); ok {
		t.Error("sums of any length are made side by side")
	}
}
