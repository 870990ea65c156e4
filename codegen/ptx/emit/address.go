package emit

import (
	"github.com/arithlang/mlc/codegen/ptx/asm"
	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/kernel"
)

// An Address is the place of elements of a type.
type Address struct {
	asm.Address
	Typ expr.Type
}

// bytes returns the size of an element.
func (a Address) bytes() int { return kernel.Bytes(a.Typ) }

// Further returns the address n elements further.
func (a Address) Further(n int) Address { return Address{a.Plus(n * a.bytes()), a.Typ} }

// Load reads n adjacent elements.
func (p *Builder) Load(at Address, n int) []asm.Value {
	return p.F.Loads(at.Address, ClassOf(at.Typ), n)
}

// Widened returns elements of a type as floats.
func (p *Builder) Widened(t expr.Type, vs ...asm.Value) []asm.Value {
	if t == expr.F32 {
		return vs
	}
	var wide []asm.Value
	x := p.Own(expr.NewElem("x", t))
	for _, v := range vs {
		wide = append(wide, p.Eval(p.Own(expr.New(expr.ToF32, x)), Known{x: v}))
	}
	return wide
}

// At returns the address of an element that own returned.
func (p *Builder) At(e *expr.Expr, so Known) Address {
	s, ok := p.Slices[e.Name]
	if !ok {
		panic("BUG: no slice " + e.Name)
	}
	index, offset := splitConst(e.Args[0])
	if isShort(s) && !p.Bounds.Natural(index) {
		index, offset = e.Args[0], 0 // an address below 0 would wrap
	}
	return p.Element(s, p.Eval(index, so)).Further(offset)
}

// Element returns the address of an element of a slice by its index.
func (p *Builder) Element(slice Address, index asm.Value) Address {
	op := "mad.wide.s32"
	if isShort(slice) {
		op = "mad.lo.s32"
	}
	slice.Base = p.F.Do(op, index, asm.Int(slice.bytes()), slice.Base)
	return slice
}

// isShort reports whether an address has 32 bits.
func isShort(at Address) bool { return at.Base.Class() == asm.Word }

// Stride is times n elements in bytes, as wide as an address.
func (p *Builder) Stride(at Address, n *expr.Expr, times int) asm.Value {
	size := int64(at.bytes() * times)
	switch {
	case isShort(at):
		return p.Value(expr.Simplify(expr.New(expr.Mul, n, expr.Int(size))))
	case n.IsConst():
		return asm.WideInt(size * n.I)
	}
	return p.F.Do("mul.wide.s32", p.Value(n), asm.Int(size))
}

// Behind returns the address a stride further.
func (p *Builder) Behind(at Address, by asm.Value) Address {
	if n, known := by.Const(); known && int(n) < maxOffset-at.Bytes {
		at.Bytes += int(n)
		return at
	}
	at.Base = p.F.Do(sumOf(at), at.Base, by)
	return at
}

// Pointer returns an address that advances.
func (p *Builder) Pointer(at Address) Address {
	at.Base = p.F.Variable(at.Base)
	return at
}

// Advance moves a pointer.
func (p *Builder) Advance(at Address, by asm.Value) { p.F.Into(at.Base, sumOf(at), at.Base, by) }

// sumOf returns the instruction that adds to an address.
func sumOf(at Address) string {
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
