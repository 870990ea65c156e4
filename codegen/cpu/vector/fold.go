package vector

import (
	"math"

	"github.com/mmcloughlin/avo/reg"

	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/kernel"
)

const (
	partials = 32                // of a reduction
	batch    = kernel.Neighbours // vectors that are transposed together
)

// A folding is a reduction of a loop: registers of partials, from the first, and the
// slot of the result.
//
// Max and Min have one result in any order, so their vectors go to the partials as they
// come. Those of a sum wait until there is a batch of four. The batch is transposed in
// each 128 bits, whose place j then has the partials of vector j; so the four vectors
// that come out are one element each of as many partials. The next batch goes to the
// next register of partials.
type folding struct {
	reduce      *kernel.Reduce
	first, regs int
	waiting     []reg.Register // where the vectors of a batch wait
	places      int            // in 128 bits that have partials
	next        int            // register of partials for the batch
	off         int
}

// starts are what partials start from.
var starts = map[expr.Op]float64{expr.Add: 0, expr.Max: math.Inf(-1), expr.Min: math.Inf(1)}

// sums says whether the order of elements matters.
func sums(r *kernel.Reduce) bool { return r.Op == expr.Add }

// vectorsOf is how many vectors a reduction takes, or many.
func (f *fn) vectorsOf(r *kernel.Reduce) int {
	const many = 1 << 30
	if !r.Axis.Size.IsConst() {
		return many
	}
	return (int(min(max(r.Axis.Size.I, 1), many)) + f.isa.lanes - 1) / f.isa.lanes
}

// foldRegs is how many registers the partials of a reduction need, and how many its
// vectors that wait.
func (f *fn) foldRegs(r *kernel.Reduce) (own, waiting int) {
	own = partials / f.isa.lanes
	n, each := f.vectorsOf(r), 1
	if sums(r) {
		each, waiting = batch, min(n, batch-1)
	}
	for own > 1 && own/2*each >= n {
		own /= 2
	}
	return own, waiting
}

// reserveFold gives registers to a reduction.
func (l *loop) reserveFold(s *folding) {
	own, waiting := l.f.foldRegs(s.reduce)
	l.free -= own + waiting
	s.first, s.regs, s.places = l.free, own, batch
	for i := range waiting {
		s.waiting = append(s.waiting, l.v(l.free+own+i))
	}
	if !sums(s.reduce) {
		l.group = max(l.group, own)
		return
	}
	l.group = max(l.group, batch)
	if n := l.f.vectorsOf(s.reduce); n <= batch/2 {
		s.places = n
	}
}

// beginFold sets the partials.
func (l *loop) beginFold(s *folding) {
	f, start := l.f, starts[s.reduce.Op]
	for i := range s.regs {
		if r := l.v(s.first + i); start == 0 {
			f.op(f.isa.instruction(expr.Xor, expr.U32), r, r, r)
		} else {
			f.op("VBROADCASTSS", f.pool.constant(math.Float32bits(float32(start))), r)
		}
	}
}

// foldForm is the form of the instructions that take a vector.
func (a *allocator) foldForm(v *value) form {
	out := form{name: a.f.isa.instruction(v.fold.reduce.Op, expr.F32), in: v.operands()}
	if sums(v.fold.reduce) && len(v.fold.waiting) == batch-1 {
		out.temps = batch - 1
	}
	if a.masked && (sums(v.fold.reduce) || a.f.isa == avx2) {
		out.temps++ // last
	}
	return out
}

// fold takes the vector in register x into the partials.
func (b *block) fold(s *step, x reg.Register) {
	f, to := b.f, s.value.fold
	if sums(to.reduce) {
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

// sum lets the vector in register x wait, or adds the batch that it completes. Lanes
// that do not exist are 0.
func (b *block) sum(s *step, x reg.Register) {
	f, to, part := b.f, s.value.fold, b.inst.part%batch
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
		f.op("VMOVUPS", x, to.waiting[part])
		return
	}
	f.addBatch(to, append(to.waiting[:part:part], x), s.temps)
	to.next = (to.next + 1) % to.regs
}

// addBatch adds vectors to the partials of a sum. Those that a batch lacks are 0, for
// which there is a fourth register.
func (f *fn) addBatch(s *folding, vectors []reg.Register, temps [batch]int) {
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

// addRest adds the first vectors of a batch, where no register holds a value.
func (f *fn) addRest(s *folding, n int) {
	f.addBatch(s, s.waiting[:n:n], [batch]int{0, 1, 2, 3})
}

// turn moves the partials of a sum so that the next batch goes to the first register:
// how they meet is the same for partials that are moved in a circle.
func (f *fn) turn(s *folding) {
	for ; s.next > 0; s.next-- {
		temp := f.full(0)
		f.op("VMOVAPS", f.full(s.first), temp)
		for i := 1; i < s.regs; i++ {
			f.op("VMOVAPS", f.full(s.first+i), f.full(s.first+i-1))
		}
		f.op("VMOVAPS", temp, f.full(s.first+s.regs-1))
	}
}

// combine writes the xor butterfly over partials and stores lane 0, the result. Places
// meet before the 128 bits do: vectors that are neighbours lie further apart.
func (f *fn) combine(s *folding) {
	op, own, other := f.isa.instruction(s.reduce.Op, expr.F32), s.first, 0
	for d := s.regs / 2; d > 0; d /= 2 {
		for i := range d {
			f.op(op, f.full(own+i+d), f.full(own+i), f.full(own+i))
		}
	}
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
	if !sums(s.reduce) { // a zero becomes +0; sums have no other
		zero := vec(other, 4)
		f.op(f.isa.instruction(expr.Xor, expr.U32), zero, zero, zero)
		f.op("VADDPS", zero, vec(own, 4), vec(own, 4))
	}
	f.op("VBROADCASTSS", vec(own, 4), f.full(own))
	f.op("VMOVUPS", f.full(own), f.at(s.off))
}
