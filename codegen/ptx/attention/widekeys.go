package attention

import (
	"github.com/arithlang/mlc/codegen/ptx/asm"
	"github.com/arithlang/mlc/codegen/ptx/emit"
	"github.com/arithlang/mlc/compiler/kernel"
)

// byColumns computes the gradients by key.
func (g *wideGrad) byColumns() {
	f, w := g.F, g.w
	g.has(wideGroup)
	g.arrive() // the stats are there
	g.Count(asm.Int(0), g.most, asm.Int(wideGroup), func(first asm.Value) {
		row := f.Do("and.b32", first, asm.Int(g.room-1)) // in shared memory
		copied := f.Do("and.pred", f.Do("not.pred", g.kept), f.Do("setp.eq.s32", row, asm.Int(0)))
		f.If(copied, func() {
			f.Barrier() // all threads have read the keys before
			g.inBlock(asm.Int(0), func() {
				for i, o := range g.m.keys {
					o.Off, _ = g.m.fromKey0(o.Off, o.RS)
					w.copyTo(g.cols[i], o, g.room, first, f.Do("sub.s32", g.most, first), true)
				}
			})
			g.arrive() // there may be no block that sees the keys
		})
		g.ofKeys(first, row)
	})
}

// ofKeys computes the gradients of 32 keys from first on, which are in shared memory from a row on.
func (g *wideGrad) ofKeys(first, row asm.Value) {
	f, w := g.F, g.w
	sums := zeroSums(g.m.byKey, w.zeros)
	row = f.Do("add.s32", row, f.Do("shr.u32", g.near, asm.Int(2)))
	g.keyOf = nil
	for h := range wideRows {
		g.keyOf = append(g.keyOf, f.Do("add.s32", f.Do("add.s32", first, g.near), asm.Int(h)))
	}
	g.turns(func(block asm.Value) {
		g.enterBlock(block)
		place := g.ofBlock(first)
		sees := f.Do("and.pred", f.Do("setp.lt.s32", place, g.size), f.Do("setp.lt.s32", asm.Int(-wideGroup), place))
		f.If(sees, func() {
			f.Barrier() // all threads have read the rows before
			g.copyRows(g.height, true)
			g.copyBands(g.height, place, asm.Int(0), f.Do("sub.s32", g.size, place))
			g.arrive()
			g.addColumns(sums, block, row)
		})
	})
	for i, d := range g.m.byKey {
		w.writeWide(sums[i], d.Dot, d.out, g.keyOf, g.Value(d.out[0].Axes[0].Size))
	}
}

// addColumns adds the products of a block of queries to the gradients by key, of which a lane's first one
// is in a row.
func (g *wideGrad) addColumns(sums []emit.Accumulators, block, row asm.Value) {
	f, w := g.F, g.w
	for i, d := range g.m.arrays {
		g.parts[d.Dst.Name] = w.zeroArray()
		w.products(d.Dst.Name, g.left(g.cols[i], row), 8, g.right(g.rows[i]), 0)
	}
	first := g.ofBlock(g.keyOf[0])
	var there []asm.Value
	for h := range wideRows {
		at := f.Do("add.s32", first, asm.Int(h))
		there = append(there, f.Do("and.pred", f.Do("setp.le.s32", asm.Int(0), at), f.Do("setp.lt.s32", at, g.size)))
	}
	elements := g.elementsOf(block, first)
	for i, d := range g.m.byKey {
		f.WarpSync() // all lanes have read the weights before
		for h := range wideRows {
			w.putFour(h, elements[d.A.Name][h], g.key, g.height)
		}
		f.WarpSync()
		w.addValues(sums[i], w.columnsOf(g.rows[d.factor]), f.Do("min.s32", g.height, asm.Int(wideGroup)), 8, there)
	}
}

// elementsOf computes the statements that follow for a lane's keys, whose first one is given by its place
// in the block, and its four queries. It returns the arrays that gradients by key multiply, by key and
// query.
func (g *wideGrad) elementsOf(block, first asm.Value) map[string][][]asm.Value {
	f, out := g.F, map[string][][]asm.Value{}
	for _, d := range g.m.byKey {
		out[d.A.Name] = make([][]asm.Value, wideRows)
	}
	last := f.Do("add.s32", g.height, asm.Int(-1))
	var bands []emit.Address // of a lane's last query and first key
	for i := range g.bands {
		bands = append(bands, g.ofBand(i, f.Do("sub.s32", g.near, f.Do("add.s32", g.key, asm.Int(wideUnit-1)))))
	}
	stats := g.loadStats(block)
	for i := range wideUnit {
		g.Vars[emit.RowVar] = f.Do("min.s32", f.Do("add.s32", g.key, asm.Int(i)), last)
		for n, name := range g.stats {
			g.Vars[name] = stats[n][i]
		}
		given := g.enterQuery(first)
		for _, d := range g.m.arrays {
			for h := range wideRows {
				given[d.Dst.Name] = append(given[d.Dst.Name], g.four(d.Dst.Name, h, 0)[i])
			}
		}
		for _, s := range g.follow {
			if set, ok := s.(*kernel.Set); ok {
				given[set.Dst.Name] = g.each4(set.Value, set.Axes[0].Var, first, given, func(n, key int) asm.Value {
					return g.Load(bands[n].Further(wideUnit-1-i+key), 1)[0]
				})
			}
		}
		for name, rows := range out {
			for h := range wideRows {
				rows[h] = append(rows[h], given[name][h])
			}
		}
	}
	return out
}
