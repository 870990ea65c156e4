package flat

import (
	"slices"

	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/kernel"
	"github.com/arithlang/mlc/compiler/kernel/depend"
)

// markIndependent marks the loops whose iterations may run in any order or concurrently. No
// iteration touches an element that another writes, except in tiles and variables that each
// fills before it reads them. Those become its own.
func markIndependent(k *kernel.Kernel) *kernel.Kernel {
	m := &marker{k.TileShapes(), k.Vars(), countUses(k.Body)}
	return withBody(k, m.body(k.Body))
}

type marker struct {
	shapes map[string][]*expr.Expr // of tiles
	vars   map[string]bool
	all    *usage // of the kernel
}

func (m *marker) body(body []kernel.Stmt) []kernel.Stmt {
	out := slices.Clone(body)
	for i, s := range out {
		out[i] = within(s, m.body)
		if l, ok := out[i].(*kernel.For); ok {
			l.Own, l.Independent = m.independent(l)
		}
	}
	return out
}

func (m *marker) independent(loop *kernel.For) (own map[string]bool, ok bool) {
	if kernel.Has(loop.Body, kernel.Is[*kernel.Dot]) {
		return nil, false // all threads of a block share a product
	}
	iterations := depend.Loop{Var: loop.Var, Size: sub(loop.Hi, loop.Lo), Changes: depend.Changes(loop.Body...)}
	if expr.IsInt(iterations.Size, 1) {
		return nil, false // one iteration would not occupy all threads
	}
	inside := countUses(loop.Body)
	own = map[string]bool{}
	for name, accesses := range byName(depend.Within(loop.Body)) {
		shape := m.shapes[name]
		switch {
		case inside.writes[name] == 0, iterations.Independent(accesses):
		case (shape != nil || m.vars[name]) && inside.same(m.all, name) && filledFirst(loop.Body, name, shape):
			own[name] = true
		default:
			return nil, false
		}
	}
	return own, true
}

func byName(as []depend.Access) map[string][]depend.Access {
	out := map[string][]depend.Access{}
	for _, a := range as {
		out[a.Name] = append(out[a.Name], a)
	}
	return out
}

// filledFirst reports whether the first statement that touches a tile or variable sets all
// of it.
func filledFirst(body []kernel.Stmt, name string, shape []*expr.Expr) bool {
	for _, s := range body {
		if !kernel.Uses(s, name) && kernel.Bound(s) != name {
			continue
		}
		switch s := s.(type) {
		case *kernel.Tile:
			continue
		case *kernel.Var:
			if s.Value == nil {
				continue
			}
			return true
		case *kernel.Random:
			return expr.Equal(s.Size, shape[0])
		case *kernel.Set:
			return s.Dst.Name == name && !reads(s, name) && (s.Dst.Op == expr.Var || covers(s, shape))
		}
		return false
	}
	return false
}

// reads reports whether a statement, without its body, reads a variable or an array.
func reads(s kernel.Stmt, name string) bool {
	return slices.ContainsFunc(kernel.Reads(s), func(e *expr.Expr) bool { return expr.Mentions(e, name) })
}
