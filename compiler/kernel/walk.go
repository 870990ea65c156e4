package kernel

import (
	"fmt"
	"iter"
	"maps"
	"slices"

	"github.com/arithlang/mlc/compiler/expr"
)

// Within returns the body of a statement that has one.
func Within(s Stmt) []Stmt {
	switch s := s.(type) {
	case *For:
		return s.Body
	case *If:
		return s.Body
	}
	return nil
}

// All yields statements, each followed by its body, in the order of the text.
func All(body []Stmt) iter.Seq[Stmt] {
	return func(yield func(Stmt) bool) { all(body, yield) }
}

func all(body []Stmt, yield func(Stmt) bool) bool {
	for _, s := range body {
		if !yield(s) || !all(Within(s), yield) {
			return false
		}
	}
	return true
}

// Is reports whether a statement is of a type.
func Is[T Stmt](s Stmt) bool {
	_, is := s.(T)
	return is
}

// Has reports whether a body has such a statement, at any depth.
func Has(body []Stmt, such func(Stmt) bool) bool {
	for s := range All(body) {
		if such(s) {
			return true
		}
	}
	return false
}

// Axes returns the index variables that a statement runs over.
func Axes(s Stmt) []Axis {
	switch s := s.(type) {
	case *Set:
		return s.Axes
	case *Dot:
		return s.Axes
	case *Reduce:
		return []Axis{s.Axis}
	}
	return nil
}

// Sizes returns the extents of axes.
func Sizes(axes []Axis) []*expr.Expr {
	out := make([]*expr.Expr, len(axes))
	for i, a := range axes {
		out[i] = a.Size
	}
	return out
}

// Bound returns the name that a statement gives to later statements of its body, or "".
func Bound(s Stmt) string {
	switch s := s.(type) {
	case *Let:
		return s.Name
	case *Tile:
		return s.Name
	case *Var:
		return s.Name
	case *Reduce:
		return s.Name
	}
	return ""
}

// Names yields the names that a statement and its body bind, axes and loop variables included.
func Names(s Stmt) iter.Seq[string] {
	return func(yield func(string) bool) {
		for s := range All([]Stmt{s}) {
			names := []string{Bound(s)}
			if l, ok := s.(*For); ok {
				names = append(names, l.Var)
			}
			for _, a := range Axes(s) {
				names = append(names, a.Var)
			}
			for _, n := range names {
				if n != "" && !yield(n) {
					return
				}
			}
		}
	}
}

// Taken is names in use.
type Taken map[string]bool

// Fresh takes and returns a new name, with a number from 2 on at the end if needed.
func (t Taken) Fresh(like string) string {
	name := like
	for n := 2; t[name]; n++ {
		name = fmt.Sprintf("%s%d", like, n)
	}
	t[name] = true
	return name
}

// Names returns the names of a kernel: parameters, and what its grid and statements bind.
func (k *Kernel) Names() Taken {
	names := Taken{}
	for _, p := range k.Params {
		names[p.Name] = true
	}
	for _, a := range k.Grid {
		names[a.Var] = true
	}
	for s := range All(k.Body) {
		for name := range Names(s) {
			names[name] = true
		}
	}
	return names
}

// Written returns the variable or array that a statement sets without its body, or "".
func Written(s Stmt) string {
	switch s := s.(type) {
	case *Set:
		return s.Dst.Name
	case *Random:
		return s.Dst
	case *Dot:
		return s.Dst.Name
	}
	return ""
}

// Reads returns the expressions that a statement evaluates without its body. The destination
// counts only by its index, unless a product is added to it.
func Reads(s Stmt) []*expr.Expr {
	var out []*expr.Expr
	switch s := s.(type) {
	case *Let:
		out = []*expr.Expr{s.Value}
	case *Tile:
		out = s.Shape
	case *Var:
		out = []*expr.Expr{s.Value}
	case *Set:
		out = append(append(Sizes(s.Axes), s.Dst.Args...), s.Value)
	case *Random:
		out = []*expr.Expr{s.Size, s.Base, s.Example}
	case *Dot:
		out = append(Sizes(s.Axes), s.A, s.B)
		if s.Zero {
			out = append(out, s.Dst.Args...)
		} else {
			out = append(out, s.Dst)
		}
	case *Reduce:
		out = []*expr.Expr{s.Axis.Size, s.Value}
	case *For:
		out = []*expr.Expr{s.Lo, s.Hi}
	case *If:
		out = []*expr.Expr{s.Cond}
	}
	return slices.DeleteFunc(slices.Clone(out), func(e *expr.Expr) bool { return e == nil })
}

// Uses reports whether a statement, or one in its body, reads or writes an array or
// variable.
func Uses(s Stmt, name string) bool {
	for s := range All([]Stmt{s}) {
		if Written(s) == name {
			return true
		}
		for _, e := range Reads(s) {
			if expr.Mentions(e, name) {
				return true
			}
		}
	}
	return false
}

// Rewrite returns a statement with f applied to all its expressions and its body. f does not see
// a destination that is a variable.
func Rewrite(s Stmt, f func(*expr.Expr) *expr.Expr) Stmt {
	maybe := func(e *expr.Expr) *expr.Expr {
		if e == nil {
			return nil
		}
		return f(e)
	}
	place := func(e *expr.Expr) *expr.Expr {
		if e.Op == expr.Elem {
			return f(e)
		}
		return e
	}
	axes := func(as []Axis) []Axis {
		out := slices.Clone(as)
		for i := range out {
			out[i].Size = f(out[i].Size)
		}
		return out
	}
	switch s := s.(type) {
	case *Let:
		return &Let{s.Name, f(s.Value)}
	case *Tile:
		t := &Tile{s.Name, s.Type, slices.Clone(s.Shape)}
		for i, e := range t.Shape {
			t.Shape[i] = f(e)
		}
		return t
	case *Var:
		return &Var{s.Name, s.Type, maybe(s.Value)}
	case *Set:
		return &Set{axes(s.Axes), place(s.Dst), f(s.Value)}
	case *Random:
		return &Random{s.Dst, f(s.Size), f(s.Base), f(s.Example), s.Stream}
	case *Dot:
		d := *s
		d.Axes, d.Dst, d.A, d.B = axes(s.Axes), place(s.Dst), f(s.A), f(s.B)
		return &d
	case *Reduce:
		return &Reduce{s.Name, s.Op, Axis{s.Axis.Var, f(s.Axis.Size)}, f(s.Value)}
	case *For:
		return &For{s.Var, f(s.Lo), f(s.Hi), RewriteAll(s.Body, f), s.Independent, maps.Clone(s.Own)}
	case *If:
		return &If{f(s.Cond), RewriteAll(s.Body, f)}
	}
	panic(fmt.Sprintf("BUG: unknown statement %T", s))
}

// RewriteAll rewrites statements.
func RewriteAll(body []Stmt, f func(*expr.Expr) *expr.Expr) []Stmt {
	out := make([]Stmt, len(body))
	for i, s := range body {
		out[i] = Rewrite(s, f)
	}
	return out
}

// WithBody returns a statement with another body.
func WithBody(s Stmt, body []Stmt) Stmt {
	switch s := s.(type) {
	case *For:
		l := *s
		l.Body = body
		return &l
	case *If:
		return &If{s.Cond, body}
	}
	return s
}

// CeilDiv returns a size in units of n, rounded up.
func CeilDiv(size *expr.Expr, n int64) *expr.Expr {
	return expr.Simplify(expr.New(expr.Div, expr.New(expr.Add, size, expr.Int(n-1)), expr.Int(n)))
}

// Elements returns the number of elements of a shape.
func Elements(shape []*expr.Expr) *expr.Expr {
	n := expr.Int(1)
	for _, s := range shape {
		n = expr.Simplify(expr.New(expr.Mul, n, s))
	}
	return n
}
