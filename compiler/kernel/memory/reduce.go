package memory

import (
	"math"

	"github.com/arithlang/mlc/compiler/expr"
)

// reductions are the operations that a reduction knows: their names in text, where
// Partials start, and how a partial takes one more value.
var reductions = []Reduction{
	{expr.Add, "sum", 0, func(p, v float32) float32 { return p + v }},
	{expr.Max, "max", float32(math.Inf(-1)), func(p, v float32) float32 {
		if p > v {
			return p
		}
		return v
	}},
	{expr.Min, "min", float32(math.Inf(1)), func(p, v float32) float32 {
		if p < v {
			return p
		}
		return v
	}},
}

// A Reduction combines values in the canonical order: element e goes to partial
// e mod 32, ascending, and the Partials meet in a xor butterfly.
type Reduction struct {
	Op    expr.Op
	name  string
	start float32
	take  func(partial, value float32) float32
}

// Take gives element e to its partial.
func (r *Reduction) Take(p *Partials, e int64, value float32) {
	lane := &p[e%Lanes]
	*lane = r.take(*lane, value)
}

// FindReduction returns the row of op, or nil.
func FindReduction(op expr.Op) *Reduction {
	for i := range reductions {
		if reductions[i].Op == op {
			return &reductions[i]
		}
	}
	return nil
}

// NamedReduction returns the row of the operation that text calls name, or nil.
func NamedReduction(name string) *Reduction {
	for i := range reductions {
		if reductions[i].name == name {
			return &reductions[i]
		}
	}
	return nil
}

// String returns the name in text.
func (r *Reduction) String() string {
	if r == nil {
		return "?"
	}
	return r.name
}

// Lanes is the number of partial values of a reduction.
const Lanes = 32

// Partials are the partial values of one reduction.
type Partials [Lanes]float32

// Begin returns the partials of no values.
func (r *Reduction) Begin() (p Partials) {
	for i := range p {
		p[i] = r.start
	}
	return p
}

// Combine is the xor butterfly: every lane takes the value of the lane whose
// number differs in one bit, highest bit first. The result is lane 0.
func (r *Reduction) Combine(p Partials) float32 {
	for d := Lanes / 2; d > 0; d /= 2 {
		before := p
		for i := range p {
			p[i] = r.take(before[i], before[i^d])
		}
	}
	return p[0]
}
