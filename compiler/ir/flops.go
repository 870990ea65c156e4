package ir

import (
	"slices"

	"github.com/arithlang/mlc/compiler/expr"
)

// FLOPs returns the number of floating-point operations in one evaluation of f. A
// transcendental function counts as one. Attention includes closed cells. It returns an
// error if env lacks a size.
func FLOPs(f *Func, env Env) (float64, error) {
	f, err := Decompose(f)
	if err != nil {
		return 0, err
	}
	m := &machine{env: env}
	total := 0.0
	for _, v := range f.Values {
		cost := ops[v.Op].flops
		if cost == nil {
			continue
		}
		each, over := cost(v)
		shape, err := m.sizes(over)
		if err != nil {
			return 0, err
		}
		total += float64(each * size(shape))
	}
	return total, nil
}

func flopsMap(v *Value) (each int, over []Dim) {
	expr.Walk(v.Attr.Expr, func(e *expr.Expr) {
		if widens := e.Op == expr.ToF32 && e.Args[0].Type.Narrow(); e.Op > expr.Elem && e.Type == expr.F32 && !widens {
			each++
		}
	})
	return each, v.Type.Shape
}

func flopsDropout(v *Value) (each int, over []Dim) { return 1, v.Type.Shape }

func flopsMatMul(v *Value) (each int, over []Dim) {
	a := v.Args[0].Type.Shape
	inner := a[len(a)-1]
	if v.Attr.TransA {
		inner = a[len(a)-2]
	}
	return 2, append(slices.Clone(v.Type.Shape), inner)
}

func flopsOuter(v *Value) (each int, over []Dim) {
	return 2, append(slices.Clone(v.Args[0].Type.Shape), v.Type.Shape[1])
}

func flopsReduce(v *Value) (each int, over []Dim) { return 1, v.Args[0].Type.Shape }

func flopsScatter(v *Value) (each int, over []Dim) { return 1, v.Args[1].Type.Shape }

// flopsNoise counts the operations of Normal.
func flopsNoise(v *Value) (each int, over []Dim) { return 9, v.Type.Shape }

// flopsRotate counts three operations for each rotated element.
func flopsRotate(v *Value) (each int, over []Dim) {
	turned := 2 * v.Attr.Attn.Heads * v.Args[1].Type.Shape[1].N
	return 3 * turned, v.Type.Shape[:2]
}
