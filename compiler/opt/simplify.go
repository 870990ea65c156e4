// Package opt simplifies tensor IR (Simplify, CSE, DCE), groups its values into kernels
// (Fuse) and lets temporaries share memory (Place). It runs after packages model and
// grad. Package lower makes kernels of the groups.
package opt

import (
	"slices"

	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/ir"
)

// Simplify makes values cheaper one at a time and keeps the float32 bits of every result.
// It simplifies expressions, moves constants into the Maps that use them, and removes
// reshapes, transposes, maps, dropouts and factors of gradients that change nothing. DCE drops values that are
// no longer used.
func Simplify(f *ir.Func) *ir.Func {
	return rewrite(f, func(b *ir.Builder, v *ir.Value, args []*ir.Value) *ir.Value {
		if simple, ok := simplifiers[v.Op]; ok {
			if s := simple(b, v, args); s != nil {
				return s
			}
		}
		return b.Clone(v, args...)
	})
}

// rewrite is ir.Rewrite for a valid function and rules that keep it valid.
func rewrite(f *ir.Func, each func(b *ir.Builder, v *ir.Value, args []*ir.Value) *ir.Value) *ir.Func {
	out, err := ir.Rewrite(f, each)
	if err != nil {
		panic("BUG: rewriting made a bad function: " + err.Error())
	}
	return out
}

// simplifiers return a simpler value for v over args, or nil.
var simplifiers = map[ir.Op]func(b *ir.Builder, v *ir.Value, args []*ir.Value) *ir.Value{
	ir.Map:              simplifyMap,
	ir.Dropout:          simplifyDropout,
	ir.ScaleGrad:        func(_ *ir.Builder, _ *ir.Value, args []*ir.Value) *ir.Value { return args[0] },
	ir.Reshape:          simplifyReshape,
	ir.Transpose:        simplifyTranspose,
	ir.Attention:        simplifyAttention,
	ir.AttentionGrad:    simplifyAttention,
	ir.AttentionWeights: simplifyAttention,
}

func simplifyMap(b *ir.Builder, v *ir.Value, args []*ir.Value) *ir.Value {
	e, args := inline(v.Attr.Expr, args)
	e, args = ir.Compact(e, args)
	e, args = ir.Compact(expr.Simplify(e), args)
	if len(args) == 1 && isElement(e) && args[0].Type.Equal(v.Type) {
		return args[0]
	}
	attr := v.Attr
	attr.Expr = e
	attr.Shape = nil
	if !covers(e, args, v.Type.Shape) {
		attr.Shape = v.Type.Shape
	}
	b.Pos(v.Pos)
	return b.Emit(ir.Map, attr, args...)
}

// inline puts constants into e, and replaces broadcast copies by their source.
func inline(e *expr.Expr, args []*ir.Value) (*expr.Expr, []*ir.Value) {
	consts := map[string]*expr.Expr{}
	source := slices.Clone(args)
	for k, a := range args {
		if _, indexed := ir.Reads(e, k); indexed || a.Op != ir.Map {
			continue
		}
		switch {
		case a.Attr.Expr.IsConst():
			consts[ir.X(k, a.Type.Elem).Name] = a.Attr.Expr
		case len(a.Args) == 1 && isElement(a.Attr.Expr):
			source[k] = a.Args[0]
		}
	}
	return expr.Subst(e, consts), source
}

// isElement reports whether e is the element of a Map's only argument.
func isElement(e *expr.Expr) bool { return e.Op == expr.Var && e.Name == "x0" }

// covers reports whether a Map of e over args has the given shape by itself.
func covers(e *expr.Expr, args []*ir.Value, shape []ir.Dim) bool {
	for back := 1; back <= len(shape); back++ {
		found := false
		for k, a := range args {
			element, _ := ir.Reads(e, k)
			r := a.Type.Rank()
			found = found || element && r >= back && a.Type.Shape[r-back] == shape[len(shape)-back]
		}
		if !found {
			return false
		}
	}
	return true
}

func simplifyDropout(_ *ir.Builder, v *ir.Value, args []*ir.Value) *ir.Value {
	if v.Attr.Rate == 0 {
		return args[0]
	}
	return nil
}

// simplifyReshape joins reshapes, so that two that cancel disappear.
func simplifyReshape(b *ir.Builder, v *ir.Value, args []*ir.Value) *ir.Value {
	x := args[0]
	for x.Op == ir.Reshape {
		x = x.Args[0]
	}
	if x.Type.Equal(v.Type) {
		return x
	}
	return b.Clone(v, x)
}

func simplifyTranspose(b *ir.Builder, v *ir.Value, args []*ir.Value) *ir.Value {
	x, axes := args[0], v.Attr.Axes
	for x.Op == ir.Transpose {
		through := make([]int, len(axes))
		for k, a := range axes {
			through[k] = x.Attr.Axes[a]
		}
		x, axes = x.Args[0], through
	}
	if slices.IsSorted(axes) {
		return x
	}
	b.Pos(v.Pos)
	return b.Emit(ir.Transpose, ir.Attr{Name: v.Attr.Name, Axes: axes}, x)
}

func simplifyAttention(b *ir.Builder, v *ir.Value, args []*ir.Value) *ir.Value {
	site := *v.Attr.Attn
	if site.Mask != nil {
		site.Mask = expr.Simplify(site.Mask)
		if site.Mask.IsConst() && site.Mask.I != 0 {
			site.Mask = nil
		}
	}
	if site.Bias != nil {
		site.Bias = expr.Simplify(site.Bias)
		if site.Bias.IsConst() && site.Bias.F == 0 {
			site.Bias = nil
		}
	}
	attr := v.Attr
	attr.Attn = &site
	b.Pos(v.Pos)
	return b.Emit(v.Op, attr, args...)
}
