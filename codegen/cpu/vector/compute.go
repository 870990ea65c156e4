package vector

import (
	"github.com/mmcloughlin/avo/reg"

	"github.com/arithlang/mlc/compiler/expr"
)

// computation writes the instructions of an op.
func (b *block) computation(v *value) {
	switch v.op {
	case expr.Lt, expr.Le, expr.Eq, expr.Ne:
		b.comparison(v)
	case expr.Where:
		b.selection(v)
	case expr.Not:
		b.negation(v)
	case expr.Shl, expr.Shr:
		b.shift(v)
	case expr.Div:
		if v.typ == expr.F32 {
			b.binary(v, "VDIVPS")
			return
		}
		b.quotient(v)
	case expr.And, expr.Or, expr.Xor:
		if b.inMask(v) {
			b.maskLogic(v)
			return
		}
		b.binary(v, b.f.isa.logic(logicals[v.op]))
	case expr.Floor, expr.Sqrt, expr.Abs, expr.ToF32, expr.ToI32:
		b.unary(v)
	default:
		name := mnemonics[v.op][v.typ]
		if name == "" {
			b.f.fail("no vector code for %v of %v", v.op, v.typ)
			b.claim(v)
			return
		}
		b.binary(v, name)
	}
}

// done frees operands without more uses, so that the result may take their register.
func (b *block) done(v *value) {
	b.release(v)
}

// binary writes an instruction whose second operand may be in memory.
func (b *block) binary(v *value, name string) {
	x, y := v.args[0], v.args[1]
	if commutes(v.op, v.typ) && b.inMemory(x) && !b.inMemory(y) {
		x, y = y, x
	}
	r := b.get(x)
	o, suffix := b.operand(y)
	b.done(v)
	b.f.op(name+suffix, o, r, b.claim(v))
}

func (b *block) unary(v *value) {
	f := b.f
	o, suffix := b.operand(v.args[0])
	b.done(v)
	to := b.claim(v)
	switch {
	case v.op == expr.Floor && f.isa == avx512:
		f.op("VRNDSCALEPS"+suffix, imm(9), o, to)
	case v.op == expr.Floor:
		f.op("VROUNDPS", imm(9), o, to)
	case v.op == expr.Sqrt:
		f.op("VSQRTPS"+suffix, o, to)
	case v.op == expr.Abs:
		f.op("VPABSD"+suffix, o, to)
	case v.op == expr.ToF32 && v.typ == expr.U32:
		f.op("VCVTUDQ2PS"+suffix, o, to)
	case v.op == expr.ToF32:
		f.op("VCVTDQ2PS"+suffix, o, to)
	case v.op == expr.ToI32:
		f.op("VCVTTPS2DQ"+suffix, o, to)
	}
}

// comparison leaves a condition: a < b is b > a on AVX2.
func (b *block) comparison(v *value) {
	f, x, y := b.f, v.args[0], v.args[1]
	if f.isa == avx2 && v.typ != expr.F32 {
		name := "VPCMPEQD"
		if v.op == expr.Lt {
			x, y, name = y, x, "VPCMPGTD"
		}
		r := b.get(x)
		o, _ := b.operand(y)
		b.done(v)
		f.op(name, o, r, b.claim(v))
		return
	}
	code := predicates[v.op]
	if v.not {
		code ^= 4
	}
	r := b.get(x)
	o, suffix := b.operand(y)
	b.done(v)
	name := "VCMPPS"
	if f.isa == avx512 {
		name = comparisons[v.typ]
	}
	f.op(name+suffix, imm(int(code)), o, r, b.claim(v))
}

// selection is Where; a zero is left out by a mask.
func (b *block) selection(v *value) {
	f, c, x, y := b.f, v.args[0], v.args[1], v.args[2]
	zero := func(v *value) bool { return v.kind == constant && v.bits == 0 }
	k := b.get(c)
	switch {
	case f.isa == avx512 && zero(y):
		o, suffix := b.operand(x)
		b.done(v)
		name := "VMOVUPS.Z"
		if suffix != "" {
			name = "VBROADCASTSS.Z"
		}
		f.op(name, o, k, b.claim(v))
	case f.isa == avx512:
		r := b.get(y)
		o, suffix := b.operand(x)
		b.done(v)
		f.op("VBLENDMPS"+suffix, o, r, k, b.claim(v))
	case zero(y), zero(x):
		name, w := "VANDPS", x
		if zero(x) {
			name, w = "VANDNPS", y
		}
		o, _ := b.operand(w)
		b.done(v)
		f.op(name, o, k, b.claim(v))
	default:
		r := b.get(y)
		o, _ := b.operand(x)
		b.done(v)
		f.op("VBLENDVPS", k, o, r, b.claim(v))
	}
}

func (b *block) maskLogic(v *value) {
	x, y := b.get(v.args[0]), b.get(v.args[1])
	b.done(v)
	b.f.op(maskLogicals[v.op], y, x, b.claim(v))
}

// negation is Not of a condition.
func (b *block) negation(v *value) {
	x := b.get(v.args[0])
	b.done(v)
	if b.inMask(v) {
		b.f.op("KNOTW", x, b.claim(v))
		return
	}
	b.f.op("VPXOR", b.f.pool.all(1<<32-1), x, b.claim(v))
}

var shifts = map[expr.Op]map[expr.Type]string{
	expr.Shl: {expr.I32: "VPSLL", expr.U32: "VPSLL"},
	expr.Shr: {expr.I32: "VPSRA", expr.U32: "VPSRL"},
}

func (b *block) shift(v *value) {
	x, by := b.get(v.args[0]), v.args[1]
	name := shifts[v.op][v.typ]
	if by.kind == constant {
		b.done(v)
		b.f.op(name+"D", imm(int(by.bits&31)), x, b.claim(v))
		return
	}
	o, suffix := b.operand(by)
	b.done(v)
	b.f.op(name+"VD"+suffix, o, x, b.claim(v))
}

// quotient divides integers in float64, which is exact: half a vector at a time.
func (b *block) quotient(v *value) {
	f := b.f
	x, y := b.get(v.args[0]), b.get(v.args[1])
	to := b.claim(v)
	b.locked = append(b.locked, v)
	var tmp [3]value
	for i := range tmp {
		b.claim(&tmp[i])
		b.locked = append(b.locked, &tmp[i])
	}
	half := max(b.lanes/2, 4)
	full := b.lanes // lanes of 64 bits fit half the elements
	num := func(i int) reg.Register { return vec(tmp[i].reg, full) }
	part := func(i int) reg.Register { return vec(tmp[i].reg, half) }
	if b.lanes == 4 {
		full = 8
	}
	for h := range b.lanes / half {
		for i, r := range []reg.Register{x, y} {
			n := b.number(r)
			if h == 0 {
				f.op("VCVTDQ2PD", vec(n, half), num(i))
				continue
			}
			b.upper(n, tmp[i].reg)
			f.op("VCVTDQ2PD", part(i), num(i))
		}
		f.op("VDIVPD", num(1), num(0), num(0))
		f.op(toInt[full], num(0), part(2-2*h))
		if h == 0 && b.lanes == 4 {
			f.op("VMOVUPS", part(2), to)
		}
	}
	switch b.lanes {
	case 16:
		f.op("VINSERTF64X4", imm(1), part(0), vec(tmp[2].reg, 16), to)
	case 8:
		f.op("VINSERTF128", imm(1), part(0), vec(tmp[2].reg, 8), to)
	}
	for i := range tmp {
		b.vec[tmp[i].reg] = nil
	}
}

// toInt converts float64 to the integers in half a register.
var toInt = map[int]string{16: "VCVTTPD2DQ", 8: "VCVTTPD2DQY"}

// upper moves the upper half of register n to the lower half of another.
func (b *block) upper(n, to int) {
	if b.lanes == 16 {
		b.f.op("VEXTRACTF64X4", imm(1), vec(n, 16), vec(to, 8))
		return
	}
	b.f.op("VEXTRACTF128", imm(1), vec(n, 8), vec(to, 4))
}

// number is the number of a vector register.
func (b *block) number(r reg.Register) int {
	for n := range vectorRegs {
		if b.v(n) == r {
			return n
		}
	}
	panic("BUG: no vector register")
}
