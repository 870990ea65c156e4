package attention

import (
	"fmt"
	"slices"

	"github.com/arithlang/mlc/codegen/flat"
	"github.com/arithlang/mlc/codegen/ptx/emit"
	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/kernel"
)

// An attentionGrad is a kernel whose cell goes through blocks of a head's queries. For each block
// it computes arrays by query and key: products of queries with keys and of the gradient with
// values. Then it runs the statements that follow by row. The arrays, rounded, give gradients by
// query; summed over the blocks, they give gradients by key.
type attentionGrad struct {
	attention               // the first array's; rounds, values and out are not used
	block     *kernel.For   // of queries
	inner     []*kernel.Let // of a block
	examples  *kernel.For   // the loop around the blocks; nil without sums over examples
	before    []*kernel.Set // the loop over examples: initial values of its sums
	after     []*kernel.Set
	sides     []side
	line      *lineSum              // nil: it has no sums by distance
	arrays    []*kernel.Dot         // products by query and key
	queries   []flat.Operand        // their factors with a row per query
	keys      []flat.Operand        // their factors with a row per key
	typ       expr.Type             // of the products' factors: BF16 or F32
	rounded   map[string]*expr.Expr // the element that each tile rounds; an element of the tile itself in F32
	byQuery   []gradient
	byKey     []gradient
	low       *expr.Expr // the first key of a block; nil: it is key 0 for all blocks
}

// A gradient is a product with a rounded array, and the assignments that write it. A gradient
// by key adds to a sum over blocks.
type gradient struct {
	*kernel.Dot
	out    []*kernel.Set
	factor int // the number of its right factor: among those by key of a gradient by query, or else by query
}

// PlanGrad plans a gradient of attention for tensor cores.
func PlanGrad(k *kernel.Kernel, l emit.Launches) (p emit.Plan, why string) {
	g, why := attentionGradOf(k, l, expr.BF16)
	if why != "" {
		return p, why
	}
	blocks, keys := g.room()
	pieces := fmt.Sprintf("a cell, %d warps of %d rows of queries, then %d of keys, %d at once", 2*blocks, emit.FragmentRows, gradWarps, keys)
	return emit.Plan{Threads: gradWarps * emit.WarpThreads, Whole: true, Pieces: pieces, Cells: func(p *emit.Builder) emit.Cells { return gradCells(p, g) }}, ""
}

func attentionGradOf(k *kernel.Kernel, l emit.Launches, factors expr.Type) (g *attentionGrad, why string) {
	g = &attentionGrad{attention: attention{buffers: emit.Arrays(k)}, typ: factors, rounded: map[string]*expr.Expr{}}
	body, why := g.overExamples(k.Body)
	if why != "" {
		return nil, why
	}
	cleared := map[string]*kernel.Set{}
	for _, s := range body {
		switch s := s.(type) {
		case *kernel.Let:
			g.lets = append(g.lets, s)
		case *kernel.For:
			if g.block != nil || !expr.IsInt(s.Lo, 0) {
				return nil, "it does not go through blocks of queries once"
			}
			g.block = s
			if why := g.ofBlock(s.Body); why != "" {
				return nil, why
			}
		case *kernel.Set:
			if g.block == nil {
				if !expr.Equal(s.Value, expr.F(0)) {
					return nil, "it begins with more than sums of 0"
				}
				cleared[s.Dst.Name] = s
			} else if why := g.written(s); why != "" {
				return nil, why
			}
		default:
			return nil, "it has other statements than a gradient of attention"
		}
	}
	if g.block == nil || len(g.arrays) == 0 || len(g.byKey) == 0 {
		return nil, "it has no blocks of queries"
	}
	for _, d := range g.byKey {
		if cleared[d.Dst.Name] == nil {
			return nil, "its sums do not begin with 0"
		}
	}
	if l := g.line; l != nil {
		if l.clear = cleared[l.sum]; l.clear == nil || l.write == nil {
			return nil, "its sums by distance do not begin with 0, or end in the cell"
		}
	}
	g.meanings = meanings(slices.Concat(g.lets, g.inner)) // with the lets after the blocks
	return g, g.unfit(l.Aligned)
}

// ofBlock sorts the statements of a block.
func (g *attentionGrad) ofBlock(body []kernel.Stmt) string {
	for _, s := range body {
		switch s := s.(type) {
		case *kernel.Let:
			g.inner = append(g.inner, s)
		case *kernel.Dot:
			if why := g.product(s); why != "" {
				return why
			}
		case *kernel.For:
			if !s.Independent {
				if why := g.lineOf(s); why != "" {
					return why
				}
				continue
			}
			if g.scores == nil || !expr.IsInt(s.Lo, 0) || !expr.Equal(s.Hi, g.scores.Axes[0].Size) {
				return "its rows need each other"
			}
			if why := g.rowsOf(s); why != "" {
				return why
			}
		case *kernel.Set:
			if why := g.set(s); why != "" {
				return why
			}
		default:
			return "its blocks have other statements"
		}
	}
	switch {
	case g.scores == nil:
		return "it has no scores"
	case g.line != nil && g.line.at != len(g.follow):
		return "its rows go on after their sums by distance"
	case g.low != nil && g.typ == expr.BF16 && slices.ContainsFunc(g.follow, func(s kernel.Stmt) bool { r, ok := s.(*kernel.Reduce); return ok && !g.ofHead(r) }):
		return "it reduces rows over the keys of a window"
	}
	g.meanings = meanings(slices.Concat(g.lets, g.inner))
	g.bands = slices.DeleteFunc(g.bandsOf(), func(b band) bool { return !g.alongDistance(b.first) })
	known := g.names()
	if why := g.checkRows(known); why != "" {
		return why
	}
	return g.checkSides(known)
}

// overExamples finds the loop over examples and returns its body, or all of body without one.
func (g *attentionGrad) overExamples(body []kernel.Stmt) (within []kernel.Stmt, why string) {
	i := slices.IndexFunc(body, func(s kernel.Stmt) bool {
		l, ok := s.(*kernel.For)
		return ok && slices.ContainsFunc(l.Body, func(s kernel.Stmt) bool {
			inner, ok := s.(*kernel.For)
			return ok && !inner.Independent && kernel.Has(inner.Body, emit.IsProduct)
		})
	})
	if i < 0 {
		return body, ""
	}
	g.examples = body[i].(*kernel.For)
	for n, s := range body {
		set, ok := s.(*kernel.Set)
		switch {
		case n == i:
		case !ok:
			return nil, "it does more than sums around its examples"
		case n < i:
			g.before = append(g.before, set)
		default:
			g.after = append(g.after, set)
		}
	}
	return g.examples.Body, ""
}

// names returns the arrays by query and key that products compute.
func (g *attentionGrad) names() map[string]bool {
	all := map[string]bool{}
	for _, d := range g.arrays {
		all[d.Dst.Name] = true
	}
	return all
}

// neededByElements returns the row values that elements by query and key are computed with.
func (g *attentionGrad) neededByElements() map[string]bool {
	needed := map[string]bool{}
	for _, s := range slices.Backward(g.follow) {
		if _, reduced := s.(*kernel.Reduce); reduced {
			continue
		}
		if let, ok := s.(*kernel.Let); ok && !needed[let.Name] {
			continue
		}
		for _, v := range expr.Vars(kernel.Reads(s)...) {
			needed[v.Name] = true
		}
	}
	return needed
}

// product adds a product to arrays or gradients by the sizes of its axes.
func (g *attentionGrad) product(d *kernel.Dot) string {
	if len(d.Axes) != 3 || d.B.Type != g.typ || d.A.Type != g.typ || d.Split {
		return "its products are not of " + g.typ.String()
	}
	if g.scores == nil {
		g.scores = d
	}
	size := func(a, b int) bool {
		have, want := d.Axes[a].Size, g.scores.Axes[b].Size
		return expr.Equal(have, want) || expr.Equal(expr.New(expr.Max, have, expr.Int(0)), g.meaning(want))
	}
	source := g.rounded[d.A.Name]
	if g.typ == expr.F32 && !g.buffers[d.A.Name] {
		source = expr.NewElem(d.A.Name, expr.F32, g.place())
		g.rounded[d.A.Name] = source
	}
	switch {
	case !d.Zero && !(source != nil && size(0, 1)):
		return "its products do not begin with 0"
	case size(0, 0) && size(1, 1) && size(2, 2):
		p := flat.ProductOf(d)
		g.arrays, g.queries, g.keys = append(g.arrays, d), append(g.queries, p.A), append(g.keys, emit.Transposed(p.B))
	case source != nil && size(0, 0) && size(2, 1) && size(1, 2) && g.own(d.A, d.Axes[0].Var, d.Axes[2].Var, source):
		g.byQuery = append(g.byQuery, gradient{Dot: d})
	case source != nil && size(0, 1) && size(2, 0) && size(1, 2) && g.own(d.A, d.Axes[2].Var, d.Axes[0].Var, source):
		if !g.fromLow(d) {
			return "it adds to sums of other keys"
		}
		g.byKey = append(g.byKey, gradient{Dot: d})
	default:
		return "it has other products"
	}
	return ""
}

// fromLow reports whether a product adds to rows of its sum from the block's first key on, which is the
// same for all products by key.
func (g *attentionGrad) fromLow(d *kernel.Dot) bool {
	width, rest, ok := expr.Affine(d.Dst.Args[0], d.Axes[0].Var)
	one, rest, ok2 := expr.Affine(rest, d.Axes[1].Var)
	if d.Zero || !ok || !ok2 || !expr.Equal(width, d.Axes[1].Size) || !expr.IsInt(one, 1) {
		return false
	}
	var low *expr.Expr
	switch rest = expr.Simplify(rest); {
	case rest.IsConst() && rest.I > 0 && rest.I%width.I == 0:
		low = expr.Int(rest.I / width.I)
	case rest.Op == expr.Mul && expr.Equal(rest.Args[1], width):
		low = rest.Args[0]
	case !expr.IsInt(rest, 0):
		return false
	}
	if len(g.byKey) > 0 && (low == nil) != (g.low == nil) || low != nil && g.low != nil && !expr.Equal(low, g.low) {
		return false
	}
	g.low = low
	return true
}

// fromRow0 returns a product that adds to rows of its sum from the first one on.
func fromRow0(d *kernel.Dot) *kernel.Dot {
	all, row, col := *d, expr.NewVar(d.Axes[0].Var, expr.I32), expr.NewVar(d.Axes[1].Var, expr.I32)
	all.Dst = expr.NewElem(d.Dst.Name, d.Dst.Type, expr.New(expr.Add, expr.New(expr.Mul, row, d.Axes[1].Size), col))
	return &all
}

// fromKey0 returns an index that depends on the block's first key as if that were key 0, with the
// values of lets. It says whether the index is linear in the first key, with factor by.
func (g *attentionGrad) fromKey0(index, by *expr.Expr) (at *expr.Expr, ok bool) {
	lets := slices.Concat(g.lets, g.inner)
	if g.low != nil && g.low.Op == expr.Var {
		lets = slices.DeleteFunc(lets, func(l *kernel.Let) bool { return l.Name == g.low.Name })
	}
	at = expr.Simplify(expr.Subst(index, meanings(lets)))
	switch {
	case g.low == nil:
		return at, true
	case g.low.Op != expr.Var:
		return expr.Simplify(expr.New(expr.Sub, at, expr.New(expr.Mul, g.low, by))), true
	}
	factor, at, ok := expr.Affine(at, g.low.Name)
	return at, ok && expr.Equal(factor, expr.Simplify(by))
}

// alongDistance reports whether an index by distance is of the distance of query and key, in all
// blocks.
func (g *attentionGrad) alongDistance(first *expr.Expr) bool {
	first, ok := g.fromKey0(first, expr.Int(1))
	rows, _, affine := expr.Affine(first, g.block.Var)
	return ok && affine && expr.IsInt(rows, -blockOfRows)
}

// goOn adds a statement that follows. An element of a buffer that is the same for a whole row
// gets a name, so that it is read once.
func (g *attentionGrad) goOn(s kernel.Stmt) {
	axes := kernel.Axes(s)
	ofRow := func(e *expr.Expr) bool {
		return e.Op == expr.Elem && g.buffers[e.Name] && e.Type == expr.F32 && expr.Depends(e, emit.RowVar) && len(axes) > 0 && !expr.Depends(e, axes[0].Var)
	}
	named := kernel.Rewrite(s, func(e *expr.Expr) *expr.Expr {
		return expr.Rewrite(e, func(e *expr.Expr) *expr.Expr {
			if !ofRow(e) {
				return e
			}
			let := &kernel.Let{Name: fmt.Sprintf("row.%d", len(g.follow)), Value: e}
			g.follow = append(g.follow, let)
			return expr.NewVar(let.Name, e.Type)
		})
	})
	g.follow = append(g.follow, named)
}

// meaning returns the value of a let of a block.
func (g *attentionGrad) meaning(e *expr.Expr) *expr.Expr {
	for _, l := range g.inner {
		if e.Op == expr.Var && l.Name == e.Name {
			return l.Value
		}
	}
	return e
}

// own reports whether an element, by row and column, has the index of place.
func (g *attentionGrad) own(e *expr.Expr, row, col string, place *expr.Expr) bool {
	return expr.Equal(emit.Place(e, row, col), expr.Simplify(place.Args[0]))
}

// set adds an assignment within a block.
func (g *attentionGrad) set(s *kernel.Set) string {
	if len(s.Axes) != 2 || g.scores == nil {
		return "it sets more than arrays and gradients"
	}
	rows, cols := s.Axes[0], s.Axes[1]
	size := func(a kernel.Axis, of int) bool { return expr.Equal(a.Size, g.scores.Axes[of].Size) }
	to := func(e *expr.Expr) *expr.Expr {
		return expr.NewElem(e.Name, e.Type, emit.Place(e, rows.Var, cols.Var))
	}
	switch {
	case size(rows, 0) && size(cols, 1) && s.Value.Op == expr.ToBF16 && s.Value.Args[0].Op == expr.Elem && !g.buffers[s.Dst.Name]:
		if !expr.Equal(to(s.Value.Args[0]).Args[0], to(s.Dst).Args[0]) {
			return "it rounds to another place"
		}
		g.rounded[s.Dst.Name] = to(s.Value.Args[0])
		return ""
	case size(rows, 0) && size(cols, 1):
		g.goOn(byRow(s))
		return ""
	case size(rows, 0) && size(cols, 2) && len(g.byQuery) > 0:
		d := &g.byQuery[len(g.byQuery)-1]
		if !g.buffers[s.Dst.Name] || !g.onlyOwn(s, d.Dot) {
			return "it goes on with gradients"
		}
		d.out = append(d.out, s)
		return ""
	}
	return "it sets other arrays"
}

// written adds an assignment, after the blocks, of a final sum.
func (g *attentionGrad) written(s *kernel.Set) string {
	if l := g.line; l != nil && l.write == nil && g.buffers[s.Dst.Name] && len(s.Axes) == 1 && slices.ContainsFunc(expr.Elems(s.Value), func(e *expr.Expr) bool { return e.Name == l.sum }) {
		l.write = s
		return ""
	}
	for i := range g.byKey {
		d := &g.byKey[i]
		if !slices.ContainsFunc(expr.Elems(s.Value), func(e *expr.Expr) bool { return e.Name == d.Dst.Name }) {
			continue
		}
		if len(s.Axes) != 2 || !g.buffers[s.Dst.Name] || !expr.Equal(s.Axes[1].Size, d.Axes[1].Size) || !g.onlyOwn(s, fromRow0(d.Dot)) {
			return "it goes on with its sums"
		}
		d.out = append(d.out, s)
		return ""
	}
	return "it ends with more than gradients"
}

// find sets the numbers of the right factors of gradients. It reports whether all are among these.
func find(ds []gradient, among []flat.Operand) bool {
	for i := range ds {
		o := flat.ProductOf(ds[i].Dot).B
		ds[i].factor = slices.IndexFunc(among, func(x flat.Operand) bool {
			return x.Slice == o.Slice && expr.Equal(x.Off, o.Off) && expr.Equal(x.RS, o.RS) && expr.Equal(x.CS, o.CS)
		})
		if ds[i].factor < 0 {
			return false
		}
	}
	return true
}

// unfit says why the products do not fit; "" if they do.
func (g *attentionGrad) unfit(aligned map[string]bool) string {
	switch w := g.scores.Axes[2].Size; {
	case g.typ == expr.BF16 && !wholeFragments(w):
		return "the width of a head is no multiple of 16 up to 128"
	case g.typ == expr.F32 && !(w.IsConst() && w.I%wideUnit == 0 && w.I >= narrowestHead && w.I <= widestGrad):
		return "the width of a head is no multiple of 4 from 16 to 64"
	}
	if len(g.arrays) != 2 {
		return "it has not two products by query and key"
	}
	for _, o := range slices.Concat(g.queries, g.keys) {
		if why := g.inWholeUnits(o, g.typ, aligned); why != "" {
			return why
		}
	}
	for _, d := range g.byQuery {
		if !g.names()[g.rounded[d.A.Name].Name] {
			return "a product by query is with what no product has made"
		}
	}
	if !find(g.byQuery, g.keys) {
		return "a product by query is not with keys or values"
	}
	if !find(g.byKey, g.queries) {
		return "a product by key is not with queries"
	}
	if g.scores.MostRows != blockOfRows {
		return fmt.Sprintf("a block has up to %d queries, not %d", g.scores.MostRows, blockOfRows)
	}
	if _, ok := g.mostBlocks(); !ok {
		return "the number of its queries has no bound over the launch's scalars"
	}
	for _, o := range g.keys {
		if at, ok := g.fromKey0(o.Off, o.RS); !ok || expr.Depends(at, g.block.Var) {
			return "blocks of queries have different keys"
		}
	}
	if g.line != nil && !g.alongDistance(g.line.first) {
		return "its sums are not by distance"
	}
	return ""
}

// mostBlocks returns the most blocks of queries in a cell, over the launch's scalars, if known.
func (g *attentionGrad) mostBlocks() (n *expr.Expr, ok bool) {
	lets := meanings(g.lets)
	ofData := func(e *expr.Expr) bool { return len(expr.Elems(e)) > 0 }
	n = expr.Rewrite(expr.Subst(g.block.Hi, lets), func(e *expr.Expr) *expr.Expr {
		switch {
		case e.Op == expr.Min && ofData(e.Args[0]):
			return e.Args[1]
		case e.Op == expr.Min && ofData(e.Args[1]):
			return e.Args[0]
		}
		return e
	})
	return n, !ofData(n)
}
