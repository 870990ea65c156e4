package flat

import (
	"maps"
	"slices"

	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/kernel"
)

// OwnRows says whether what statements, some of a kernel's, compute of a row hangs on no more
// than which row of all it is: on the sum of a let, the first of some rows, and its number
// among them. It may not hang on another let, how many they are, but for where in a tile it
// lies.
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
	lets          map[string]*expr.Expr // of them, without the names of others
}

// all says so of statements about a row; none where row is empty.
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
	case *kernel.Let: // what reads it is looked at
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

// plain is an expression without names of lets, and without places in tiles.
func (o *ownRows) plain(e *expr.Expr) *expr.Expr {
	e = expr.Rewrite(e, func(e *expr.Expr) *expr.Expr {
		if e.Op == expr.Elem && !o.buffers[e.Name] {
			return expr.NewVar(e.Name, e.Type)
		}
		return e
	})
	return expr.Subst(e, o.lets)
}

// value says so of an expression.
func (o *ownRows) value(e *expr.Expr, row string) bool {
	return o.sums(o.plain(e), row, map[string]bool{o.first: true, o.height: true, row: true})
}

// sums says whether an expression hangs on some variables by sums of the first row and a
// row's number alone.
func (o *ownRows) sums(e *expr.Expr, row string, vars map[string]bool) bool {
	if !expr.DependsOnAny(e, vars) {
		return true
	}
	if first, own, rest := o.affine(e, row); first != nil {
		return expr.Equal(first, own) && !slices.ContainsFunc([]*expr.Expr{first, rest}, func(e *expr.Expr) bool { return expr.DependsOnAny(e, vars) })
	}
	return len(e.Args) > 0 && !slices.ContainsFunc(e.Args, func(e *expr.Expr) bool { return !o.sums(e, row, vars) })
}

// affine is what an index multiplies the first row and a row's number by, and what it adds;
// nil where there is no such form.
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
