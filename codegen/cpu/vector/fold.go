package vector

import (
	"math"

	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/kernel"
)

const (
	partials = 32                // partials of a reduction
	batch    = kernel.Neighbours // vectors that are transposed together
)

// A folding is a reduction of a loop: registers of partials, from first on, and the slot of
// the result.
//
// Max and Min have one result in any order, so their vectors go to the partials immediately.
// The vectors of a sum wait until there is a batch of four. The batch is transposed in each
// 128 bits: place j then has the partials of vector j. Each transposed vector adds one element
// to every partial of a register. The next batch goes to the next register of partials.
type folding struct {
	reduce      *kernel.Reduce
	first, regs int
	waiting     []int // registers where the vectors of a batch wait
	places      int   // places in 128 bits that have partials
	next        int   // register of partials for the batch
	off         int
	together    int   // sums side by side, each with one vector of a batch; 0: one sum
	offs        []int // slots of their results
}

// starts are the initial values of partials.
var starts = map[expr.Op]float64{expr.Add: 0, expr.Max: math.Inf(-1), expr.Min: math.Inf(1)}

// sums reports whether the order of elements matters.
func sums(r *kernel.Reduce) bool { return r.Op == expr.Add }

// vectorsOf returns how many vectors a reduction takes, or many.
func (f *fn) vectorsOf(r *kernel.Reduce) int {
	const many = 1 << 30
	if !r.Axis.Size.IsConst() {
		return many
	}
	return (int(min(max(r.Axis.Size.I, 1), many)) + f.lanes - 1) / f.lanes
}

// foldRegs returns how many registers a reduction needs for partials and for waiting vectors.
func (f *fn) foldRegs(r *kernel.Reduce) (own, waiting int) {
	own = partials / f.lanes
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
		s.waiting = append(s.waiting, l.free+own+i)
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

// turn rotates the partials of a sum so that the next batch goes to the first register.
// Rotation does not change how partials are combined.
func (f *fn) turn(s *folding) {
	for ; s.next > 0; s.next-- {
		const temp = 0
		f.m.move(s.first, temp)
		for i := 1; i < s.regs; i++ {
			f.m.move(s.first+i, s.first+i-1)
		}
		f.m.move(temp, s.first+s.regs-1)
	}
}

// combine writes the xor butterfly over partials and stores lane 0, the result. It combines
// places before 128-bit parts: the partials of neighbouring vectors lie further apart.
func (f *fn) combine(s *folding) {
	for d := s.regs / 2; d > 0; d /= 2 {
		for i := range d {
			f.m.meet(s, s.first+i+d, s.first+i)
		}
	}
	if s.together > 0 {
		f.m.acrossBeside(s)
	} else {
		f.m.across(s)
	}
}
