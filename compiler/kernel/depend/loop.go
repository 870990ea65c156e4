package depend

import (
	"math"
	"slices"

	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/kernel"
)

// A Relation relates two iterations of a loop whose accesses have an element in common.
type Relation uint8

// The relations, from the weakest statement to the strongest.
const (
	Any   Relation = iota // possibly different iterations
	Same                  // only the same iteration
	Never                 // no iterations
)

// A Loop is one whose iterations are compared.
type Loop struct {
	Var     string
	Size    *expr.Expr      // how many iterations; nil if unknown
	Changes map[string]bool // names that change between iterations, except Var
}

// Independent reports whether no iteration touches an element that another one writes.
func (l Loop) Independent(as []Access) bool {
	for i, a := range as {
		for _, b := range as[i:] {
			if a.Conflict(b) && l.Compare(a, b) == Any {
				return false
			}
		}
	}
	return true
}

// Compare compares two accesses. Arrays are different memory; in one array it is enough
// that one dimension tells elements apart.
func (l Loop) Compare(a, b Access) Relation {
	if a.Name != b.Name {
		return Never
	}
	r := Any
	for d := range min(len(a.Index), len(b.Index)) {
		x, ok1 := l.span(a.Index[d], a.Axes)
		y, ok2 := l.span(b.Index[d], b.Axes)
		if ok1 && ok2 {
			r = max(r, l.compare(x, y))
		}
	}
	return r
}

// A span is the indices step*v + from + low … step*v + from + high in iteration v.
type span struct {
	step      int64
	from      *expr.Expr // the same in all iterations
	low, high int64
}

// span finds the indices that an iteration touches in one dimension.
func (l Loop) span(e *expr.Expr, axes []kernel.Axis) (s span, ok bool) {
	for _, x := range slices.Backward(axes) {
		if x.Var == l.Var || !expr.Depends(e, x.Var) {
			continue
		}
		coef, rest, ok := expr.Affine(e, x.Var)
		if !ok || !coef.IsConst() || x.Size == nil || !x.Size.IsConst() {
			return span{}, false
		}
		far := coef.I * max(x.Size.I-1, 0)
		s.low, s.high = s.low+min(far, 0), s.high+max(far, 0)
		e = rest
	}
	step, rest, ok := expr.Affine(e, l.Var)
	if !ok || !step.IsConst() || !l.fixed(rest) {
		return span{}, false
	}
	s.step, s.from = step.I, rest
	return s, true
}

// fixed reports whether an expression is the same in all iterations.
func (l Loop) fixed(e *expr.Expr) bool {
	return len(expr.Elems(e)) == 0 && !expr.DependsOnAny(e, l.Changes)
}

// compare relates iteration v of x to iteration w of y. If they meet, step*(w-v) is in a known
// range, and so is w-v.
func (l Loop) compare(x, y span) Relation {
	if x.step != y.step {
		return Any
	}
	gap := expr.Simplify(expr.New(expr.Sub, x.from, y.from))
	if !gap.IsConst() {
		if x.single() && y.single() && l.skips(gap) {
			return Never
		}
		return Any
	}
	first, last := quotients(gap.I+x.low-y.high, gap.I+x.high-y.low, x.step)
	if l.Size != nil && l.Size.IsConst() {
		first, last = max(first, 1-l.Size.I), min(last, l.Size.I-1)
	}
	switch {
	case first > last:
		return Never
	case first == 0 && last == 0:
		return Same
	}
	return Any
}

// quotients returns the first and the last n with low <= n*step <= high.
func quotients(low, high, step int64) (first, last int64) {
	switch {
	case step < 0:
		low, high, step = -high, -low, -step
	case step == 0 && low <= 0 && high >= 0:
		return math.MinInt64, math.MaxInt64
	case step == 0:
		return 1, 0
	}
	first, last = low/step, high/step
	if low > first*step {
		first++
	}
	if high < last*step {
		last--
	}
	return first, last
}

// single reports whether iteration v touches only element v + from.
func (s span) single() bool { return s.step == 1 && s.low == 0 && s.high == 0 }

// skips reports whether a gap is a multiple of the number of iterations, and not 0.
func (l Loop) skips(gap *expr.Expr) bool {
	if l.Size == nil || l.Size.Op != expr.Var {
		return false
	}
	times, rest, ok := expr.Affine(gap, l.Size.Name)
	return ok && times.IsConst() && times.I != 0 && expr.IsInt(rest, 0)
}
