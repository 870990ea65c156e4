package ptx

import (
	"slices"

	"github.com/arithlang/mlc/codegen/flat"
	"github.com/arithlang/mlc/codegen/ptx/asm"
	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/kernel"
)

// A share is a thread's part of a tile of a product's output, in registers: high rows of wide
// columns, in fours.
type share struct {
	*printer
	n            flat.Product
	sizeM, sizeN asm.Value

	rows, cols int // of a tile
	high, wide int
	down       int // distance between rows
	apart      int // distance between fours of columns
}

// across returns how far column j is from the first one.
func (s *share) across(j int) int { return j/vectorMost*s.apart + j%vectorMost }

// output calls do for each existing output, n adjacent ones from output (i, j) on. The first
// output is at row and col.
func (s *share) output(row, col asm.Value, do func(i, j, n int, at address)) {
	f, c, n := s.f, s.n.C, 1
	if s.wide%vectorMost == 0 {
		n = s.sideBySide(c, s.n.N)
	}
	first := s.operand(c, row, col)
	down := s.stride(first, c.RS, s.down)
	for i := range s.high {
		inside := s.below(f.Do("add.s32", row, asm.Int(i*s.down)), s.sizeM, s.rows)
		for j := 0; j < s.wide; j += n {
			at := s.behind(first, s.stride(first, c.CS, s.across(j)))
			in := f.Do("and.pred", inside, s.below(f.Do("add.s32", col, asm.Int(s.across(j))), s.sizeN, s.cols))
			f.Guarded(in, func() { do(i, j, n, at) })
		}
		first = s.behind(first, down)
	}
}

// follow computes the epilogue of each output. The first output is at row and col.
func (s *share) follow(t tiled, acc [][]asm.Value, row, col asm.Value) {
	n := 1
	if s.wide%vectorMost == 0 && expr.IsMultiple(s.n.N, expr.Int(vectorMost)) {
		n = vectorMost
	}
	if n > 1 && s.long(t) {
		s.inTurn(t, acc, row, col)
		return
	}
	for i := range acc {
		s.after(t, acc[i], n, s.f.Do("add.s32", row, asm.Int(i*s.down)), col)
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
			expr.Walk(s.own(e), func(e *expr.Expr) {
				if e.Type == expr.F32 && len(e.Args) > 0 && e.Op != expr.Elem {
					n++
				}
			})
		}
		if _, random := st.(*kernel.Random); random {
			n += philoxOps / philoxWords
		}
	}
	return n*s.high*s.wide > longest
}

// philoxOps is about how many operations random words of a counter take.
const philoxOps = 100

// turnOutputs is how many outputs a turn of a long loop has. The turn then moves the others to
// their registers, since registers have no index.
const turnOutputs = 4 * vectorMost

// inTurn is follow as a loop.
func (s *share) inTurn(t tiled, acc [][]asm.Value, row, col asm.Value) {
	f, part := s.f, min(turnOutputs, s.wide)
	var all []asm.Value
	for _, v := range slices.Concat(acc...) {
		all = append(all, f.Variable(v))
	}
	s.count(asm.Int(0), asm.Int(len(all)/part), asm.Int(1), func(i asm.Value) {
		f.Rolled()
		down, right := s.divide(i, asm.Int(s.wide/part))
		s.after(t, all[:part], vectorMost, f.Do("mad.lo.s32", down, asm.Int(s.down), row), f.Do("mad.lo.s32", right, asm.Int(s.across(part)), col))
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
	s.when(s.below(row, s.sizeM, s.rows), func() {
		s.vars[t.rows.Var] = row
		for _, st := range t.rows.Body {
			if let, ok := st.(*kernel.Let); ok {
				s.vars[let.Name] = s.value(let.Value)
			}
		}
		at := func(j int) segment {
			c := s.f.Do("add.s32", col, asm.Int(s.across(j)))
			return segment{col: c, n: n, tiles: map[string][]asm.Value{t.Dst.Name: outputs[j : j+n]}}
		}
		if !whole(s.sizeN, s.cols) {
			for j := 0; j < len(outputs); j += n {
				one := at(j)
				s.when(s.below(one.col, s.sizeN, s.cols), func() { s.segment(t.rows.Body, one) })
			}
			return
		}
		var ready []*segment
		registers := 0
		for j := 0; j < len(outputs); j += n {
			one := at(j)
			ready, registers = append(ready, &one), registers+s.readAhead(t.rows.Body, &one)
			if registers < loadsAhead && j+n < len(outputs) {
				continue
			}
			for _, x := range ready {
				s.segment(t.rows.Body, *x)
			}
			ready, registers = nil, 0
		}
	})
}
