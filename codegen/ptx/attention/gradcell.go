package attention

import (
	"maps"
	"slices"

	"github.com/arithlang/mlc/codegen/ptx/asm"
	"github.com/arithlang/mlc/codegen/ptx/emit"
	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/kernel"
)

// A gradCell computes the gradients of a head of an example. It goes through blocks of queries, as many
// at a time as shared memory holds.
type gradCell struct {
	*attend
	m        *attentionGrad
	together int             // blocks at a time
	blocks   asm.Value       // of queries
	most     asm.Value       // keys
	needed   map[string]bool // values of a row that elements need
	stats    []string        // needed values that are reduced or read from memory, kept by query
}

func newGradCell(a *attend, m *attentionGrad) *gradCell {
	g := &gradCell{attend: a, m: m, together: 1, needed: m.neededByElements()}
	g.moves = m.low != nil
	for _, s := range m.follow {
		if name := kernel.Bound(s); g.needed[name] && !plainLet(s) {
			g.stats = append(g.stats, name)
		}
	}
	return g
}

// cells returns the cells of the grid, which compute the gradients of an example that has queries.
func (g *gradCell) cells(gradients func()) emit.Cells {
	return g.Grid(func() {
		g.overExamples(func() {
			g.enterLets(g.m.lets)
			g.cell(gradients)
		})
	})
}

// overExamples calls do for each example, or once without a loop over examples.
func (g *gradCell) overExamples(do func()) {
	if g.m.examples == nil {
		do()
		return
	}
	all := func(sets []*kernel.Set) {
		g.F.Barrier()
		for _, s := range sets {
			g.Assign(s)
		}
		g.F.Barrier()
	}
	all(g.m.before)
	l := g.m.examples
	g.Count(g.Value(l.Lo), g.Value(l.Hi), asm.Int(1), func(i asm.Value) {
		g.Vars[l.Var] = i
		do()
	})
	all(g.m.after)
}

// cell computes all gradients of a head of an example: gradients does if it has queries.
func (g *gradCell) cell(gradients func()) {
	f := g.F
	g.blocks = g.Value(g.m.block.Hi)
	f.If(f.Do("setp.lt.s32", asm.Int(0), g.blocks), func() {
		g.enterBlock(asm.Int(0))
		first := g.end()
		g.enterBlock(f.Do("add.s32", g.blocks, asm.Int(-1)))
		g.most = f.Do("max.s32", first, g.end()) // the end of a window moves one way
		if all := g.m.byKey[0].out[0].Axes[0].Size; !expr.Equal(all, g.m.meaning(g.scores.Axes[1].Size)) {
			g.most = f.Do("max.s32", g.most, g.Value(all)) // no query sees the last keys
		}
		f.Barrier()
		if l := g.m.line; l != nil {
			g.Assign(l.clear)
		}
		gradients()
		if l := g.m.line; l != nil { // the gradients by key have waited for the sums
			g.Assign(l.write)
		}
	})
	if _, apart := g.Slices[kernel.KeyStart]; apart { // an example may have keys, but no queries
		f.If(f.Do("setp.le.s32", g.blocks, asm.Int(0)), g.nothing)
	}
}

// nothing writes the sums over the queries of an example that has none.
func (g *gradCell) nothing() {
	write := func(s *kernel.Set, sum string) {
		g.Assign(kernel.Rewrite(s, func(e *expr.Expr) *expr.Expr {
			return expr.Rewrite(e, func(e *expr.Expr) *expr.Expr {
				if e.Op == expr.Elem && e.Name == sum {
					return expr.F(0)
				}
				return e
			})
		}).(*kernel.Set))
	}
	for _, d := range g.m.byKey {
		for _, s := range d.out {
			write(s, d.Dst.Name)
		}
	}
	if l := g.m.line; l != nil {
		write(l.write, l.sum)
	}
}

// enterBlock sets the variables to a block of queries.
func (g *gradCell) enterBlock(number asm.Value) {
	g.Vars[g.m.block.Var] = number
	g.enterLets(g.m.inner)
	zero := asm.Int(0)
	g.height = g.F.Do("max.s32", g.Value(g.scores.Axes[0].Size), zero)
	g.size = g.F.Do("max.s32", g.Value(g.scores.Axes[1].Size), zero)
	g.open = g.size
}

// inBlock calls do with the variables of a block of queries, and sets them back.
func (g *gradCell) inBlock(number asm.Value, do func()) {
	vars, height, size, open := maps.Clone(g.Vars), g.height, g.size, g.open
	g.enterBlock(number)
	do()
	g.Vars, g.height, g.size, g.open = vars, height, size, open
}

// openOf returns how many keys 16 queries of a block, from row from on, may see.
func (g *gradCell) openOf(from asm.Value) asm.Value {
	return g.openTo(g.m.inner, g.m.block.Var, from)
}

// turns goes through the blocks of queries, as many as shared memory holds at a time.
func (g *gradCell) turns(do func(block asm.Value)) {
	g.Count(asm.Int(0), g.blocks, asm.Int(g.together), do)
}

// gradTiles returns the tiles of stats and of sides.
func (g *gradCell) gradTiles() []kernel.Stmt {
	most, _ := g.m.mostBlocks()
	size := expr.Simplify(expr.New(expr.Mul, most, expr.Int(int64(blockOfRows*len(g.stats)))))
	tiles := []kernel.Stmt{&kernel.Tile{Name: statsName, Type: expr.F32, Shape: []*expr.Expr{size}}}
	for _, t := range g.K.Once {
		if slices.ContainsFunc(g.m.sides, func(s side) bool { return s.Dst.Name == t.(*kernel.Tile).Name }) {
			tiles = append(tiles, t)
		}
	}
	return tiles
}

// enterQuery sets the variables to a query whose stats they have. It returns the query's random words for
// the four keys of a counter, among them the key at a place.
func (g *gradCell) enterQuery(place asm.Value) map[string][]asm.Value {
	words := map[string][]asm.Value{}
	for _, s := range g.follow {
		switch s := s.(type) {
		case *kernel.Let:
			if g.needed[s.Name] && plainLet(s) {
				g.Vars[s.Name] = g.Value(s.Value)
			}
		case *kernel.Random:
			words[s.Dst] = g.Four(s, place)
		}
	}
	return words
}

// lowOf returns the first key of the block that the variables are of.
func (g *gradCell) lowOf() asm.Value {
	if !g.moves {
		return asm.Int(0)
	}
	return g.Value(g.m.low)
}

// end returns the key after the last one of the block that the variables are of.
func (g *gradCell) end() asm.Value { return g.F.Do("add.s32", g.lowOf(), g.size) }

// ofBlock returns the place of a key in the block that the variables are of.
func (g *gradCell) ofBlock(key asm.Value) asm.Value { return g.F.Do("sub.s32", key, g.lowOf()) }

// plainLet reports whether a statement is a let that reads no array.
func plainLet(s kernel.Stmt) bool {
	l, ok := s.(*kernel.Let)
	return ok && len(expr.Elems(l.Value)) == 0
}

// follows computes statements [from, to) of follow, and the sides before them.
func (g *gradCell) follows(from, to, m int, key asm.Value) {
	for _, s := range g.m.sides {
		if from <= s.at && s.at <= to {
			g.elements(from, s.at, m, key)
			g.aside(s, m, key)
			from = s.at
		}
	}
	g.elements(from, to, m, key)
}

// aside computes a side for four keys of each row of a lane, together if their elements are at a
// multiple of four.
func (g *gradCell) aside(s side, m int, key asm.Value) {
	f, value := g.F, g.Own(s.Value)
	for h := range g.row {
		g.enter(h)
		arrays, shift := g.fourOfAll(h, m), g.Value(s.shift)
		apart := f.Do("setp.lt.s32", g.row[h], g.height)
		if coef, _, ok := expr.Affine(s.Dst.Args[0], s.Axes[0].Var); ok && expr.IsInt(coef, 1) && !s.every {
			g.Vars[s.Axes[0].Var] = key
			aligned := f.Do("setp.eq.s32", f.Do("and.b32", g.Value(s.Dst.Args[0]), asm.Int(3)), asm.Int(0))
			together := f.Do("and.pred", aligned, f.Do("setp.lt.s32", f.Do("add.s32", key, asm.Int(3)), g.size))
			f.If(f.Do("and.pred", together, apart), func() { g.asideOfFour(s, key, arrays) })
			apart = f.Do("and.pred", apart, f.Do("not.pred", together))
		}
		for i := range 4 {
			at := f.Do("add.s32", key, asm.Int(i))
			there := f.Do("and.pred", apart, f.Do("setp.lt.s32", at, g.size))
			place := f.Do("add.s32", at, shift)
			if s.every {
				there = f.Do("and.pred", there, g.isPlace(place, g.Value(s.Axes[0].Size)))
			}
			f.If(there, func() {
				g.Vars[s.Axes[0].Var] = place
				so := emit.Known{}
				for _, e := range expr.Elems(value) {
					if four, ok := arrays[e.Name]; ok {
						so[e] = four[i]
					}
				}
				g.Store(s.Dst, g.Eval(value, so))
			})
		}
	}
}

// asideOfFour stores a side's adjacent elements. It reads their old values together.
func (g *gradCell) asideOfFour(s side, key asm.Value, arrays map[string][]asm.Value) {
	value, name := g.Own(s.Value), s.Axes[0].Var
	loaded, old := map[*expr.Expr][]asm.Value{}, g.Own(s.Dst)
	g.Vars[name] = key
	for _, e := range expr.Elems(value) {
		if four, ok := arrays[e.Name]; ok {
			loaded[e] = four
		} else if e == old {
			loaded[e] = g.Load(g.At(e, emit.Known{}), 4)
		}
	}
	vs := g.Across(value, name, key, 4, loaded)
	g.Vars[name] = key
	g.Store(s.Dst, vs...)
}

// rest computes the elements of sides that correspond to no key, with 0 for elements of arrays.
// The lanes of a row take them round-robin.
func (g *gradCell) rest() {
	f := g.F
	for _, s := range g.m.sides {
		if !s.every {
			continue
		}
		value, arrays := g.Own(s.Value), g.m.names()
		for h := range g.row {
			g.enter(h)
			shift, size := g.Value(s.shift), g.Value(s.Axes[0].Size)
			limit := g.Choose(f.Do("setp.lt.s32", g.row[h], g.height), size, asm.Int(0))
			g.Count(f.Do("shr.u32", g.key, asm.Int(2)), limit, asm.Int(g.group/4), func(place asm.Value) {
				key := f.Do("sub.s32", place, shift)
				f.If(f.Do("not.pred", g.isPlace(key, g.size)), func() {
					g.Vars[s.Axes[0].Var] = place
					so := emit.Known{}
					for _, e := range expr.Elems(value) {
						if arrays[e.Name] {
							so[e] = asm.F32(0)
						}
					}
					g.Store(s.Dst, g.Eval(value, so))
				})
			})
		}
	}
}

// isPlace reports whether 0 <= place < size.
func (g *gradCell) isPlace(place, size asm.Value) asm.Value {
	f := g.F
	return f.Do("and.pred", f.Do("setp.le.s32", asm.Int(0), place), f.Do("setp.lt.s32", place, size))
}
