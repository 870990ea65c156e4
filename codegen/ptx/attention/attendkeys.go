package attention

import (
	"maps"
	"slices"

	"github.com/arithlang/mlc/codegen/ptx/asm"
	"github.com/arithlang/mlc/codegen/ptx/emit"
	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/kernel"
)

// byColumns computes the gradients by key: a warp has 16 keys, and goes through all queries.
func (g *attendGrad) byColumns(once bool) {
	f := g.F
	parts := func(do func(first asm.Value)) {
		if once {
			do(asm.Int(0))
			return
		}
		g.Count(asm.Int(0), g.most, asm.Int(g.many), func(first asm.Value) {
			f.Barrier()
			g.copyKeys(first)
			g.copyBandsOf(asm.Int(0), first)
			g.arrive()
			do(first)
		})
	}
	if once { // else each part begins with a barrier
		f.Barrier() // the stats are there
	}
	several := f.Do("setp.lt.s32", asm.Int(g.together), g.blocks)
	parts(func(first asm.Value) {
		g.Count(asm.Int(0), asm.Int(g.many/gradRows), asm.Int(1), func(turn asm.Value) {
			tile := f.Do("mad.lo.s32", turn, asm.Int(gradRows), f.Do("mul.lo.s32", g.Warp, asm.Int(emit.FragmentRows)))
			sums := zeroSums(g.m.byKey, g.zeros)
			c := g.keyRowsOf(first, tile)
			g.seen(f.Do("mad.lo.s32", turn, asm.Int(gradRows), first), func(block asm.Value) {
				copied, top := several, asm.Int(0)
				if once && g.keeps() { // the last rows are there, and the first ones take the place of the first turn's keys
					begins := f.Do("setp.eq.s32", block, asm.Int(0))
					kept := f.Do("not.pred", f.Do("and.pred", begins, f.Do("setp.eq.s32", turn, asm.Int(0))))
					copied = f.Do("and.pred", several, f.Do("not.pred", f.Do("and.pred", g.all, kept)))
					moved := f.Do("and.pred", f.Do("and.pred", several, g.all), begins)
					top = g.Choose(moved, asm.Int(gradRows), asm.Int(0))
				}
				f.If(copied, func() {
					f.Barrier()
					g.copyRows(block, top)
					g.copyBandsOf(block, first)
					g.arrive()
				})
				g.Count(asm.Int(0), asm.Int(g.together), asm.Int(1), func(half asm.Value) {
					mine := f.Do("add.s32", block, half)
					f.If(f.Do("setp.lt.s32", mine, g.blocks), func() {
						g.enterBlock(mine)
						c.enterKeys()
						c.enterBlockBands(f.Do("sub.s32", mine, g.origin(block)))
						c.block(mine, f.Do("mad.lo.s32", half, asm.Int(blockOfRows), top), sums)
					})
				})
			})
			c.write(sums)
		})
	})
}

// seen goes through the blocks of queries, as turns. It leaves out those that do not see the keys that
// warps have, from first on, if blocks begin with different keys.
func (g *attendGrad) seen(first asm.Value, do func(block asm.Value)) {
	g.turns(func(block asm.Value) {
		if !g.moves {
			do(block)
			return
		}
		f := g.F
		begins := f.Do("setp.lt.s32", g.overTurn(block, "min.s32", g.lowOf), f.Do("add.s32", first, asm.Int(gradRows)))
		f.If(f.Do("and.pred", begins, f.Do("setp.lt.s32", first, g.overTurn(block, "max.s32", g.end))), func() { do(block) })
	})
}

// A keyRows is 16 keys that a warp has for rows.
type keyRows struct {
	*attendGrad
	from  asm.Value           // the first one
	tile  asm.Value           // its row in shared memory
	keyOf [laneRows]asm.Value // of a lane
	at    [laneRows]asm.Value // their places in the block
	keys  [][][]asm.Value     // fragments of the keys by array and 16 columns; nil: they stay in shared memory
	bands []emit.Address      // of the block's last query and a lane's first key
}

func (g *attendGrad) keyRowsOf(first, tile asm.Value) *keyRows {
	f := g.F
	c := &keyRows{attendGrad: g, from: f.Do("add.s32", first, tile), tile: tile}
	lane := f.Do("shr.u32", g.Lane, asm.Int(2))
	pair := f.Do("mul.lo.s32", f.Do("shr.u32", lane, asm.Int(1)), asm.Int(4)) // rows are permuted as in copy
	for h := range laneRows {
		near := f.Do("add.s32", f.Do("add.s32", pair, f.Do("and.b32", lane, asm.Int(1))), asm.Int(2*h))
		c.keyOf[h] = f.Do("add.s32", c.from, near)
	}
	if !g.keeps() {
		return c
	}
	for i := range g.m.arrays {
		factor := c.ofKeys(i)
		var all [][]asm.Value
		for k := 0; k < c.width; k += emit.FragmentDeep {
			all = append(all, c.Fragment(factor, 0, k))
		}
		c.keys = append(c.keys, all)
	}
	return c
}

// ofKeys returns the keys as the left factor of an array's product.
func (c *keyRows) ofKeys(array int) emit.Factor {
	return c.FactorOf(c.cols[array], true, true, c.tile, asm.Int(0), c.width)
}

// enterBlockBands finds a block's places in the bands, so many blocks from the first one there.
func (c *keyRows) enterBlockBands(before asm.Value) {
	f := c.F
	c.bands = nil
	for i := range c.m.bands {
		query := f.Do("add.s32", f.Do("mul.lo.s32", before, asm.Int(blockOfRows)), f.Do("shr.u32", c.key, asm.Int(1)))
		key := f.Do("add.s32", c.tile, f.Do("sub.s32", c.keyOf[0], c.from))
		c.bands = append(c.bands, c.ofBand(i, f.Do("sub.s32", key, f.Do("add.s32", query, asm.Int(blockOfRows-1)))))
	}
}

// block adds the products of a block of queries, in shared memory from row rows on, to the sums. If
// only the last 16 queries see the first key, it adds only their products; if none does, 0.
func (c *keyRows) block(number, rows asm.Value, sums []emit.Accumulators) {
	f := c.F
	left := map[string][][]asm.Value{}
	for _, e := range c.m.rounded {
		left[e.Name] = make([][]asm.Value, blockOfRows/emit.FragmentRows)
	}
	var open []asm.Value
	for n := range blockOfRows / emit.FragmentRows {
		for _, name := range slices.Sorted(maps.Keys(left)) {
			left[name][n] = f.Variables(4, asm.Int(0))
		}
		open = append(open, c.sees(c.openOf(asm.Int(n*emit.FragmentRows))))
		f.If(open[n], func() {
			rounded := c.elementsOf(number, n*emit.FragmentRows, c.products(rows, n*emit.FragmentRows))
			for _, name := range slices.Sorted(maps.Keys(left)) {
				for i, word := range rounded[name] {
					f.Move(left[name][n][i], word)
				}
			}
		})
	}
	f.If(open[0], func() { c.addTo(sums, rows, left, 0) })
	first := f.Do("not.pred", open[0])
	f.If(f.Do("and.pred", open[1], first), func() { c.addTo(sums, rows, left, 1) })
	f.If(f.Do("and.pred", f.Do("not.pred", open[1]), first), func() {
		for _, sum := range sums {
			sum.AddAll(f, asm.F32(0)) // as the block would
		}
	})
}

// enterKeys sets the places of the keys to those in the block that the variables are of.
func (c *keyRows) enterKeys() {
	for h := range laneRows {
		c.at[h] = c.ofBlock(c.keyOf[h])
	}
}

// sees reports whether queries that see so many of the block's keys see one of the warp's.
func (c *keyRows) sees(open asm.Value) asm.Value {
	f, first := c.F, c.ofBlock(c.from)
	sees := f.Do("setp.lt.s32", first, open)
	if c.moves {
		sees = f.Do("and.pred", sees, f.Do("setp.lt.s32", asm.Int(-emit.FragmentRows), first))
	}
	return sees
}

// products computes the arrays for 16 queries of the block, from first on.
func (c *keyRows) products(rows asm.Value, first int) map[string][][]asm.Value {
	zero, arrays := asm.Int(0), map[string][][]asm.Value{}
	for i, d := range c.m.arrays {
		left := func(k int) []asm.Value { return c.keys[i][k/emit.FragmentDeep] }
		if c.keys == nil {
			factor := c.ofKeys(i)
			left = func(k int) []asm.Value { return c.Fragment(factor, 0, k) }
		}
		right := c.FactorOf(c.rows[i], false, true, rows, zero, c.width)
		acc := c.Zeros(emit.FragmentRows, emit.FragmentRows)
		for k := 0; k < c.width; k += emit.FragmentDeep {
			acc.Add(c.F, [][]asm.Value{left(k)}, [][]asm.Value{c.Fragment(right, first, k)})
		}
		arrays[d.Dst.Name] = acc[0]
	}
	return arrays
}

// addTo adds the products of rounded arrays to the sums, from group from of 16 queries on.
func (c *keyRows) addTo(sums []emit.Accumulators, rows asm.Value, rounded map[string][][]asm.Value, from int) {
	for i, d := range c.m.byKey {
		below := c.FactorOf(c.rows[d.factor], false, false, rows, asm.Int(0), c.width)
		left := rounded[c.m.rounded[d.A.Name].Name]
		for j := 0; j < c.width; j += emit.FragmentRows {
			pair := emit.Accumulators{sums[i][0][j/emit.FragmentCols:][:2]}
			for n := from; n < len(left); n++ {
				pair.Add(c.F, left[n:n+1], [][]asm.Value{c.Fragment(below, j, n*emit.FragmentDeep)})
			}
		}
	}
}

// elementsOf computes the statements that follow for each element, and rounds the results to
// left fragments, by array. Elements of keys or queries that do not exist are 0.
func (c *keyRows) elementsOf(block asm.Value, first int, arrays map[string][][]asm.Value) map[string][]asm.Value {
	f := c.F
	last := f.Do("add.s32", c.height, asm.Int(-1))
	lastKey := f.Do("add.s32", c.size, asm.Int(-1))
	out := map[string][][]asm.Value{}
	for _, e := range c.m.rounded {
		out[e.Name] = [][]asm.Value{make([]asm.Value, 4), make([]asm.Value, 4)}
	}
	quad := f.Do("shr.u32", c.key, asm.Int(1)) // 2 t
	odd := f.Do("setp.ne.s32", f.Do("and.b32", c.keyOf[0], asm.Int(1)), asm.Int(0))
	for j := range emit.FragmentRows / emit.FragmentCols {
		for side := range 2 {
			row := f.Do("add.s32", quad, asm.Int(first+j*emit.FragmentCols+side))
			inside := f.Do("min.s32", row, last)
			c.Vars[emit.RowVar] = inside
			at := c.statsOf(block, inside)
			for i, name := range c.stats {
				c.Vars[name] = c.Load(at.Further(i), 1)[0]
			}
			words := c.enterQuery(c.at[0])
			for h := range laneRows {
				given := map[string]asm.Value{}
				for name, acc := range arrays {
					given[name] = acc[j][2*h+side]
				}
				for _, name := range slices.Sorted(maps.Keys(words)) {
					four := words[name]
					given[name] = c.Choose(odd, four[2*h+1], four[2*h])
				}
				c.followOne(given, c.nearest(c.at[h], lastKey), blockOfRows-1-(first+j*emit.FragmentCols+side)+2*h)
				there := f.Do("and.pred", f.Do("setp.lt.s32", row, c.height), f.Do("setp.lt.s32", c.at[h], c.size))
				if c.moves {
					there = f.Do("and.pred", there, f.Do("setp.le.s32", asm.Int(0), c.at[h]))
				}
				for _, name := range slices.Sorted(maps.Keys(out)) {
					out[name][j][2*h+side] = c.Choose(there, given[name], asm.F32(0))
				}
			}
		}
	}
	rounded := map[string][]asm.Value{}
	for _, name := range slices.Sorted(maps.Keys(out)) {
		rounded[name] = c.LeftOf(out[name][0], out[name][1])
	}
	return rounded
}

// followOne computes the statements that follow for an element of a query, whose variables are set, and
// a key. Elements of bands are so many places further than the lane's.
func (c *keyRows) followOne(given map[string]asm.Value, key asm.Value, further int) {
	for _, s := range c.follow {
		set, ok := s.(*kernel.Set)
		if !ok {
			continue
		}
		value, so := c.Own(set.Value), emit.Known{}
		for _, e := range expr.Elems(value) {
			if v, ok := given[e.Name]; ok {
				so[e] = v
			} else if n := bandAt(c.m.bands, e, set.Axes[0].Var); n >= 0 {
				so[e] = c.Load(c.bands[n].Further(further), 1)[0]
			}
		}
		c.Vars[set.Axes[0].Var] = key
		given[set.Dst.Name] = c.Eval(value, so)
	}
}

// write writes the sums after their epilogues.
func (c *keyRows) write(sums []emit.Accumulators) {
	for i, d := range c.m.byKey {
		limit := c.Value(d.out[0].Axes[0].Size)
		c.attend.write(sums[i], d.Dot, d.out, c.keyOf[:], limit)
	}
}
