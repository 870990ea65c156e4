package ptx

import (
	"github.com/arithlang/mlc/codegen/flat"
	"github.com/arithlang/mlc/codegen/ptx/asm"
)

// A feed is how the threads of a block copy units of a factor's tiles to the stages of shared
// memory. It is also how a warp reads them. The factor's rows go along the output's rows or
// columns, its columns along k.
type feed struct {
	flat.Operand
	limit  asm.Value // how many rows there are
	width  int       // rows of a tile
	alongK bool      // adjacent values in memory belong to a row
	tile   swizzled  // in the first stage; values of a row are adjacent in memory
	warp   factor    // a warp's part of it

	slots     int       // how many units a thread copies
	step      int       // rows of the tile between slots
	row, unit asm.Value // a thread's first slot in the tile
	to        asm.Address

	at    address     // the first slot in memory, a pointer
	sizes []asm.Value // bytes of each slot, 0 if its row does not exist
}

// feedOf plans how a factor's tiles go to shared memory: neighbouring threads copy adjacent
// units.
func (q *mma) feedOf(s *feed, at asm.Address) *feed {
	rows, cols := q.depth(), s.width
	if s.alongK = q.inUnits(s.Operand, q.n.K); s.alongK {
		rows, cols = cols, rows
	}
	s.tile = swizzled{at, cols, q.format, q.bytes == wordBytes && !s.alongK}
	units := cols / q.unit()
	s.slots, s.step = rows*units/q.group.threads, q.group.threads/units
	s.row, s.unit = q.divide(q.group.id, asm.Int(units))
	s.to = q.unitOf(s.tile, s.row, s.unit)
	return s
}

// aim finds the units that a thread copies for a tile of the output, from row first on.
func (q *mma) aim(s *feed, first asm.Value) {
	f := q.f
	near := f.Do("mul.lo.s32", s.unit, asm.Int(q.unit()))
	row, k := f.Do("add.s32", first, s.row), near
	if !s.alongK {
		row, k = f.Do("add.s32", first, near), s.row
	}
	s.at, s.sizes = q.pointer(q.operand(s.Operand, row, k)), nil
	for slot := range s.slots {
		here := row
		if s.alongK {
			here = f.Do("add.s32", row, asm.Int(slot*s.step))
		}
		s.sizes = append(s.sizes, q.choose(q.below(here, s.limit, s.width), asm.Int(unitBytes), asm.Int(0)))
	}
}

// copies begins to copy a tile with left k. Elements beyond the factor become 0.
func (q *mma) copies(s *feed, left asm.Value) {
	f := q.f
	to, at, along, k := s.to, s.at, s.RS, f.Do("mul.lo.s32", s.unit, asm.Int(q.unit()))
	to.Base = f.Do("add.s32", to.Base, q.write)
	if !s.alongK {
		along, k = s.CS, s.row
	}
	by := q.stride(s.at, along, s.step)
	for slot, size := range s.sizes {
		here := k
		if !s.alongK {
			here = f.Do("add.s32", k, asm.Int(slot*s.step))
		}
		if !whole(q.sizeK, q.depth()) {
			size = q.choose(f.Do("setp.lt.s32", here, left), size, asm.Int(0))
		}
		f.CopyAsync(to.Plus(slot*s.step*s.tile.rowBytes()), at.Address, size)
		at = q.behind(at, by)
	}
	q.advance(s.at, q.stride(s.at, s.CS, q.depth()))
}
