package vector

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"github.com/arithlang/mlc/compiler/expr"
)

// An instance is one vector of a loop's body: its elements begin at disp, after
// the loop's index where it has one. Only some lanes of a masked one exist.
type instance struct {
	disp    int
	indexed bool
	masked  bool
	part    int // vector within a group of 32 elements, or of random words
}

// ymmMask is the register of the mask of an AVX2 tail.
const ymmMask = 15

// emit writes the body for a vector.
func (b *block) emit(in instance) {
	b.inst = in
	if b.free == 0 {
		b.free = b.f.isa.regs
	}
	ints, vecs := b.f.ints, b.f.vecs
	b.reset()
	for i, v := range b.order {
		b.now = i
		b.instruction(v)
		b.release(v)
	}
	b.f.ints, b.f.vecs = ints, vecs
}

func (b *block) instruction(v *value) {
	f := b.f
	switch v.kind {
	case compute:
		b.computation(v)
	case gather:
		b.gather(v)
	case store:
		b.storeRow(b.get(v.args[0]), v.ptr)
	case put:
		x := b.get(v.args[0])
		b.address(v)
		f.op("VMOVD", x, mem(tempReg, evalRegs[0], 0))
	case scatter:
		b.scatter(b.get(v.args[0]), b.get(v.args[1]), v.ptr)
	case fold:
		b.fold(v)
	case set:
		b.set(v)
	}
}

// row is the place of the vector in a row.
func (b *block) row(p *pointer) operand.Mem {
	base := reg.Register(p.reg)
	if p.reg == nil {
		b.f.op("MOVQ", b.f.at(p.off), tempReg)
		base = tempReg
	}
	if b.inst.indexed {
		return mem(base, indexReg, b.inst.disp)
	}
	return mem(base, nil, b.inst.disp)
}

// base is the address that gathered indices count from.
func (b *block) base(p *pointer) reg.Register {
	if p.reg != nil {
		return p.reg
	}
	b.f.op("MOVQ", b.f.at(p.off), tempReg)
	return tempReg
}

func (b *block) loadRow(p *pointer, to reg.Register) {
	m := b.row(p)
	switch {
	case !b.inst.masked:
		b.f.op("VMOVUPS", m, to)
	case b.f.isa == avx512:
		b.f.op("VMOVUPS.Z", m, tailMask, to)
	default:
		b.f.op("VMASKMOVPS", m, b.v(ymmMask), to)
	}
}

func (b *block) storeRow(from reg.Register, p *pointer) {
	m := b.row(p)
	switch {
	case !b.inst.masked:
		b.f.op("VMOVUPS", from, m)
	case b.f.isa == avx512:
		b.f.op("VMOVUPS", from, tailMask, m)
	default:
		b.f.op("VMASKMOVPS", from, b.v(ymmMask), m)
	}
}

// gather loads elements at any indices; a gather clears its mask. What lanes that
// do not exist would load is not defined.
func (b *block) gather(v *value) {
	f := b.f
	index := b.get(v.args[0])
	to := b.claim(v)
	m := operand.Mem{Base: b.base(v.ptr), Index: index, Scale: 4}
	if f.isa == avx512 {
		k := tempMask
		if b.inst.masked {
			f.op("KMOVW", tailMask, k)
		} else {
			f.op("KXNORW", k, k, k)
		}
		f.op("VPXORD", to, to, to)
		f.op("VGATHERDPS", m, k, to)
		return
	}
	b.locked = append(b.locked, v)
	var all value
	mask := b.claim(&all)
	if b.inst.masked {
		f.op("VMOVAPS", b.v(ymmMask), mask)
	} else {
		f.op("VPCMPEQD", mask, mask, mask)
	}
	f.op("VPXOR", to, to, to)
	f.op("VGATHERDPS", mask, m, to)
	b.vec[all.reg] = nil
}

// scatter stores the lanes that exist one by one.
func (b *block) scatter(from, index reg.Register, p *pointer) {
	f := b.f
	values, indices := f.vector(), f.vector()
	f.op("VMOVUPS", from, f.at(values))
	f.op("VMOVUPS", index, f.at(indices))
	base := b.base(p)
	limit := f.slot(expr.I32)
	saved := f.slot(expr.I32)
	f.op("MOVQ", indexReg, f.at(saved))
	if b.inst.masked {
		f.op("MOVQ", countReg, f.at(limit))
	}
	one := func(lane int, next reg.Register) {
		f.op("MOVLQSX", f.at(indices+4*lane), next)
		f.op("LEAQ", mem(base, next, 0), next)
		f.op("MOVL", f.at(values+4*lane), countReg)
		f.op("MOVL", countReg, operand.Mem{Base: next})
	}
	end := f.label("stored")
	for lane := range b.lanes {
		if b.inst.masked {
			f.op("CMPQ", f.at(limit), imm(lane))
			f.jump("JLE", end)
		}
		one(lane, indexReg)
	}
	f.mark(end)
	f.op("MOVQ", f.at(saved), indexReg)
	if b.inst.masked {
		f.op("MOVQ", f.at(limit), countReg)
	}
}

// positions puts the values of the axis into register n.
func (b *block) positions(n int) {
	f := b.f
	iota := f.pool.wide([8]uint32{0, 1, 2, 3, 4, 5, 6, 7}, [8]uint32{8, 9, 10, 11, 12, 13, 14, 15})
	r := b.v(n)
	switch {
	case b.inst.indexed:
		f.op("LEAQ", operand.Mem{Base: indexReg, Disp: b.inst.disp}, tempReg)
	case b.inst.disp > 0:
		f.op("MOVL", imm(b.inst.disp), tempReg)
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
func (b *block) set(v *value) {
	f, x := b.f, v.args[0]
	if v.typ == expr.F32 {
		r := b.get(x)
		n := b.scratch()
		all := vec(n, f.isa.lanes)
		f.op("VBROADCASTSS", r, all)
		f.op("VMOVUPS", all, f.at(v.off))
		return
	}
	r := b.get(x)
	if b.inMask(x) {
		f.op("KMOVW", r, tempReg)
		f.op("ANDL", imm(1), tempReg)
		f.op("NEGQ", tempReg)
		f.op("MOVQ", tempReg, f.at(v.off))
		return
	}
	f.op("VMOVD", r, tempReg)
	if v.typ != expr.U32 {
		f.op("MOVLQSX", tempReg, tempReg)
	}
	f.op("MOVQ", tempReg, f.at(v.off))
}

// scratch returns a register for the current instruction.
func (b *block) scratch() int {
	var tmp value
	b.claim(&tmp)
	n := tmp.reg
	b.vec[n] = nil
	return n
}

// A folding is a reduction of a block: registers of partials, from the first.
type folding struct {
	name  string
	op    string
	first int
	regs  int
	start float64
}

// fold takes the vector into the partials of its part.
func (b *block) fold(v *value) {
	f := b.f
	acc := b.v(v.fold.first + b.inst.part%v.fold.regs)
	switch {
	case !b.inst.masked:
		x, suffix := b.operand(v.args[0])
		f.op(v.fold.op+suffix, x, acc, acc)
	case f.isa == avx512:
		x, suffix := b.operand(v.args[0])
		f.op(v.fold.op+suffix, x, acc, tailMask, acc)
	default:
		x := b.get(v.args[0])
		t := b.v(b.scratch())
		f.op(v.fold.op, x, acc, t)
		f.op("VBLENDVPS", b.v(ymmMask), t, acc, acc)
	}
}
