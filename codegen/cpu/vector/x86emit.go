package vector

import (
	"slices"
	"strings"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"github.com/arithlang/mlc/compiler/expr"
)

// An x86block is a block whose code is written.
type x86block struct {
	*block
	x *x86
}

func (f *x86) spill(b *block, v *value, n int)  { x86block{b, f}.store(v, n) }
func (f *x86) reload(b *block, v *value, n int) { x86block{b, f}.reload(v, n) }
func (f *x86) run(b *block, s *step)            { x86block{b, f}.run(s) }

// v is register n.
func (b x86block) v(n int) reg.Register { return vec(n, b.lanes) }

// store puts a value into its spill slot.
func (b x86block) store(v *value, n int) {
	move, t := "VMOVUPS", expr.F32
	if n >= firstMask {
		move, t = "KMOVW", expr.Bool
	}
	v.spill = b.x.slot(t)
	b.x.op(move, b.v(n), b.x.at(v.spill))
}

// reload loads a value into register n.
func (b x86block) reload(v *value, n int) {
	f, r := b.x, b.v(n)
	switch {
	case v.isZero():
		f.op(f.isa.instruction(expr.Xor, expr.U32), r, r, r)
	case v.kind == load:
		b.load(v, n)
	case v.kind == cell:
		b.address(v)
		f.op("VBROADCASTSS", mem(tempReg, evalRegs[0], 0), r)
	case v.kind == position:
		b.x.positions(b.inst, n)
	default:
		m, suffix := b.memory(v)
		switch {
		case n >= firstMask:
			f.op("KMOVW", m, r)
		case suffix != "" || v.kind == slotted && !v.wide:
			f.op("VPBROADCASTD", m, r)
		default:
			f.op("VMOVUPS", m, r)
		}
	}
}

// memory returns where an instruction reads a value from memory, and the suffix that it then
// needs.
func (b x86block) memory(v *value) (m operand.Mem, suffix string) {
	switch {
	case v.spill != none:
		return b.x.at(v.spill), ""
	case v.kind == constant:
		return b.x.constant(v.bits), b.x.isa.broadcast
	case v.kind == load:
		return b.row(v), ""
	case v.wide:
		return b.x.at(v.off), ""
	}
	return b.x.at(v.off), b.x.isa.broadcast
}

// load loads the vector in a row into register n.
func (b x86block) load(v *value, n int) {
	if v.ptr.bytes == narrow {
		b.loadNarrow(v, n)
		return
	}
	b.move(b.x.isa.loadSome, b.row(v), b.v(n))
}

// save stores the operand of a step in a row.
func (b x86block) save(s *step) {
	n, v := b.number(s.in[0], s.from[0]), s.value
	if v.ptr.bytes == narrow {
		b.saveNarrow(s, n)
		return
	}
	b.move(b.x.isa.saveSome, b.v(n), b.row(v))
}

// put stores the first lane of a register in a cell. The address is in tempReg and
// evalRegs[0].
func (b x86block) put(p *pointer, x operand.Op) {
	m := element(tempReg, evalRegs[0], p.bytes)
	if p.bytes == narrow {
		b.x.op("VPEXTRW", imm(0), x, m)
		return
	}
	b.x.op("VMOVD", x, m)
}

// move moves a vector, or only the lanes that exist.
func (b x86block) move(some string, from, to operand.Op) {
	if b.inst.masked {
		b.x.op(some, from, b.x.isa.tail, to)
	} else {
		b.x.op("VMOVUPS", from, to)
	}
}

// run writes the instruction of a value.
func (b x86block) run(s *step) {
	v := s.value
	name, ops := b.operands(s)
	switch v.kind {
	case compute:
		if v.op == expr.Fma {
			b.fma(s, strings.TrimPrefix(name, "VFMADD"), ops)
			return
		}
		switch name {
		case "":
			b.quotient(s)
			return
		case "VBLENDVPS": // the condition comes first
			ops[0], ops[1], ops[2] = ops[2], ops[0], ops[1]
		}
		b.x.op(name, append(ops, b.v(s.reg))...)
	case gather:
		b.gather(s, ops[0])
	case store:
		b.save(s)
	case put:
		b.address(v)
		b.put(v.ptr, ops[0])
	case fold:
		b.fold(s, ops[0].(reg.Register))
	case set:
		b.set(s, ops[0])
	}
}

// fma writes x * y + sum, for operands y, sum and x. The instruction overwrites one of its
// operands: any of the three, or a copy of sum.
func (b x86block) fma(s *step, suffix string, ops []operand.Op) {
	y, sum, x, to := ops[0], ops[1], ops[2], b.v(s.reg)
	switch operand.Op(to) {
	case sum:
		b.x.op("VFMADD231PS"+suffix, y, x, to)
	case x:
		b.x.op("VFMADD132PS"+suffix, y, sum, to)
	case y:
		b.x.op("VFMADD132PS", x, sum, to)
	default:
		b.x.op("VMOVAPS", sum, to)
		b.x.op("VFMADD231PS"+suffix, y, x, to)
	}
}

// operands returns the name of an instruction and all operands except the result.
func (b x86block) operands(s *step) (name string, ops []operand.Op) {
	name = s.name
	if s.first != nil {
		ops = append(ops, s.first.(operand.Op))
	}
	if x := s.mem; x != nil && (s.at != none || x.kind == word) {
		ops = append(ops, b.v(b.number(x, s.at)))
	} else if x != nil {
		m, suffix := b.memory(x)
		ops = append(ops, m)
		if name += suffix; name == "VMOVUPS.Z.BCST" {
			name = "VBROADCASTSS.Z"
		}
	}
	for i, x := range slices.Backward(s.in) {
		ops = append(ops, b.v(b.number(x, s.from[i])))
	}
	return name, ops
}

// row returns the place of the vector in a row.
func (b x86block) row(v *value) operand.Mem {
	p := v.ptr
	m := operand.Mem{Base: b.base(p), Disp: p.bytes * (v.plus + b.inst.disp)}
	if b.inst.indexed {
		m.Index, m.Scale = indexReg, uint8(p.bytes)
	}
	return m
}

// base returns the address that a pointer holds.
func (b x86block) base(p *pointer) reg.Register {
	if p.reg != none {
		return pointerReg(p.reg)
	}
	b.x.op("MOVQ", b.x.at(p.off), tempReg)
	return tempReg
}

// gather loads elements at any indices. The instruction clears its mask. Lanes that do not
// exist are masked, because their indices are undefined.
func (b x86block) gather(s *step, index operand.Op) {
	f, to := b.x, b.v(s.reg)
	m := mem(b.base(s.value.ptr), index.(reg.Register), 0)
	ones, move, mask := "KXNORW", "KMOVW", tempMask
	if f.isa == avx2 {
		ones, move, mask = "VPCMPEQD", "VMOVAPS", b.v(s.temps[0])
	}
	if b.inst.masked {
		f.op(move, f.isa.tail, mask)
	} else {
		f.op(ones, mask, mask, mask)
	}
	f.op(f.isa.instruction(expr.Xor, expr.U32), to, to, to)
	if f.isa == avx2 {
		f.op("VGATHERDPS", mask, m, to)
	} else {
		f.op("VGATHERDPS", m, mask, to)
	}
}

// positions puts the values of the axis into vector register n.
func (f *x86) positions(in instance, n int) {
	iota := f.pool.constant(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)
	r := f.full(n)
	switch {
	case in.indexed:
		f.op("LEAQ", operand.Mem{Base: indexReg, Disp: in.disp}, tempReg)
	case in.disp > 0:
		f.op("MOVL", imm(in.disp), tempReg)
	default:
		f.op("VMOVUPS", iota, r)
		return
	}
	if f.isa == avx512 {
		f.op("VPBROADCASTD", tempReg, r)
	} else {
		f.op("VMOVD", tempReg, vec(n, 4))
		f.op("VPBROADCASTD", vec(n, 4), r)
	}
	f.op("VPADDD", iota, r, r)
}

// set stores a scalar in its slot.
func (b x86block) set(s *step, x operand.Op) {
	f, v := b.x, s.value
	switch {
	case v.typ == expr.F32:
		all := f.full(s.temps[0])
		f.op("VBROADCASTSS", x, all)
		f.op("VMOVUPS", all, f.at(v.off))
		return
	case s.from[0] >= firstMask:
		f.op("KMOVW", x, tempReg)
		f.op("ANDL", imm(1), tempReg)
		f.op("NEGQ", tempReg)
	default:
		f.op("VMOVD", x, tempReg)
		if v.typ != expr.U32 {
			f.op("MOVLQSX", tempReg, tempReg)
		}
	}
	f.op("MOVQ", tempReg, f.at(v.off))
}

// quotient divides integers in float64, which is exact, half a vector at a time.
func (b x86block) quotient(s *step) {
	f, half, full := b.x, 4, 8 // lanes of 32 bits in half a register and in a full one
	convert, upper, both := "VCVTTPD2DQY", "VEXTRACTF128", "VINSERTF128"
	if b.lanes == 16 {
		half, full = 8, 16
		convert, upper, both = "VCVTTPD2DQ", "VEXTRACTF64X4", "VINSERTF64X4"
	}
	x, y := s.temps[0], s.temps[1]
	divide := func(to int) {
		f.op("VDIVPD", vec(y, full), vec(x, full), vec(x, full))
		f.op(convert, vec(x, full), vec(to, half))
	}
	for i, v := range s.in {
		f.op("VCVTDQ2PD", vec(b.number(v, s.from[i]), half), vec(s.temps[i], full))
	}
	divide(s.reg)
	if b.lanes == half {
		return
	}
	for i, v := range s.in {
		f.op(upper, imm(1), vec(b.number(v, s.from[i]), full), vec(s.temps[i], half))
		f.op("VCVTDQ2PD", vec(s.temps[i], half), vec(s.temps[i], full))
	}
	divide(x)
	f.op(both, imm(1), vec(x, half), vec(s.reg, full), vec(s.reg, full))
}

// address computes the address of a cell.
func (b x86block) address(v *value) {
	b.x.integer(v.at)
	b.x.sliceBase(v.ptr.slice, tempReg)
}

// element returns the address of an element from a base on.
func element(base, index reg.Register, bytes int) operand.Mem {
	return operand.Mem{Base: base, Index: index, Scale: uint8(bytes)}
}

// mem returns the address of element index + disp from a base. Elements have 32 bits.
func mem(base, index reg.Register, disp int) operand.Mem {
	return operand.Mem{Base: base, Index: index, Scale: 4, Disp: 4 * disp}
}
