package lower

import (
	"fmt"
	"slices"

	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/ir"
	"github.com/arithlang/mlc/compiler/kernel"
)

// A describer says what the kernel of a group computes, once its body is written.
type describer struct {
	*emitter
	o     kernel.Operation
	names map[*ir.Value]string // of the group's values so far
}

// describe is the operation of the emitter's group, which begins with op.
func (e *emitter) describe(op ir.Op) kernel.Operation {
	d := &describer{e, kernel.Operation{Kind: op.String()}, map[*ir.Value]string{}}
	if op == ir.Sum {
		d.steps()
		d.tensorOp(op)
	} else {
		d.tensorOp(op)
		d.steps()
	}
	return d.o
}

// tensorOp describes the group's anchors.
func (d *describer) tensorOp(op ir.Op) {
	if op == ir.Map {
		d.o.Axes = d.rows()
		return
	}
	v := d.group.Anchors[0]
	for i, a := range argsOf(v) {
		if name := d.name(a); name != "" {
			d.o.Args = append(d.o.Args, make([]kernel.Argument, i-len(d.o.Args))...)
			d.o.Args = append(d.o.Args, kernel.Argument{Name: name})
		}
	}
	for _, a := range d.group.Anchors {
		if r := d.result(a, "c"); op == ir.BiasTableGrad {
			d.o.SetResultAt(slices.Index(v.Attr.Attn.Leaves, a.Attr.Result), r)
		} else {
			d.o.SetResult(a.Attr.Result, r)
		}
	}
	switch op {
	case ir.MatMul, ir.HeadProduct, ir.Outer, ir.HeadOuter:
		d.product(v)
	case ir.Attention, ir.AttentionGrad, ir.AttentionWeights:
		d.o.Scale = v.Attr.Attn.Scale
		q, k := v.Args[0].Type.Shape, v.Args[1].Type.Shape
		d.o.Axes = []kernel.Axis{{Var: "b", Size: size(q[0])}}
		d.site(v, q[1], k[1])
		d.axis("d", expr.Int(int64(q[2].N/v.Attr.Attn.Heads)))
		if n := v.Attr.Attn.Relative; n > 0 {
			d.axis("n", expr.Int(int64(2*n+1)))
		}
	case ir.BiasTable:
		d.site(v, v.Type.Shape[1], v.Type.Shape[2])
	case ir.BiasTableGrad:
		d.site(v, v.Args[0].Type.Shape[1], v.Args[0].Type.Shape[2])
	case ir.Scatter:
		d.axis("r", size(v.Type.Shape[0]))
		d.axis("e", size(v.Type.Shape[1]))
		d.axis("k", product(v.Args[0].Type.Shape))
	default:
		d.o.Axes = d.rows()
		if op == ir.Rotate {
			d.axis("h", expr.Int(int64(v.Attr.Attn.Heads)))
		}
	}
}

// argsOf are the arguments of a value by the roles that they have in a kernel's
// operation. Leaves have one where they have gradients, else the bias names them. A
// cache is only written.
func argsOf(v *ir.Value) []*ir.Value {
	relative, table, leaves := v.SiteArgs()
	switch v.Op {
	case ir.Append:
		return v.Args[1:]
	case ir.Attention, ir.AttentionGrad, ir.AttentionWeights:
		args := v.Args[:len(v.Args)-len(leaves)]
		if table != nil {
			args = args[:len(args)-1]
		}
		if relative != nil {
			args = args[:len(args)-1]
		}
		return append(slices.Clone(args), relative, table)
	case ir.BiasTable:
		return nil
	}
	return v.Args
}

func (d *describer) axis(name string, n *expr.Expr) {
	d.o.Axes = append(d.o.Axes, kernel.Axis{Var: name, Size: n})
}

// rows are the axes of the group's shape as rows.
func (d *describer) rows() []kernel.Axis {
	shape := d.group.Shape
	switch len(shape) {
	case 0:
		return []kernel.Axis{{Var: "e", Size: expr.Int(1)}}
	case 1:
		return []kernel.Axis{{Var: "e", Size: size(shape[0])}}
	}
	return []kernel.Axis{{Var: "r", Size: rowsOf(shape)}, {Var: "e", Size: size(shape[len(shape)-1])}}
}

// product says which factor is transposed and takes the sizes off their buffers.
func (d *describer) product(v *ir.Value) {
	left, right := &d.o.Args[0], &d.o.Args[1]
	left.Trans, right.Trans = v.Op == ir.Outer || v.Op == ir.HeadOuter, v.Attr.TransB
	sides := func(a *kernel.Argument) (*expr.Expr, *expr.Expr) {
		i := slices.IndexFunc(d.k.Params, func(p kernel.Param) bool { return p.Name == a.Name })
		shape := d.k.Params[i].Shape
		if a.Trans {
			return shape[1], shape[0]
		}
		return shape[0], shape[1]
	}
	r, k := sides(left)
	_, e := sides(right)
	d.axis("r", r)
	d.axis("e", e)
	d.axis("k", k)
}

// site describes mask, bias and dropout of an attention of so many rows and keys.
func (d *describer) site(v *ir.Value, rows, keys ir.Dim) {
	attr := v.Attr.Attn
	d.axis("h", expr.Int(int64(attr.Heads)))
	d.axis("t", size(rows))
	d.axis("j", size(keys))
	_, _, leaves := v.SiteArgs()
	buffers := map[string]string{}
	for n, leaf := range attr.Leaves {
		buffers[leaf] = d.buffers[d.holder(leaves[n])]
	}
	s := siteOf(d.emitter, rows, keys)
	s.bind(buffers)
	d.o.Mask, d.o.Bias = s.mask, s.bias
	if w := ir.WindowOf(attr.Mask).Narrow; w != nil && (v.Op == ir.Attention || v.Op == ir.AttentionGrad) {
		d.o.Window = kernel.Window{Lo: s.bound(w.Lo, nil), Width: w.Width}
	}
	if v.Attr.Rate > 0 {
		d.o.Drop = kernel.Dropout{Rate: v.Attr.Rate, Stream: v.Attr.Stream}
	}
}

// result names a value: as its buffer, if it has one.
func (d *describer) result(v *ir.Value, local string) kernel.Result {
	d.names[v] = local
	if !slices.Contains(d.group.Outputs, v) {
		return kernel.Result{Name: local}
	}
	d.names[v] = d.buffers[d.holder(v)]
	return kernel.Result{Name: d.names[v], Add: d.env.accumulate[v]}
}

// name is what a value is called, if the kernel computes or reads it.
func (d *describer) name(v *ir.Value) string {
	if n, ok := d.names[v]; ok {
		return n
	}
	return d.buffers[d.holder(v)]
}

// steps describes the group's elementwise members.
func (d *describer) steps() {
	for i, v := range d.group.Members {
		s := kernel.Step{Op: v.Op.String()}
		switch v.Op {
		case ir.Map:
			s.Value = d.applied(v)
		case ir.Dropout:
			s.Dropout = kernel.Dropout{Rate: v.Attr.Rate, Stream: v.Attr.Stream}
			s.Value = d.value(v.Args[0])
		default:
			s.Stream = v.Attr.Stream
		}
		s.Result = d.result(v, fmt.Sprintf("v%d", i+1))
		d.o.Steps = append(d.o.Steps, s)
	}
}

// applied is the expression of a Map at row r and column e.
func (d *describer) applied(v *ir.Value) *expr.Expr {
	vars := map[string]*expr.Expr{}
	for i, a := range v.Args {
		vars[fmt.Sprintf("x%d", i)] = d.value(a)
	}
	for i, at := range d.indices() {
		vars[fmt.Sprintf("d%d", i)] = at
	}
	return expr.Simplify(expr.Subst(v.Attr.Expr, vars))
}

// indices are those along the axes of the group's shape.
func (d *describer) indices() []*expr.Expr {
	if len(d.group.Shape) == 0 {
		return nil
	}
	return append(leading(d.group.Shape, ivar("r")), ivar("e"))
}

// value is a value at row r and column e.
func (d *describer) value(v *ir.Value) *expr.Expr {
	if n, ok := d.names[v]; ok {
		return expr.NewVar(n, v.Type.Elem)
	}
	shape, at := v.Type.Shape, d.indices()
	if slices.Equal(shape, d.group.Shape) && len(shape) >= 2 {
		return expr.NewElem(d.buffers[d.holder(v)], v.Type.Elem, ivar("r"), ivar("e"))
	}
	at = slices.Clone(at[len(at)-len(shape):])
	for i, n := range shape {
		if n == ir.N(1) {
			at[i] = expr.Int(0)
		}
	}
	return expr.NewElem(d.buffers[d.holder(v)], v.Type.Elem, at...)
}
