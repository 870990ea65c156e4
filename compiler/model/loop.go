package model

import (
	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/ir"
	"github.com/arithlang/mlc/compiler/plan"
)

// Buffers in a loop's programs.
const (
	embedded = "embedded" // F32 [B, T, D]: the input that layers add again
	state    = "x"        // F32 [B, T, D]: the input and output of layers
	history  = "history"  // I32 [B, C]: tokens so far, if decoding needs them
)

// loopRows runs a loop on all rows at once. Training first does runs without gradients,
// then runs with them. The former alternate between two tensors and end in the first. The
// latter keep each tensor for the backward pass.
func (c *caller) loopRows(md mode) (*plan.Program, error) {
	loop := c.spec.Model.Loop
	n := loop.Layers
	c.tokens("T")
	if md != training {
		if c.scored(md) {
			c.buffer(Labels, ir.Ints(ir.Sym("B"), ir.Sym("T")), 1)
			c.buffer(Loss, ir.T(ir.Sym("B"), ir.Sym("T")), 1)
		}
		if c.sampled(md) {
			c.buffer(Logits, ir.T(ir.Sym("B"), ir.Sym("T"), ir.N(c.spec.Task.Vocab())), 1)
		}
		c.buffer(state, c.rows("T"), 2)
		c.input(md, plan.At(state, 0))
		c.runs(&plan.Loop{N: n, Runs: plan.Times}, "loop_layer", md, plan.AtLayer(state, 0).Turn(), nil)
		c.outcome(md, plan.After(state, n, plan.Times).Turn())
		return c.p, c.err
	}
	most := c.spec.Train.Backprop
	last := &plan.Loop{N: n, Runs: plan.WithGrad, Most: most}
	c.derived = c.derive()
	tables := c.tables(*last, "loop", loop.Pos, place{"self", loop.Self, true, "T", "T"})
	c.buffer(Labels, ir.Ints(ir.Sym("B"), ir.Sym("T")), 1)
	c.buffer(Loss, ir.T(ir.Sym("B"), ir.Sym("T")), 1)
	c.buffer(state, c.rows("T"), n*most+1)
	first := plan.After(state, n, plan.NoGrad).Turn()
	c.input(md, first)
	first.InLoop = true
	c.runs(&plan.Loop{N: n, Runs: plan.NoGrad}, "loop_layer_no_grad", md, first, nil)
	c.runs(last, "loop_layer", md, plan.AtLayer(state, 0), tables)
	c.outcome(md, plan.After(state, n, plan.WithGrad))
	return c.p, c.err
}

// loopDecode runs a loop on rows P … P+T-1. Caches have the keys and values of all rows,
// for each layer and each run.
func (c *caller) loopDecode() (*plan.Program, error) {
	n := c.spec.Model.Loop.Layers
	c.loopMemory()
	caches := refs{"self_keys": plan.AtLayer("self_keys", 0), "self_values": plan.AtLayer("self_values", 0)}
	c.input(decoding, plan.At(state, 0))
	c.runs(&plan.Loop{N: n, Runs: plan.Times}, "loop_step", decoding, plan.AtLayer(state, 0).Turn(), caches)
	c.outcome(decoding, plan.After(state, n, plan.Times).Turn())
	return c.p, c.err
}

// loopMemory declares the buffers of decoding, for all C rows.
func (c *caller) loopMemory() {
	c.tokens("C")
	c.buffer(state, c.rows("C"), 2)
	for _, name := range []string{"self_keys", "self_values"} {
		c.p.Buffers = append(c.p.Buffers, &plan.Buffer{Name: name, Type: c.factors("C", c.spec.Model.Loop.Self), Count: c.spec.Model.Loop.Layers, PerTime: true})
	}
	c.history()
}

// tokens declares the row buffers that every program of a loop has.
func (c *caller) tokens(rows string) {
	ids := ir.Ints(ir.Sym("B"), ir.Sym(rows))
	c.buffer(TargetTokens, ids, 1)
	c.buffer(Pred, ids, 1)
	c.buffer(embedded, c.rows(rows), 1)
}

// input embeds the tokens and computes the state before the first layer.
func (c *caller) input(md mode, first plan.Ref) {
	c.embedTarget(md, plan.At(embedded, 0))
	args := refs{}
	if c.spec.Model.Loop.State == "embed" {
		args["x"] = plan.At(embedded, 0)
	}
	c.call("", func() (*ir.Func, error) { return c.start(md) }, args, refs{"y": first})
}

// runs adds a loop over layers, from tensor at to the next. more has further tensors that
// layers read; in decoding these are caches, which layers also store.
func (c *caller) runs(loop *plan.Loop, name string, md mode, at plan.Ref, more refs) {
	tables := refs{}
	if md == training {
		tables = more
	}
	f := c.built(func() (*ir.Func, error) { return c.loopLayer(name, md, tables) })
	if f == nil {
		return
	}
	next := at
	next.Off++
	args := with(c.countsFor("target"), refs{"x": at, embedded: plan.At(embedded, 0)})
	call := &plan.Call{Func: f, Group: "loop", Args: args, Results: refs{"y": next}}
	for name, ref := range more {
		call.Args[name] = ref
		if md == decoding {
			call.Results[name] = ref
		}
	}
	loop.Body = []*plan.Call{call}
	c.p.Body = append(c.p.Body, loop)
}

// start builds the state y [B, T, D] before the first layer: the embedded input x, or
// noise, or zeros if the noise has deviation 0. In tests all examples get the same noise,
// so that no answer depends on the launch's other examples.
func (m *builder) start(md mode) (*ir.Func, error) {
	loop := m.spec.Model.Loop
	b := ir.NewBuilder("start", loop.Pos)
	if loop.State == "embed" {
		b.Result("y", b.Map(x0, m.throttled(b, md, b.Param("x", m.rows("T"), ir.Input), runs)), false)
		return b.Func()
	}
	shape := m.rows("T").Shape
	if loop.Std == 0 {
		b.Result("y", b.MapShape(expr.F(0), shape), false)
		return b.Func()
	}
	examples := shape[0]
	if md != training {
		examples = ir.N(1)
	}
	noise := b.Noise(streamState, examples, shape[1], shape[2])
	b.Result("y", b.MapShape(expr.New(expr.Mul, x0, expr.F(loop.Std)), shape, noise), false)
	return b.Func()
}

// loopLayer builds x [B, T, D], embedded [B, T, D] -> y [B, T, D]: one layer, after
// adding the embedded input if the spec says so.
func (m *builder) loopLayer(name string, md mode, tables refs) (*ir.Func, error) {
	s := m.spec.Model.Loop
	l := m.newLayer(name, "loop", s.Pos, streamDecoder, md)
	l.tables = tables
	x := l.inject(l.b.Param("x", m.rows("T"), ir.Input))
	x = l.attend("self", s.Self, x, l.itself(s.Self), true)
	x = l.feedForward(x)
	l.b.Result("y", x, false)
	return l.b.Func()
}

// inject adds the embedded input before every layer, or before the first of each run,
// which it knows from the launch's layer number (arXiv:2405.17399, section 3.2).
func (l *layer) inject(x *ir.Value) *ir.Value {
	loop := l.spec.Model.Loop
	if loop.Inject == "none" {
		return x
	}
	sum := expr.New(expr.Add, x0, x1)
	if loop.Inject == "block" {
		at := expr.New(expr.Mod, expr.NewVar("layer", expr.I32), expr.Int(int64(loop.Layers)))
		sum = expr.New(expr.Where, expr.New(expr.Eq, at, expr.Int(0)), sum, x0)
	}
	input := l.throttled(l.b, l.md, l.b.Param(embedded, l.rows("T"), ir.Input), runs)
	return l.b.Label(l.b.Map(sum, x, input), "injected")
}

// runs is the number of recurrences with gradients of a launch.
var runs = expr.New(expr.ToF32, expr.NewVar("recurrences", expr.I32))

// throttled returns x, which enters or leaves the loop. If the spec divides the gradients of the
// loop's parameters by the recurrences with gradients, the gradient is divided by them where it
// enters the loop, and multiplied where it leaves it: then factor multiplies the gradient of x
// (arXiv:2405.17399, section 4.2, whose code multiplies the loss by a constant instead).
func (m *builder) throttled(b *ir.Builder, md mode, x *ir.Value, factor *expr.Expr) *ir.Value {
	if md != training || !m.spec.Train.ByRuns {
		return x
	}
	return b.ScaleGrad(x, factor)
}
