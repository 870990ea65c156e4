package ir

import "github.com/arithlang/mlc/compiler/expr"

// FLOPs is the number of floating-point operations of one evaluation of f. A
// transcendental function counts as one, and attention counts closed cells too.
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
		n, err := cost(m, v)
		if err != nil {
			return 0, err
		}
		total += n
	}
	return total, nil
}

// elements is the number of elements of v.
func (m *machine) elements(v *Value) (float64, error) {
	shape, err := m.sizes(v.Type.Shape)
	return float64(size(shape)), err
}

func flopsMap(m *machine, v *Value) (float64, error) {
	n, err := m.elements(v)
	count := 0
	expr.Walk(v.Attr.Expr, func(e *expr.Expr) {
		if e.Op > expr.Elem && e.Type == expr.F32 {
			count++
		}
	})
	return n * float64(count), err
}

func flopsDropout(m *machine, v *Value) (float64, error) { return m.elements(v) }

func flopsMatMul(m *machine, v *Value) (float64, error) {
	n, err := m.elements(v)
	if err != nil {
		return 0, err
	}
	a := v.Args[0].Type
	inner := a.Shape[a.Rank()-1]
	if v.Attr.TransA {
		inner = a.Shape[a.Rank()-2]
	}
	k, err := inner.Size(m.env.Dims)
	return 2 * n * float64(k), err
}

// flopsOuter is 2 K N for each of the leading indices.
func flopsOuter(m *machine, v *Value) (float64, error) {
	n, err := m.elements(v.Args[0])
	if err != nil {
		return 0, err
	}
	cols, err := v.Type.Shape[1].Size(m.env.Dims)
	return 2 * n * float64(cols), err
}

func flopsReduce(m *machine, v *Value) (float64, error) { return m.elements(v.Args[0]) }

func flopsScatter(m *machine, v *Value) (float64, error) { return m.elements(v.Args[1]) }
