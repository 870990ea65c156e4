package vector

import (
	"math"

	"github.com/mmcloughlin/avo/reg"

	"github.com/arithlang/mlc/compiler/expr"
)

func (f *x86) startPartials(s *folding) {
	start := starts[s.reduce.Op]
	for i := range s.regs {
		if r := f.full(s.first + i); start == 0 {
			f.op(f.isa.instruction(expr.Xor, expr.U32), r, r, r)
		} else {
			f.op("VBROADCASTSS", f.pool.constant(math.Float32bits(float32(start))), r)
		}
	}
}

// foldForm returns the form of instructions that fold a vector.
func (f *x86) foldForm(a *allocator, v *value) form {
	out := form{name: f.isa.instruction(v.fold.reduce.Op, expr.F32), in: v.operands()}
	if v.fold.together > 0 {
		if v.off == v.fold.together-1 {
			out.temps = batch
		}
		return out
	}
	if sums(v.fold.reduce) && len(v.fold.waiting) == batch-1 {
		out.temps = batch - 1
	}
	if a.masked && (sums(v.fold.reduce) || f.isa == avx2) {
		out.temps++ // last
	}
	return out
}

// fold combines the vector in register x with the partials.
func (b x86block) fold(s *step, x reg.Register) {
	f, to := b.x, s.value.fold
	switch {
	case to.together > 0:
		b.sumBeside(s, x)
		return
	case sums(to.reduce):
		b.sum(s, x)
		return
	}
	own := b.v(to.first + b.inst.part%to.regs)
	switch {
	case !b.inst.masked:
		f.op(s.name, own, x, own)
	case f.isa == avx512:
		f.op(s.name, own, x, f.isa.tail, own)
	default:
		t := b.v(s.temps[0])
		f.op(s.name, own, x, t)
		f.op("VBLENDVPS", f.isa.tail, t, own, own)
	}
}

// sum keeps the vector in register x waiting, or adds the batch that it completes. Lanes that
// do not exist are 0.
func (b x86block) sum(s *step, x reg.Register) {
	f, to, part := b.x, s.value.fold, b.inst.part%batch
	if b.inst.masked {
		t := b.v(s.temps[s.form.temps-1])
		if f.isa == avx512 {
			f.op("VMOVUPS.Z", x, f.isa.tail, t)
		} else {
			f.op("VANDPS", f.isa.tail, x, t)
		}
		x = t
	}
	if part < len(to.waiting) {
		f.op("VMOVUPS", x, f.full(to.waiting[part]))
		return
	}
	f.addBatch(to, append(f.waiting(to, part), x), s.temps)
	to.next = (to.next + 1) % to.regs
}

// sumBeside keeps the vector in register x waiting, or adds the batch that it completes to the
// partials of its place in the rows.
func (b x86block) sumBeside(s *step, x reg.Register) {
	f, to, n := b.x, s.value.fold, s.value.off
	if n < to.together-1 {
		f.op("VMOVUPS", x, f.full(to.waiting[n]))
		return
	}
	to.next = b.inst.part
	f.addBatch(to, append(f.waiting(to, n), x), s.temps)
}

// waiting returns the registers of the first n waiting vectors.
func (f *x86) waiting(s *folding, n int) []reg.Register {
	var out []reg.Register
	for _, r := range s.waiting[:n] {
		out = append(out, f.full(r))
	}
	return out
}

// addBatch adds vectors to the partials of a sum. Missing vectors of a batch are 0, in a
// fourth register.
func (f *x86) addBatch(s *folding, vectors []reg.Register, temps [batch]int) {
	own := f.full(s.first + s.next)
	add := func(x reg.Register) { f.op("VADDPS", x, own, own) }
	a, b, c := f.full(temps[0]), f.full(temps[1]), f.full(temps[2])
	if s.places == 1 {
		for i := range batch {
			f.op("VPERMILPS", imm(0x55*i), vectors[0], a)
			add(a)
		}
		return
	}
	if len(vectors) < s.places {
		zero := f.full(temps[3])
		f.op(f.isa.instruction(expr.Xor, expr.U32), zero, zero, zero)
		for len(vectors) < s.places {
			vectors = append(vectors, zero)
		}
	}
	for _, unpack := range []string{"VUNPCKLPS", "VUNPCKHPS"} {
		f.op(unpack, vectors[1], vectors[0], a)
		if s.places == 2 {
			add(a)
			f.op("VPERMILPS", imm(0x0E), a, b)
			add(b)
			continue
		}
		f.op(unpack, vectors[3], vectors[2], b)
		f.op("VUNPCKLPD", b, a, c)
		add(c)
		f.op("VUNPCKHPD", b, a, a)
		add(a)
	}
}

func (f *x86) addRest(s *folding, n int) {
	f.addBatch(s, f.waiting(s, n), [batch]int{0, 1, 2, 3})
}

func (f *x86) move(from, to int) { f.op("VMOVAPS", f.full(from), f.full(to)) }

func (f *x86) meet(s *folding, from, to int) {
	f.op(f.isa.instruction(s.reduce.Op, expr.F32), f.full(from), f.full(to), f.full(to))
}

func (f *x86) across(s *folding) {
	op, own, other := f.isa.instruction(s.reduce.Op, expr.F32), s.first, 0
	fold := func(name string, code, from, to int) {
		f.op(name, imm(code), vec(own, from), vec(other, to))
		f.op(op, vec(other, to), vec(own, to), vec(own, to))
	}
	if s.places > 2 {
		fold("VPERMILPS", 0x0E, f.isa.lanes, f.isa.lanes)
	}
	if s.places > 1 {
		fold("VPERMILPS", 1, f.isa.lanes, f.isa.lanes)
	}
	if f.isa == avx512 {
		fold("VEXTRACTF64X4", 1, 16, 8)
		fold("VEXTRACTF32X4", 1, 8, 4)
	} else {
		fold("VEXTRACTF128", 1, 8, 4)
	}
	if !sums(s.reduce) { // a zero becomes +0; sums have no -0
		zero := vec(other, 4)
		f.op(f.isa.instruction(expr.Xor, expr.U32), zero, zero, zero)
		f.op("VADDPS", zero, vec(own, 4), vec(own, 4))
	}
	f.op("VBROADCASTSS", vec(own, 4), f.full(own))
	f.op("VMOVUPS", f.full(own), f.at(s.off))
}

func (f *x86) acrossBeside(s *folding) {
	own, other := s.first, 0
	fold := func(name string, from, to int) {
		f.op(name, imm(1), vec(own, from), vec(other, to))
		f.op("VADDPS", vec(other, to), vec(own, to), vec(own, to))
	}
	if f.isa == avx512 {
		fold("VEXTRACTF64X4", 16, 8)
		fold("VEXTRACTF32X4", 8, 4)
		f.op("VSHUFF32X4", imm(0), f.full(own), f.full(own), f.full(own))
	} else {
		fold("VEXTRACTF128", 8, 4)
		f.op("VINSERTF128", imm(1), vec(own, 4), f.full(own), f.full(own))
	}
	for i, off := range s.offs {
		f.op("VPERMILPS", imm(0x55*i), f.full(own), f.full(other))
		f.op("VMOVUPS", f.full(other), f.at(off))
	}
}
