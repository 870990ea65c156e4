package product

import (
	"github.com/arithlang/mlc/codegen/flat"
	"github.com/arithlang/mlc/codegen/ptx/asm"
	"github.com/arithlang/mlc/codegen/ptx/emit"
)

// A share is a thread's part of a tile of a product's output, in registers: high rows of wide
// columns, in fours.
type share struct {
	*emit.Builder
	n            flat.Product
	sizeM, sizeN asm.Value

	rows, cols int // of a tile
	high, wide int
	down       int // distance between rows
	apart      int // distance between fours of columns
}

// across returns how far column j is from the first one.
func (s *share) across(j int) int { return j/emit.VectorMost*s.apart + j%emit.VectorMost }

// output calls do for each existing output, n adjacent ones from output (i, j) on. The first
// output is at row and col.
func (s *share) output(row, col asm.Value, do func(i, j, n int, at emit.Address)) {
	f, c, n := s.F, s.n.C, 1
	if s.wide%emit.VectorMost == 0 {
		n = s.SideBySide(c, s.n.N)
	}
	first := s.Operand(c, row, col)
	down := s.Stride(first, c.RS, s.down)
	for i := range s.high {
		inside := s.Below(f.Do("add.s32", row, asm.Int(i*s.down)), s.sizeM, s.rows)
		for j := 0; j < s.wide; j += n {
			at := s.Behind(first, s.Stride(first, c.CS, s.across(j)))
			in := f.Do("and.pred", inside, s.Below(f.Do("add.s32", col, asm.Int(s.across(j))), s.sizeN, s.cols))
			f.Guarded(in, func() { do(i, j, n, at) })
		}
		first = s.Behind(first, down)
	}
}
