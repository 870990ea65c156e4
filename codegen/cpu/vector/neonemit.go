package vector

import (
	"github.com/arithlang/mlc/codegen/cpu/arm64"
	"github.com/arithlang/mlc/compiler/expr"
)

func (f *neonMachine) spill(b *block, v *value, n int) {
	v.spill = f.slot(expr.F32)
	f.op("str.q", arm64.Vec(n), f.at(v.spill))
}

// constant returns the place of a constant: one word for all lanes, or a word for each.
func (f *neonMachine) constant(words ...uint32) arm64.Mem {
	return arm64.At(neonConstants, f.pool.place(f.fn, words))
}

func (f *neonMachine) reload(b *block, v *value, n int) {
	r := arm64.Vec(n)
	switch {
	case v.isZero():
		f.op("movi.4s", r, arm64.Imm(0))
	case v.spill != none:
		f.op("ldr.q", r, f.at(v.spill))
	case v.kind == constant:
		f.op("ldr.q", r, f.constant(v.bits))
	case v.kind == load:
		f.access(neonLoads[v.ptr.bytes], v.ptr.bytes, r, f.row(b, v), b.inst.masked)
		if v.ptr.bytes == narrow {
			f.op("uxtl.4s", r, r)
		}
	case v.kind == cell:
		f.op("ld1r.4s", arm64.List{First: r, N: 1}, f.cell(v))
	case v.kind == position:
		f.positions(b.inst, r)
	case v.wide:
		f.op("ldr.q", r, f.at(v.off))
	default:
		f.op("ldr", neonTemp, f.at(v.off))
		f.op("dup.4s", r, neonTemp)
	}
}

// row returns the place of the vector in a row.
func (f *neonMachine) row(b *block, v *value) arm64.Mem {
	p := v.ptr
	base := f.base(p)
	if b.inst.indexed && (p.reg == none || p.fixed) {
		f.op("add", neonTemp, base, neonIndex, shiftOf(p.bytes))
		base = neonTemp
	}
	off := p.bytes * (v.plus + b.inst.disp)
	if off%(neon.lanes*p.bytes) != 0 || off > maxOffset {
		f.add(neonTemp, base, off)
		return arm64.At(neonTemp, 0)
	}
	return arm64.At(base, off)
}

// maxOffset is an offset that all accesses of rows can encode.
const maxOffset = 4095

// base returns the address that a pointer holds.
func (f *neonMachine) base(p *pointer) arm64.Reg {
	if p.reg != none {
		return neonPointers[p.reg]
	}
	f.op("ldr", neonTemp, f.at(p.off))
	return neonTemp
}

// cell computes the address of an element.
func (f *neonMachine) cell(v *value) arm64.Mem {
	d := f.integer(v.at)
	f.sliceBase(v.ptr.slice, neonTemp)
	f.op("add", neonTemp, neonTemp, d, shiftOf(v.ptr.bytes))
	return arm64.At(neonTemp, 0)
}

// positions puts the values of the axis into a vector.
func (f *neonMachine) positions(in instance, r arm64.Vec) {
	iota := f.constant(0, 1, 2, 3)
	switch {
	case in.indexed:
		f.add(neonTemp, neonIndex, in.disp)
	case in.disp > 0:
		f.op("mov", neonTemp, arm64.Imm(in.disp))
	default:
		f.op("ldr.q", r, iota)
		return
	}
	f.op("ldr.q", neonScratch, iota)
	f.op("dup.4s", r, neonTemp)
	f.op("add.4s", r, r, neonScratch)
}

func (f *neonMachine) run(b *block, s *step) {
	v := s.value
	in := make([]arm64.Vec, len(s.in))
	for i, x := range s.in {
		in[i] = arm64.Vec(b.number(x, s.from[i]))
	}
	switch v.kind {
	case compute:
		f.compute(s, in)
	case gather:
		f.gather(b, s, in[0])
	case store:
		x := in[0]
		if v.ptr.bytes == narrow {
			x = arm64.Vec(s.temps[0])
			f.op("xtn.4h", x, in[0])
		}
		f.access(neonStores[v.ptr.bytes], v.ptr.bytes, x, f.row(b, v), b.inst.masked)
	case put:
		f.op(neonStores[v.ptr.bytes].one, in[0], f.cell(v))
	case fold:
		f.fold(b, s, in[0])
	case set:
		f.set(v, in[0])
	}
}

func (f *neonMachine) compute(s *step, in []arm64.Vec) {
	v, to := s.value, arm64.Vec(s.reg)
	switch {
	case s.onto != nil:
		if in[0] != to {
			f.op("mov.16b", to, in[0])
		}
		f.op(s.name, to, in[1], in[2])
	case v.op == expr.Div && v.typ == expr.I32:
		f.quotient(s, in, to)
	case s.first != nil:
		f.op(s.name, to, in[0], arm64.Imm(s.first.(int)))
	case v.op == expr.Shr && s.early:
		f.op("neg.4s", to, in[1])
		f.op(s.name, to, in[0], to)
	case len(in) == 1:
		f.op(s.name, to, in[0])
	default:
		f.op(s.name, to, in[0], in[1])
	}
}

// gather loads elements at any indices.
func (f *neonMachine) gather(b *block, s *step, index arm64.Vec) {
	base, to := f.base(s.value.ptr), arm64.Vec(s.reg)
	f.op("movi.4s", to, arm64.Imm(0))
	f.eachLane(b.inst.masked, func(lane int) {
		f.op("smov.s", neonOther, arm64.Elem{V: index, I: lane})
		f.op("add", neonOther, base, neonOther, shiftOf(s.value.ptr.bytes))
		f.op("ld1.s", arm64.Elem{V: to, I: lane}, arm64.At(neonOther, 0))
	})
}

// set stores a scalar in its slot.
func (f *neonMachine) set(v *value, x arm64.Vec) {
	if v.typ == expr.F32 {
		f.op("dup.4s", neonScratch, arm64.Elem{V: x})
		f.op("str.q", neonScratch, f.at(v.off))
		return
	}
	f.op("umov.s", neonTemp, arm64.Elem{V: x})
	if v.typ != expr.U32 {
		f.op("sxtw", neonTemp, neonTemp)
	}
	f.op("str", neonTemp, f.at(v.off))
}

// quotient divides integers in float64, which is exact, half a vector at a time.
func (f *neonMachine) quotient(s *step, in []arm64.Vec, to arm64.Vec) {
	x, y := arm64.Vec(s.temps[0]), arm64.Vec(s.temps[1])
	for _, half := range []struct{ widen, narrow string }{{"sxtl.2d", "xtn.2s"}, {"sxtl2.2d", "xtn2.4s"}} {
		for j, t := range []arm64.Vec{x, y} {
			f.op(half.widen, t, in[j])
			f.op("scvtf.2d", t, t)
		}
		f.op("fdiv.2d", x, x, y)
		f.op("fcvtzs.2d", x, x)
		f.op(half.narrow, to, x)
	}
}
