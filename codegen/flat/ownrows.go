package flat

import (
	"maps"
	"slices"

	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/kernel"
)

// OwnRows reports whether the result of a row depends only on the row's global index, which
// is first plus the row's number in the cell. It may not depend on the number in the cell
// alone or on height, except in tile indices.
func OwnRows(k *kernel.Kernel, body []kernel.Stmt, first, height *kernel.Let) bool {
	o := ownRows{map[string]bool{}, first.Name, height.Name, map[string]*expr.Expr{}}
	for _, p := range k.Params {
		o.buffers[p.Name] = true
	}
	return o.all(body, "")
}

type ownRows struct {
	buffers       map[string]bool
	first, height string
	lets          map[string]*expr.Expr // values with other lets substituted
}

// all checks statements. row is the row variable, empty outside of rows.
func (o *ownRows) all(body []kernel.Stmt, row string) bool {
	lets := maps.Clone(o.lets)
	defer func() { o.lets = lets }()
	return !slices.ContainsFunc(body, func(s kernel.Stmt) bool { return !o.statement(s, row) })
}

func (o *ownRows) statement(s kernel.Stmt, row string) bool {
	for _, a := range kernel.Axes(s) {
		if o.isHeight(a.Size) {
			row = a.Var
		}
	}
	switch s := s.(type) {
	case *kernel.Tile:
		return true
	case *kernel.Let: // its readers are checked
		if s.Name != o.first && s.Name != o.height {
			o.lets[s.Name] = o.plain(s.Value)
		}
		return true
	case *kernel.For:
		if o.isHeight(s.Hi) {
			row = s.Var
		}
		return o.all(s.Body, row)
	case *kernel.Set:
		return o.value(s.Dst, row) && o.value(s.Value, row)
	case *kernel.Dot:
		return o.value(s.Dst, row) && o.value(s.A, row) && o.value(s.B, row)
	case *kernel.Reduce:
		return o.value(s.Value, row)
	case *kernel.Random:
		return o.value(s.Base, row) && o.value(s.Example, row)
	}
	return false
}

func (o *ownRows) isHeight(e *expr.Expr) bool { return e.Op == expr.Var && e.Name == o.height }

// plain substitutes lets and drops tile indices.
func (o *ownRows) plain(e *expr.Expr) *expr.Expr {
	e = expr.Rewrite(e, func(e *expr.Expr) *expr.Expr {
		if e.Op == expr.Elem && !o.buffers[e.Name] {
			return expr.NewVar(e.Name, e.Type)
		}
		return e
	})
	return expr.Subst(e, o.lets)
}

// value checks an expression.
func (o *ownRows) value(e *expr.Expr, row string) bool {
	return o.sums(o.plain(e), row, map[string]bool{o.first: true, o.height: true, row: true})
}

// sums reports whether an expression depends on vars only through sums of the first row
// and the row's number.
func (o *ownRows) sums(e *expr.Expr, row string, vars map[string]bool) bool {
	if !expr.DependsOnAny(e, vars) {
		return true
	}
	if first, own, rest := o.affine(e, row); first != nil {
		return expr.Equal(first, own) && !slices.ContainsFunc([]*expr.Expr{first, rest}, func(e *expr.Expr) bool { return expr.DependsOnAny(e, vars) })
	}
	return len(e.Args) > 0 && !slices.ContainsFunc(e.Args, func(e *expr.Expr) bool { return !o.sums(e, row, vars) })
}

// affine splits an index into first * first row + own * row + rest. It returns nil if the
// index has another form.
func (o *ownRows) affine(e *expr.Expr, row string) (first, own, rest *expr.Expr) {
	if e.Type != expr.I32 {
		return nil, nil, nil
	}
	first, rest, ok := expr.Affine(e, o.first)
	if !ok {
		return nil, nil, nil
	}
	own, rest, ok = expr.Affine(rest, row)
	if !ok {
		return nil, nil, nil
	}
	return first, own, rest
}
