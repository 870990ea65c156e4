package ptx

import (
	"github.com/arithlang/mlc/codegen/flat"
	"github.com/arithlang/mlc/codegen/ptx/asm"
	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/kernel"
)

// A share is what a thread has in registers of a product's output, tile by tile: high
// rows, and of each row wide columns, that lie in fours.
type share struct {
	*printer
	n            flat.Product
	sizeM, sizeN asm.Value

	rows, cols int // of a tile
	high, wide int
	down       int // from a row to the next
	apart      int // from four columns to the next
}

// across is how far column j is from the first one.
func (s *share) across(j int) int { return j/vectorMost*s.apart + j%vectorMost }

// whole says whether a size is sure to be a multiple of what is taken at a time, so
// that nothing is ever beyond it.
func whole(size asm.Value, n int) bool {
	k, known := size.Const()
	return known && k%int64(n) == 0
}

// below is whether i, of a tile that takes n at a time, is below a size.
func (p *printer) below(i, size asm.Value, n int) asm.Value {
	if whole(size, n) {
		return asm.Bool(true)
	}
	return p.f.Do("setp.lt.s32", i, size)
}

// when does something where a condition holds, in the region around if that is sure.
func (p *printer) when(cond asm.Value, do func()) {
	if cond == asm.Bool(true) {
		do()
		return
	}
	p.f.If(cond, do)
}

// output does something for each output that exists, n side by side from output (i, j)
// on, where the first is at a row and a column.
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

// follow computes what comes after the product of each output, the first of which is at
// a row and a column.
func (s *share) follow(t tiled, acc [][]asm.Value, row, col asm.Value) {
	f, n := s.f, 1
	if s.wide%vectorMost == 0 && expr.IsMultiple(s.n.N, expr.Int(vectorMost)) {
		n = vectorMost
	}
	for i := range acc {
		r := f.Do("add.s32", row, asm.Int(i*s.down))
		s.when(s.below(r, s.sizeM, s.rows), func() {
			s.vars[t.rows.Var] = r
			for _, st := range t.rows.Body {
				if let, ok := st.(*kernel.Let); ok {
					s.vars[let.Name] = s.value(let.Value)
				}
			}
			for j := 0; j < s.wide; j += n {
				c := f.Do("add.s32", col, asm.Int(s.across(j)))
				s.when(s.below(c, s.sizeN, s.cols), func() {
					s.segment(t, c, map[string][]asm.Value{t.Dst.Name: acc[i][j : j+n]})
				})
			}
		})
	}
}

// segment computes what comes after some outputs side by side, from a column on. Values
// of tiles stay in registers.
func (p *printer) segment(t tiled, col asm.Value, tiles map[string][]asm.Value) {
	n := len(tiles[t.Dst.Name])
	for _, s := range t.rows.Body {
		switch s := s.(type) {
		case *kernel.Random:
			counter := p.f.Do("add.s32", p.value(expr.New(expr.Div, s.Base, expr.Int(philoxWords))), p.f.Do("shr.u32", col, asm.Int(2)))
			words := p.wordsOf(s)(counter)
			tiles[s.Dst] = words[:]
		case *kernel.Set:
			name := s.Axes[0].Var
			vs := p.neighbours(p.own(s.Value), name, col, n, tiles)
			if _, buffer := p.slices[s.Dst.Name]; !buffer {
				tiles[s.Dst.Name] = vs
				continue
			}
			p.storeFrom(s.Dst, name, col, vs)
		}
	}
}
