package ir

import (
	"errors"
	"fmt"
	"slices"

	"github.com/arithlang/mlc/compiler/expr"
)

// rules check what signatures cannot express, and return types that signatures do not
// give.
var rules = map[Op]func(v *Value, t *Type) error{
	Param:            ruleParam,
	Map:              ruleMap,
	Dropout:          ruleDropout,
	ScaleGrad:        ruleScaleGrad,
	MatMul:           ruleProduct,
	Outer:            ruleProduct,
	Sum:              ruleReduce,
	Max:              ruleReduce,
	SegmentSum:       ruleSegmentSum,
	Reshape:          ruleReshape,
	Transpose:        ruleTranspose,
	Rotate:           ruleRotate,
	Attention:        ruleSite,
	AttentionGrad:    ruleSite,
	AttentionWeights: ruleSite,
	BiasTable:        ruleTable,
	BiasTableGrad:    ruleTable,
	Runs:             ruleRuns,
	Draw:             ruleDraw,
	Subset:           ruleSubset,
	Noise:            ruleNoise,
}

func ruleParam(v *Value, t *Type) error {
	*t = v.Type
	if !isName(v.Attr.Name) {
		return fmt.Errorf("bad parameter name %q", v.Attr.Name)
	}
	return nil
}

func checkType(t Type) error {
	if !t.Real() && t.Elem != expr.I32 {
		return errors.New("elements must be F32, BF16 or I32")
	}
	for _, d := range t.Shape {
		bad := d.N < 1
		if d.Sym != "" {
			bad = d != Segments() && (d.N != 0 || !slices.Contains([]string{"B", "T", "S", "C", "N", distances}, d.Sym))
		}
		if bad {
			return fmt.Errorf("bad extent %q", d)
		}
	}
	return nil
}

// broadcast returns the shape of a and b aligned at their last axes. Extent 1 stretches.
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

// Reads reports how e reads argument k of a Map: as the element broadcast to the result,
// by index, both or neither. An argument that is only read by index may have any shape.
func Reads(e *expr.Expr, k int) (element, indexed bool) {
	name := X(k, expr.F32).Name
	named := func(x *expr.Expr) bool { return x.Name == name }
	return slices.ContainsFunc(expr.Vars(e), named), slices.ContainsFunc(expr.Elems(e), named)
}

func ruleMap(v *Value, t *Type) error {
	e := v.Attr.Expr
	if e == nil {
		return errors.New("has no expression")
	}
	shape := v.Attr.Shape
	for k, a := range v.Args {
		if element, indexed := Reads(e, k); indexed && !element {
			continue
		}
		wide, err := broadcast(shape, a.Type.Shape)
		if err != nil {
			return err
		}
		if v.Attr.Shape != nil && !slices.Equal(wide, shape) {
			return fmt.Errorf("argument of shape %s does not broadcast to %s", shapeString(a.Type.Shape), shapeString(shape))
		}
		shape = wide
	}
	*t = Type{e.Type, shape}
	return checkExpr(e, mapScope(v.Args, len(shape)))
}

func ruleProduct(v *Value, t *Type) error {
	if v.Attr.Split && v.Args[0].Type.Elem != expr.F32 {
		return errors.New("halves factors of other types than F32")
	}
	return nil
}

func ruleDropout(v *Value, t *Type) error {
	e := v.Attr.Expr
	if e == nil {
		return nil
	}
	if e.Type != expr.I32 {
		return errors.New("element number is not I32")
	}
	return checkExpr(e, mapScope(nil, t.Rank()))
}

func ruleScaleGrad(v *Value, t *Type) error {
	e := v.Attr.Expr
	if e == nil || e.Type != expr.F32 {
		return errors.New("has no factor of F32")
	}
	return checkExpr(e, mapScope(nil, 0))
}

func ruleSegmentSum(v *Value, t *Type) error {
	if x := v.Args[0].Type; x.Shape[0] != Sym("N") {
		return fmt.Errorf("sums segments of %s, which is no arena", x)
	}
	*t = T(Segments())
	return nil
}

func ruleReduce(v *Value, t *Type) error {
	x, axes := v.Args[0].Type, v.Attr.Axes
	if len(axes) == 0 {
		return errors.New("has no axes")
	}
	if x.Elem.Narrow() {
		return fmt.Errorf("reduces %s, which has to be widened first", x)
	}
	for i, a := range axes {
		if a < 0 || a >= x.Rank() || i > 0 && a <= axes[i-1] {
			return fmt.Errorf("axes %v of rank %d are not ascending and in range", axes, x.Rank())
		}
	}
	t.Elem = x.Elem
	for i, d := range x.Shape {
		if !slices.Contains(axes, i) {
			t.Shape = append(t.Shape, d)
		}
	}
	return nil
}

func ruleReshape(v *Value, t *Type) error {
	x := v.Args[0].Type
	*t = Type{x.Elem, v.Attr.Shape}
	if countOf(x.Shape) != countOf(t.Shape) {
		return fmt.Errorf("%s has another number of elements than %s", x, t)
	}
	return nil
}

func ruleTranspose(v *Value, t *Type) error {
	x, axes := v.Args[0].Type, v.Attr.Axes
	sorted := slices.Sorted(slices.Values(axes))
	for i, a := range sorted {
		if a != i {
			return fmt.Errorf("axes %v are not a permutation", axes)
		}
	}
	if len(axes) != x.Rank() {
		return fmt.Errorf("%d axes for rank %d", len(axes), x.Rank())
	}
	t.Elem = x.Elem
	for _, a := range axes {
		t.Shape = append(t.Shape, x.Shape[a])
	}
	return nil
}

func ruleRotate(v *Value, _ *Type) error {
	pairs, width := v.Args[1].Type.Shape[1], v.Args[0].Type.Shape[2].N/v.Attr.Attn.Heads
	if pairs.Sym != "" || 2*pairs.N > width {
		return fmt.Errorf("%s pairs do not fit into heads of %d", pairs, width)
	}
	return nil
}

func ruleRuns(v *Value, _ *Type) error {
	e := v.Attr.Expr
	if e == nil || e.Type != expr.Bool {
		return errors.New("has no condition")
	}
	return checkExpr(e, scope{
		vars:  func(name string) (expr.Type, bool) { return expr.I32, name == "x0" },
		elems: func(string) (Type, bool) { return Type{}, false },
	})
}

func ruleDraw(v *Value, _ *Type) error {
	if v.Attr.Rows < 1 || v.Attr.Group < 1 {
		return fmt.Errorf("draws from %d numbers for %d examples", v.Attr.Rows, v.Attr.Group)
	}
	return nil
}

func ruleSubset(v *Value, t *Type) error {
	if t.Rank() != 1 && (t.Rank() != 2 || t.Shape[1] != N(1)) {
		return fmt.Errorf("shape %s is not [T] or [T, 1]", shapeString(t.Shape))
	}
	if v.Attr.Size < 1 || v.Attr.Size > v.Attr.Rows {
		return fmt.Errorf("chooses %d of %d numbers", v.Attr.Size, v.Attr.Rows)
	}
	return ruleDraw(v, t)
}

func ruleNoise(_ *Value, t *Type) error {
	if t.Shape[0] != Sym("B") && t.Shape[0] != N(1) {
		return fmt.Errorf("shape %s does not begin with B or 1", shapeString(t.Shape))
	}
	return nil
}

func ruleTable(v *Value, t *Type) error {
	if site(v).Bias == nil {
		return errors.New("has no bias")
	}
	return ruleSite(v, t)
}

// reserved are the names of other arguments. Parameters cannot have them.
var reserved = []string{"q", "k", "v", "y", "largest", "norm", "relative"}

// ruleSite checks the parameters, and that mask and bias use no other names.
func ruleSite(v *Value, _ *Type) error {
	a, params := site(v), v.params()
	if (a.Table || a.Line) && (a.Bias != nil || len(a.Params) > 0) || a.Table && a.Line {
		return errors.New("a table or a line takes the place of bias and parameters")
	}
	if _, table, _ := v.SiteArgs(); table != nil && a.Table && v.Op != BiasTable && v.Op != BiasTableGrad {
		for i, of := range v.Args[:2] {
			if d, n := table.Type.Shape[1+i], of.Type.Shape[1]; d != n && d.Sym != "" {
				return fmt.Errorf("the table is %s, which is neither of constant extents nor [heads, %s, %s]",
					table.Type, v.Args[0].Type.Shape[1], v.Args[1].Type.Shape[1])
			}
		}
	}
	if n := len(a.Words); n != 0 && (n != 2 || a.Words[0] < 1 || a.Words[1] < 1) {
		return fmt.Errorf("words = %v: they are counted by two numbers, of rows and of keys", a.Words)
	}
	if len(params) != len(a.Params) {
		return fmt.Errorf("has %d parameters, %d arguments for them", len(a.Params), len(params))
	}
	for i, name := range a.Params {
		if !isName(name) || slices.Contains(a.Params[:i], name) || slices.Contains(reserved, name) {
			return fmt.Errorf("bad parameter name %q", name)
		}
		if t := params[i].Type; !constant(t) && !drawn(t) && !(ofExamples(t) && v.Op != BiasTable && v.Op != BiasTableGrad) {
			return fmt.Errorf("parameter %s is %s, not F32 of constant shape or positions", name, t)
		}
	}
	s := attnScope(a.Params, params)
	return errors.Join(checkCells("mask", a.Mask, expr.Bool, s), checkCells("bias", a.Bias, expr.F32, s))
}

// constant reports whether t is F32 with no symbolic extent.
func constant(t Type) bool {
	symbolic := func(d Dim) bool { return d.Sym != "" }
	return t.Elem == expr.F32 && !slices.ContainsFunc(t.Shape, symbolic)
}

// drawn reports whether t is the type of positions, which parameters may hold. They have
// no gradient.
func drawn(t Type) bool { return t.Elem == expr.I32 && t.Rank() == 1 }

// ofExamples reports whether t is the type of positions per example, I32 [B, rows]. The
// mask and bias of an attention index them by row only. They have no gradient.
func ofExamples(t Type) bool { return t.Elem == expr.I32 && t.Rank() == 2 && t.Shape[0] == Sym("B") }

// checkCells checks an expression over cells, if there is one.
func checkCells(what string, e *expr.Expr, want expr.Type, s scope) error {
	if e == nil {
		return nil
	}
	err := expr.Expect(e, want)
	if err == nil {
		err = checkExpr(e, s)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}
