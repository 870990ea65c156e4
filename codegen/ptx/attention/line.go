package attention

import (
	"slices"

	"github.com/arithlang/mlc/codegen/ptx/asm"
	"github.com/arithlang/mlc/codegen/ptx/emit"
	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/kernel"
)

// A lineSum adds an array by query and key to sums by distance, row by row. In a block, row r adds
// its column n to element first + n - r of a tile.
type lineSum struct {
	sum, array string // the tile, and the array
	first      *expr.Expr
	size       *expr.Expr // of the tile
	clear      *kernel.Set
	write      *kernel.Set // assignment of the sums after all blocks
	at         int         // the statements that follow before it
}

// lineOf sets the sum that a loop over rows adds to. It says why there is none.
func (g *attentionGrad) lineOf(l *kernel.For) string {
	const other = "its rows need each other"
	if g.line != nil || g.scores == nil || len(l.Body) != 1 || !expr.IsInt(l.Lo, 0) || !expr.Equal(l.Hi, g.scores.Axes[0].Size) {
		return other
	}
	s, ok := ofRow(l.Body, l.Var)[0].(*kernel.Set)
	if !ok || len(s.Axes) != 1 || !expr.Equal(s.Axes[0].Size, g.scores.Axes[1].Size) || g.buffers[s.Dst.Name] || s.Value.Op != expr.Add || !expr.Equal(s.Value.Args[0], s.Dst) {
		return other
	}
	array, col := s.Value.Args[1], s.Axes[0].Var
	if array.Op != expr.Elem || !g.names()[array.Name] || !expr.Equal(emit.Place(array, "", col), g.place()) {
		return other
	}
	right, rest, ok := expr.Affine(s.Dst.Args[0], col)
	down, first, ok2 := expr.Affine(rest, emit.RowVar)
	if !ok || !ok2 || !expr.IsInt(right, 1) || !expr.IsInt(down, -1) {
		return other
	}
	g.line = &lineSum{sum: s.Dst.Name, array: array.Name, first: first, at: len(g.follow)}
	return ""
}

// lineTile names the rows that lines add up; no kernel's tile has this name.
const lineTile = "line."

// stride is the distance of two rows in that tile. With these places between them, lanes of a warp
// store four keys of their rows at a time to different banks.
func (g *attendGrad) stride() int { return g.many + 16 }

// lineTiles returns the tiles that the sums need: their own, and the array for the queries and keys
// that are in shared memory.
func (g *attendGrad) lineTiles() []kernel.Stmt {
	l := g.m.line
	if l == nil {
		return nil
	}
	size := expr.Int(int64(g.together * blockOfRows * g.stride()))
	return []kernel.Stmt{l.tile(g.K.Once), &kernel.Tile{Name: lineTile, Type: expr.F32, Shape: []*expr.Expr{size}}}
}

// tile returns the tile of the sums, and sets their number.
func (l *lineSum) tile(once []kernel.Stmt) kernel.Stmt {
	i := slices.IndexFunc(once, func(t kernel.Stmt) bool { return t.(*kernel.Tile).Name == l.sum })
	l.size = once[i].(*kernel.Tile).Shape[0]
	return once[i]
}

// beginLine clears the rows that lines add up. A barrier follows before warps keep theirs.
func (g *attendGrad) beginLine() {
	if g.m.line == nil {
		return
	}
	n := g.together * blockOfRows * g.stride() / 4
	zeros := []asm.Value{asm.F32(0), asm.F32(0), asm.F32(0), asm.F32(0)}
	g.Count(g.Group.ID, asm.Int(n), asm.Int(g.Group.Threads), func(i asm.Value) {
		g.F.Store(g.Element(g.Slices[lineTile], g.F.Do("mul.lo.s32", i, asm.Int(4))).Address, zeros...)
	})
}

// keepLine stores four keys, of group m, of each row of a lane.
func (g *attendGrad) keepLine(m int, key asm.Value) {
	if g.m.line == nil {
		return
	}
	f := g.F
	for h := range laneRows {
		row := f.Do("mad.lo.s32", g.half, asm.Int(blockOfRows), g.row[h])
		column := f.Do("add.s32", f.Do("add.s32", g.key, asm.Int(m*emit.FragmentRows)), g.shift)
		place := f.Do("mad.lo.s32", row, asm.Int(g.stride()), column)
		four := g.four(g.m.line.array, h, m)
		for i, x := range four {
			four[i] = g.Choose(f.Do("setp.lt.s32", f.Do("add.s32", key, asm.Int(i)), g.size), x, asm.F32(0))
		}
		at := g.Element(g.Slices[lineTile], place)
		f.Guarded(f.Do("setp.lt.s32", g.row[h], g.height), func() { f.Store(at.Address, four...) })
	}
}

// addLine adds the rows of a block, or of two, for the keys in shared memory, from first on.
func (g *attendGrad) addLine(block, first asm.Value) {
	l := g.m.line
	if l == nil {
		return
	}
	f, rows := g.F, g.together*blockOfRows
	f.Barrier()
	var origin asm.Value
	g.inBlock(block, func() { origin = f.Do("add.s32", g.Value(l.first), g.ofBlock(first)) })
	g.addDistances(origin, g.Slices[lineTile], rows, g.many, g.stride())
}

// addDistances adds rows with so many keys to sums by distance; row 0 begins at the origin. Rows are
// stride elements apart. A thread adds up the rows of a distance, in order.
func (g *gradCell) addDistances(origin asm.Value, tile emit.Address, rows, keys, stride int) {
	f, l := g.F, g.m.line
	size := g.Value(l.size)
	g.Count(g.Group.ID, asm.Int(rows+keys-1), asm.Int(g.Group.Threads), func(i asm.Value) {
		apart := f.Do("add.s32", i, asm.Int(1-rows)) // from a row to its column
		place := f.Do("add.s32", origin, apart)
		f.If(g.isPlace(place, size), func() {
			at := g.Element(g.Slices[l.sum], place)
			sum := f.Variable(g.Load(at, 1)[0])
			// Lanes take the same row at a time: their places are then adjacent.
			first := f.Do("sub.s32", apart, g.Lane)
			begin := f.Do("max.s32", f.Do("sub.s32", asm.Int(1-emit.WarpThreads), first), asm.Int(0))
			end := f.Do("min.s32", f.Do("sub.s32", asm.Int(keys), first), asm.Int(rows))
			g.Count(begin, end, asm.Int(1), func(r asm.Value) {
				column := f.Do("add.s32", r, apart)
				from := g.Element(tile, f.Do("mad.lo.s32", r, asm.Int(stride), column))
				x := f.Variable(asm.F32(0))
				f.Guarded(f.Do("setp.lt.u32", column, asm.Int(keys)), func() { f.LoadInto(from.Address, x) })
				f.Into(sum, "add.rn.f32", sum, x)
			})
			f.Store(at.Address, sum)
		})
	})
}
