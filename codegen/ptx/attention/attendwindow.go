package attention

import (
	"github.com/arithlang/mlc/codegen/ptx/asm"
	"github.com/arithlang/mlc/codegen/ptx/emit"
)

// A window says where a block's keys are in shared memory. If blocks begin with different keys, groups
// of 16 keys begin at any multiple of four rows, so shared memory has 16 keys more than the groups.
// All rows of a turn end a part of the keys at the same key, or later blocks at an earlier one. Then
// sums by distance are in the order of rows.
type window struct {
	base  asm.Value // the key in row 0
	shift asm.Value // the row of the first group's first key
	low   asm.Value // the block's first key
}

// step returns how many keys a part has.
func (g *attendGrad) step() int { return g.to * emit.FragmentRows }

// overTurn combines a value of both blocks of a turn, or of the one.
func (g *attendGrad) overTurn(turn asm.Value, op string, value func() asm.Value) (all asm.Value) {
	g.inBlock(turn, func() { all = value() })
	if g.together > 1 {
		next := g.F.Do("min.s32", g.F.Do("add.s32", turn, asm.Int(1)), g.F.Do("add.s32", g.blocks, asm.Int(-1)))
		g.inBlock(next, func() { all = g.F.Do(op, all, value()) })
	}
	return all
}

// reach returns the first and the last key of the parts of a turn. Windows that move begin up to 16 keys
// before the first group, which is of the turn's first block or earlier.
func (g *attendGrad) reach(turn asm.Value) (from, to asm.Value) {
	if !g.moves {
		return asm.Int(0), g.most
	}
	f, rows := g.F, asm.Int(emit.FragmentRows)
	var low asm.Value
	g.inBlock(turn, func() { low = g.lowOf() })
	earlier := f.Do("sub.s32", low, g.overTurn(turn, "min.s32", g.lowOf))
	earlier = f.Do("and.b32", f.Do("add.s32", earlier, asm.Int(emit.FragmentRows-1)), asm.Int(-emit.FragmentRows))
	return f.Do("sub.s32", f.Do("sub.s32", low, earlier), rows), g.overTurn(turn, "max.s32", g.end)
}

// enterWindow sets the window to the block that the variables are of, in a turn. Once says that row 0 has
// key 0; else parts set the base.
func (g *attendGrad) enterWindow(turn asm.Value, once bool) {
	f, zero := g.F, asm.Int(0)
	g.base, g.shift, g.low = zero, zero, g.lowOf()
	switch {
	case !g.moves:
	case once:
		g.shift = g.low
	default:
		var first asm.Value
		g.inBlock(turn, func() { first = g.lowOf() })
		apart := f.Do("add.s32", f.Do("sub.s32", g.low, first), asm.Int(-1))
		g.shift = f.Do("add.s32", f.Do("and.b32", apart, asm.Int(emit.FragmentRows-1)), asm.Int(1))
	}
}

// firstKey returns the place of the first group's first key in the warp's block.
func (g *attendGrad) firstKey() asm.Value {
	return g.F.Do("sub.s32", g.F.Do("add.s32", g.base, g.shift), g.low)
}

// keysOf returns the groups of keys as a right factor of a product.
func (g *attendGrad) keysOf(tile emit.Swizzled, alongK bool) emit.Factor {
	if !g.moves {
		return g.FactorOf(tile, false, alongK, asm.Int(0), asm.Int(0), g.width)
	}
	f := g.F
	return g.FactorBy(tile, false, alongK, func(row asm.Value) asm.Value { // permuted as copy does
		key := f.Do("or.b32", f.Do("or.b32", f.Do("and.b32", row, asm.Int(1)), g.bits(row, 3, 1, 1)), g.bits(row, 1, 3, 2))
		at := f.Do("add.s32", key, g.shift)
		return f.Do("or.b32", f.Do("or.b32", f.Do("and.b32", at, asm.Int(^14)), g.bits(at, 1, 1, 3)), g.bits(at, 2, 3, 1))
	}, asm.Int(0), g.width)
}
