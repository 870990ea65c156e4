package flat

import (
	"slices"

	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/kernel"
	"github.com/arithlang/mlc/compiler/kernel/depend"
)

// A view is a tile or let that is read in place: its element at axes is the buffer element at.
type view struct {
	name string
	axes []kernel.Axis
	at   *expr.Expr
}

// elem returns the view's element at indices.
func (v *view) elem(idx []*expr.Expr) *expr.Expr {
	at := map[string]*expr.Expr{}
	for i, a := range v.axes {
		at[a.Var] = idx[i]
	}
	return expr.Simplify(expr.Subst(v.at, at))
}

// in replaces reads of a view.
func (v *view) in(e *expr.Expr) *expr.Expr {
	if !expr.Mentions(e, v.name) {
		return e
	}
	return expr.Simplify(expr.Rewrite(e, func(x *expr.Expr) *expr.Expr {
		if (x.Op == expr.Elem || x.Op == expr.Var) && x.Name == v.name {
			return v.elem(x.Args)
		}
		return x
	}))
}

// inPlace reads a tile in place if one statement copies it from a buffer, all its readers
// follow in that statement's scope, and the buffer does not change before the last of them.
func inPlace(k *kernel.Kernel) *kernel.Kernel {
	p := &placer{modes: map[string]kernel.Mode{}, shapes: k.TileShapes(), vars: k.Vars(), all: countUses(k.Body)}
	for _, b := range k.Params {
		p.modes[b.Name] = b.Mode
	}
	return withBody(k, p.body(k.Body))
}

type placer struct {
	modes  map[string]kernel.Mode
	shapes map[string][]*expr.Expr // of tiles
	vars   map[string]bool         // variables, which may change
	all    *usage                  // of the kernel
}

func (p *placer) body(body []kernel.Stmt) []kernel.Stmt {
	var out []kernel.Stmt
	for len(body) > 0 {
		s, rest := body[0], body[1:]
		if v := p.view(s, rest); v != nil {
			body = kernel.RewriteAll(rest, v.in)
			for s := range kernel.All(body) {
				if l, ok := s.(*kernel.For); ok {
					delete(l.Own, v.name)
				}
			}
			continue
		}
		out, body = append(out, within(s, p.body)), rest
	}
	return out
}

// view returns the view that a statement copies if the statements after it can read it in
// place, nil otherwise.
func (p *placer) view(s kernel.Stmt, rest []kernel.Stmt) *view {
	v := &view{}
	switch s := s.(type) {
	case *kernel.Let:
		v.name, v.at = s.Name, s.Value
	case *kernel.Set:
		if p.shapes[s.Dst.Name] == nil || !inOrder(s) || p.all.writes[s.Dst.Name] != 1 || countUses(rest).reads[s.Dst.Name] != p.all.reads[s.Dst.Name] {
			return nil
		}
		v.name, v.axes, v.at = s.Dst.Name, s.Axes, s.Value
	default:
		return nil
	}
	if _, buffer := p.modes[v.at.Name]; v.at.Op != expr.Elem || !buffer || !p.readable(v) || p.changes(v, rest) {
		return nil
	}
	return v
}

// readable reports whether the index of a view reads only constant values, and has strides
// if a product reads the view.
func (p *placer) readable(v *view) bool {
	for _, e := range expr.Elems(v.at.Args...) {
		if mode, buffer := p.modes[e.Name]; !buffer || mode != kernel.In {
			return false
		}
	}
	if expr.DependsOnAny(v.at, p.vars) {
		return false
	}
	for _, e := range v.at.Args {
		if !p.all.dotted[v.name] {
			break
		}
		for _, a := range v.axes {
			stride, rest, ok := expr.Affine(e, a.Var)
			if !ok || !isStride(stride) {
				return false
			}
			e = rest
		}
	}
	return true
}

// changes reports whether the buffer of a view may change before its last reader in rest. A
// statement that changes the buffer may read each element that it sets.
func (p *placer) changes(v *view, rest []kernel.Stmt) bool {
	buf := v.at.Name
	if p.all.writes[buf] == 0 {
		return false
	}
	for i, s := range rest {
		set, ok := s.(*kernel.Set)
		if !ok || set.Dst.Name != buf {
			if countUses(rest[i : i+1]).writes[buf] > 0 {
				return true
			}
			continue
		}
		for _, e := range kernel.Reads(s) {
			for _, x := range named(e, v.name) {
				if !expr.Equal(v.elem(x.Args), set.Dst) {
					return true
				}
			}
		}
		return countUses(rest[i+1:]).reads[v.name] > 0
	}
	return true
}

// named returns the reads of a variable or array in an expression.
func named(e *expr.Expr, name string) []*expr.Expr {
	var out []*expr.Expr
	expr.Walk(e, func(x *expr.Expr) {
		if (x.Op == expr.Elem || x.Op == expr.Var) && x.Name == name {
			out = append(out, x)
		}
	})
	return out
}

// inOrder reports whether a statement indexes its destination by its axes, in order. If it
// is the only statement that sets the tile, it sets every element that may be read.
func inOrder(s *kernel.Set) bool {
	return slices.EqualFunc(s.Dst.Args, s.Axes, func(at *expr.Expr, x kernel.Axis) bool { return at.Op == expr.Var && at.Name == x.Var })
}

// covers reports whether a statement sets all elements of a tile, its axes in order.
func covers(s *kernel.Set, shape []*expr.Expr) bool {
	return len(shape) > 0 && inOrder(s) && slices.EqualFunc(kernel.Sizes(s.Axes), shape, expr.Equal)
}

// usage counts writes and reads of arrays and variables; dotted holds operands of products.
type usage struct {
	writes, reads map[string]int
	dotted        map[string]bool
}

func countUses(body []kernel.Stmt) *usage {
	u := &usage{map[string]int{}, map[string]int{}, map[string]bool{}}
	for s := range kernel.All(body) {
		u.writes[kernel.Written(s)]++
		for _, a := range depend.Of(s) {
			if !a.Write {
				u.reads[a.Name]++
			}
		}
		if d, ok := s.(*kernel.Dot); ok {
			u.dotted[d.A.Name], u.dotted[d.B.Name] = true, true
		}
	}
	return u
}

// same reports whether two parts of a kernel read and write a name equally often.
func (u *usage) same(other *usage, name string) bool {
	return u.reads[name] == other.reads[name] && u.writes[name] == other.writes[name]
}
