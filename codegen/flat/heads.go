package flat

import (
	"maps"
	"slices"

	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/kernel"
)

// mostHeads bounds the heads of a joined cell: each has tiles of its own.
const mostHeads = 16

// togetherHeads joins cells, one per head, into cells of all heads, if they have no products.
// These are the cells of attention over narrow windows.
// A loop over rows computes all heads of a row, which are adjacent in memory, before the next
// row, so it computes the window's addresses once for all of them. Cells are independent, so
// heads may interleave anywhere if each has its own tiles for values that cross turns.
func togetherHeads(k *kernel.Kernel) *kernel.Kernel {
	last := len(k.Grid) - 1
	if last < 1 || len(k.Once) > 0 || !k.Grid[last].Size.IsConst() || k.Grid[last].Size.I > mostHeads {
		return k
	}
	h := &heads{axis: k.Grid[last], uses: map[string]int{}, several: map[string]bool{}, values: map[string]*expr.Expr{}}
	if !h.cut(k.Body) {
		return k
	}
	out := withBody(k, h.together(k.Body))
	out.Grid = k.Grid[:last]
	return out
}

// heads holds the state of joining cells.
type heads struct {
	axis    kernel.Axis
	turns   []turn
	uses    map[string]int        // the turn that uses an array
	several map[string]bool       // tiles that more than one turn uses
	values  map[string]*expr.Expr // lets that depend on the head
}

// A turn is a loop over rows, or statements, that heads run one after another.
type turn struct {
	rows *kernel.For
	body []kernel.Stmt
}

// cut finds the turns of a cell. It reports whether there is a loop over rows and every
// statement can be in a turn.
func (h *heads) cut(body []kernel.Stmt) bool {
	loops := 0
	for _, s := range body {
		switch s := s.(type) {
		case *kernel.Tile:
			if slices.ContainsFunc(s.Shape, h.depends) {
				return false
			}
			h.several[s.Name] = false
			continue
		case *kernel.Let:
			if !h.pure(s) {
				return false
			}
		}
		rows := overRows(s)
		if rows != nil && (h.depends(rows.Lo) || h.depends(rows.Hi)) || !h.simple(s) {
			return false
		}
		switch n := len(h.turns); {
		case rows != nil:
			loops++
			h.turns = append(h.turns, turn{rows, rows.Body})
		case n > 0 && h.turns[n-1].rows == nil:
			h.turns[n-1].body = append(h.turns[n-1].body, s)
		default:
			h.turns = append(h.turns, turn{body: []kernel.Stmt{s}})
		}
		h.use(s, len(h.turns)-1)
	}
	filled := func(s kernel.Stmt) bool {
		r, ok := s.(*kernel.Random)
		return ok && h.several[r.Dst]
	}
	return loops > 0 && !kernel.Has(body, filled)
}

// overRows returns a statement as a loop over rows, or nil.
func overRows(s kernel.Stmt) *kernel.For {
	switch s := s.(type) {
	case *kernel.For:
		return s
	case *kernel.Set:
		if len(s.Axes) > 1 {
			row := &kernel.Set{Axes: s.Axes[1:], Dst: s.Dst, Value: s.Value}
			return &kernel.For{Var: s.Axes[0].Var, Lo: expr.Int(0), Hi: s.Axes[0].Size, Body: []kernel.Stmt{row}}
		}
	}
	return nil
}

func (h *heads) depends(e *expr.Expr) bool { return expr.Depends(e, h.axis.Var) }

// pure reports whether a let reads no array.
func (h *heads) pure(s *kernel.Let) bool { return len(expr.Elems(s.Value)) == 0 }

// simple reports whether a statement can be in a turn. It cannot bind a name that later
// turns read, nor contain a product.
func (h *heads) simple(s kernel.Stmt) bool {
	return !kernel.Is[*kernel.Var](s) && !kernel.Is[*kernel.Reduce](s) && !kernel.Has([]kernel.Stmt{s}, kernel.Is[*kernel.Dot])
}

// use records the arrays that a turn uses.
func (h *heads) use(s kernel.Stmt, turn int) {
	note := func(name string) {
		before, used := h.uses[name]
		h.uses[name] = turn
		if _, tile := h.several[name]; tile && used && before != turn {
			h.several[name] = true
		}
	}
	for s := range kernel.All([]kernel.Stmt{s}) {
		if name := kernel.Written(s); name != "" {
			note(name)
		}
		for _, e := range kernel.Reads(s) {
			for _, x := range expr.Elems(e) {
				note(x.Name)
			}
		}
	}
}

// together returns the tiles of the body and the turns of all heads.
func (h *heads) together(body []kernel.Stmt) []kernel.Stmt {
	var out []kernel.Stmt
	for _, s := range body {
		if t, ok := s.(*kernel.Tile); ok {
			out = append(out, h.tile(t))
		}
	}
	for _, t := range h.turns {
		if t.rows == nil {
			out = append(out, h.all(t.body)...)
			continue
		}
		values := maps.Clone(h.values)
		out = append(out, &kernel.For{Var: t.rows.Var, Lo: h.own(t.rows.Lo), Hi: h.own(t.rows.Hi), Body: h.all(t.body)})
		h.values = values
	}
	return out
}

// tile adds an axis of heads to a tile that several turns use.
func (h *heads) tile(t *kernel.Tile) *kernel.Tile {
	if !h.several[t.Name] {
		return t
	}
	return &kernel.Tile{Name: t.Name, Type: t.Type, Shape: append([]*expr.Expr{h.axis.Size}, t.Shape...)}
}

// all returns a loop of the statements over all heads, after the lets that do not depend on
// the head.
func (h *heads) all(body []kernel.Stmt) []kernel.Stmt {
	var once, each []kernel.Stmt
	found := map[string]bool{} // names that depend on a head's arrays
	for _, s := range body {
		s = kernel.Rewrite(s, h.own)
		l, ok := s.(*kernel.Let)
		switch {
		case !ok || !h.pure(l) || expr.DependsOnAny(l.Value, found):
			each = append(each, s)
			found[kernel.Bound(s)] = true
		case h.depends(l.Value):
			h.values[l.Name] = l.Value
		default:
			once = append(once, s)
		}
	}
	if len(each) == 0 {
		return once
	}
	return append(once, &kernel.For{Var: h.axis.Var, Lo: expr.Int(0), Hi: h.axis.Size, Body: each})
}

// own rewrites an expression for the current head.
func (h *heads) own(e *expr.Expr) *expr.Expr {
	head := expr.NewVar(h.axis.Var, expr.I32)
	return expr.Rewrite(expr.Subst(e, h.values), func(e *expr.Expr) *expr.Expr {
		if e.Op == expr.Elem && h.several[e.Name] {
			return expr.NewElem(e.Name, e.Type, append([]*expr.Expr{head}, e.Args...)...)
		}
		return e
	})
}
