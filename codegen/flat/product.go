package flat

import (
	"slices"

	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/kernel"
	"github.com/arithlang/mlc/compiler/kernel/depend"
)

// whole reports whether a product computes all elements of a tile, in order.
func whole(d *kernel.Dot, shape []*expr.Expr) bool {
	return d.Dst.Op == expr.Elem && covers(&kernel.Set{Axes: d.Axes[:len(d.Axes)-1], Dst: d.Dst}, shape)
}

// fuseFills fuses the statement that clears a product's tile into the product.
func fuseFills(k *kernel.Kernel) *kernel.Kernel {
	return withBody(k, fused(k.Body, k.TileShapes()))
}

func fused(body []kernel.Stmt, shapes map[string][]*expr.Expr) []kernel.Stmt {
	body = slices.Clone(body)
	var out []kernel.Stmt
	for i, s := range body {
		s = within(s, func(body []kernel.Stmt) []kernel.Stmt { return fused(body, shapes) })
		if set, ok := s.(*kernel.Set); ok {
			if at := cleared(set, body[i+1:], shapes[set.Dst.Name]); at >= 0 {
				d := *body[i+1+at].(*kernel.Dot)
				d.Zero = true
				body[i+1+at] = &d
				continue
			}
		}
		out = append(out, s)
	}
	return out
}

// cleared returns the index in rest of the product whose tile a statement clears, -1 if the
// next use of the tile is not such a product.
func cleared(s *kernel.Set, rest []kernel.Stmt, shape []*expr.Expr) int {
	if s.Value.Op != expr.Const || !expr.Equal(s.Value, expr.F(0)) || !covers(s, shape) {
		return -1
	}
	i := slices.IndexFunc(rest, func(n kernel.Stmt) bool { return kernel.Uses(n, s.Dst.Name) })
	if i < 0 {
		return -1
	}
	if d, ok := rest[i].(*kernel.Dot); !ok || d.A.Name == s.Dst.Name || d.B.Name == s.Dst.Name || !whole(d, shape) {
		return -1
	}
	return i
}

// writeThrough computes a product directly in a buffer instead of in a tile that is copied
// there. The tile starts with 0 or with those elements of the buffer.
func writeThrough(k *kernel.Kernel) *kernel.Kernel {
	w := &writer{k, k.TileShapes()}
	return withBody(k, w.body(k.Body))
}

type writer struct {
	k      *kernel.Kernel
	shapes map[string][]*expr.Expr
}

func (w *writer) body(body []kernel.Stmt) []kernel.Stmt {
	body = slices.Clone(body)
	for i, s := range body {
		body[i] = within(s, w.body)
	}
	for i := 0; i < len(body); i++ {
		if d, ok := body[i].(*kernel.Dot); ok && len(d.Axes) > 2 && whole(d, w.shapes[d.Dst.Name]) {
			if out := w.direct(body, i, d); out != nil {
				body, i = out, -1
			}
		}
	}
	return body
}

// users counts the statements, except loops and branches, that use a name.
func (w *writer) users(name string) int {
	n := 0
	for s := range kernel.All(w.k.Body) {
		if kernel.Within(s) == nil && kernel.Uses(s, name) {
			n++
		}
	}
	return n
}

// direct returns the statements without the copies around product i, nil if it cannot
// remove them.
func (w *writer) direct(body []kernel.Stmt, i int, d *kernel.Dot) []kernel.Stmt {
	tile := d.Dst.Name
	uses := func(s kernel.Stmt) bool { return kernel.Uses(s, tile) }
	after := slices.IndexFunc(body[i+1:], uses)
	if after < 0 {
		return nil
	}
	after += i + 1
	to := partner(body[after], d, false)
	if to == nil || to.Name == tile || to.Name == d.A.Name || to.Name == d.B.Name {
		return nil
	}
	before, others := i, 1
	if !d.Zero {
		before = slices.IndexFunc(body[:i], uses)
		if before < 0 {
			return nil
		}
		if from := partner(body[before], d, true); from == nil || !expr.Equal(from, to) {
			return nil
		}
		others = 2
	}
	if w.users(tile) != others+1 {
		return nil
	}
	through := *d
	through.Dst = to
	out := slices.Clone(body[:before])
	if before < i {
		if !moves(body[before], body[before+1:i]) {
			return nil
		}
		out = append(out, body[before+1:i]...)
	}
	if !moves(body[after], body[i+1:after]) {
		return nil
	}
	return append(append(append(out, &through), body[i+1:after]...), body[after+1:]...)
}

// moves reports whether a statement may change places with others.
func moves(s kernel.Stmt, others []kernel.Stmt) bool {
	return !depend.Conflict(depend.Within([]kernel.Stmt{s}), depend.Within(others))
}

// partner returns the element, over the product's axes, to which a statement copies a product's
// output, or from which it loads all of it. It returns nil for other statements, or if columns are
// not consecutive there.
func partner(s kernel.Stmt, d *kernel.Dot, loads bool) *expr.Expr {
	a := AsSet(s)
	switch {
	case a == nil || a.Value.Op != expr.Elem || a.Dst.Op != expr.Elem:
		return nil
	case loads:
		return corresponding(a, a.Dst, a.Value, d)
	}
	return corresponding(a, a.Value, a.Dst, d)
}

// corresponding returns other over the axes of a product whose output element is tile. It
// returns nil if the axes do not match, or if columns of other are not consecutive.
func corresponding(a *kernel.Set, tile, other *expr.Expr, d *kernel.Dot) *expr.Expr {
	n := len(d.Axes) - 1
	if tile.Name != d.Dst.Name || len(a.Axes) != n {
		return nil
	}
	vars := map[string]*expr.Expr{}
	for i, x := range a.Axes {
		if !expr.Equal(x.Size, d.Axes[i].Size) || tile.Args[i].Op != expr.Var || tile.Args[i].Name != x.Var {
			return nil
		}
		vars[x.Var] = expr.NewVar(d.Axes[i].Var, expr.I32)
	}
	other = expr.Simplify(expr.Subst(other, vars))
	for i, e := range other.Args {
		row, rest, ok1 := expr.Affine(e, d.Axes[0].Var)
		col, rest, ok2 := expr.Affine(rest, d.Axes[1].Var)
		step := int64(0)
		if i == len(other.Args)-1 {
			step = 1
		}
		if !ok1 || !ok2 || !isStride(row) || !expr.IsInt(col, step) || len(expr.Elems(row, rest)) > 0 {
			return nil
		}
	}
	return other
}

// AsSet returns a Set, or a loop over rows of a Set, as one Set over all axes; nil for other
// statements.
func AsSet(s kernel.Stmt) *kernel.Set {
	switch s := s.(type) {
	case *kernel.Set:
		return s
	case *kernel.For:
		last := len(s.Body) - 1
		if expr.IsInt(s.Lo, 0) && last >= 0 && slices.IndexFunc(s.Body, isNoLet) == last && kernel.Is[*kernel.Set](s.Body[last]) {
			return overRowsOf(s, last)
		}
	}
	return nil
}

func isNoLet(s kernel.Stmt) bool { return !kernel.Is[*kernel.Let](s) }

// overRowsOf returns the assignment at a place of a loop's body as one over all axes, with the values
// of the lets before it.
func overRowsOf(l *kernel.For, place int) *kernel.Set {
	lets := map[string]*expr.Expr{}
	for _, s := range l.Body[:place] {
		if let, ok := s.(*kernel.Let); ok {
			lets[let.Name] = expr.Subst(let.Value, lets)
		}
	}
	of := func(e *expr.Expr) *expr.Expr { return expr.Simplify(expr.Subst(e, lets)) }
	set := l.Body[place].(*kernel.Set)
	return &kernel.Set{Axes: append([]kernel.Axis{{Var: l.Var, Size: l.Hi}}, set.Axes...), Dst: of(set.Dst), Value: of(set.Value)}
}

// A Product is a flat Dot as sizes and strided matrices. M and N are nil if C is a variable.
type Product struct {
	*kernel.Dot
	M, N, K *expr.Expr
	A, B, C Operand
}

// An Operand is a strided matrix in a slice: element (i, j) is at Off + i*RS + j*CS.
type Operand struct {
	Slice       string
	Off, RS, CS *expr.Expr
}

// ProductOf derives the strides from the indices of a flat Dot. M is 1 if it has no rows.
func ProductOf(d *kernel.Dot) Product {
	n := len(d.Axes)
	p := Product{Dot: d, K: d.Axes[n-1].Size}
	k, row, col := d.Axes[n-1].Var, "", ""
	if n > 1 {
		p.M, p.N, col = expr.Int(1), d.Axes[n-2].Size, d.Axes[n-2].Var
	}
	if n > 2 {
		p.M, row = d.Axes[n-3].Size, d.Axes[n-3].Var
	}
	operand := func(e *expr.Expr, i, j string) Operand {
		o, ok := OperandOf(e, i, j)
		if !ok {
			panic("BUG: a product's operand has no strides")
		}
		return o
	}
	p.A, p.B, p.C = operand(d.A, row, k), operand(d.B, k, col), operand(d.Dst, row, col)
	return p
}

// OperandOf returns the matrix of the elements that e is for rows i and columns j, and whether it
// has strides.
func OperandOf(e *expr.Expr, i, j string) (o Operand, ok bool) {
	if e.Op == expr.Var {
		return Operand{e.Name, expr.Int(0), expr.Int(0), expr.Int(0)}, true
	}
	rs, rest, ok := expr.Affine(e.Args[0], i)
	if !ok {
		return o, false
	}
	cs, off, ok := expr.Affine(rest, j)
	return Operand{e.Name, off, rs, cs}, ok
}
