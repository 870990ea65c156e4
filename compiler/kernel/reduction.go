package kernel

import (
	"math"

	"github.com/arithlang/mlc/compiler/expr"
)

// reductions are the operations that a reduction knows: their names in text, where
// partials start, and how a partial takes one more value. Max and Min leave out NaN.
var reductions = []reduction{
	{expr.Add, "sum", 0, func(p, v float32) float32 { return p + v }},
	{expr.Max, "max", float32(math.Inf(-1)), func(p, v float32) float32 {
		if v > p {
			return v
		}
		return p
	}},
	{expr.Min, "min", float32(math.Inf(1)), func(p, v float32) float32 {
		if v < p {
			return v
		}
		return p
	}},
}

// A reduction combines values in the canonical order: element e goes to partial
// (e / Neighbours) mod Partials, ascending, and the partials meet in a xor butterfly.
type reduction struct {
	op    expr.Op
	name  string
	start float32
	more  func(partial, value float32) float32
}

// take gives element e to its partial.
func (r *reduction) take(p *partials, e int64, value float32) {
	lane := &p[e/Neighbours%Partials]
	*lane = r.more(*lane, value)
}

// findReduction returns the row of op, or nil.
func findReduction(op expr.Op) *reduction {
	for i := range reductions {
		if reductions[i].op == op {
			return &reductions[i]
		}
	}
	return nil
}

// String returns the name in text.
func (r *reduction) String() string {
	if r == nil {
		return "?"
	}
	return r.name
}

// Start returns what the partial values of a reduction begin with.
func Start(op expr.Op) float32 { return findReduction(op).start }

// Partials is the number of partial values of a reduction.
const Partials = 32

// Neighbours is how many elements in a row a partial value takes.
const Neighbours = 4

// partials are the partial values of one reduction.
type partials [Partials]float32

// begin returns the partials of no values.
func (r *reduction) begin() (p partials) {
	for i := range p {
		p[i] = r.start
	}
	return p
}

// combine returns the result of the xor butterfly. Every lane takes the value of the lane whose
// number differs in one bit, highest bit first. The result is lane 0. Adding +0 makes a zero +0,
// so that the largest and the smallest value do not depend on the order.
func (r *reduction) combine(p partials) float32 {
	for d := Partials / 2; d > 0; d /= 2 {
		before := p
		for i := range p {
			p[i] = r.more(before[i], before[i^d])
		}
	}
	return p[0] + 0
}
