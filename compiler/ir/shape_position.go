package ir

import (
	"errors"
	"fmt"
	"slices"

	"github.com/arithlang/mlc/compiler/expr"
)

func shapeRuns(v *Value) (Type, error) {
	tokens, e := v.Args[0].Type, v.Attr.Expr
	t := Ints(v.Attr.Shape...)
	if tokens.Elem != expr.I32 || tokens.Rank() != 2 || t.Rank() != 2 || t.Shape[0] != tokens.Shape[0] {
		return Type{}, fmt.Errorf("needs I32 tokens of each example, has %s for %s", tokens, t)
	}
	if e == nil || e.Type != expr.Bool {
		return Type{}, errors.New("has no condition")
	}
	token := scope{
		vars:  func(name string) (expr.Type, bool) { return expr.I32, name == "x0" },
		elems: func(string) (Type, bool) { return Type{}, false },
	}
	if err := checkExpr(e, token); err != nil {
		return Type{}, err
	}
	return t, checkType(t)
}

// checkDraw checks what is drawn.
func checkDraw(v *Value) error {
	if v.Attr.Rows < 1 || v.Attr.Group < 1 {
		return fmt.Errorf("draws from %d numbers for %d examples", v.Attr.Rows, v.Attr.Group)
	}
	return nil
}

func shapeDraw(v *Value) (Type, error) {
	t := Ints(v.Attr.Shape...)
	if t.Rank() < 2 || t.Shape[0] != Sym("B") {
		return Type{}, fmt.Errorf("shape %s does not begin with the examples B of two axes or more", shapeString(t.Shape))
	}
	return t, errors.Join(checkDraw(v), checkType(t))
}

func shapeSubset(v *Value) (Type, error) {
	t := Ints(v.Attr.Shape...)
	if t.Rank() != 1 && (t.Rank() != 2 || t.Shape[1] != N(1)) {
		return Type{}, fmt.Errorf("shape %s is not that of a sequence", shapeString(t.Shape))
	}
	if v.Attr.Size < 1 || v.Attr.Size > v.Attr.Rows {
		return Type{}, fmt.Errorf("chooses %d of %d numbers", v.Attr.Size, v.Attr.Rows)
	}
	return t, errors.Join(checkDraw(v), checkType(t))
}

func shapeNoise(v *Value) (Type, error) {
	t := T(v.Attr.Shape...)
	if t.Rank() != 3 || t.Shape[0] != Sym("B") && t.Shape[0] != N(1) {
		return Type{}, fmt.Errorf("shape %s is not that of rows of examples", shapeString(t.Shape))
	}
	return t, checkType(t)
}

func shapeRotate(v *Value) (Type, error) {
	x, cos, sin := v.Args[0].Type, v.Args[1].Type, v.Args[2].Type
	if err := floats(v, 0, 1, 2); err != nil {
		return Type{}, err
	}
	if x.Rank() != 3 || cos.Rank() != 2 || !cos.Equal(sin) || cos.Shape[0] != x.Shape[1] {
		return Type{}, fmt.Errorf("x, cos, sin are %s, %s, %s", x, cos, sin)
	}
	heads, width, r := site(v).Heads, x.Shape[2], cos.Shape[1]
	if width.Sym != "" || heads < 1 || width.N%heads != 0 {
		return Type{}, fmt.Errorf("%d heads do not divide the width %s", heads, width)
	}
	if r.Sym != "" || 2*r.N > width.N/heads {
		return Type{}, fmt.Errorf("%s pairs do not fit into heads of %d", r, width.N/heads)
	}
	return x, nil
}

func shapeRMSNorm(v *Value) (Type, error) {
	d, err := rows(v, 0)
	if err == nil && !v.Args[1].Type.Equal(T(d)) {
		err = fmt.Errorf("gain is %s, not %s", v.Args[1].Type, T(d))
	}
	return v.Args[0].Type, err
}

func shapeRMSNormGrad(v *Value) (Type, error) {
	if !slices.Contains([]string{"x", "gamma"}, v.Attr.Result) {
		return Type{}, fmt.Errorf("has no gradient %q", v.Attr.Result)
	}
	return shapeLayerNormGrad(v)
}
