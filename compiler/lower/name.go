package lower

import (
	"fmt"
	"slices"

	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/ir"
)

// features returns the last words of a kernel's name, after its family and sizes, such as bias,
// dropout and add of linear_64x64_bias_dropout_add. Two kernels may have one name.
func (e *emitter) features() []string {
	shape := e.group.Shape
	of, words := shape[:max(len(shape)-1, 0)], []string(nil)
	if len(e.group.Anchors) > 0 {
		of, words = anchored(e.group.Anchors, of)
	}
	if slices.ContainsFunc(of, func(d ir.Dim) bool { return d.Sym == "S" }) {
		words = append([]string{"source"}, words...)
	}
	for _, v := range e.group.Members {
		if word := e.step(v); word != "" {
			words = append(words, word)
		}
	}
	if slices.ContainsFunc(e.group.Outputs, func(v *ir.Value) bool { return e.env.accumulate[v] }) {
		words = append(words, "acc")
	}
	return words
}

// anchored returns the words of a group's anchors. It also returns the extents that make a kernel
// one of the source: the keys of an attention, or else rows.
func anchored(anchors []*ir.Value, rows []ir.Dim) (of []ir.Dim, words []string) {
	v := anchors[0]
	last := func(t ir.Type) []ir.Dim { return t.Shape[t.Rank()-1:] }
	switch v.Op {
	case ir.MatMul, ir.HeadProduct:
		if v.Attr.TransB {
			words = append(words, "t")
		}
	case ir.LayerNormGrad, ir.RMSNormGrad:
		if slices.ContainsFunc(anchors, func(a *ir.Value) bool { return a.Attr.Result == "x" }) {
			words = append(words, "dx")
		}
	case ir.BiasTable:
		return last(v.Type), nil
	case ir.BiasTableGrad:
		return last(v.Args[0].Type), nil
	case ir.Attention, ir.AttentionGrad, ir.AttentionWeights:
		rows = v.Args[1].Type.Shape[1:2]
		if w := ir.WindowOf(v.Attr.Attn.Mask).Narrow; w != nil && v.Op != ir.AttentionWeights {
			words = append(words, fmt.Sprintf("window%d", w.Width))
		}
		if v.Attr.Attn.Guarded() != nil {
			words = append(words, "bias")
		}
		if v.Attr.Rate > 0 {
			words = append(words, "dropout")
		}
	}
	return rows, words
}

// curves names maps by an op that they contain.
var curves = map[expr.Op]string{expr.Erf: "gelu", expr.Sigmoid: "sigmoid", expr.Tanh: "tanh"}

// step returns the word of an elementwise value, or "" if no word fits.
func (e *emitter) step(v *ir.Value) string {
	if v.Op != ir.Map {
		return v.Op.String()
	}
	word, root := "", v.Attr.Expr
	expr.Walk(root, func(x *expr.Expr) {
		if word == "" {
			word = curves[x.Op]
		}
	})
	switch {
	case word != "":
		return word
	case root.Op == expr.Max && expr.Equal(root.Args[1], expr.F(0)):
		return "relu"
	case root.Op == expr.Add && e.addsVector(v):
		return "bias"
	case root.Op == expr.Add:
		return "add"
	case root.Op == expr.Mul:
		return "mul"
	case root.Op == expr.ToBF16:
		return "bf16"
	}
	return ""
}

// addsVector reports whether a sum's second term is a vector that another group computes.
func (e *emitter) addsVector(v *ir.Value) bool {
	for i, a := range v.Args {
		if expr.Equal(v.Attr.Expr.Args[1], ir.X(i, a.Type.Elem)) {
			return a.Type.Rank() == 1 && slices.Contains(e.group.Inputs, a)
		}
	}
	return false
}
