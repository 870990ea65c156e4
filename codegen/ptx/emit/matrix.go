package emit

import (
	"github.com/arithlang/mlc/codegen/flat"
	"github.com/arithlang/mlc/codegen/ptx/asm"
	"github.com/arithlang/mlc/compiler/expr"
)

// Operand returns the address of an operand's element.
func (p *Builder) Operand(o flat.Operand, i, j asm.Value) Address {
	rs, cs, off := p.Value(o.RS), p.Value(o.CS), p.Value(o.Off)
	return p.Element(p.Slices[o.Slice], p.F.Do("mad.lo.s32", i, rs, p.F.Do("mad.lo.s32", j, cs, off)))
}

// SideBySide returns how many elements of a row to take at a time. It is 4 if every row of so
// many columns begins and ends at a multiple of four elements, else 1.
func (p *Builder) SideBySide(o flat.Operand, columns *expr.Expr) int {
	four := func(e *expr.Expr) bool { return expr.IsMultiple(e, expr.Int(4)) }
	if p.Aligned[o.Slice] && expr.IsInt(o.CS, 1) && four(o.Off) && four(o.RS) && four(columns) {
		return 4
	}
	return 1
}

// Transposed returns an operand with rows for columns.
func Transposed(o flat.Operand) flat.Operand {
	o.RS, o.CS = o.CS, o.RS
	return o
}

// Whole reports whether a size is surely a multiple of n, so that no step of n goes beyond it.
func Whole(size asm.Value, n int) bool {
	k, known := size.Const()
	return known && k%int64(n) == 0
}

// Below returns whether i is below a size; tiles take n at a time.
func (p *Builder) Below(i, size asm.Value, n int) asm.Value {
	if Whole(size, n) {
		return asm.Bool(true)
	}
	return p.F.Do("setp.lt.s32", i, size)
}

// When calls do under a condition, without a region if the condition is constant.
func (p *Builder) When(cond asm.Value, do func()) {
	if cond == asm.Bool(true) {
		do()
		return
	}
	p.F.If(cond, do)
}

const (
	RowVar = "dot.row"
	ColVar = "dot.col"
)

// StageName is the shared memory that products go through, a name that no tile has.
const StageName = "stage"
