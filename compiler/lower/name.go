package lower

import (
	"fmt"
	"slices"
	"strings"

	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/kernel"
)

// nameOf names a kernel by its family, its sizes and the steps of its operation, such as
// linear_64x64_bias_dropout_add. Two kernels may have one name.
func nameOf(k *kernel.Kernel) string {
	words := []string{k.Name}
	for _, a := range k.Op.Axes {
		if (a.Var == "r" || a.Var == "j") && expr.Depends(a.Size, "S") {
			words = append(words, "source")
		}
	}
	for _, a := range k.Op.Args {
		if a.Trans && k.Op.Kind != "outer" && k.Op.Kind != "head_outer" {
			words = append(words, "t")
		}
	}
	if strings.HasSuffix(k.Op.Kind, "norm_grad") {
		if k.Op.Result("x").Name != "" {
			words = append(words, "dx")
		}
	}
	if k.Op.Window.Width > 0 {
		words = append(words, fmt.Sprintf("window%d", k.Op.Window.Width))
	}
	if k.Op.Bias != nil && k.Op.Kind != "bias_table" && k.Op.Kind != "bias_table_grad" {
		words = append(words, "bias")
	}
	if k.Op.Drop.Rate > 0 {
		words = append(words, "dropout")
	}
	adds := slices.ContainsFunc(k.Op.Results, func(r kernel.Result) bool { return r.Add })
	for _, s := range k.Op.Steps {
		words = append(words, stepWords(s)...)
		adds = adds || s.Add
	}
	if adds {
		words = append(words, "acc")
	}
	return strings.Join(words, "_")
}

// curves names maps by an op that they contain.
var curves = map[expr.Op]string{expr.Erf: "gelu", expr.Sigmoid: "sigmoid", expr.Tanh: "tanh"}

// stepWords returns words for an elementwise step, or nil if no word fits.
func stepWords(s kernel.Step) []string {
	if s.Op != "map" {
		return []string{s.Op}
	}
	var words []string
	expr.Walk(s.Value, func(x *expr.Expr) {
		if w := curves[x.Op]; w != "" {
			words = append(words, w)
		}
	})
	switch root := s.Value; {
	case len(words) > 0:
		return words[:1]
	case root.Op == expr.Max && expr.Equal(root.Args[1], expr.F(0)):
		return []string{"relu"}
	case root.Op == expr.Add && root.Args[1].Op == expr.Elem && len(root.Args[1].Args) == 1:
		return []string{"bias"}
	case root.Op == expr.Add:
		return []string{"add"}
	case root.Op == expr.Mul:
		return []string{"mul"}
	case root.Op == expr.ToBF16:
		return []string{"bf16"}
	}
	return nil
}
