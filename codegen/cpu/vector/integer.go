package vector

import (
	"math/bits"

	"github.com/arithlang/mlc/compiler/expr"
)

// allGeneral reports whether an expression is computed in general registers.
func allGeneral(e *expr.Expr) bool {
	ok := true
	expr.Walk(e, func(x *expr.Expr) { ok = ok && x.Type != expr.F32 })
	return ok
}

// variable returns the place of a variable in the frame.
func (f *fn) variable(e *expr.Expr) int {
	p, ok := f.vars[e.Name]
	if !ok || p.typ != e.Type {
		f.fail("%s has no value in the vector kernel", e.Name)
	}
	return p.off
}

// log2 returns the logarithm of a constant. ok is false if it is no power of two.
func log2(e *expr.Expr) (k int, ok bool) {
	ok = e.IsConst() && e.Type != expr.F32 && e.I > 0 && e.I&(e.I-1) == 0
	return bits.TrailingZeros64(uint64(e.I)), ok
}
