package product

import (
	"github.com/arithlang/mlc/codegen/flat"
	"github.com/arithlang/mlc/codegen/ptx/asm"
	"github.com/arithlang/mlc/codegen/ptx/emit"
)

// A feed is how the threads of a block copy units of a factor's tiles to the stages of shared
// memory. It is also how a warp reads them. The factor's rows go along the output's rows or
// columns, its columns along k.
type feed struct {
	flat.Operand
	limit  asm.Value     // how many rows there are
	width  int           // rows of a tile
	alongK bool          // adjacent values in memory belong to a row
	tile   emit.Swizzled // in the first stage; values of a row are adjacent in memory
	warp   emit.Factor   // a warp's part of it

	slots     int       // how many units a thread copies
	step      int       // rows of the tile between slots
	row, unit asm.Value // a thread's first slot in the tile
	to        asm.Address

	at    emit.Address // the first slot in memory, a pointer
	sizes []asm.Value  // bytes of each slot, 0 if its row does not exist
}

// feedOf plans how a factor's tiles go to shared memory: neighbouring threads copy adjacent
// units.
func (q *mma) feedOf(s *feed, at asm.Address) *feed {
	rows, cols := q.Depth(), s.width
	if s.alongK = q.InUnits(s.Operand, q.n.K); s.alongK {
		rows, cols = cols, rows
	}
	s.tile = emit.Swizzled{Address: at, Cols: cols, Format: q.Format, Twos: q.ElementBytes == emit.WordBytes && !s.alongK}
	units := cols / q.Unit()
	s.slots, s.step = rows*units/q.Group.Threads, q.Group.Threads/units
	s.row, s.unit = q.Divide(q.Group.ID, asm.Int(units))
	s.to = q.UnitOf(s.tile, s.row, s.unit)
	return s
}

// aim finds the units that a thread copies for a tile of the output, from row first on.
func (q *mma) aim(s *feed, first asm.Value) {
	f := q.F
	near := f.Do("mul.lo.s32", s.unit, asm.Int(q.Unit()))
	row, k := f.Do("add.s32", first, s.row), near
	if !s.alongK {
		row, k = f.Do("add.s32", first, near), s.row
	}
	s.at, s.sizes = q.Pointer(q.Operand(s.Operand, row, k)), nil
	for slot := range s.slots {
		here := row
		if s.alongK {
			here = f.Do("add.s32", row, asm.Int(slot*s.step))
		}
		s.sizes = append(s.sizes, q.Choose(q.Below(here, s.limit, s.width), asm.Int(emit.UnitBytes), asm.Int(0)))
	}
}

// copies begins to copy a tile with left k. Elements beyond the factor become 0.
func (q *mma) copies(s *feed, left asm.Value) {
	f := q.F
	to, at, along, k := s.to, s.at, s.RS, f.Do("mul.lo.s32", s.unit, asm.Int(q.Unit()))
	to.Base = f.Do("add.s32", to.Base, q.write)
	if !s.alongK {
		along, k = s.CS, s.row
	}
	by := q.Stride(s.at, along, s.step)
	for slot, size := range s.sizes {
		here := k
		if !s.alongK {
			here = f.Do("add.s32", k, asm.Int(slot*s.step))
		}
		if !emit.Whole(q.sizeK, q.Depth()) {
			size = q.Choose(f.Do("setp.lt.s32", here, left), size, asm.Int(0))
		}
		f.CopyAsync(to.Plus(slot*s.step*s.tile.RowBytes()), at.Address, size)
		at = q.Behind(at, by)
	}
	q.Advance(s.at, q.Stride(s.at, s.CS, q.Depth()))
}
