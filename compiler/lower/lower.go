// Package lower lowers programs of function calls to kernel launches. It fuses each function's
// values into groups, writes the kernel of each group (one file per kernel family), and places
// temporary buffers. It comes after packages model and opt. The back ends print its Program.
package lower

import (
	"fmt"
	"strings"

	"github.com/arithlang/mlc/compiler/ir"
	"github.com/arithlang/mlc/compiler/kernel"
	"github.com/arithlang/mlc/compiler/opt"
)

// A lowering writes the kernel of a group whose anchor has its op.
type lowering struct {
	label string                        // the start of kernel names
	lower func(e *emitter, v *ir.Value) // v is the anchor, nil without one
}

// lowerings is keyed by the anchor's op; groups without an anchor are maps.
var lowerings = map[ir.Op]lowering{
	ir.Map:              {"map", lowerMap},
	ir.LayerNorm:        {"norm", lowerNorm},
	ir.LayerNormGrad:    {"norm_grad", lowerNormGrad},
	ir.RMSNorm:          {"rmsnorm", lowerNorm},
	ir.RMSNormGrad:      {"rmsnorm_grad", lowerNormGrad},
	ir.CrossEntropy:     {"cross_entropy", lowerCrossEntropy},
	ir.CrossEntropyGrad: {"cross_entropy_grad", lowerCrossEntropyGrad},
	ir.ArgMax:           {"argmax", lowerArgMax},
	ir.Sum:              {"sum", lowerSum},
	ir.SegmentSum:       {"segment_sum", (*emitter).sumRows},
	ir.Reshape:          {"reshape", lowerReshape},
	ir.MatMul:           {"linear", lowerMatMul},
	ir.Outer:            {"outer", lowerOuter},
	ir.Attention:        {"attention", lowerAttention},
	ir.AttentionGrad:    {"attention_grad", lowerAttentionGrad},
	ir.AttentionWeights: {"attention_weights", lowerAttentionWeights},
	ir.HeadProduct:      {"head_linear", lowerHeadProduct},
	ir.HeadOuter:        {"head_outer", lowerOuter},
	ir.BiasTable:        {"bias_table", lowerBiasTable},
	ir.BiasTableGrad:    {"bias_table_grad", lowerBiasTableGrad},
	ir.Gather:           {"gather", lowerGather},
	ir.Scatter:          {"scatter", lowerScatter},
	ir.Append:           {"append", lowerAppend},
	ir.Rotate:           {"rotate", lowerRotate},
	ir.RepeatHeads:      {"repeat_heads", lowerRepeatHeads},
	ir.SumHeads:         {"sum_heads", lowerSumHeads},
	ir.Runs:             {"runs", lowerRuns},
	ir.Subset:           {"subset", lowerSubset},
}

// lowerGroup writes the kernel of a group. values are bound to the kernel's buffers, in order.
func lowerGroup(g *opt.Group, env *context) (k *kernel.Kernel, values []*ir.Value, err error) {
	op, v := ir.Map, (*ir.Value)(nil)
	if len(g.Anchors) > 0 {
		v = g.Anchors[0]
		op = v.Op
	}
	f, ok := lowerings[op]
	if !ok {
		return nil, nil, fmt.Errorf("%s: no kernel computes it", op)
	}
	e := newEmitter(g, f.label+dims(g), env)
	if f.lower(e, v); e.err != nil {
		return nil, nil, e.err
	}
	e.k.Kind = op.String()
	e.k.Name = strings.Join(append([]string{e.k.Name}, e.features()...), "_")
	return e.finish(), e.order, nil
}

// dims returns the constant part of the shape that a group's kernel is for, such as _64x256 for
// a product.
func dims(g *opt.Group) string {
	shape := g.Shape
	if len(g.Anchors) > 0 {
		shape = g.Anchors[0].Type.Shape
		if v := g.Anchors[0]; v.Op == ir.MatMul {
			if shape = v.Args[1].Type.Shape; v.Attr.TransB {
				shape = []ir.Dim{shape[1], shape[0]}
			}
		}
	}
	if len(shape) == 0 && len(g.Anchors) > 0 {
		return "_1" // the CUDA Machine has its own kernel named sum
	}
	text, sep := "", "_"
	for _, d := range shape {
		if d.Sym == "" {
			text += sep + fmt.Sprint(d.N)
			sep = "x"
		}
	}
	return text
}

// label returns the name of an input in its kernel. It says the input's purpose, not its name
// in the model, so that equal kernels are one.
func label(v *ir.Value, name string) string {
	if v.Op == ir.Param && len(v.Type.Shape) == 1 && v.Type.Shape[0].Sym == "" {
		return "bias"
	}
	return name
}
