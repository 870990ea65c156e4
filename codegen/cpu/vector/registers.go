package vector

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"github.com/arithlang/mlc/compiler/expr"
)

// The state of a value while a body is written.
type state struct {
	uses  []int // places in the order that use it, ascending
	reg   int   // register number; none: -1
	spill int   // slot; none: -1
}

// registers says what vector registers and opmasks hold. Those from free on are
// reserved.
type registers struct {
	vec, mask [32]*value
	free      int
	now       int // place in the order
	locked    []*value
}

// reset begins a body: nothing is in a register.
func (b *block) reset() {
	b.vec, b.mask = [32]*value{}, [32]*value{}
	for _, v := range b.order {
		v.reg, v.spill, v.uses = -1, -1, v.uses[:0]
	}
	for i, v := range b.order {
		for _, a := range v.args {
			a.uses = append(a.uses, i)
		}
	}
}

// inMask says whether a value is held by an opmask.
func (b *block) inMask(v *value) bool { return v.mask && b.f.isa.masks > 0 }

// file returns the registers that can hold a value.
func (b *block) file(v *value) []*value {
	if b.inMask(v) {
		return b.mask[:b.f.isa.masks]
	}
	return b.vec[:b.free]
}

// register is the register of number n that holds a value.
func (b *block) register(v *value) reg.Register {
	if b.inMask(v) {
		return maskRegs[v.reg]
	}
	return b.v(v.reg)
}

// v is vector register n.
func (b *block) v(n int) reg.Register { return vec(n, b.lanes) }

// used counts a use of a value as done; one without more uses gives up its register.
func (b *block) used(v *value) {
	for len(v.uses) > 0 && v.uses[0] <= b.now {
		v.uses = v.uses[1:]
	}
	if len(v.uses) == 0 && v.reg >= 0 {
		b.file(v)[v.reg] = nil
		v.reg = -1
	}
}

// claim gives a value a register, if need be that of the value whose next use is
// farthest away.
func (b *block) claim(v *value) reg.Register {
	file, best := b.file(v), -1
	far := -1
	for n, w := range file {
		if w == nil {
			best = n
			break
		}
		if b.isLocked(w) {
			continue
		}
		next := len(b.order)
		if len(w.uses) > 0 {
			next = w.uses[0]
		}
		if next > far {
			best, far = n, next
		}
	}
	if best < 0 {
		panic("BUG: every register is in use by one instruction")
	}
	if w := file[best]; w != nil {
		b.evict(w)
	}
	file[best] = v
	v.reg = best
	return b.register(v)
}

func (b *block) isLocked(v *value) bool {
	for _, w := range b.locked {
		if v == w {
			return true
		}
	}
	return false
}

// evict takes a value's register; what cannot be loaded again goes to the frame.
func (b *block) evict(v *value) {
	r := b.register(v)
	if v.spill < 0 && !b.loads(v) && len(v.uses) > 0 {
		if b.inMask(v) {
			v.spill = b.f.slot(expr.Bool)
			b.f.op("KMOVW", r, b.f.at(v.spill))
		} else {
			v.spill = b.f.vector()
			b.f.op("VMOVUPS", r, b.f.at(v.spill))
		}
	}
	b.file(v)[v.reg] = nil
	v.reg = -1
}

// loads says whether a value is made by loading it.
func (b *block) loads(v *value) bool {
	switch v.kind {
	case constant, slotted, load, cell, position:
		return true
	}
	return false
}

// get returns a register with the value, locked for the current instruction.
func (b *block) get(v *value) reg.Register {
	if v.kind == word {
		return b.v(b.streams[v.off].words + b.inst.part%(2*b.streams[v.off].groups))
	}
	if v.reg < 0 {
		b.fetchInto(v)
	}
	b.locked = append(b.locked, v)
	return b.register(v)
}

// operand returns where an instruction finds its memory or register operand, and
// the suffix that the instruction takes for it. A value that is used again and
// cannot stay in memory goes to a register.
func (b *block) operand(v *value) (operand.Op, string) {
	if v.reg < 0 && v.kind != word && !v.mask {
		if m, suffix, ok := b.memory(v); ok {
			return m, suffix
		}
	}
	return b.get(v), ""
}

// memory returns the memory operand of a value, if instructions can read it there.
func (b *block) memory(v *value) (m operand.Mem, suffix string, ok bool) {
	wide := b.f.isa == avx512
	switch {
	case v.spill >= 0:
		return b.f.at(v.spill), "", true
	case v.kind == constant && wide:
		return b.f.pool.word(v.bits), ".BCST", true
	case v.kind == constant:
		return b.f.pool.all(v.bits), "", true
	case v.kind == slotted && v.wide:
		return b.f.at(v.off), "", true
	case v.kind == slotted && wide:
		return b.f.at(v.off), ".BCST", true
	case v.kind == load && !b.inst.masked && len(v.uses) <= 1:
		return b.row(v.ptr), "", true
	}
	return operand.Mem{}, "", false
}

// inMemory says whether operand would return memory.
func (b *block) inMemory(v *value) bool {
	if v.reg >= 0 || v.kind == word || v.mask {
		return false
	}
	_, _, ok := b.memory(v)
	return ok
}

// release ends the current instruction's hold on its operands.
func (b *block) release(v *value) {
	b.locked = b.locked[:0]
	for _, a := range v.args {
		b.used(a)
	}
}

// fetchInto loads a value into a register.
func (b *block) fetchInto(v *value) {
	f := b.f
	if v.kind == cell {
		b.address(v)
	}
	r := b.claim(v)
	m, suffix, ok := b.memory(v)
	switch {
	case b.inMask(v) && v.spill >= 0:
		f.op("KMOVW", f.at(v.spill), r)
	case b.inMask(v):
		f.op("KMOVW", f.at(v.off), r)
	case v.kind == constant && v.bits == 0 && f.isa == avx512:
		f.op("VPXORD", r, r, r)
	case v.kind == constant && v.bits == 0:
		f.op("VPXOR", r, r, r)
	case v.kind == slotted && !v.wide:
		f.op("VPBROADCASTD", f.at(v.off), r)
	case ok && suffix != "":
		f.op("VPBROADCASTD", m, r)
	case ok:
		f.op("VMOVUPS", m, r)
	case v.kind == load:
		b.loadRow(v.ptr, r)
	case v.kind == cell:
		f.op("VBROADCASTSS", mem(tempReg, evalRegs[0], 0), r)
	case v.kind == position:
		b.positions(v.reg)
	default:
		panic("BUG: a value is read before it is computed")
	}
}

// address computes the address of a cell.
func (b *block) address(v *value) {
	b.f.eval(v.at, 0)
	b.f.sliceBase(v.ptr.slice, tempReg)
}

// mem is element index + disp from a base.
func mem(base, index reg.Register, disp int) operand.Mem {
	m := operand.Mem{Base: base, Disp: 4 * disp}
	if index != nil {
		m.Index, m.Scale = index, 4
	}
	return m
}
