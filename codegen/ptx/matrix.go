package ptx

import (
	"github.com/arithlang/mlc/codegen/flat"
	"github.com/arithlang/mlc/codegen/ptx/asm"
	"github.com/arithlang/mlc/compiler/expr"
)

// operand returns the address of an operand's element.
func (p *printer) operand(o flat.Operand, i, j asm.Value) address {
	rs, cs, off := p.value(o.RS), p.value(o.CS), p.value(o.Off)
	return p.element(p.slices[o.Slice], p.f.Do("mad.lo.s32", i, rs, p.f.Do("mad.lo.s32", j, cs, off)))
}

// sideBySide returns how many elements of a row to take at a time. It is 4 if every row of so
// many columns begins and ends at a multiple of four elements, else 1.
func (p *printer) sideBySide(o flat.Operand, columns *expr.Expr) int {
	four := func(e *expr.Expr) bool { return expr.IsMultiple(e, expr.Int(4)) }
	if p.aligned[o.Slice] && expr.IsInt(o.CS, 1) && four(o.Off) && four(o.RS) && four(columns) {
		return 4
	}
	return 1
}

// transposed returns an operand with rows for columns.
func transposed(o flat.Operand) flat.Operand {
	o.RS, o.CS = o.CS, o.RS
	return o
}

// ceilDiv returns a size in units of n, rounded up.
func ceilDiv(size *expr.Expr, n int) *expr.Expr {
	return expr.Simplify(expr.New(expr.Div, expr.New(expr.Add, size, expr.Int(int64(n-1))), expr.Int(int64(n))))
}

// whole reports whether a size is surely a multiple of n, so that no step of n goes beyond it.
func whole(size asm.Value, n int) bool {
	k, known := size.Const()
	return known && k%int64(n) == 0
}

// below returns whether i is below a size; tiles take n at a time.
func (p *printer) below(i, size asm.Value, n int) asm.Value {
	if whole(size, n) {
		return asm.Bool(true)
	}
	return p.f.Do("setp.lt.s32", i, size)
}

// when calls do under a condition, without a region if the condition is constant.
func (p *printer) when(cond asm.Value, do func()) {
	if cond == asm.Bool(true) {
		do()
		return
	}
	p.f.If(cond, do)
}
