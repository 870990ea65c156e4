package ir

import (
	"errors"
	"fmt"
	"slices"

	"github.com/arithlang/mlc/compiler/expr"
)

// The shape rules: each checks a value's arguments and attributes and gives its
// type. Callers add the name of the op to errors.

func shapeParam(v *Value) (Type, error) {
	if !isName(v.Attr.Name) {
		return Type{}, fmt.Errorf("bad parameter name %q", v.Attr.Name)
	}
	return v.Type, checkType(v.Type)
}

func checkType(t Type) error {
	if t.Elem != expr.F32 && t.Elem != expr.I32 {
		return errors.New("elements must be F32 or I32")
	}
	for _, d := range t.Shape {
		bad := d.N < 1
		if d.Sym != "" {
			bad = d.N != 0 || !slices.Contains([]string{"B", "T", "S", "C", "N"}, d.Sym)
		}
		if bad {
			return fmt.Errorf("bad extent %q", d)
		}
	}
	return nil
}

// floats checks that the arguments with the given indices are F32.
func floats(v *Value, args ...int) error {
	for _, k := range args {
		if v.Args[k].Type.Elem != expr.F32 {
			return fmt.Errorf("argument %d is %s, not F32", k, v.Args[k].Type)
		}
	}
	return nil
}

// broadcast is the shape of a and b aligned at their last axes, where extent 1
// stretches.
func broadcast(a, b []Dim) ([]Dim, error) {
	if len(a) < len(b) {
		a, b = b, a
	}
	out := slices.Clone(a)
	for k := range b {
		i := len(a) - len(b) + k
		switch {
		case a[i] == b[k] || b[k] == N(1):
		case a[i] == N(1):
			out[i] = b[k]
		default:
			return nil, fmt.Errorf("shapes %s and %s do not broadcast", shapeString(a), shapeString(b))
		}
	}
	return out, nil
}

// Reads tells how e reads argument k of a Map: as the element broadcast to the
// result, by index, both or neither. An argument that is only read by index has
// any shape.
func Reads(e *expr.Expr, k int) (element, indexed bool) {
	name := X(k, expr.F32).Name
	named := func(x *expr.Expr) bool { return x.Name == name }
	return slices.ContainsFunc(expr.Vars(e), named), slices.ContainsFunc(expr.Elems(e), named)
}

func shapeMap(v *Value) (Type, error) {
	e := v.Attr.Expr
	if e == nil {
		return Type{}, errors.New("has no expression")
	}
	shape := v.Attr.Shape
	for k, a := range v.Args {
		if element, indexed := Reads(e, k); indexed && !element {
			continue
		}
		wide, err := broadcast(shape, a.Type.Shape)
		if err != nil {
			return Type{}, err
		}
		if v.Attr.Shape != nil && !slices.Equal(wide, shape) {
			return Type{}, fmt.Errorf("argument of shape %s does not broadcast to %s", shapeString(a.Type.Shape), shapeString(shape))
		}
		shape = wide
	}
	t := Type{e.Type, shape}
	if err := checkExpr(e, mapScope(v.Args, len(shape))); err != nil {
		return Type{}, err
	}
	return t, checkType(t)
}

func shapeDropout(v *Value) (Type, error) {
	x := v.Args[0].Type
	if err := floats(v, 0); err != nil {
		return Type{}, err
	}
	if err := checkRate(v); err != nil {
		return Type{}, err
	}
	if x.Rank() == 0 {
		return Type{}, errors.New("needs an axis of examples")
	}
	if e := v.Attr.Expr; e != nil {
		if e.Type != expr.I32 {
			return Type{}, errors.New("element number is not I32")
		}
		if err := checkExpr(e, mapScope(nil, x.Rank())); err != nil {
			return Type{}, err
		}
	}
	return x, nil
}

func checkRate(v *Value) error {
	if r := v.Attr.Rate; !(r >= 0 && r < 1) {
		return fmt.Errorf("rate %v is not in [0, 1)", r)
	}
	return nil
}

// matrix splits the last two extents off, swapped when trans is set.
func matrix(t Type, trans bool) (lead []Dim, rows, cols Dim) {
	n := t.Rank()
	lead, rows, cols = t.Shape[:n-2], t.Shape[n-2], t.Shape[n-1]
	if trans {
		rows, cols = cols, rows
	}
	return lead, rows, cols
}

func shapeMatMul(v *Value) (Type, error) {
	a, b := v.Args[0].Type, v.Args[1].Type
	if err := floats(v, 0, 1); err != nil {
		return Type{}, err
	}
	if a.Rank() < 2 || b.Rank() < 2 {
		return Type{}, fmt.Errorf("needs matrices, has %s and %s", a, b)
	}
	lead, m, k := matrix(a, v.Attr.TransA)
	leadB, kb, n := matrix(b, v.Attr.TransB)
	if k != kb {
		return Type{}, fmt.Errorf("inner extents %s and %s differ", k, kb)
	}
	if len(leadB) > 0 && !slices.Equal(lead, leadB) {
		return Type{}, fmt.Errorf("batches %s and %s differ", shapeString(lead), shapeString(leadB))
	}
	return T(slices.Concat(lead, []Dim{m, n})...), nil
}

func shapeOuter(v *Value) (Type, error) {
	a, b := v.Args[0].Type, v.Args[1].Type
	if err := floats(v, 0, 1); err != nil {
		return Type{}, err
	}
	n := a.Rank() - 1
	if n < 1 || b.Rank() != n+1 || !slices.Equal(a.Shape[:n], b.Shape[:n]) {
		return Type{}, fmt.Errorf("leading extents of %s and %s differ", a, b)
	}
	return T(a.Shape[n], b.Shape[n]), nil
}

func shapeReduce(v *Value) (Type, error) {
	x, axes := v.Args[0].Type, v.Attr.Axes
	if len(axes) == 0 {
		return Type{}, errors.New("has no axes")
	}
	for i, a := range axes {
		if a < 0 || a >= x.Rank() || i > 0 && a <= axes[i-1] {
			return Type{}, fmt.Errorf("axes %v of rank %d are not ascending and in range", axes, x.Rank())
		}
	}
	t := Type{Elem: x.Elem}
	for i, d := range x.Shape {
		if !slices.Contains(axes, i) {
			t.Shape = append(t.Shape, d)
		}
	}
	return t, nil
}

func shapeReshape(v *Value) (Type, error) {
	x := v.Args[0].Type
	t := Type{x.Elem, v.Attr.Shape}
	if countOf(x.Shape) != countOf(t.Shape) {
		return Type{}, fmt.Errorf("%s has another number of elements than %s", x, t)
	}
	return t, checkType(t)
}

func shapeTranspose(v *Value) (Type, error) {
	x, axes := v.Args[0].Type, v.Attr.Axes
	sorted := slices.Sorted(slices.Values(axes))
	for i, a := range sorted {
		if a != i {
			return Type{}, fmt.Errorf("axes %v are not a permutation", axes)
		}
	}
	if len(axes) != x.Rank() {
		return Type{}, fmt.Errorf("%d axes for rank %d", len(axes), x.Rank())
	}
	t := Type{Elem: x.Elem}
	for _, a := range axes {
		t.Shape = append(t.Shape, x.Shape[a])
	}
	return t, nil
}

func shapeGather(v *Value) (Type, error) {
	table, ids := v.Args[0].Type, v.Args[1].Type
	if table.Rank() != 2 || ids.Elem != expr.I32 {
		return Type{}, fmt.Errorf("needs a matrix and I32 ids, has %s and %s", table, ids)
	}
	return Type{table.Elem, slices.Concat(ids.Shape, table.Shape[1:])}, nil
}

func shapeScatter(v *Value) (Type, error) {
	ids, dy := v.Args[0].Type, v.Args[1].Type
	n := dy.Rank() - 1
	if ids.Elem != expr.I32 || dy.Elem != expr.F32 || n < 0 || !slices.Equal(ids.Shape, dy.Shape[:n]) {
		return Type{}, fmt.Errorf("needs I32 ids and an F32 row for each, has %s and %s", ids, dy)
	}
	if v.Attr.Rows < 1 {
		return Type{}, errors.New("has no rows")
	}
	return T(N(v.Attr.Rows), dy.Shape[n]), nil
}

func shapeAppend(v *Value) (Type, error) {
	cache, row := v.Args[0].Type, v.Args[1].Type
	ok := cache.Elem == row.Elem && cache.Rank() == row.Rank() && row.Rank() >= 2 &&
		cache.Shape[0] == row.Shape[0] && slices.Equal(cache.Shape[2:], row.Shape[2:])
	if !ok {
		return Type{}, fmt.Errorf("%s does not hold rows of %s", cache, row)
	}
	return cache, nil
}
