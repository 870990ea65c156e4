package lower

import (
	"fmt"
	"slices"

	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/ir"
	"github.com/arithlang/mlc/compiler/kernel"
)

// A describer writes the kernel's Operation after the kernel's body.
type describer struct {
	*emitter
	o     *kernel.Operation
	names map[*ir.Value]string // values described so far
}

// describe writes the inputs and results of the group's operation, whose first op is op. Mask
// and bias are already set, and so are the axes unless the operation runs row by row.
func (e *emitter) describe(op ir.Op) {
	d := &describer{e, &e.k.Op, map[*ir.Value]string{}}
	d.o.Kind = op.String()
	if d.o.Axes == nil {
		d.rows()
	}
	if op == ir.Sum || op == ir.SegmentSum {
		d.steps()
		d.tensorOp()
	} else {
		d.tensorOp()
		d.steps()
	}
}

// rows sets the axes for the group's shape as rows.
func (d *describer) rows() {
	switch shape := d.group.Shape; len(shape) {
	case 0:
		d.over("e", expr.Int(1))
	case 1:
		d.over("e", size(shape[0]))
	default:
		d.over("r e", d.rowsOf(shape), size(shape[len(shape)-1]))
	}
}

// tensorOp describes the group's anchors.
func (d *describer) tensorOp() {
	if len(d.group.Anchors) == 0 {
		return
	}
	v := d.group.Anchors[0]
	for i, a := range d.arguments() {
		if name := d.name(a); name != "" {
			d.o.Args = append(d.o.Args, make([]kernel.Argument, i-len(d.o.Args))...)
			d.o.Args = append(d.o.Args, kernel.Argument{Name: name})
		}
	}
	for i, a := range d.group.Anchors {
		local := "c"
		if len(d.group.Anchors) > 1 && a.Attr.Result != "" {
			local += "_" + a.Attr.Result
		}
		switch r := d.result(a, local); v.Op {
		case ir.BiasTableGrad:
			d.o.SetResultAt(slices.Index(v.Attr.Attn.Params, a.Attr.Result), r)
		case ir.Sum:
			d.o.SetResultAt(i, r)
		default:
			d.o.SetResult(a.Attr.Result, r)
		}
	}
	if d.o.Product() {
		d.o.Args[0].Trans, d.o.Args[1].Trans = v.Op == ir.Outer || v.Op == ir.HeadOuter, v.Attr.TransB
	}
}

// arguments returns the arguments of the tensor op. Several sums have the arguments of each
// sum. Otherwise the first anchor has them.
func (d *describer) arguments() []*ir.Value {
	var args []*ir.Value
	for _, a := range d.group.Anchors {
		if args == nil || a.Op == ir.Sum {
			args = append(args, argsOf(a)...)
		}
	}
	return args
}

// argsOf returns the arguments of a value in the order of their roles in a kernel's operation.
// A site's parameters have a role only if they have gradients; otherwise the bias names them. A
// cache has no role: it is only written.
func argsOf(v *ir.Value) []*ir.Value {
	switch v.Op {
	case ir.Append:
		return v.Args[1:]
	case ir.Attention, ir.AttentionGrad, ir.AttentionWeights, ir.BiasTable:
		relative, table, params := v.SiteArgs()
		own := slices.Clone(v.Args[:len(v.Args)-len(params)])
		own = slices.DeleteFunc(own, func(a *ir.Value) bool { return a == relative || a == table })
		if v.Op == ir.AttentionGrad && !v.Args[0].Type.Elem.Narrow() {
			own = append(own, nil) // no y
		}
		return append(own, relative, table)
	}
	return v.Args
}

// result names a value by its buffer, or by local if it has no buffer.
func (d *describer) result(v *ir.Value, local string) kernel.Result {
	d.names[v] = local
	if !slices.Contains(d.group.Outputs, v) {
		return kernel.Result{Name: local}
	}
	d.names[v] = d.buffers[d.holder(v)]
	return kernel.Result{Name: d.names[v], Add: d.env.accumulate[v]}
}

// name returns the name of a value that the kernel computes or reads.
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
			s.Value = applied(v, d.value, func(axis int) *expr.Expr { return d.index(axis) })
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

// index returns the index along an axis of the group's shape.
func (d *describer) index(axis int) *expr.Expr {
	if axis == len(d.group.Shape)-1 {
		return ivar("e")
	}
	return d.leading(d.group.Shape, ivar("r"), func(_ string, x *expr.Expr) *expr.Expr { return x })[axis]
}

// value returns a value at row r and column e.
func (d *describer) value(v *ir.Value) *expr.Expr {
	if n, ok := d.names[v]; ok {
		return expr.NewVar(n, v.Type.Elem)
	}
	shape, buf := v.Type.Shape, d.buffers[d.holder(v)]
	if slices.Equal(shape, d.group.Shape) && len(shape) >= 2 {
		at := exprs{ivar("r"), ivar("e")}
		if len(shape) == 2 && d.env.rows.ragged(shape) {
			at = exprs{add(d.packed(kernel.ExampleStart, at[0]), at[1])}
		}
		return expr.NewElem(buf, v.Type.Elem, at...)
	}
	if d.ofRows(shape) {
		return expr.NewElem(buf, v.Type.Elem, ivar("r"), expr.Int(0))
	}
	at := make(exprs, len(shape))
	for i, n := range shape {
		if at[i] = expr.Int(0); n != ir.N(1) {
			at[i] = d.index(len(d.group.Shape) - len(shape) + i)
		}
	}
	return expr.NewElem(buf, v.Type.Elem, at...)
}
