package model

import (
	"slices"

	"github.com/arithlang/mlc/compiler/check"
	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/ir"
	"github.com/arithlang/mlc/compiler/plan"
)

// Programs of an attention alone, in the order in which its caller runs them. Without a bias
// table, only Forward and Backward exist. A given bias is a table without Table and TableGrad. A
// launch gives the places of q, k, v and dy (plan.Buffer.Heads). Packed programs are for sequences of
// several lengths without padding. They do not exist if mask or bias reads a length.
const (
	Table     = "table"      // parameters -> table [H, T, S], or a line [H, L]
	Forward   = "forward"    // q, k, v -> y, largest, norm
	Backward  = "backward"   // dy and what Forward read and wrote -> dq, dk, dv, and dtable [H, T, S] or [B, H, L]
	SumTables = "sum_tables" // tables [B, H, T, S] or [B, H, L] -> their sum dtable
	TableGrad = "table_grad" // dtable, parameters -> d.NAME for each learned parameter

	PackedForward  = "packed_forward"
	PackedBackward = "packed_backward"
)

// BiasGroup names the parameters of an attention alone.
const BiasGroup = "bias"

// An alone builds the functions of an attention alone. Queries are [B, T, H*dh], keys and values
// [B, S, Hk*dh], all of one element type.
type alone struct {
	*check.Attention
	elem  expr.Type
	lined bool // the table is a line
	group int  // heads of queries that share a head of keys
	plan  *plan.Plan
	err   error
}

// Alone returns the programs of an attention alone for queries, keys and values of type F32 or
// BF16. A learned or costly bias is a table that all examples share.
func Alone(spec *check.Attention, elem expr.Type) (*plan.Plan, error) {
	a := &alone{Attention: spec, elem: elem, group: spec.Heads / spec.KeyHeads, plan: &plan.Plan{}}
	var params []plan.Param
	for _, p := range spec.Site.Params {
		params = append(params, plan.Param{Name: p.Name, Shape: p.Shape, Init: p.Init})
	}
	if len(params) > 0 {
		a.plan.Groups = append(a.plan.Groups, &plan.Group{Name: BiasGroup, Layers: 1, Params: params})
	}
	a.lined = lineable(spec.Site)
	filled := tabled(spec.Site.Bias)
	tabled := filled || spec.Given
	if filled {
		a.program(Table, func(b *ir.Builder) {
			attr, params := a.tableSite(b)
			if a.lined {
				b.Result("table", b.Table(attr, ir.Distances(), params...), false)
				return
			}
			b.Result("table", b.BiasTable(attr, ir.Sym("T"), ir.Sym("S"), params...), false)
		})
	}
	forward, backward := func(b *ir.Builder) { a.forward(b, tabled) }, func(b *ir.Builder) { a.backward(b, tabled) }
	a.program(Forward, forward)
	a.program(Backward, backward)
	if attr := (ir.AttnAttr{Mask: spec.Site.Mask, Bias: spec.Site.Bias}); !attr.ReadsLength() {
		a.program(PackedForward, forward).Packed = true
		a.program(PackedBackward, backward).Packed = true
	}
	if tabled && a.learns() {
		a.program(SumTables, func(b *ir.Builder) {
			t := a.table()
			tables := b.Param("tables", ir.T(append([]ir.Dim{ir.Sym("B")}, t.Shape...)...), ir.Input)
			b.Result("dtable", b.Sum(tables, 0), false)
		})
	}
	if filled && a.learns() {
		a.program(TableGrad, a.tableGrad)
	}
	a.plan.NumParams()
	return a.plan, a.err
}

// AloneFunc returns an attention alone as one function of F32, without a table other than a given
// bias:
//
//	q [B, T, H*dh], k, v [B, S, Hk*dh], parameters or table [H, T, S] -> y [B, T, H*dh]
func AloneFunc(spec *check.Attention) (*ir.Func, error) {
	a := &alone{Attention: spec, elem: expr.F32}
	b := ir.NewBuilder("attend", spec.Pos)
	qkv, attr, params := a.inputs(b, a.Given)
	for i, x := range qkv[1:] {
		if group := a.Heads / a.KeyHeads; group > 1 {
			qkv[1+i] = b.RepeatHeads(x, a.Heads, group)
		}
	}
	b.Result("y", b.Attention(qkv[0], qkv[1], qkv[2], attr, 0, 0, params...), false)
	return b.Func()
}

// heads are the heads of the buffers whose places a launch gives.
func (a *alone) heads(name string) int {
	switch name {
	case "q", "dy":
		return a.Heads
	case "k", "v":
		return a.KeyHeads
	}
	return 0
}

// program adds a program of one function, whose parameters and results are the buffers.
func (a *alone) program(name string, build func(b *ir.Builder)) *plan.Program {
	b := ir.NewBuilder(name, a.Pos)
	build(b)
	p := &plan.Program{Name: name, Memory: name}
	f, err := b.Func()
	if err != nil {
		if a.err == nil {
			a.err = err
		}
		return p
	}
	args, results := refs{}, refs{}
	add := func(name string, t ir.Type, to refs) {
		p.Buffers = append(p.Buffers, &plan.Buffer{Name: name, Type: t, Count: 1, Heads: a.heads(name)})
		to[name] = plan.At(name, 0)
	}
	for i, v := range f.Params {
		if f.Roles[i] == ir.Input {
			add(v.Attr.Name, v.Type, args)
		}
	}
	for _, r := range f.Results {
		add(r.Name, r.Value.Type, results)
	}
	p.Body = []plan.Stmt{&plan.Call{Func: f, Group: BiasGroup, Args: args, Results: results}}
	a.plan.Programs = append(a.plan.Programs, p)
	return p
}

// lineable reports whether the bias can be a line: bias and mask depend on the distance of query and
// key alone. With another mask, a bias need not have a value at all distances. The gradient of a line
// is divided by the scale.
func lineable(s *check.Site) bool {
	attr := ir.AttnAttr{Mask: s.Mask, Bias: s.Bias}
	return s.Bias != nil && ir.OfDistance(s.Bias) && (s.Mask == nil || ir.OfDistance(s.Mask)) && !attr.ReadsLength() && s.Scale != 0
}

// table returns the type of a bias table: by distance, or by query and key.
func (a *alone) table() ir.Type {
	if a.lined {
		return ir.T(ir.N(a.Heads), ir.Distances())
	}
	return ir.T(ir.N(a.Heads), ir.Sym("T"), ir.Sym("S"))
}

// rows returns the type of a tensor with a row for each query or key.
func (a *alone) rows(extent string, units int, elem expr.Type) ir.Type {
	t := ir.T(ir.Sym("B"), ir.Sym(extent), ir.N(units))
	t.Elem = elem
	return t
}

// learns reports whether the bias has a gradient: it has learned parameters, or is given.
func (a *alone) learns() bool {
	return a.Given || slices.ContainsFunc(a.Site.Params, func(p check.BiasParam) bool { return !p.Fixed() })
}

// site declares the parameters of the bias.
func (a *alone) site(b *ir.Builder) (ir.AttnAttr, []*ir.Value) {
	attr := ir.AttnAttr{Heads: a.Heads, Mask: a.Site.Mask, Bias: a.Site.Bias}
	var params []*ir.Value
	for _, p := range a.Site.Params {
		dims := make([]ir.Dim, len(p.Shape))
		for k, n := range p.Shape {
			dims[k] = ir.N(n)
		}
		attr.Params = append(attr.Params, p.Name)
		params = append(params, b.Param(p.Name, ir.T(dims...), ir.Weight))
	}
	return attr, params
}

// tableSite is site for the programs of the table. Place j of a line has the bias of distance j - I:
// of query 0 and key j - I.
func (a *alone) tableSite(b *ir.Builder) (ir.AttnAttr, []*ir.Value) {
	attr, params := a.site(b)
	if !a.lined {
		return attr, params
	}
	key := expr.New(expr.Sub, expr.NewVar("j", expr.I32), expr.NewVar("I", expr.I32))
	to := map[string]*expr.Expr{"i": expr.Int(0), "j": key}
	if attr.Bias = expr.Subst(attr.Bias, to); attr.Mask != nil {
		attr.Mask = expr.Subst(attr.Mask, to)
	}
	return attr, params
}

// inputs declares queries, keys and values. It also returns the site, and its parameters or its table.
func (a *alone) inputs(b *ir.Builder, tabled bool) (qkv []*ir.Value, attr ir.AttnAttr, params []*ir.Value) {
	qkv = append(qkv, b.Param("q", a.rows("T", a.Heads*a.Width, a.elem), ir.Input))
	for _, name := range []string{"k", "v"} {
		qkv = append(qkv, b.Param(name, a.rows("S", a.KeyHeads*a.Width, a.elem), ir.Input))
	}
	if !tabled {
		attr, params = a.site(b)
		attr.Scale = a.Site.Scale
		return qkv, attr, params
	}
	attr = ir.AttnAttr{Heads: a.Heads, Mask: a.Site.Mask, Scale: a.Site.Scale}
	attr.Table, attr.Line = !a.lined, a.lined
	return qkv, attr, []*ir.Value{b.Param("table", a.table(), ir.Input)}
}

// stored returns x in the element type of queries.
func (a *alone) stored(b *ir.Builder, x *ir.Value) *ir.Value {
	if a.elem.Narrow() {
		return b.Round(x)
	}
	return x
}

func (a *alone) forward(b *ir.Builder, tabled bool) {
	qkv, attr, params := a.inputs(b, tabled)
	args := append(slices.Clone(qkv), params...)
	b.Result("y", a.stored(b, b.Emit(ir.Attention, ir.Attr{Attn: &attr, Group: a.group}, args...)), false)
	for _, name := range []string{"largest", "norm"} {
		b.Result(name, b.Emit(ir.Attention, ir.Attr{Attn: &attr, Group: a.group, Result: name}, args...), false)
	}
}

func (a *alone) backward(b *ir.Builder, tabled bool) {
	args, attr, params := a.inputs(b, tabled)
	args = append(args, b.Param("dy", a.rows("T", a.Heads*a.Width, a.elem), ir.Input))
	for _, name := range []string{"largest", "norm"} {
		args = append(args, b.Param(name, a.rows("T", a.Heads, expr.F32), ir.Input))
	}
	if a.elem.Narrow() {
		args = append(args, b.Param("y", a.rows("T", a.Heads*a.Width, a.elem), ir.Input))
	}
	args = append(args, params...)
	grad := func(of string) *ir.Value {
		return b.Emit(ir.AttentionGrad, ir.Attr{Attn: &attr, Group: a.group, Result: of}, args...)
	}
	b.Result("dq", a.stored(b, grad("q")), false)
	for _, of := range []string{"k", "v"} {
		g := grad(of)
		if a.group > 1 {
			g = b.SumHeads(g, a.Heads, a.group)
		}
		b.Result("d"+of, a.stored(b, g), false)
	}
	if tabled && a.learns() {
		if a.lined {
			b.Result("dtable", grad("line"), false)
		} else {
			b.Result("dtable", grad("table"), false)
		}
	}
}

func (a *alone) tableGrad(b *ir.Builder) {
	attr, params := a.tableSite(b)
	args := append([]*ir.Value{b.Param("dtable", a.table(), ir.Input)}, params...)
	for i, p := range a.Site.Params {
		if p.Fixed() {
			continue
		}
		g := b.Emit(ir.BiasTableGrad, ir.Attr{Attn: &attr, Result: p.Name}, args...)
		b.Result("d."+p.Name, b.SumTo(g, params[i].Type.Shape), false)
	}
}
