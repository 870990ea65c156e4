package attention

import (
	"fmt"

	"github.com/arithlang/mlc/codegen/ptx/asm"
	"github.com/arithlang/mlc/codegen/ptx/emit"
	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/kernel"
)

const (
	widestGrad     = 64 // the most width of a head: two factors by query and two by key are in shared memory
	gradKeys       = 64 // keys whose arrays a warp has in registers
	wideGradBeside = 6  // blocks of a multiprocessor
)

// A wideGrad builds the gradient of an attention in F32. A cell takes 32 queries at a time, and a warp 16
// of them. Shared memory has their rows of two factors, and 32 or 64 keys of two factors. First the lanes
// have rows of queries, as in a wide, for the gradients by query. Then they have rows of keys, each with
// four queries, for the gradients by key. The four keys of a lane are adjacent: they share a counter of
// random words, and a load of a bias.
type wideGrad struct {
	*gradCell
	w     *wide
	rows  []emit.Address // the factors with a row for each query
	cols  []emit.Address // the factors with a row for each key
	near  asm.Value      // a lane's first key of 32, in the gradients by key
	keyOf []asm.Value    // a lane's keys
	room  int            // keys in shared memory
	kept  asm.Value      // whether these are all keys, for all blocks
}

// PlanWideGrad plans a gradient of attention in F32.
func PlanWideGrad(k *kernel.Kernel, l emit.Launches) (p emit.Plan, why string) {
	g, why := attentionGradOf(k, l, expr.F32)
	if why == "" && g.line != nil && g.line.array != g.byQuery[0].A.Name {
		why = "its sums by distance are not of the array that it multiplies by keys"
	}
	if why != "" {
		return p, why
	}
	warps := blockOfRows / warpRows
	pieces := fmt.Sprintf("a cell, %d warps of %d rows of queries, then of keys, %d keys in shared memory", warps, warpRows, g.roomForKeys())
	return emit.Plan{Threads: warps * emit.WarpThreads, Whole: true, Pieces: pieces, Cells: func(p *emit.Builder) emit.Cells { return wideGradCells(p, g) }}, ""
}

// wideGradCells returns the cells of a kernel's grid.
func wideGradCells(p *emit.Builder, m *attentionGrad) emit.Cells {
	f := p.F
	if f.Beside = wideGradBeside; len(m.sides) > 0 {
		f.Beside = wideGradBeside - 2 // sides take more registers
	}
	first := f.Do("mul.lo.s32", p.Warp, asm.Int(warpRows))
	a := newAttend(p, &m.attention, first, wideRows)
	g := &wideGrad{gradCell: newGradCell(a, m), w: &wide{attend: a, pitch: pitchOf(a.width), onward: m.low == nil}}
	g.has(gradKeys)
	w := g.w
	g.room = m.roomForKeys()
	w.factors = w.array("factors", 2*(blockOfRows+g.room)*w.pitch)
	for i := range m.arrays {
		g.rows = append(g.rows, w.factors.Further(i*blockOfRows*w.pitch))
		g.cols = append(g.cols, w.factors.Further((2*blockOfRows+i*g.room)*w.pitch))
	}
	w.enterWeights(blockOfRows)
	tiles := g.gradTiles()
	if l := m.line; l != nil {
		tiles = append(tiles, l.tile(p.K.Once))
	}
	p.Place(append(tiles, g.bandTiles(blockOfRows)...), nil)
	g.enterBands(asm.Int(0))
	quad := f.Do("add.s32", f.Do("shr.u32", p.Lane, asm.Int(3)), f.Do("mul.lo.s32", p.Warp, asm.Int(4)))
	g.near = f.Do("mul.lo.s32", quad, asm.Int(4))
	return g.cells(g.gradients)
}

// roomForKeys returns how many keys are in shared memory.
func (g *attentionGrad) roomForKeys() int {
	if 2*(blockOfRows+gradKeys)*pitchOf(int(g.scores.Axes[2].Size.I))*emit.WordBytes <= wideShared {
		return gradKeys
	}
	return wideGroup
}

// gradients computes the gradients by query, then by key.
func (g *wideGrad) gradients() {
	f := g.F
	g.kept = asm.Bool(false)
	if !g.moves {
		g.kept = f.Do("setp.le.s32", g.most, asm.Int(g.room))
		f.If(g.kept, func() { g.copyKeys(asm.Int(0), g.most) })
	}
	g.byRows()
	g.byColumns()
}

// copyRows and copyKeys begin to copy the rows of two factors, of which so many exist.
func (g *wideGrad) copyRows(size asm.Value, permuted bool) {
	for i, o := range g.m.queries {
		g.w.copyTo(g.rows[i], o, blockOfRows, asm.Int(0), size, permuted)
	}
}

func (g *wideGrad) copyKeys(first, size asm.Value) {
	for i, o := range g.m.keys {
		g.w.copyTo(g.cols[i], o, g.room, first, g.F.Do("sub.s32", size, first), true)
	}
}

// byRows computes the gradients by query.
func (g *wideGrad) byRows() {
	f := g.F
	g.turns(func(block asm.Value) {
		f.Barrier() // all threads have read the rows before
		g.enterBlock(block)
		g.enterRows()
		g.copyRows(g.height, false)
		few := f.Do("setp.le.s32", g.size, asm.Int(gradKeys))
		f.If(few, func() { g.rowsOnce(block) })
		f.If(f.Do("not.pred", few), func() { g.rowsOften(block) })
		f.If(f.Do("setp.le.s32", g.size, asm.Int(0)), g.arrive) // nothing has waited for the rows
	})
}

// rowsOnce computes a block whose arrays fit into registers.
func (g *wideGrad) rowsOnce(block asm.Value) {
	zero := asm.Int(0)
	g.part(zero)
	from, sums := g.reduceOnce(g.follows), zeroSums(g.m.byQuery, g.w.zeros)
	g.addRows(sums, from, zero, g.F.Do("setp.lt.s32", asm.Int(g.room), g.size))
	g.writeRows(sums, block)
}

// rowsOften computes a block where they do not fit: each reduction computes the arrays again.
func (g *wideGrad) rowsOften(block asm.Value) {
	parts := func(do func(first asm.Value)) {
		g.Count(asm.Int(0), g.size, asm.Int(gradKeys), func(first asm.Value) {
			g.part(first)
			do(first)
		})
	}
	g.reduceAgain(parts)
	sums := zeroSums(g.m.byQuery, g.w.zeros)
	parts(func(first asm.Value) { g.addRows(sums, 0, first, asm.Bool(g.room < gradKeys)) })
	g.writeRows(sums, block)
}

// part computes the arrays for a block's queries and its keys from first on.
func (g *wideGrad) part(first asm.Value) {
	f, w := g.F, g.w
	for _, d := range g.m.arrays {
		g.parts[d.Dst.Name] = w.zeroArray()
	}
	f.Barrier() // all threads have read the bands before
	g.copyBands(g.height, first, asm.Int(0), f.Do("sub.s32", g.size, first))
	g.chunks(first, f.Do("not.pred", g.kept), func(groups []int, at asm.Value) {
		products := func(groups []int) {
			for i, d := range g.m.arrays {
				if g.wants(d.Dst.Name) {
					w.products(d.Dst.Name, g.left(g.rows[i], g.row[0]), warpRows/wideRows, g.right(g.cols[i]), groups...)
				}
			}
		}
		all := f.Do("setp.lt.s32", f.Do("add.s32", at, asm.Int(g.room-wideGroup)), g.size)
		f.If(all, func() { products(groups) })
		if len(groups) > 1 {
			f.If(f.Do("not.pred", all), func() { products(groups[:1]) })
		}
	})
}

// chunks calls do for the keys from first on that are in shared memory at once: their groups, and the
// first of them. It copies them before, if that is needed.
func (g *wideGrad) chunks(first, copied asm.Value, do func(groups []int, at asm.Value)) {
	f := g.F
	for k := 0; k < gradKeys; k += g.room {
		at := f.Do("add.s32", first, asm.Int(k))
		f.If(f.Do("setp.lt.s32", at, g.size), func() {
			g.When(copied, func() {
				f.Barrier() // all threads have read the keys before
				g.copyKeys(at, g.size)
			})
			g.arrive()
			var groups []int
			for m := k / wideGroup; m < (k+g.room)/wideGroup; m++ {
				groups = append(groups, m)
			}
			do(groups, at)
		})
	}
}

// left and right return where a lane has its first row of a left factor, and of a right one.
func (g *wideGrad) left(at emit.Address, row asm.Value) emit.Address {
	return g.Element(at, g.F.Do("mul.lo.s32", row, asm.Int(g.w.pitch)))
}

func (g *wideGrad) right(at emit.Address) emit.Address {
	return g.left(at, g.F.Do("shr.u32", g.key, asm.Int(2)))
}

// addRows computes statements from from on for the keys from first on, and adds the products of their
// arrays with keys, which are copied again or are there.
func (g *wideGrad) addRows(sums []emit.Accumulators, from int, first, copied asm.Value) {
	f, w, l := g.F, g.w, g.m.line
	g.chunks(first, copied, func(groups []int, at asm.Value) {
		for n, m := range groups {
			f.If(f.Do("setp.lt.s32", f.Do("add.s32", at, asm.Int(n*wideGroup)), g.size), func() {
				at := f.Do("add.s32", at, asm.Int(n*wideGroup))
				key := f.Do("add.s32", at, g.key)
				g.follows(from, len(g.follow), m, key)
				for i, d := range g.m.byQuery {
					f.WarpSync() // all lanes have read the weights before
					for h, row := range g.row {
						size := g.Choose(f.Do("setp.lt.s32", row, g.height), g.size, asm.Int(0))
						w.putFour(h, g.four(d.A.Name, h, m), key, size)
					}
					f.WarpSync()
					left := f.Do("min.s32", f.Do("sub.s32", g.size, at), asm.Int(wideGroup))
					tile := g.cols[d.factor].Further(n * wideGroup * w.pitch)
					w.addValues(sums[i], w.columnsOf(tile), left, 8, nil)
					if i == 0 && l != nil {
						f.Barrier()
						g.addDistances(f.Do("add.s32", g.Value(l.first), at), w.weights, blockOfRows, wideGroup, weightPitch)
						f.Barrier()
					}
				}
			})
		}
	})
}

// writeRows writes the gradients by query, and the stats of each row.
func (g *wideGrad) writeRows(sums []emit.Accumulators, block asm.Value) {
	for i, d := range g.m.byQuery {
		g.w.writeWide(sums[i], d.Dot, d.out, g.row, g.height)
	}
	g.rest()
	g.keepStats(block)
}

// placeOfStats returns where a block's values of a stat are, by query.
func (g *wideGrad) placeOfStats(block asm.Value, stat int, query asm.Value) emit.Address {
	first := g.F.Do("mul.lo.s32", block, asm.Int(len(g.stats)*blockOfRows))
	return g.Element(g.Slices[statsName], g.F.Do("add.s32", first, query)).Further(stat * blockOfRows)
}

// keepStats stores the stats of each row of a lane.
func (g *wideGrad) keepStats(block asm.Value) {
	f := g.F
	f.If(f.Do("setp.eq.s32", g.key, asm.Int(0)), func() {
		for h, row := range g.row {
			for i, name := range g.stats {
				f.Store(g.placeOfStats(block, i, row).Address, g.known[h][name])
			}
		}
	})
}

// loadStats loads the stats of a lane's four queries.
func (g *wideGrad) loadStats(block asm.Value) (all [][]asm.Value) {
	for i := range g.stats {
		all = append(all, g.Load(g.placeOfStats(block, i, g.key), wideUnit))
	}
	return all
}
