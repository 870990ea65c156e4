package ptx

import (
	"github.com/arithlang/mlc/codegen/ptx/asm"
	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/kernel"
)

// An address is the place of elements of a type.
type address struct {
	asm.Address
	typ expr.Type
}

// bytes returns the size of an element.
func (a address) bytes() int { return kernel.Bytes(a.typ) }

// plus returns the address n elements further.
func (a address) plus(n int) address { return address{a.Plus(n * a.bytes()), a.typ} }

// load reads n adjacent elements.
func (p *printer) load(at address, n int) []asm.Value {
	return p.f.Loads(at.Address, classOf(at.typ), n)
}

// widened returns elements of a type as floats.
func (p *printer) widened(t expr.Type, vs ...asm.Value) []asm.Value {
	if t == expr.F32 {
		return vs
	}
	var wide []asm.Value
	x := p.own(expr.NewElem("x", t))
	for _, v := range vs {
		wide = append(wide, p.eval(p.own(expr.New(expr.ToF32, x)), known{x: v}))
	}
	return wide
}

// at returns the address of an element that own returned.
func (p *printer) at(e *expr.Expr, so known) address {
	s, ok := p.slices[e.Name]
	if !ok {
		panic("BUG: no slice " + e.Name)
	}
	index, offset := splitConst(e.Args[0])
	if isShort(s) && !p.bounds.Natural(index) {
		index, offset = e.Args[0], 0 // an address below 0 would wrap
	}
	return p.element(s, p.eval(index, so)).plus(offset)
}

// element returns the address of an element of a slice by its index.
func (p *printer) element(slice address, index asm.Value) address {
	op := "mad.wide.s32"
	if isShort(slice) {
		op = "mad.lo.s32"
	}
	slice.Base = p.f.Do(op, index, asm.Int(slice.bytes()), slice.Base)
	return slice
}

// isShort reports whether an address has 32 bits.
func isShort(at address) bool { return at.Base.Class() == asm.Word }

// stride is times n elements in bytes, as wide as an address.
func (p *printer) stride(at address, n *expr.Expr, times int) asm.Value {
	size := int64(at.bytes() * times)
	switch {
	case isShort(at):
		return p.value(expr.Simplify(expr.New(expr.Mul, n, expr.Int(size))))
	case n.IsConst():
		return asm.WideInt(size * n.I)
	}
	return p.f.Do("mul.wide.s32", p.value(n), asm.Int(size))
}

// behind returns the address a stride further.
func (p *printer) behind(at address, by asm.Value) address {
	if n, known := by.Const(); known && int(n) < maxOffset-at.Bytes {
		at.Bytes += int(n)
		return at
	}
	at.Base = p.f.Do(sumOf(at), at.Base, by)
	return at
}

// pointer returns an address that advances.
func (p *printer) pointer(at address) address {
	at.Base = p.f.Variable(at.Base)
	return at
}

// advance moves a pointer.
func (p *printer) advance(at address, by asm.Value) { p.f.Into(at.Base, sumOf(at), at.Base, by) }

// sumOf returns the instruction that adds to an address.
func sumOf(at address) string {
	if isShort(at) {
		return "add.s32"
	}
	return "add.s64"
}

// maxOffset bounds the offsets that instructions add to an address.
const maxOffset = 1 << 16

// splitConst splits an index into a part that varies and a constant.
func splitConst(e *expr.Expr) (rest *expr.Expr, n int) {
	small := func(e *expr.Expr) bool { return e.IsConst() && -maxOffset < e.I && e.I < maxOffset }
	switch {
	case small(e):
		return expr.Int(0), int(e.I)
	case e.Op == expr.Add && small(e.Args[1]):
		return e.Args[0], int(e.Args[1].I)
	}
	return e, 0
}
