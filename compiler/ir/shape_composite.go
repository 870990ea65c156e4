package ir

import (
	"errors"
	"fmt"
	"slices"

	"github.com/arithlang/mlc/compiler/expr"
)

func shapeSoftmax(v *Value) (Type, error) {
	x := v.Args[0].Type
	if x.Rank() == 0 {
		return Type{}, errors.New("needs an axis")
	}
	return x, floats(v, 0)
}

// rows checks an F32 argument [.., D] and gives D.
func rows(v *Value, arg int) (Dim, error) {
	x := v.Args[arg].Type
	if x.Rank() == 0 {
		return Dim{}, errors.New("needs an axis")
	}
	return x.Shape[x.Rank()-1], floats(v, arg)
}

func shapeLayerNorm(v *Value) (Type, error) {
	d, err := rows(v, 0)
	if err != nil {
		return Type{}, err
	}
	for _, a := range v.Args[1:] {
		if !a.Type.Equal(T(d)) {
			return Type{}, fmt.Errorf("gain or offset is %s, not %s", a.Type, T(d))
		}
	}
	return v.Args[0].Type, nil
}

func shapeLayerNormGrad(v *Value) (Type, error) {
	x, gamma, dy := v.Args[0].Type, v.Args[1].Type, v.Args[2].Type
	d, err := rows(v, 0)
	if err != nil {
		return Type{}, err
	}
	if !gamma.Equal(T(d)) || !dy.Equal(x) {
		return Type{}, fmt.Errorf("x, gamma, dy are %s, %s, %s", x, gamma, dy)
	}
	switch v.Attr.Result {
	case "x":
		return x, nil
	case "gamma", "beta":
		return gamma, nil
	}
	return Type{}, fmt.Errorf("has no gradient %q", v.Attr.Result)
}

// headParts gives the width of one head's part of the rows of an argument.
func headParts(v *Value, arg int) (int, error) {
	d, err := rows(v, arg)
	if err != nil {
		return 0, err
	}
	if h := site(v).Heads; d.Sym != "" || h < 1 || d.N%h != 0 {
		return 0, fmt.Errorf("%d heads do not divide the width %s", h, d)
	}
	return d.N / v.Attr.Attn.Heads, nil
}

func shapeHeadProduct(v *Value) (Type, error) {
	k, err := headParts(v, 0)
	if err != nil {
		return Type{}, err
	}
	x, w := v.Args[0].Type, v.Args[1].Type
	if w.Rank() != 2 || !constant(w) {
		return Type{}, fmt.Errorf("right operand is %s", w)
	}
	rows, columns := w.Shape[0].N, w.Shape[1].N
	if v.Attr.TransB {
		rows, columns = columns, rows
	}
	if rows != k {
		return Type{}, fmt.Errorf("inner extents %d and %d differ", k, rows)
	}
	lead := x.Shape[:x.Rank()-1]
	return T(slices.Concat(lead, []Dim{N(v.Attr.Attn.Heads * columns)})...), nil
}

func shapeHeadOuter(v *Value) (Type, error) {
	k, err := headParts(v, 0)
	if err != nil {
		return Type{}, err
	}
	n, err := headParts(v, 1)
	if err != nil {
		return Type{}, err
	}
	x, y := v.Args[0].Type, v.Args[1].Type
	if !slices.Equal(x.Shape[:x.Rank()-1], y.Shape[:y.Rank()-1]) {
		return Type{}, fmt.Errorf("leading extents of %s and %s differ", x, y)
	}
	return T(N(k), N(n)), nil
}

func shapeAttention(v *Value) (Type, error) {
	return v.Args[0].Type, checkAttention(v)
}

func shapeAttentionWeights(v *Value) (Type, error) {
	if err := checkScores(v); err != nil {
		return Type{}, err
	}
	if r := v.Attr.Result; r != "weights" && r != "logits" {
		return Type{}, fmt.Errorf("has no result %q", r)
	}
	q, k := v.Args[0].Type.Shape, v.Args[1].Type.Shape
	return T(q[0], N(v.Attr.Attn.Heads), q[1], k[1]), nil
}

func shapeAttentionGrad(v *Value) (Type, error) {
	if err := checkAttention(v); err != nil {
		return Type{}, err
	}
	if !v.Args[3].Type.Equal(v.Args[0].Type) {
		return Type{}, fmt.Errorf("output gradient is %s, not %s", v.Args[3].Type, v.Args[0].Type)
	}
	switch v.Attr.Result {
	case "q":
		return v.Args[0].Type, nil
	case "k", "v":
		return v.Args[1].Type, nil
	}
	relative, table, _ := v.SiteArgs()
	switch {
	case relative != nil && v.Attr.Result == "relative":
		return relative.Type, nil
	case table != nil && v.Attr.Result == "table":
		return table.Type, nil
	}
	if k := slices.Index(v.Attr.Attn.Params, v.Attr.Result); k >= 0 {
		per := []Dim{v.Args[0].Type.Shape[0], N(v.Attr.Attn.Heads)}
		return T(slices.Concat(per, v.params()[k].Type.Shape)...), nil
	}
	return Type{}, fmt.Errorf("has no gradient %q", v.Attr.Result)
}

// checkAttention checks scores, values and dropout.
func checkAttention(v *Value) error {
	if err := checkRate(v); err != nil {
		return err
	}
	if err := floats(v, 2); err != nil {
		return err
	}
	if q, k, val := v.Args[0].Type, v.Args[1].Type, v.Args[2].Type; !k.Equal(val) {
		return fmt.Errorf("q, k, v are %s, %s, %s", q, k, val)
	}
	return checkScores(v)
}

// checkScores checks queries, keys and what makes scores of them.
func checkScores(v *Value) error {
	a := v.Attr.Attn
	if a == nil {
		return errors.New("has no description")
	}
	if err := floats(v, 0, 1); err != nil {
		return err
	}
	q, k := v.Args[0].Type, v.Args[1].Type
	if q.Rank() != 3 || k.Rank() != 3 || q.Shape[0] != k.Shape[0] || q.Shape[2] != k.Shape[2] {
		return fmt.Errorf("q and k are %s and %s", q, k)
	}
	if _, err := headParts(v, 0); err != nil {
		return err
	}
	if err := checkRelative(v); err != nil {
		return err
	}
	if a.Table {
		return checkTable(v, T(N(a.Heads), q.Shape[1], k.Shape[1]))
	}
	return checkBiasParams(v)
}

// checkRelative wants the relative scores to have room for each head's distances.
func checkRelative(v *Value) error {
	a, q := v.Attr.Attn, v.Args[0].Type.Shape
	if a.Relative < 0 {
		return fmt.Errorf("relative = %d is negative", a.Relative)
	}
	relative, _, _ := v.SiteArgs()
	want := T(q[0], q[1], N(a.Heads*(2*a.Relative+1)))
	switch {
	case a.Relative == 0:
		return nil
	case relative == nil:
		return errors.New("has no argument for its relative scores")
	case !relative.Type.Equal(want):
		return fmt.Errorf("relative scores are %s, not %s", relative.Type, want)
	}
	return nil
}

// checkTable wants the last argument to be a bias table, and nothing else to make
// a bias.
func checkTable(v *Value, want Type) error {
	a := v.Attr.Attn
	_, table, params := v.SiteArgs()
	if a.Bias != nil || len(a.Params) > 0 || table == nil || len(params) > 0 {
		return errors.New("a table takes the place of bias and parameters")
	}
	if !table.Type.Equal(want) {
		return fmt.Errorf("table is %s, not %s", table.Type, want)
	}
	return checkSite(a, attnScope(nil, nil))
}

func shapeBiasTable(v *Value) (Type, error) {
	a, s := v.Attr.Attn, v.Attr.Shape
	if a == nil || a.Bias == nil || a.Table {
		return Type{}, errors.New("has no bias")
	}
	if len(s) != 3 || s[0] != N(a.Heads) {
		return Type{}, fmt.Errorf("shape %s does not begin with %d heads", shapeString(s), a.Heads)
	}
	return T(s...), checkBiasParams(v)
}

func shapeBiasTableGrad(v *Value) (Type, error) {
	a, d := v.Attr.Attn, v.Args[0].Type
	if a == nil || a.Bias == nil || a.Table {
		return Type{}, errors.New("has no bias")
	}
	if d.Elem != expr.F32 || d.Rank() != 3 || d.Shape[0] != N(a.Heads) {
		return Type{}, fmt.Errorf("table gradient is %s for %d heads", d, a.Heads)
	}
	if err := checkBiasParams(v); err != nil {
		return Type{}, err
	}
	k := slices.Index(a.Params, v.Attr.Result)
	if k < 0 {
		return Type{}, fmt.Errorf("has no gradient %q", v.Attr.Result)
	}
	return T(slices.Concat([]Dim{N(a.Heads)}, v.params()[k].Type.Shape)...), nil
}

// reserved are the names of other arguments, which no parameter has.
var reserved = []string{"q", "k", "v", "relative"}

// checkBiasParams checks the parameters and that mask and bias use no others.
func checkBiasParams(v *Value) error {
	a, params := v.Attr.Attn, v.params()
	if len(params) != len(a.Params) {
		return fmt.Errorf("has %d parameters, %d arguments for them", len(a.Params), len(params))
	}
	for i, name := range a.Params {
		if !isName(name) || slices.Contains(a.Params[:i], name) || slices.Contains(reserved, name) {
			return fmt.Errorf("bad parameter name %q", name)
		}
		if t := params[i].Type; !constant(t) && !drawn(t) {
			return fmt.Errorf("parameter %s is %s, not F32 of constant shape or positions", name, t)
		}
	}
	return checkSite(a, attnScope(a.Params, params))
}

// constant reports whether t is F32 with no symbolic extent.
func constant(t Type) bool {
	for _, d := range t.Shape {
		if d.Sym != "" {
			return false
		}
	}
	return t.Elem == expr.F32
}

// drawn reports whether t is that of positions, which a parameter may hold, too. They
// have no gradient.
func drawn(t Type) bool { return t.Elem == expr.I32 && t.Rank() == 1 }

func checkSite(a *AttnAttr, s scope) error {
	if a.Mask != nil {
		if a.Mask.Type != expr.Bool {
			return errors.New("mask is not Bool")
		}
		if err := checkExpr(a.Mask, s); err != nil {
			return fmt.Errorf("mask: %w", err)
		}
	}
	if a.Bias != nil {
		if a.Bias.Type != expr.F32 {
			return errors.New("bias is not F32")
		}
		if err := checkExpr(a.Bias, s); err != nil {
			return fmt.Errorf("bias: %w", err)
		}
	}
	return nil
}

// logits checks arguments logits [.., V] and labels [..] and gives [..].
func logits(v *Value) ([]Dim, error) {
	x, labels := v.Args[0].Type, v.Args[1].Type
	if _, err := rows(v, 0); err != nil {
		return nil, err
	}
	lead := x.Shape[:x.Rank()-1]
	if !labels.Equal(Ints(lead...)) {
		return nil, fmt.Errorf("labels are %s, not %s", labels, Ints(lead...))
	}
	return lead, nil
}

func shapeCrossEntropy(v *Value) (Type, error) {
	lead, err := logits(v)
	return T(lead...), err
}

func shapeCrossEntropyGrad(v *Value) (Type, error) {
	lead, err := logits(v)
	if err != nil {
		return Type{}, err
	}
	if !v.Args[2].Type.Equal(T(lead...)) {
		return Type{}, fmt.Errorf("loss gradient is %s, not %s", v.Args[2].Type, T(lead...))
	}
	return v.Args[0].Type, nil
}

func shapeArgMax(v *Value) (Type, error) {
	if _, err := rows(v, 0); err != nil {
		return Type{}, err
	}
	x := v.Args[0].Type
	return Ints(x.Shape[:x.Rank()-1]...), nil
}
