package flat

import (
	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/kernel"
)

// hoist makes tiles before all cells, where that is possible: large enough for
// every time that the kernel makes them. So cells take no scratch, and code that
// is one function for many of them gets all its tiles from outside.
func hoist(k *kernel.Kernel, r Kernel) Kernel {
	h := &hoister{map[string][]*expr.Expr{}, map[string]*expr.Expr{}, map[string]*expr.Expr{}, nil}
	for _, t := range k.Tiles {
		h.shapes[t.Name] = t.Shape
	}
	for _, a := range k.Grid {
		h.loop(a.Var, expr.Int(0), a.Size)
	}
	body := h.nodes(r.Body)
	return Kernel{r.Head, append(r.Pre, h.out...), body}
}

// A hoister knows bounds of the variables that a kernel binds, over scalars of
// the launch. A variable that is in neither map has none; a scalar is its own.
type hoister struct {
	shapes       map[string][]*expr.Expr
	upper, lower map[string]*expr.Expr // nil where there is none
	out          []Node                // the tiles that it has moved
}

func (h *hoister) nodes(ns []Node) []Node {
	var out []Node
	for _, n := range ns {
		switch n := n.(type) {
		case *Let:
			h.upper[n.Name], h.lower[n.Name] = h.max(n.Value), h.min(n.Value)
		case *Reduce:
			h.upper[n.Name], h.lower[n.Name] = nil, nil
		case *Loop:
			h.loop(n.Name, n.Lo, n.Hi)
			n.Body = h.nodes(n.Body)
		case *Branch:
			n.Body = h.nodes(n.Body)
		case *Dot:
			if n.M != nil {
				n.MostM, n.MostN = h.most(n.M), h.most(n.N)
			}
		case *Alloc:
			if n.Size == nil {
				h.upper[n.Name], h.lower[n.Name] = nil, nil
			} else if size := h.size(n.Name); size != nil {
				h.out = append(h.out, &Alloc{Name: n.Name, Type: n.Type, Size: size})
				continue
			}
		}
		out = append(out, n)
	}
	return out
}

// most is a constant that bounds a size, 0 if it finds none.
func (h *hoister) most(size *expr.Expr) int {
	if b := h.max(size); b != nil && b.IsConst() {
		return int(b.I)
	}
	return 0
}

func (h *hoister) loop(name string, lo, hi *expr.Expr) {
	h.lower[name] = h.min(lo)
	h.upper[name] = nil
	if last := h.max(hi); last != nil {
		h.upper[name] = add(last, expr.Int(-1))
	}
}

// max returns an upper bound of an I32 expression, nil if it finds none.
func (h *hoister) max(e *expr.Expr) *expr.Expr {
	if e.Type != expr.I32 {
		return nil
	}
	switch e.Op {
	case expr.Const:
		return e
	case expr.Var:
		return bound(h.upper, e)
	case expr.Min:
		a, b := h.max(e.Args[0]), h.max(e.Args[1])
		switch {
		case a == nil || b != nil && b.Op == expr.Const:
			return b
		case b == nil || a.Op == expr.Const:
			return a
		}
		return combine(e.Op, a, b)
	case expr.Max, expr.Add:
		return combine(e.Op, h.max(e.Args[0]), h.max(e.Args[1]))
	case expr.Sub:
		return combine(e.Op, h.max(e.Args[0]), h.min(e.Args[1]))
	case expr.Mul:
		if h.natural(e.Args[0]) && h.natural(e.Args[1]) {
			return combine(e.Op, h.max(e.Args[0]), h.max(e.Args[1]))
		}
	case expr.Div:
		if d := e.Args[1]; d.Op == expr.Const && d.I > 0 {
			return combine(e.Op, h.max(e.Args[0]), d)
		}
	}
	return nil
}

// min returns a lower bound of an I32 expression, nil if it finds none.
func (h *hoister) min(e *expr.Expr) *expr.Expr {
	if e.Type != expr.I32 {
		return nil
	}
	switch e.Op {
	case expr.Const:
		return e
	case expr.Var:
		return bound(h.lower, e)
	case expr.Min, expr.Add:
		return combine(e.Op, h.min(e.Args[0]), h.min(e.Args[1]))
	case expr.Max:
		a, b := h.min(e.Args[0]), h.min(e.Args[1])
		switch {
		case a == nil || b != nil && b.Op == expr.Const:
			return b
		case b == nil || a.Op == expr.Const:
			return a
		}
		return combine(e.Op, a, b)
	case expr.Sub:
		return combine(e.Op, h.min(e.Args[0]), h.max(e.Args[1]))
	case expr.Mul:
		if h.natural(e.Args[0]) && h.natural(e.Args[1]) {
			return combine(e.Op, h.min(e.Args[0]), h.min(e.Args[1]))
		}
	}
	return nil
}

// bound looks up a variable; one that the kernel does not bind is a scalar.
func bound(of map[string]*expr.Expr, v *expr.Expr) *expr.Expr {
	if b, ok := of[v.Name]; ok {
		return b
	}
	return v
}

func combine(op expr.Op, a, b *expr.Expr) *expr.Expr {
	if a == nil || b == nil {
		return nil
	}
	return expr.Simplify(expr.New(op, a, b))
}

// natural says whether an expression is sure not to be negative.
func (h *hoister) natural(e *expr.Expr) bool {
	low := h.min(e)
	return low != nil && isSize(low)
}

// size returns an upper bound of the number of elements of a tile, nil if it
// finds none. Where the tile is made, none of its extents is negative.
func (h *hoister) size(tile string) *expr.Expr {
	size := expr.Int(1)
	for _, extent := range h.shapes[tile] {
		most := h.max(extent)
		switch {
		case most == nil:
			return nil
		case !isSize(most):
			most = combine(expr.Max, most, expr.Int(0))
		}
		size = mul(size, most)
	}
	return size
}

// isSize is isStride with Min, which keeps the sign.
func isSize(e *expr.Expr) bool {
	switch e.Op {
	case expr.Min, expr.Add, expr.Mul:
		return isSize(e.Args[0]) && isSize(e.Args[1])
	}
	return isStride(e)
}
