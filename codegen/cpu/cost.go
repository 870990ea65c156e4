package cpu

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/dave/jennifer/jen"

	"github.com/arithlang/mlc/codegen/flat"
	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/kernel"
)

// costName is the name that the cost of a kernel has beside the kernel's own.
func costName(k *kernel.Kernel) string { return k.Name + ".cost" }

// costs prints costs.go: for each kernel a function of the launch that counts what
// it has to do. The trainer's benchmark holds its timings against that.
func costs(ks []*kernel.Kernel, funcs *names, pkg, header string) ([]byte, error) {
	f := jen.NewFile(pkg)
	f.ImportName(runtimePath, "cpu")
	f.ImportName(devicePath, "device")
	if header != "" {
		f.HeaderComment(header)
	}
	for _, k := range ks {
		f.Add(costFunction(k, funcs.id(costName(k))))
		f.Line()
	}
	var buf bytes.Buffer
	if err := f.Render(&buf); err != nil {
		return nil, fmt.Errorf("BUG: printing costs: %w", err)
	}
	return buf.Bytes(), nil
}

// A tally is a number of operations: count, and what loops add to it whose rounds
// are not alike.
type tally struct {
	count *expr.Expr
	loops []loopTally
}

// A loopTally is a tally for each lo <= name < hi, or, without a name, for a
// condition that holds.
type loopTally struct {
	name   string
	lo, hi *expr.Expr
	cond   *expr.Expr
	tally
}

var zero = expr.Int(0)

func (t *tally) add(n *expr.Expr) { t.count = expr.New(expr.Add, t.count, n) }

func (t *tally) join(o tally) {
	t.add(o.count)
	t.loops = append(t.loops, o.loops...)
}

// over is the tally of a loop.
func (t tally) over(name string, lo, hi *expr.Expr) tally {
	uses := slices.ContainsFunc(expr.Vars(t.count), func(v *expr.Expr) bool { return v.Name == name })
	if len(t.loops) > 0 || uses {
		return tally{zero, []loopTally{{name: name, lo: lo, hi: hi, tally: t}}}
	}
	rounds := hi
	if !flat.IsInt(lo, 0) {
		rounds = expr.New(expr.Max, expr.New(expr.Sub, hi, lo), zero)
	}
	return tally{count: expr.New(expr.Mul, rounds, t.count)}
}

// when is the tally of a condition.
func (t tally) when(cond *expr.Expr) tally {
	if len(t.loops) > 0 {
		return tally{zero, []loopTally{{cond: cond, tally: t}}}
	}
	return tally{count: expr.New(expr.Where, cond, t.count, zero)}
}

// A counter counts the floating-point operations of a kernel.
type counter struct {
	*kernel.Kernel
	lets map[string]*expr.Expr // over scalars and loop variables
}

func (c *counter) kernel() tally {
	t := c.body(c.Body)
	for _, a := range slices.Backward(c.Grid) {
		t = t.over(a.Var, zero, a.Size)
	}
	return t
}

func (c *counter) body(body []kernel.Stmt) tally {
	t := tally{count: zero}
	for _, s := range body {
		switch s := s.(type) {
		case *kernel.Let:
			c.lets[s.Name] = c.known(s.Value)
			t.add(operations(s.Value))
		case *kernel.Store:
			t.add(c.product(operations(s.Value), sizes(s.Axes)...))
		case *kernel.Map:
			t.add(c.product(operations(s.Value), sizes(s.Axes)...))
		case *kernel.Reduce:
			t.add(c.product(expr.New(expr.Add, operations(s.Value), expr.Int(1)), s.Axis.Size))
		case *kernel.Dot:
			t.add(c.dot(s))
		case *kernel.For:
			lo, hi := c.known(s.Lo), c.known(s.Hi)
			if ofData(lo) || ofData(hi) {
				lo, hi = zero, expr.Int(1) // nobody knows
			}
			t.join(c.body(s.Body).over(s.Var, lo, hi))
		case *kernel.If:
			inner := c.body(s.Then)
			if cond := c.known(s.Cond); !ofData(cond) {
				inner = inner.when(cond)
			}
			t.join(inner)
		}
	}
	return t
}

// dot counts two operations for each pair of factors: each element of A meets a
// whole row of B.
func (c *counter) dot(d *kernel.Dot) *expr.Expr {
	n := c.product(expr.Int(2), c.shape(d.A)...)
	if out := c.shape(d.Dst); len(out) > 0 {
		n = c.product(n, out[len(out)-1])
	}
	return n
}

func (c *counter) shape(tile string) []*expr.Expr {
	for _, t := range c.Tiles {
		if t.Name == tile {
			return t.Shape
		}
	}
	panic("BUG: no tile " + tile)
}

func sizes(axes []kernel.Axis) []*expr.Expr {
	var out []*expr.Expr
	for _, a := range axes {
		out = append(out, a.Size)
	}
	return out
}

func (c *counter) product(n *expr.Expr, factors ...*expr.Expr) *expr.Expr {
	for _, f := range factors {
		n = expr.New(expr.Mul, c.known(f), n)
	}
	return n
}

// known puts their values in the place of lets.
func (c *counter) known(e *expr.Expr) *expr.Expr { return expr.Subst(e, c.lets) }

// ofData says whether a value depends on what is computed.
func ofData(e *expr.Expr) bool {
	found := false
	expr.Walk(e, func(e *expr.Expr) { found = found || e.Op == expr.Elem || e.Type == expr.F32 })
	return found
}

// counted are the operations that are counted, transcendental functions as what
// they expand to.
var counted = map[expr.Op]bool{
	expr.Add: true, expr.Sub: true, expr.Mul: true, expr.Div: true, expr.Min: true, expr.Max: true, expr.Floor: true, expr.Sqrt: true,
}

func operations(e *expr.Expr) *expr.Expr {
	n := int64(0)
	expr.Walk(expr.Expand(e), func(e *expr.Expr) {
		if e.Type == expr.F32 && counted[e.Op] {
			n++
		}
	})
	return expr.Int(n)
}

// traffic counts the bytes of a kernel's buffers.
func traffic(k *kernel.Kernel) *expr.Expr {
	const elemBytes = 4
	n := zero
	for _, p := range buffers(k) {
		size := expr.Int(elemBytes)
		if p.Mode == kernel.InOut {
			size = expr.Int(2 * elemBytes)
		}
		for _, d := range p.Shape {
			size = expr.New(expr.Mul, d, size)
		}
		n = expr.New(expr.Add, n, size)
	}
	return n
}

func costFunction(k *kernel.Kernel, name string) jen.Code {
	p := newPrinter()
	for _, s := range k.Params {
		if s.Mode == kernel.Scalar {
			p.bind(s.Name)
		}
	}
	c := counter{k, map[string]*expr.Expr{}}
	t := c.kernel()
	flops, body := p.scalar(expr.Simplify(t.count)), p.tallies(t.loops)
	if len(body) > 0 {
		body = append([]jen.Code{jen.Id("flops").Op(":=").Add(flops)}, body...)
		flops = jen.Id("flops")
	}
	body = append(body, jen.Return(jen.Qual(runtimePath, "Cost").Values(jen.Dict{
		jen.Id("Flops"): jen.Float64().Call(flops),
		jen.Id("Bytes"): jen.Float64().Call(p.scalar(expr.Simplify(traffic(k)))),
	})))
	env, bound := "_", p.bindScalars()
	if len(bound) > 0 {
		env = "env"
	}
	return jen.Func().Id(name).Params(jen.Id(env).Op("*").Qual(devicePath, "Env")).Qual(runtimePath, "Cost").Block(append(bound, body...)...)
}

// tallies prints the loops of a tally, which add to flops.
func (p *printer) tallies(ts []loopTally) []jen.Code {
	var out []jen.Code
	for _, t := range ts {
		out = append(out, p.tally(t))
	}
	return out
}

func (p *printer) tally(t loopTally) jen.Code {
	body := func() []jen.Code {
		var out []jen.Code
		if n := expr.Simplify(t.count); !n.IsConst() || n.I != 0 {
			out = append(out, jen.Id("flops").Op("+=").Add(p.scalar(n)))
		}
		return append(out, p.tallies(t.loops)...)
	}
	if t.cond != nil {
		return jen.If(p.scalar(expr.Simplify(t.cond))).Block(body()...)
	}
	hi := expr.Simplify(t.hi)
	if flat.IsInt(t.lo, 0) {
		return p.rangeOver(kernel.Axis{Var: t.name, Size: hi}, body)
	}
	lo := p.scalar(expr.Simplify(t.lo))
	var loop jen.Code
	p.scope(func() {
		i := jen.Id(p.bind(t.name))
		loop = jen.For(i.Clone().Op(":=").Add(lo), i.Clone().Op("<").Add(p.scalar(hi)), i.Clone().Op("++")).Block(body()...)
	})
	return loop
}
