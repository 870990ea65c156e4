package rows

import (
	"fmt"

	"github.com/arithlang/mlc/codegen/ptx/asm"
	"github.com/arithlang/mlc/codegen/ptx/emit"
	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/kernel"
)

// A pointwise is a kernel whose statements set the same range of elements, as in an optimizer's
// update of parameters and moments. They read arrays that they write only at the present element.
// A thread takes four elements through all statements in registers.
type pointwise struct {
	size    *expr.Expr // size of the range in a cell
	sets    []*kernel.Set
	buffers map[string]bool
}

const pointThreads = 256

// PlanPoints plans a pointwise kernel.
func PlanPoints(k *kernel.Kernel, _ emit.Launches) (emit.Plan, string) {
	t, why := pointwiseOf(k)
	pieces := fmt.Sprintf("a cell, %d threads of %d elements a turn", pointThreads, emit.VectorMost)
	return emit.Plan{Threads: pointThreads, Whole: true, Pieces: pieces, Cells: func(p *emit.Builder) emit.Cells { return pointCells(p, t) }}, why
}

func pointwiseOf(k *kernel.Kernel) (t pointwise, why string) {
	t.buffers = emit.Arrays(k)
	places := map[string]*expr.Expr{}
	for _, s := range k.Body {
		s, ok := s.(*kernel.Set)
		if !ok || len(s.Axes) != 1 {
			return t, "it does more than setting elements of ranges"
		}
		if t.size == nil {
			t.size = s.Axes[0].Size
		}
		if !expr.Equal(t.size, s.Axes[0].Size) {
			return t, "its ranges differ"
		}
		place := emit.At(s.Dst, map[string]string{s.Axes[0].Var: emit.ColVar})
		if before := places[s.Dst.Name]; before != nil && !expr.Equal(before, place) {
			return t, "it writes " + s.Dst.Name + " at two places"
		}
		places[s.Dst.Name], t.sets = place, append(t.sets, s)
	}
	if len(k.Body) == 1 && t.size.IsConst() {
		return t, "it has one statement, on a range whose size is known"
	}
	return t, emit.ReadsPlaces(k.Body, t.buffers, places)
}

// pointCells returns the ranges of a pointwise kernel.
func pointCells(p *emit.Builder, t pointwise) emit.Cells {
	f, turn := p.F, asm.Int(emit.VectorMost*pointThreads)
	wide := t.wide(p.Aligned)
	return p.Grid(func() {
		size := p.Value(t.size)
		p.Count(asm.Int(0), size, turn, func(base asm.Value) {
			full := f.Do("setp.le.s32", f.Do("add.s32", base, turn), size)
			f.If(full, func() {
				if wide {
					point(p, p.K.Body, emit.VectorMost, f.Do("mad.lo.s32", p.Group.ID, asm.Int(emit.VectorMost), base))
					return
				}
				var each []asm.Value
				for i := range emit.VectorMost {
					each = append(each, f.Do("add.s32", f.Do("add.s32", base, asm.Int(i*pointThreads)), p.Group.ID))
				}
				point(p, p.K.Body, 1, each...)
			})
			f.If(f.Do("not.pred", full), func() {
				p.Count(f.Do("add.s32", base, p.Group.ID), size, asm.Int(pointThreads), func(i asm.Value) { point(p, p.K.Body, 1, i) })
			})
		})
	})
}

// wide reports whether all elements come in aligned fours.
func (t pointwise) wide(known map[string]bool) bool {
	for _, s := range t.sets {
		for _, e := range append(expr.Elems(s.Value), s.Dst) {
			if t.buffers[e.Name] && !emit.Aligned(e, s.Axes[0].Var, emit.VectorMost, known) {
				return false
			}
		}
	}
	return true
}

// point computes segments of n elements. It reads ahead for all segments before it writes.
func point(p *emit.Builder, body []kernel.Stmt, n int, firsts ...asm.Value) {
	var all []emit.Segment
	for _, first := range firsts {
		x := emit.Segment{Col: first, N: n, Tiles: map[string][]asm.Value{}}
		p.ReadAhead(body, &x)
		all = append(all, x)
	}
	for _, x := range all {
		p.Segment(body, x)
	}
}
