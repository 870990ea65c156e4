package model

import (
	"math"

	"github.com/arithlang/mlc/compiler/check"
	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/ir"
	"github.com/arithlang/mlc/compiler/plan"
)

// gradients returns the program of one micro-batch forward and backward, and the programs
// for work that launches share.
func (m *builder) gradients() ([]*plan.Program, error) {
	p, err := m.wholeRows("gradients", training)
	if err != nil {
		return nil, err
	}
	seed, err := m.lossWeight()
	if err != nil {
		return nil, err
	}
	doc := "runs one micro-batch forward and backward: it adds the gradients of all parameters to the Grads arena"
	if p, err = plan.Differentiate("gradients", doc, p, map[string]*ir.Func{Loss: seed}); err != nil {
		return nil, err
	}
	return plan.Split(p), nil
}

// forward returns the program of teacher forcing without dropout.
func (m *builder) forward() (*plan.Program, error) {
	p, err := m.wholeRows("forward", teacher)
	if err != nil {
		return nil, err
	}
	p.Doc = "predicts every target row from the correct rows before it, without dropout"
	return p, nil
}

// attention returns the forward program up to the decoder layer whose attention it
// stores. Earlier layers store theirs in the same buffers, so one function is enough.
func (m *builder) attention() (*plan.Program, error) {
	p := &plan.Program{Name: "attention", Memory: "attention",
		Doc: "stores the attention of a decoder layer, for every target row from the correct rows before it, without dropout"}
	c := &caller{builder: m, p: p}
	c.buffer(SourceTokens, ir.Ints(ir.Sym("B"), ir.Sym("S")), 1)
	c.buffer(TargetTokens, ir.Ints(ir.Sym("B"), ir.Sym("T")), 1)
	heads := ir.N(m.spec.Model.Heads)
	c.buffer(Self, ir.T(ir.Sym("B"), heads, ir.Sym("T"), ir.Sym("T")), 1)
	c.buffer(Cross, ir.T(ir.Sym("B"), heads, ir.Sym("T"), ir.Sym("S")), 1)
	source := c.source(teacher, nil)
	n := m.spec.Capture.Layer
	c.buffer("x", m.rows("T"), n+1)
	c.embedTarget(teacher, plan.At("x", 0))
	c.loop(n, "decoder", func() (*ir.Func, error) { return m.decoderLayer(capturing, nil) },
		with(c.countsFor("target", "source"), refs{"x": plan.AtLayer("x", 0), "source": source}),
		refs{"y": plan.AtLayer("x", 1), "self": plan.At(Self, 0), "cross": plan.At(Cross, 0)})
	return p, c.err
}

// wholeRows returns the program that runs the model on all target rows at once.
func (m *builder) wholeRows(name string, md mode) (*plan.Program, error) {
	p := &plan.Program{Name: name, Memory: name}
	c := &caller{builder: m, p: p}
	if m.spec.Model.Loop != nil {
		return c.loopRows(md)
	}
	c.buffer(SourceTokens, ir.Ints(ir.Sym("B"), ir.Sym("S")), 1)
	c.buffer(TargetTokens, ir.Ints(ir.Sym("B"), ir.Sym("T")), 1)
	c.buffer(Labels, ir.Ints(ir.Sym("B"), ir.Sym("T")), 1)
	c.buffer(Pred, ir.Ints(ir.Sym("B"), ir.Sym("T")), 1)
	if m.scored(md) {
		c.buffer(Loss, ir.T(ir.Sym("B"), ir.Sym("T")), 1)
	}
	enc, dec := m.spec.Model.Encoder, m.spec.Model.Decoder
	n := depth(dec)
	var encoder, tables refs
	if md == training {
		c.derived = c.derive()
		encoder = c.tables(plan.Loop{N: depth(enc)}, "encoder", enc.Pos, place{"self", enc.Self, true, "S", "S"})
		tables = c.tables(plan.Loop{N: n}, "decoder", dec.Pos, place{"self", dec.Self, true, "T", "T"}, place{"cross", dec.Cross, false, "T", "S"})
	}
	source := c.source(md, encoder)
	c.buffer("x", m.rows("T"), n+1)
	c.embedTarget(md, plan.At("x", 0))
	c.loop(n, "decoder", func() (*ir.Func, error) { return m.decoderLayer(md, tables) },
		with(c.countsFor("target", "source"), with(tables, refs{"x": plan.AtLayer("x", 0), "source": source})), refs{"y": plan.AtLayer("x", 1)})
	c.outcome(md, plan.At("x", n))
	return p, c.err
}

// encode returns the program for the source side of decoding. It fills the caches of
// cross attention.
func (m *builder) encode() (*plan.Program, error) {
	p := &plan.Program{Name: "encode", Memory: "decoding", Doc: "runs the source side of decoding and fills the key and value caches of cross attention"}
	c := &caller{builder: m, p: p}
	if m.spec.Model.Loop != nil {
		p.Doc = "does nothing: the model reads one text"
		c.loopMemory()
		return p, c.err
	}
	n := c.caches()
	source := c.source(teacher, nil)
	c.loop(n, "decoder", m.crossCache, refs{"source": source},
		refs{"cross_keys": plan.AtLayer("cross_keys", 0), "cross_values": plan.AtLayer("cross_values", 0)})
	return p, c.err
}

// decode returns the program that runs rows P … P+T-1 with the caches.
func (m *builder) decode() (*plan.Program, error) {
	p := &plan.Program{Name: "decode", Memory: "decoding", Doc: "predicts target rows P … P+T-1 from the caches that encode and earlier rows have filled"}
	c := &caller{builder: m, p: p}
	if m.spec.Model.Loop != nil {
		p.Doc = "predicts rows P … P+T-1 from the caches that earlier rows have filled"
		return c.loopDecode()
	}
	n := c.caches()
	c.embedTarget(decoding, plan.At("x", 0))
	args, results := with(c.countsFor("target", "source"), refs{"x": plan.AtLayer("x", 0)}), refs{"y": plan.AtLayer("x", 1)}
	for _, cache := range []string{"self_keys", "self_values", "cross_keys", "cross_values"} {
		args[cache] = plan.AtLayer(cache, 0)
	}
	results["self_keys"], results["self_values"] = args["self_keys"], args["self_values"]
	c.loop(n, "decoder", func() (*ir.Func, error) { return m.decoderLayer(decoding, nil) }, args, results)
	c.outcome(decoding, plan.At("x", n))
	return p, c.err
}

type refs = map[string]plan.Ref

// A caller writes one program and keeps the first error.
type caller struct {
	*builder
	p       *plan.Program
	derived map[string]refs // in training, tables of expressions by the part of the model that reads them
	err     error
}

func (c *caller) buffer(name string, t ir.Type, count int) {
	c.p.Buffers = append(c.p.Buffers, &plan.Buffer{Name: name, Type: t, Count: count})
}

// caches declares the buffers that encode and decode share. Buffers for decoded rows have
// room for all C rows.
func (c *caller) caches() int {
	n := depth(c.spec.Model.Decoder)
	c.buffer(SourceTokens, ir.Ints(ir.Sym("B"), ir.Sym("S")), 1)
	c.buffer(TargetTokens, ir.Ints(ir.Sym("B"), ir.Sym("C")), 1)
	c.buffer(Pred, ir.Ints(ir.Sym("B"), ir.Sym("C")), 1)
	self, cross := c.spec.Model.Decoder.Self, c.spec.Model.Decoder.Cross
	c.buffer("cross_keys", c.factors("S", cross), n)
	c.buffer("cross_values", c.factors("S", cross), n)
	c.buffer("self_keys", c.factors("C", self), n)
	c.buffer("self_values", c.factors("C", self), n)
	c.buffer("x", c.rows("C"), n+1)
	c.history()
	return n
}

// depth returns the number of layers that a row passes.
func depth(s check.Stack) int { return s.Layers * max(s.Times, 1) }

// source embeds and encodes the source tokens and returns the result's place. tables are
// bias tables that launches share.
func (c *caller) source(md mode, tables refs) plan.Ref {
	n := depth(c.spec.Model.Encoder)
	c.buffer("source", c.rows("S"), n+1)
	embed := func() (*ir.Func, error) {
		return c.embed("embed_source", SourceTokens, "S", expr.Int(0), streamSource, md)
	}
	c.counts("source", md)
	c.call("embed", embed, with(c.derived["source"], refs{SourceTokens: plan.At(SourceTokens, 0)}), refs{"x": plan.At("source", 0)})
	if n == 0 {
		return plan.At("source", 0)
	}
	c.loop(n, "encoder", func() (*ir.Func, error) { return c.encoderLayer(md, tables) },
		with(c.countsFor("source"), with(tables, refs{"x": plan.AtLayer("source", 0)})), refs{"y": plan.AtLayer("source", 1)})
	c.buffer("memory", c.rows("S"), 1)
	c.call("encoder_norm", c.encoderNorm, refs{"x": plan.At("source", n)}, refs{"y": plan.At("memory", 0)})
	return plan.At("memory", 0)
}

// embedTarget embeds the target tokens.
func (c *caller) embedTarget(md mode, to plan.Ref) {
	embed := func() (*ir.Func, error) {
		return c.embed("embed_target", TargetTokens, "T", expr.NewVar("P", expr.I32), streamTarget, md)
	}
	args, results := with(c.derived["target"], refs{TargetTokens: plan.At(TargetTokens, 0)}), refs{"x": to}
	if md == decoding && c.coupled() {
		args[history], results[history] = plan.At(history, 0), plan.At(history, 0)
	}
	c.counts("target", md)
	c.call("embed", embed, args, results)
}

// scored reports whether rows have losses: in training, and without dropout if reports or
// tests during training need them.
func (m *builder) scored(md mode) bool {
	return md == training || md == teacher && (m.spec.Train.Report.Full || m.spec.Eval.During.Any())
}

// sampled reports whether the logits of rows are stored, so that a text can be continued by
// sampling.
func (m *builder) sampled(md mode) bool { return md == teacher && m.spec.Task.Kind == "text" }

// outcome predicts from the last layer's rows and computes the losses of scored rows.
func (c *caller) outcome(md mode, x plan.Ref) {
	args, results := with(c.derived["head"], refs{"x": x}), refs{"pred": plan.At(Pred, 0)}
	if c.scored(md) {
		args["labels"] = plan.At(Labels, 0)
		results["loss"] = plan.At(Loss, 0)
	}
	if c.sampled(md) {
		results[Logits] = plan.At(Logits, 0)
	}
	c.call("head", func() (*ir.Func, error) { return c.head(md) }, args, results)
}

func (c *caller) call(group string, build func() (*ir.Func, error), args, results refs) {
	if f := c.built(build); f != nil {
		c.p.Body = append(c.p.Body, &plan.Call{Func: f, Group: group, Args: args, Results: results})
	}
}

func (c *caller) loop(n int, group string, build func() (*ir.Func, error), args, results refs) {
	if f := c.built(build); f != nil {
		call := &plan.Call{Func: f, Group: group, Args: args, Results: results}
		c.p.Body = append(c.p.Body, &plan.Loop{N: n, Body: []*plan.Call{call}})
	}
}

func (c *caller) built(build func() (*ir.Func, error)) *ir.Func {
	if c.err != nil {
		return nil
	}
	f, err := build()
	c.err = err
	return f
}

func (m *builder) encoderNorm() (*ir.Func, error) {
	l := m.newLayer("encoder_norm", "encoder_norm", m.spec.Model.Encoder.Pos, 0, training)
	l.b.Result("y", l.norm(l.b.Param("x", m.rows("S"), ir.Input), "norm"), false)
	return l.b.Func()
}

// lossWeight returns the gradient of the batch's loss, a weighted sum of rows, with
// respect to each row's loss. It is NaN if that loss is not finite. So the norm of the
// gradient tells whether the step is possible. In a mean of the examples' means, rows of an
// example share its weight.
func (m *builder) lossWeight() (*ir.Func, error) {
	b := ir.NewBuilder("loss_weight", m.spec.Train.Pos)
	loss := b.Param(Loss, ir.T(ir.Sym("B"), ir.Sym("T")), ir.Input)
	finite := expr.New(expr.Lt, expr.New(expr.Abs, x0), expr.F(math.Inf(1)))
	weight, args := expr.NewVar("scale", expr.F32), []*ir.Value{loss}
	if m.spec.Train.ExampleLoss {
		labels := b.Param(Labels, ir.Ints(ir.Sym("B"), ir.Sym("T")), ir.Input)
		counts := b.Map(expr.New(expr.Where, expr.New(expr.Le, expr.Int(0), ir.X(0, expr.I32)), expr.F(1), expr.F(0)), labels)
		args = append(args, b.Reshape(b.Sum(counts, 1), ir.Sym("B"), ir.N(1)))
		weight = expr.New(expr.Div, weight, expr.New(expr.Max, ir.X(1, expr.F32), expr.F(1)))
	}
	b.Result("weight", b.Map(expr.New(expr.Where, finite, weight, expr.F(math.NaN())), args...), false)
	return b.Func()
}
