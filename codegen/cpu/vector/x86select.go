package vector

import (
	"github.com/arithlang/mlc/compiler/expr"
)

// form selects the instruction of a value.
func (f *x86) form(a *allocator, v *value) form {
	args := v.operands()
	switch v.kind {
	case compute:
		return f.selection(a, v)
	case gather:
		if f.isa == avx512 {
			return form{in: args, early: true}
		}
		return form{in: args, early: true, temps: 1} // the mask
	case store:
		if v.ptr.bytes == narrow && f.isa == avx2 {
			return form{in: args, temps: 1} // the packed words
		}
	case fold:
		return f.foldForm(a, v)
	case set:
		if v.typ == expr.F32 {
			return form{in: args, temps: 1}
		}
	}
	return form{in: args}
}

// selection returns the form of a computation.
func (f *x86) selection(a *allocator, v *value) form {
	s := f.isa
	name, args := s.instruction(v.op, v.typ), v.operands()
	x, y := args[0], args[len(args)-1]
	switch v.op {
	case expr.Lt, expr.Le, expr.Eq, expr.Ne:
		out := form{name: name, mem: y, in: args[:1]}
		switch {
		case s == avx512 || v.typ == expr.F32:
			code := predicates[v.op]
			if v.not {
				code ^= 4
			}
			out.first = imm(code)
		case v.op == expr.Lt: // x < y is y > x
			out.mem, out.in = x, args[1:]
		}
		return out
	case expr.Where:
		return s.where(args[0], args[1], args[2])
	case expr.Fma:
		return form{name: name, mem: args[1], in: []*value{x, y}}
	case expr.Not:
		if s == avx2 {
			return form{name: name, first: f.pool.all(1<<32 - 1), in: args}
		}
		return form{name: name, in: args}
	case expr.Floor:
		return form{name: name, first: imm(9), mem: x}
	case expr.Shl, expr.Shr:
		if y.kind == constant {
			return form{name: name + "D", first: imm(int(y.bits & 31)), in: args[:1]}
		}
		name += "VD"
	case expr.Div:
		if v.typ == expr.I32 {
			return form{in: args, early: true, temps: 2}
		}
	}
	if name == "" {
		f.fail("no vector code for %v of %v", v.op, v.typ)
	}
	if len(args) == 1 {
		return form{name: name, mem: x}
	}
	if commutes[v.op][v.typ] && f.inMemory(a, x) && !f.inMemory(a, y) {
		x, y = y, x
	}
	return form{name: name, mem: y, in: []*value{x}}
}

// where returns the form of c ? x : y. A mask replaces an operand that is 0.
func (s *x86isa) where(c, x, y *value) form {
	switch {
	case s == avx512 && y.isZero():
		return form{name: "VMOVUPS.Z", mem: x, in: []*value{c}}
	case s == avx512:
		return form{name: "VBLENDMPS", mem: x, in: []*value{c, y}}
	case x.isZero():
		return form{name: "VANDNPS", mem: y, in: []*value{c}}
	case y.isZero():
		return form{name: "VANDPS", mem: x, in: []*value{c}}
	}
	return form{name: "VBLENDVPS", mem: x, in: []*value{c, y}}
}

// inMemory reports whether a value is in no register and need not be in one.
func (f *x86) inMemory(a *allocator, v *value) bool {
	if v.reg != none || v.mask {
		return false
	}
	switch v.kind {
	case constant:
		return true
	case slotted:
		return v.wide || f.isa == avx512
	case load:
		return !a.masked && len(v.uses) <= 1 && v.ptr.bytes != narrow
	}
	return v.spilled
}
