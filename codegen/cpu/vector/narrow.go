package vector

import (
	"math"

	"github.com/arithlang/mlc/compiler/expr"
)

// narrow is the size of a BF16 or F16 in bytes. In registers it is the lower half of a word,
// and the upper half is 0.
const narrow = 2

// bytesOf is the size of an element.
func bytesOf(t expr.Type) int {
	if t.Narrow() {
		return narrow
	}
	return 4
}

// lowerHalf is the lower half of a word.
func (b *block) lowerHalf(v *value) *value {
	if v.lower() {
		return v
	}
	return b.compute(expr.And, expr.U32, v, b.constant(math.MaxUint16))
}

// lower reports whether the upper half of a word is known to be 0.
func (v *value) lower() bool {
	switch {
	case v.kind == constant:
		return v.bits <= math.MaxUint16
	case v.kind == load:
		return v.ptr.bytes == narrow
	case v.kind != compute:
		return false
	}
	switch v.op {
	case expr.Where:
		return v.args[1].lower() && v.args[2].lower()
	case expr.Shr:
		return v.typ == expr.U32 && v.args[1].kind == constant && v.args[1].bits&31 >= 16
	case expr.And:
		return v.typ == expr.U32 && (v.args[0].lower() || v.args[1].lower())
	}
	return false
}
