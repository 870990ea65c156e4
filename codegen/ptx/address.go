package ptx

import (
	"github.com/arithlang/mlc/codegen/ptx/asm"
	"github.com/arithlang/mlc/compiler/expr"
)

// at is where an own element is.
func (p *printer) at(e *expr.Expr, so known) asm.Address {
	s, ok := p.slices[e.Name]
	if !ok {
		panic("BUG: no slice " + e.Name)
	}
	index, offset := splitConst(e.Args[0])
	if isShort(s) && !p.bounds.Natural(index) {
		index, offset = e.Args[0], 0 // an address below 0 would wrap
	}
	return p.element(s, p.eval(index, so)).Plus(4 * offset)
}

// element is the address of an element of a slice by its index.
func (p *printer) element(slice asm.Address, index asm.Value) asm.Address {
	op := "mad.wide.s32"
	if isShort(slice) {
		op = "mad.lo.s32"
	}
	slice.Base = p.f.Do(op, index, asm.Int(4), slice.Base)
	return slice
}

// isShort says whether an address has 32 bits.
func isShort(at asm.Address) bool { return at.Base.Class() == asm.Word }

// stride is a number of elements in bytes, as wide as an address.
func (p *printer) stride(at asm.Address, n *expr.Expr) asm.Value {
	if isShort(at) {
		return p.value(expr.Simplify(expr.New(expr.Mul, n, expr.Int(4))))
	}
	if n.IsConst() {
		return asm.WideInt(4 * n.I)
	}
	return p.f.Do("mul.wide.s32", p.value(n), asm.Int(4))
}

// behind is the address that lies a stride behind another.
func (p *printer) behind(at asm.Address, by asm.Value) asm.Address {
	if n, known := by.Const(); known && int(n) < maxOffset-at.Bytes {
		return at.Plus(int(n))
	}
	at.Base = p.f.Do(sumOf(at), at.Base, by)
	return at
}

// pointer is an address that advances.
func (p *printer) pointer(at asm.Address) asm.Address {
	at.Base = p.f.Variable(at.Base)
	return at
}

// advance moves a pointer.
func (p *printer) advance(at asm.Address, by asm.Value) { p.f.Into(at.Base, sumOf(at), at.Base, by) }

// sumOf is the instruction that adds to an address.
func sumOf(at asm.Address) string {
	if isShort(at) {
		return "add.s32"
	}
	return "add.s64"
}

// maxOffset keeps what an address is moved by within the room of an instruction.
const maxOffset = 1 << 16

// splitConst splits an index into a part that varies and a constant.
func splitConst(e *expr.Expr) (rest *expr.Expr, n int) {
	small := func(e *expr.Expr) bool { return e.IsConst() && -maxOffset < e.I && e.I < maxOffset }
	switch {
	case small(e):
		return expr.Int(0), int(e.I)
	case e.Op == expr.Add && small(e.Args[1]):
		return e.Args[0], int(e.Args[1].I)
	case e.Op == expr.Add && small(e.Args[0]):
		return e.Args[1], int(e.Args[0].I)
	case e.Op == expr.Sub && small(e.Args[1]):
		return e.Args[0], -int(e.Args[1].I)
	}
	return e, 0
}
