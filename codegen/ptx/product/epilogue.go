package product

import (
	"slices"

	"github.com/arithlang/mlc/codegen/ptx/asm"
	"github.com/arithlang/mlc/codegen/ptx/emit"
	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/kernel"
)

// follow computes the epilogue of each output. The first output is at row and col.
func (s *share) follow(t tiled, acc [][]asm.Value, row, col asm.Value) {
	n := 1
	if s.wide%emit.VectorMost == 0 && expr.IsMultiple(s.n.N, expr.Int(emit.VectorMost)) {
		n = emit.VectorMost
	}
	if n > 1 && s.long(t) {
		s.inTurn(t, acc, row, col)
		return
	}
	for i := range acc {
		s.after(t, acc[i], n, s.F.Do("add.s32", row, asm.Int(i*s.down)), col)
	}
}

// longest is the most operations of an unrolled epilogue. More would exceed the instruction
// cache, so a longer one is a loop.
const longest = 2048

// long reports whether the epilogue of a product is a loop.
func (s *share) long(t tiled) bool {
	n := 0
	for _, st := range t.rows.Body {
		for _, e := range kernel.Reads(st) {
			expr.Walk(s.Own(e), func(e *expr.Expr) {
				if e.Type == expr.F32 && len(e.Args) > 0 && e.Op != expr.Elem {
					n++
				}
			})
		}
		if _, random := st.(*kernel.Random); random {
			n += philoxOps / emit.PhiloxWords
		}
	}
	return n*s.high*s.wide > longest
}

// philoxOps is about how many operations random words of a counter take.
const philoxOps = 100

// turnOutputs is how many outputs a turn of a long loop has. The turn then moves the others to
// their registers, since registers have no index.
const turnOutputs = 4 * emit.VectorMost

// inTurn is follow as a loop.
func (s *share) inTurn(t tiled, acc [][]asm.Value, row, col asm.Value) {
	f, part := s.F, min(turnOutputs, s.wide)
	var all []asm.Value
	for _, v := range slices.Concat(acc...) {
		all = append(all, f.Variable(v))
	}
	s.Count(asm.Int(0), asm.Int(len(all)/part), asm.Int(1), func(i asm.Value) {
		f.Rolled()
		down, right := s.Divide(i, asm.Int(s.wide/part))
		s.after(t, all[:part], emit.VectorMost, f.Do("mad.lo.s32", down, asm.Int(s.down), row), f.Do("mad.lo.s32", right, asm.Int(s.across(part)), col))
		for j := range all[part:] {
			f.Move(all[j], all[part+j])
		}
	})
}

// loadsAhead is how many registers take elements that are read before others are written. Loads
// are not moved across stores, and each load alone would be waited for.
const loadsAhead = 32

// after computes the epilogue of a row's outputs, in segments of n adjacent outputs, from a
// column on.
func (s *share) after(t tiled, outputs []asm.Value, n int, row, col asm.Value) {
	s.When(s.Below(row, s.sizeM, s.rows), func() {
		s.Vars[t.rows.Var] = row
		for _, st := range t.rows.Body {
			if let, ok := st.(*kernel.Let); ok {
				s.Vars[let.Name] = s.Value(let.Value)
			}
		}
		at := func(j int) emit.Segment {
			c := s.F.Do("add.s32", col, asm.Int(s.across(j)))
			return emit.Segment{Col: c, N: n, Tiles: map[string][]asm.Value{t.Dst.Name: outputs[j : j+n]}}
		}
		if !emit.Whole(s.sizeN, s.cols) {
			for j := 0; j < len(outputs); j += n {
				one := at(j)
				s.When(s.Below(one.Col, s.sizeN, s.cols), func() { s.Segment(t.rows.Body, one) })
			}
			return
		}
		var ready []*emit.Segment
		registers := 0
		for j := 0; j < len(outputs); j += n {
			one := at(j)
			ready, registers = append(ready, &one), registers+s.ReadAhead(t.rows.Body, &one)
			if registers < loadsAhead && j+n < len(outputs) {
				continue
			}
			for _, x := range ready {
				s.Segment(t.rows.Body, *x)
			}
			ready, registers = nil, 0
		}
	})
}
