package attention

import (
	"slices"

	"github.com/arithlang/mlc/codegen/ptx/asm"
	"github.com/arithlang/mlc/codegen/ptx/emit"
	"github.com/arithlang/mlc/compiler/expr"
)

const (
	gradWarps   = 4
	gradRows    = gradWarps * emit.FragmentRows // of all warps
	blockOfRows = gradRows / 2                  // queries of a block of the kernel

	statsName = "stats." // a tile for numbers of queries; no kernel's tile has this name
)

// room returns how many blocks of queries, and how many keys, are in shared memory. With the widest
// heads half of the warps have no queries.
func (g *attentionGrad) room() (blocks, keys int) {
	row := 2 * emit.NarrowBytes * int(g.scores.Axes[2].Size.I) // of two factors
	for _, r := range [][2]int{{2, keysAtOnce}, {2, keysAtOnce / 2}, {1, keysAtOnce / 2}} {
		if blocks, keys = r[0], r[1]; (blocks*blockOfRows+keys)*row <= asm.MostStatic {
			break
		}
	}
	return blocks, keys
}

// An attendGrad builds the gradient of an attention. First, warps have rows of queries, as in
// attend, and compute the gradients by query and the reductions of each row. Then they have rows
// of keys: the transposed products give the transposed arrays, which the gradients by key
// multiply.
type attendGrad struct {
	*gradCell
	rows, cols   []emit.Swizzled // queries and keys of the arrays' products
	half, within asm.Value       // the block, of two, of the warp's queries, and their place in it
	window                       // of the warp's block
	all          asm.Value       // whether all queries and keys are in shared memory for the gradients by key
}

// gradCells returns the cells of a kernel's grid.
func gradCells(p *emit.Builder, m *attentionGrad) emit.Cells {
	f := p.F
	f.Beside = attentionBeside
	within := f.Do("mul.lo.s32", f.Do("and.b32", p.Warp, asm.Int(1)), asm.Int(emit.FragmentRows))
	g := &attendGrad{gradCell: newGradCell(newAttend(p, &m.attention, within, laneRows), m), half: f.Do("shr.u32", p.Warp, asm.Int(1)), within: within}
	blocks, keys := m.room()
	g.together = blocks
	g.has(keys)
	if g.moves {
		g.to-- // groups of 16 keys begin anywhere
	}
	factors := g.shared(blocks*blockOfRows, keys, blocks*blockOfRows, keys)
	g.rows, g.cols = []emit.Swizzled{factors[0], factors[2]}, []emit.Swizzled{factors[1], factors[3]}
	g.held = g.heldRow
	bandRows := blocks * blockOfRows
	if g.keeps() {
		bandRows *= 2
	}
	p.Place(slices.Concat(g.gradTiles(), g.lineTiles(), g.bandTiles(bandRows)), nil)
	return g.cells(g.gradients)
}

// gradients computes the gradients by query, then by key.
func (g *attendGrad) gradients() {
	f := g.F
	few := f.Do("setp.le.s32", g.most, asm.Int(g.step()))
	g.all = asm.Bool(false)
	if g.keeps() {
		g.all = f.Do("and.pred", few, f.Do("setp.le.s32", g.blocks, asm.Int(2*g.together)))
	}
	f.If(few, func() {
		g.copyKeys(asm.Int(0))
		g.byRows(true)
		g.byColumns(true)
	})
	f.If(f.Do("not.pred", few), func() {
		g.byRows(false)
		g.byColumns(false)
	})
}

// keeps reports whether rows of queries fit where half of the keys are. A warp has its own keys in
// registers for the gradients by key.
func (g *attendGrad) keeps() bool { return g.many == 2*gradRows && g.together*blockOfRows == gradRows }

// origin returns the block of queries that bands begin with, where those from block on are in shared
// memory: the first one if all queries will be.
func (g *attendGrad) origin(block asm.Value) asm.Value { return g.Choose(g.all, asm.Int(0), block) }

// copyBandsOf copies the bands for the blocks from the origin of a block on, and the keys in shared
// memory, from first on.
func (g *attendGrad) copyBandsOf(block, first asm.Value) {
	if len(g.bands) == 0 {
		return
	}
	f, origin := g.F, g.origin(block)
	g.inBlock(f.Do("add.s32", g.blocks, asm.Int(-1)), func() {
		before := f.Do("mul.lo.s32", f.Do("sub.s32", g.Vars[g.m.block.Var], origin), asm.Int(blockOfRows))
		height := f.Do("min.s32", f.Do("add.s32", before, g.height), asm.Int(g.bandRows))
		g.inBlock(origin, func() {
			g.copyBands(height, g.ofBlock(first), first, f.Do("min.s32", f.Do("sub.s32", g.most, first), asm.Int(g.many)))
		})
	})
}

// heldRow returns the place of a lane's columns in the factors with a row for each query.
func (g *attendGrad) heldRow(e *expr.Expr, name string, h, m int) (at emit.Address, ok bool) {
	right, rest, affine := expr.Affine(e.Args[0], name)
	down, first, affine2 := expr.Affine(rest, emit.RowVar)
	if !affine || !affine2 || !expr.IsInt(right, 1) {
		return at, false
	}
	for i, o := range g.m.queries {
		if e.Name != o.Slice || !expr.Equal(down, expr.Simplify(o.RS)) || !expr.Equal(first, expr.Simplify(o.Off)) {
			continue
		}
		f, row := g.F, g.row[h]
		if g.together > 1 {
			row = f.Do("mad.lo.s32", g.half, asm.Int(blockOfRows), row)
		}
		unit := f.Do("add.s32", f.Do("shr.u32", g.key, asm.Int(3)), asm.Int(2*m))
		to := g.UnitOf(g.rows[i], row, unit)
		within := f.Do("and.b32", g.key, asm.Int(emit.UnitWide-1))
		to.Base = f.Do("mad.lo.s32", within, asm.Int(emit.NarrowBytes), to.Base)
		return emit.Address{Address: to, Typ: e.Type}, true
	}
	return at, false
}

// copyKeys begins to copy the factors with a row for each key, from first on, of the arrays that
// are computed.
func (g *attendGrad) copyKeys(first asm.Value) {
	g.inBlock(asm.Int(0), func() {
		left := g.F.Do("sub.s32", g.most, first)
		for i, o := range g.m.keys {
			if g.wants(g.m.arrays[i].Dst.Name) {
				if g.moves {
					o.Off, _ = g.m.fromKey0(o.Off, o.RS)
				}
				g.copy(g.cols[i], asm.Int(0), o, g.many, first, left, true)
			}
		}
	})
}

// copyRows begins to copy the factors with a row for each query, of as many blocks as fit: two,
// or one. They begin at row top.
func (g *attendGrad) copyRows(block, top asm.Value) {
	f, left := g.F, asm.Int(0)
	if g.together > 1 {
		next := f.Do("add.s32", block, asm.Int(1))
		g.enterBlock(next)
		left = g.Choose(f.Do("setp.lt.s32", next, g.blocks), g.height, asm.Int(0))
	}
	g.enterBlock(block)
	left = f.Do("add.s32", g.height, left)
	for i, o := range g.m.queries {
		g.copy(g.rows[i], top, o, g.together*blockOfRows, asm.Int(0), left, false)
	}
}

// byRows computes the gradients by query. Once says that all keys are in shared memory.
func (g *attendGrad) byRows(once bool) {
	f := g.F
	g.turns(func(block asm.Value) {
		f.Barrier()
		if once {
			g.beginLine()
		}
		g.copyRows(block, asm.Int(0))
		if once {
			g.copyBandsOf(block, asm.Int(0))
		}
		g.arrive()
		mine := f.Do("add.s32", block, g.half)
		g.enterBlock(f.Do("min.s32", mine, f.Do("add.s32", g.blocks, asm.Int(-1))))
		active := f.Do("and.pred", f.Do("setp.lt.s32", mine, g.blocks), f.Do("setp.lt.s32", g.within, g.height))
		active = f.Do("and.pred", active, f.Do("setp.lt.s32", g.half, asm.Int(g.together)))
		if len(g.m.sides) == 0 { // sides have elements of closed keys
			g.open = g.openOf(g.within)
		}
		g.enterWindow(block, once)
		before := f.Do("mul.lo.s32", f.Do("sub.s32", mine, g.origin(block)), asm.Int(blockOfRows))
		g.enterBands(f.Do("sub.s32", before, g.shift))
		last := f.Do("max.s32", f.Do("add.s32", g.height, asm.Int(-1)), asm.Int(0))
		for h := range laneRows {
			g.inside[h] = f.Do("min.s32", g.row[h], last)
			g.known[h] = map[string]asm.Value{}
		}
		if once {
			f.If(active, func() { g.rowsOnce(mine) })
			g.addLine(block, g.base)
			return
		}
		g.rowsOften(block, mine, active)
	})
}

// multiplyRows computes the arrays for the warp's queries and the keys in shared memory, from
// first on.
func (g *attendGrad) multiplyRows(first asm.Value) {
	zero := asm.Int(0)
	from := g.F.Do("mul.lo.s32", g.Warp, asm.Int(emit.FragmentRows))
	clear(g.parts)
	for i, d := range g.m.arrays {
		if !g.wants(d.Dst.Name) {
			continue
		}
		left := g.FactorOf(g.rows[i], true, true, from, zero, g.width)
		g.product(d.Dst.Name, left, g.keysOf(g.cols[i], true), first)
	}
}

// rowsOnce computes the gradients of queries whose arrays fit into registers.
func (g *attendGrad) rowsOnce(block asm.Value) {
	zero := asm.Int(0)
	g.multiplyRows(zero)
	from := g.reduceOnce(g.follows)
	sums := zeroSums(g.m.byQuery, g.zeros)
	g.groups(zero, func(m int, key asm.Value) {
		g.follows(from, len(g.follow), m, key)
		g.keepLine(m, key)
		g.addRows(sums, m, key)
	})
	g.addClosed(sums...)
	g.writeRows(sums, block)
}

// rowsOften computes them where the arrays do not fit: each reduction computes the arrays again.
func (g *attendGrad) rowsOften(turn, block, active asm.Value) {
	g.reduceAgain(func(do func(first asm.Value)) { g.parted(turn, active, func() {}, do, func(asm.Value) {}) })
	sums := zeroSums(g.m.byQuery, g.zeros)
	g.parted(turn, active, g.beginLine, func(first asm.Value) {
		g.groups(first, func(m int, key asm.Value) {
			g.follows(0, len(g.follow), m, key)
			g.keepLine(m, key)
			g.addRows(sums, m, key)
		})
	}, func(first asm.Value) { g.addLine(turn, first) })
	g.F.If(active, func() {
		g.addClosed(sums...)
		g.writeRows(sums, block)
	})
}

// parted computes the arrays of the blocks from turn on, part by part of their keys. For each part, all
// warps begin, the active ones do with the first key of the warp's block, and all end with the first key
// in shared memory.
func (g *attendGrad) parted(turn, active asm.Value, begin func(), do, end func(first asm.Value)) {
	from, to := g.reach(turn)
	g.Count(from, to, asm.Int(g.step()), func(first asm.Value) {
		g.F.Barrier()
		begin()
		g.copyKeys(first)
		g.copyBandsOf(turn, first)
		g.arrive()
		g.base = first
		g.F.If(active, func() {
			g.inHalves(func() {
				mine := g.firstKey()
				g.multiplyRows(mine)
				do(mine)
			})
		})
		end(first)
	})
}

// zeroSums returns accumulators for gradients.
func zeroSums(ds []gradient, zeros func() emit.Accumulators) (all []emit.Accumulators) {
	for range ds {
		all = append(all, zeros())
	}
	return all
}

// addRows adds the products of 16 keys to the gradients by query.
func (g *attendGrad) addRows(sums []emit.Accumulators, m int, key asm.Value) {
	for i, d := range g.m.byQuery {
		g.rounded16(sums[i], g.m.rounded[d.A.Name].Name, g.keysOf(g.cols[d.factor], false), m, key)
	}
}

// writeRows writes the gradients by query, and the stats of each row.
func (g *attendGrad) writeRows(sums []emit.Accumulators, block asm.Value) {
	for i, d := range g.m.byQuery {
		g.write(sums[i], d.Dot, d.out, g.row, g.height)
	}
	g.rest()
	g.keepStats(block)
}

// keepStats stores the stats of each row of a lane.
func (g *attendGrad) keepStats(block asm.Value) {
	f := g.F
	mine := f.Do("setp.eq.s32", g.key, asm.Int(0))
	for h := range g.row {
		f.If(f.Do("and.pred", mine, f.Do("setp.lt.s32", g.row[h], g.height)), func() {
			at := g.statsOf(block, g.row[h])
			for i, name := range g.stats {
				f.Store(at.Further(i).Address, g.known[h][name])
			}
		})
	}
}

// statsOf returns the address of a query's stats.
func (g *attendGrad) statsOf(block, row asm.Value) emit.Address {
	f := g.F
	query := f.Do("mad.lo.s32", block, asm.Int(blockOfRows), row)
	return g.Element(g.Slices[statsName], f.Do("mul.lo.s32", query, asm.Int(len(g.stats))))
}
