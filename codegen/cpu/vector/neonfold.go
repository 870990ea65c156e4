package vector

import (
	"math"

	"github.com/arithlang/mlc/codegen/cpu/arm64"
	"github.com/arithlang/mlc/compiler/expr"
)

// neonFolds are the instructions of reductions. Max and Min ignore NaN.
var neonFolds = map[expr.Op]string{expr.Add: "fadd.4s", expr.Max: "fmaxnm.4s", expr.Min: "fminnm.4s"}

func (f *neonMachine) startPartials(s *folding) {
	start := math.Float32bits(float32(starts[s.reduce.Op]))
	for i := range s.regs {
		if r := arm64.Vec(s.first + i); start == 0 {
			f.op("movi.4s", r, arm64.Imm(0))
		} else {
			f.op("ldr.q", r, f.constant(start))
		}
	}
}

// fold combines a vector with the partials.
func (f *neonMachine) fold(b *block, s *step, x arm64.Vec) {
	to, part := s.value.fold, b.inst.part
	switch {
	case to.together > 0:
		f.sumBeside(s, x, part)
		return
	case sums(to.reduce):
		f.sum(b, s, x, part%batch)
		return
	}
	name, own := neonFolds[to.reduce.Op], arm64.Vec(to.first+part%to.regs)
	if !b.inst.masked {
		f.op(name, own, own, x)
		return
	}
	mask := arm64.Vec(s.temps[0])
	f.tail(mask)
	f.op(name, neonScratch, own, x)
	f.op("bit.16b", own, neonScratch, mask)
}

// sum keeps a vector waiting, or adds the batch that it completes. Lanes that do not exist are
// 0.
func (f *neonMachine) sum(b *block, s *step, x arm64.Vec, part int) {
	to := s.value.fold
	if b.inst.masked {
		kept := arm64.Vec(s.temps[s.form.temps-1])
		f.tail(kept)
		f.op("and.16b", kept, x, kept)
		x = kept
	}
	if part < len(to.waiting) {
		f.op("mov.16b", arm64.Vec(to.waiting[part]), x)
		return
	}
	f.addBatch(to, append(neonWaiting(to, part), x), s.temps)
	to.next = (to.next + 1) % to.regs
}

// sumBeside keeps a vector waiting, or adds the batch that it completes to the partials of its
// place in the rows.
func (f *neonMachine) sumBeside(s *step, x arm64.Vec, part int) {
	to, n := s.value.fold, s.value.off
	if n < to.together-1 {
		f.op("mov.16b", arm64.Vec(to.waiting[n]), x)
		return
	}
	to.next = part
	f.addBatch(to, append(neonWaiting(to, n), x), s.temps)
}

// neonWaiting returns the registers of the first n waiting vectors.
func neonWaiting(s *folding, n int) []arm64.Vec {
	var out []arm64.Vec
	for _, r := range s.waiting[:n] {
		out = append(out, arm64.Vec(r))
	}
	return out
}

// addBatch adds vectors to the partials of a sum, element by element: the first vector to the
// first place, and so on. Missing vectors of a batch are 0.
func (f *neonMachine) addBatch(s *folding, vectors []arm64.Vec, temps [batch]int) {
	own := arm64.Vec(s.first + s.next)
	add := func(x arm64.Vec) { f.op("fadd.4s", own, own, x) }
	a, b, c := arm64.Vec(temps[0]), arm64.Vec(temps[1]), arm64.Vec(temps[2])
	if s.places == 1 {
		for i := range batch {
			f.op("dup.4s", a, arm64.Elem{V: vectors[0], I: i})
			add(a)
		}
		return
	}
	if len(vectors) < s.places {
		f.op("movi.4s", neonScratch, arm64.Imm(0))
		for len(vectors) < s.places {
			vectors = append(vectors, neonScratch)
		}
	}
	for _, half := range []string{"zip1", "zip2"} {
		f.op(half+".4s", a, vectors[0], vectors[1])
		if s.places == 2 {
			add(a)
			f.op("ext.16b", b, a, a, arm64.Imm(8))
			add(b)
			continue
		}
		f.op(half+".4s", b, vectors[2], vectors[3])
		f.op("zip1.2d", c, a, b)
		add(c)
		f.op("zip2.2d", a, a, b)
		add(a)
	}
}

func (f *neonMachine) addRest(s *folding, n int) {
	f.addBatch(s, neonWaiting(s, n), [batch]int{0, 1, 2, 3})
}

func (f *neonMachine) move(from, to int) { f.op("mov.16b", arm64.Vec(to), arm64.Vec(from)) }

func (f *neonMachine) meet(s *folding, from, to int) {
	f.op(neonFolds[s.reduce.Op], arm64.Vec(to), arm64.Vec(to), arm64.Vec(from))
}

func (f *neonMachine) across(s *folding) {
	own, other := arm64.Vec(s.first), neonScratch
	if s.places > 2 {
		f.op("ext.16b", other, own, own, arm64.Imm(8))
		f.op(neonFolds[s.reduce.Op], own, own, other)
	}
	if s.places > 1 {
		f.op("dup.4s", other, arm64.Elem{V: own, I: 1})
		f.op(neonFolds[s.reduce.Op], own, own, other)
	}
	if !sums(s.reduce) { // a zero becomes +0; sums have no -0
		f.op("movi.4s", other, arm64.Imm(0))
		f.op("fadd.4s", own, own, other)
	}
	f.op("dup.4s", own, arm64.Elem{V: own})
	f.op("str.q", own, f.at(s.off))
}

func (f *neonMachine) acrossBeside(s *folding) {
	for i, off := range s.offs {
		f.op("dup.4s", neonScratch, arm64.Elem{V: arm64.Vec(s.first), I: i})
		f.op("str.q", neonScratch, f.at(off))
	}
}
