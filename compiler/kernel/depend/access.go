// Package depend finds the accesses of a kernel's statements, and whether two of them meet in the
// iterations of a loop. Package codegen/flat asks it which iterations may run in any order, and
// codegen/cpu/vector which statements may swap or share a loop. Package codegen/ptx asks which
// threads must wait for others.
package depend

import (
	"maps"
	"slices"

	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/kernel"
)

// An Access is a read or a write of an array, or of a scalar, which has no index.
type Access struct {
	Name  string
	Write bool
	Index []*expr.Expr
	Axes  []kernel.Axis // that the index runs over from 0; one without size may be any
}

// elementVar names the axis of random words; no variable of a kernel has this name.
const elementVar = "element"

// Of returns the accesses of a statement without its body and axes. A statement that names a
// scalar writes it.
func Of(s kernel.Stmt) []Access {
	axes := kernel.Axes(s)
	var out []Access
	write := func(name string, index ...*expr.Expr) { out = append(out, Access{name, true, index, axes}) }
	switch s := s.(type) {
	case *kernel.Let, *kernel.Reduce:
		write(kernel.Bound(s))
	case *kernel.Var:
		if s.Value != nil {
			write(s.Name)
		}
	case *kernel.Random:
		axes = []kernel.Axis{{Var: elementVar, Size: s.Size}}
		write(s.Dst, expr.NewVar(elementVar, expr.I32))
	case *kernel.Set:
		write(s.Dst.Name, s.Dst.Args...)
	case *kernel.Dot:
		write(s.Dst.Name, s.Dst.Args...)
	}
	isAxis := func(x *expr.Expr) bool {
		return slices.ContainsFunc(axes, func(a kernel.Axis) bool { return a.Var == x.Name })
	}
	for _, e := range kernel.Reads(s) {
		expr.Walk(e, func(x *expr.Expr) {
			if x.Op == expr.Elem || x.Op == expr.Var && !isAxis(x) {
				out = append(out, Access{x.Name, false, x.Args, axes})
			}
		})
	}
	return out
}

// Within returns the accesses of a body at any depth, over the loops around each. Names bound by
// Let are replaced by their values.
func Within(body []kernel.Stmt) []Access { return within(body, map[string]*expr.Expr{}, nil) }

func within(body []kernel.Stmt, outer map[string]*expr.Expr, loops []kernel.Axis) []Access {
	var out []Access
	names := maps.Clone(outer)
	for _, s := range body {
		for _, a := range Of(s) {
			a = a.Over(names)
			a.Axes = slices.Concat(loops, a.Axes)
			out = append(out, a)
		}
		inner := loops
		switch s := s.(type) {
		case *kernel.Let:
			names[s.Name] = over(s.Value, names)
		case *kernel.For:
			axis := kernel.Axis{Var: s.Var}
			if expr.IsInt(s.Lo, 0) {
				axis.Size = over(s.Hi, names)
			}
			inner = append(slices.Clip(loops), axis)
		}
		out = append(out, within(kernel.Within(s), names, inner)...)
	}
	return out
}

// Over returns the access with names replaced by their values.
func (a Access) Over(names map[string]*expr.Expr) Access {
	index := make([]*expr.Expr, len(a.Index))
	for i, e := range a.Index {
		index[i] = over(e, names)
	}
	a.Index = index
	return a
}

func over(e *expr.Expr, names map[string]*expr.Expr) *expr.Expr {
	return expr.Simplify(expr.Subst(e, names))
}

// Changes returns the names that statements and their bodies bind or write.
func Changes(body ...kernel.Stmt) map[string]bool {
	names := map[string]bool{}
	for s := range kernel.All(body) {
		names[kernel.Written(s)] = true
		for name := range kernel.Names(s) {
			names[name] = true
		}
	}
	delete(names, "")
	return names
}

// Conflict reports whether two accesses have the same name and one of them writes.
func (a Access) Conflict(b Access) bool { return a.conflicts(&b) }

func (a *Access) conflicts(b *Access) bool { return (a.Write || b.Write) && a.Name == b.Name }

// Conflict reports whether an access in as conflicts with one in bs, so that their order matters.
func Conflict(as, bs []Access) bool {
	for i := range as {
		for j := range bs {
			if a, b := &as[i], &bs[j]; a.conflicts(b) {
				return true
			}
		}
	}
	return false
}
