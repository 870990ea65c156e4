package model

import (
	"github.com/arithlang/mlc/compiler/check"
	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/ir"
	"github.com/arithlang/mlc/compiler/plan"
	"github.com/arithlang/mlc/runtime/config"
)

// sumSquares builds the squared norm of a flat arena [N] as one element. It sums each
// segment independently, so that processors of a GPU do not wait for each other, sums
// segments of these sums, and adds the results in ascending order. With Grokfast it is the
// norm of the filtered gradients.
func sumSquares(t check.Train) (*ir.Func, error) {
	b := ir.NewBuilder("sum_squares", t.Pos)
	of := ir.T(ir.Sym("N"))
	x, args := x0, []*ir.Value{b.Param("g", of, ir.Input)}
	if f := t.Grokfast; f != nil {
		x, args = amplified(f, x0, slower(f, x1, x0)), append(args, b.Param(config.SlowState, of, ir.Input))
	}
	b.Result("sum", b.Sum(b.SegmentSum(b.Map(expr.New(expr.Mul, x, x), args...)), 0), false)
	return b.Func()
}

// slower returns the running average of gradients after a step, as in the code of Lee et
// al. 2024 (arXiv:2405.20233). The first average is the gradient.
func slower(f *check.Grokfast, old, grad *expr.Expr) *expr.Expr {
	first := expr.New(expr.Eq, expr.New(expr.AsI32, expr.NewVar("step", expr.U32)), expr.Int(0))
	return expr.New(expr.Where, first, grad, average(f.Alpha, old, grad))
}

// amplified adds the average to a gradient.
func amplified(f *check.Grokfast, grad, slow *expr.Expr) *expr.Expr {
	return expr.New(expr.Add, grad, expr.New(expr.Mul, expr.F(f.Lamb), slow))
}

// A rule updates parameters from gradients. It keeps states for each parameter from one
// step to the next. step computes new parameters and states from the old ones and the
// gradient, all tensors of one shape.
type rule struct {
	states []string // their names
	step   func(b *ir.Builder, t check.Train, param, grad *ir.Value, states []*ir.Value) (*ir.Value, []*ir.Value)

	// The first states may be an average of gradients, then one of parameters. step does
	// not see them.
	average, slow bool
}

// An optimizer has a rule for single elements. It may have another rule for the matrices
// of linear layers, apart from the output. That rule's step gets a whole matrix, and its
// states are the first of the element rule's.
type optimizer struct {
	rule
	matrix *rule // nil: matrices follow the element rule
}

var (
	adaptive   = rule{states: []string{"moment1", "moment2"}, step: adam}
	optimizers = map[string]optimizer{
		"adam":  {rule: adaptive},
		"adamw": {rule: adaptive},
		"lion":  {rule: rule{states: []string{"momentum"}, step: lion}},
		"sgd":   {rule: rule{states: []string{"momentum"}, step: sgd}},
		"muon":  {adaptive, &rule{states: []string{"moment1"}, step: muon}},
	}
)

// optimizer builds the functions of the spec's optimizer.
func (m *builder) optimizer() error {
	t := m.spec.Train
	o := optimizers[t.Optimizer]
	if t.Averages {
		o = o.averaging()
	}
	if t.Grokfast != nil {
		o = o.filtering()
	}
	m.plan.States = o.states
	functions := []func() (*ir.Func, error){
		func() (*ir.Func, error) { return sumSquares(t) },
		func() (*ir.Func, error) { return o.update("update", t, ir.Sym("N")) },
	}
	if o.matrix != nil {
		m.plan.MatrixStates = len(o.matrix.states)
	}
	for _, s := range m.plan.Matrices() {
		functions = append(functions, func() (*ir.Func, error) {
			return o.matrix.update(s.Update(), t, ir.N(s.Rows), ir.N(s.Cols))
		})
	}
	for _, build := range functions {
		f, err := build()
		if err != nil {
			return err
		}
		m.plan.Optimizer = append(m.plan.Optimizer, f)
	}
	return nil
}

// averaging returns the optimizer with an average of the parameters.
func (o optimizer) averaging() optimizer {
	return o.with(config.AverageState, func(r *rule) { r.average = true })
}

// filtering returns the optimizer on gradients to which their average is added.
func (o optimizer) filtering() optimizer {
	return o.with(config.SlowState, func(r *rule) { r.slow = true })
}

// with returns the optimizer with one more state, first in each rule. set marks the rule.
func (o optimizer) with(state string, set func(*rule)) optimizer {
	extended := func(r rule) rule {
		r.states = append([]string{state}, r.states...)
		set(&r)
		return r
	}
	o.rule = extended(o.rule)
	if o.matrix != nil {
		o.matrix = new(extended(*o.matrix))
	}
	return o
}

// update builds a step on tensors of the given shape. It filters the gradient, clips it,
// applies the rule, and keeps parameters above their bound. Filtering comes first, so
// that clipping limits the gradient that the rule gets. If the clipping factor is NaN,
// nothing changes.
func (r *rule) update(name string, t check.Train, shape ...ir.Dim) (*ir.Func, error) {
	b := ir.NewBuilder(name, t.Pos)
	of := ir.T(shape...)
	p, g := b.Param("p", of, ir.Input), b.Param("g", of, ir.Input)
	var old, states []*ir.Value
	for _, name := range r.states {
		old = append(old, b.Param(name, of, ir.Input))
	}
	own := old
	if r.slow {
		slow := b.Map(slower(t.Grokfast, x1, x0), g, own[0])
		g, own, states = b.Map(amplified(t.Grokfast, x0, x1), g, slow), own[1:], append(states, slow)
	}
	averages := own
	if r.average {
		own = own[1:]
	}
	next, stepped := r.step(b, t, p, b.Map(expr.New(expr.Mul, x0, scalar("clip")), g), own)
	bounded := expr.New(expr.Where, expr.New(expr.Lt, x0, scalar("bound")), scalar("bound"), x0)
	if r.average {
		states = append(states, b.Map(averaged(t.Average, x1, bounded), next, averages[0]))
	}
	states = append(states, stepped...)
	for i, name := range r.states {
		b.Result(name, b.Map(unlessSkipped(x0, x1), states[i], old[i]), false)
	}
	p = b.Map(unlessSkipped(bounded, x1), next, p)
	b.Result("p", p, false)
	if t.Precision == "bf16" {
		b.Result(plan.Rounded, b.Round(p), false)
	}
	return b.Func()
}

// unlessSkipped returns next, or old in a step that is skipped.
func unlessSkipped(next, old *expr.Expr) *expr.Expr {
	return expr.New(expr.Where, expr.New(expr.Le, expr.F(0), scalar("clip")), next, old)
}

// adam is AdamW (Loshchilov and Hutter 2019, algorithm 2), with the bias corrections
// 1/(1-beta^t) given as scalars. With decay 0 it is Adam (Kingma and Ba 2015, algorithm
// 1).
func adam(b *ir.Builder, t check.Train, p, g *ir.Value, moments []*ir.Value) (*ir.Value, []*ir.Value) {
	m := b.Map(average(t.Beta1, x0, x1), moments[0], g)
	v := b.Map(average(t.Beta2, x0, expr.New(expr.Mul, x1, x1)), moments[1], g)
	mean := expr.New(expr.Mul, x0, scalar("bias_correction1"))
	root := expr.New(expr.Sqrt, expr.New(expr.Mul, x1, scalar("bias_correction2")))
	direction := expr.New(expr.Div, mean, expr.New(expr.Add, root, expr.F(t.Eps)))
	return b.Map(descended(ir.X(2, expr.F32), direction), m, v, p), []*ir.Value{m, v}
}

// lion is Lion (Chen et al. 2023, algorithm 2).
func lion(b *ir.Builder, t check.Train, p, g *ir.Value, states []*ir.Value) (*ir.Value, []*ir.Value) {
	momentum := states[0]
	direction := sign(average(t.Beta1, x0, x1))
	return b.Map(descended(ir.X(2, expr.F32), direction), momentum, g, p), []*ir.Value{b.Map(average(t.Beta2, x0, x1), momentum, g)}
}

// sgd is stochastic gradient descent with momentum (Sutskever et al. 2013, section 2) as in
// torch.optim.SGD: the decay is part of the gradient.
func sgd(b *ir.Builder, t check.Train, p, g *ir.Value, states []*ir.Value) (*ir.Value, []*ir.Value) {
	x2 := ir.X(2, expr.F32)
	decayed := expr.New(expr.Add, x1, expr.New(expr.Mul, scalar("decay"), x2))
	ahead := func(old, gradient *expr.Expr) *expr.Expr {
		return expr.New(expr.Add, expr.New(expr.Mul, expr.F(t.SGD.Momentum), old), gradient)
	}
	momentum := b.Map(ahead(x0, decayed), states[0], g, p)
	direction := x0
	if t.SGD.Nesterov {
		direction = ahead(x0, decayed)
	}
	return b.Map(expr.New(expr.Sub, x2, expr.New(expr.Mul, scalar("lr"), direction)), momentum, g, p), []*ir.Value{momentum}
}

// sign returns -1, 0 or 1, and 0 for NaN.
func sign(x *expr.Expr) *expr.Expr {
	zero := expr.F(0)
	negative := expr.New(expr.Where, expr.New(expr.Lt, x, zero), expr.F(-1), zero)
	return expr.New(expr.Where, expr.New(expr.Lt, zero, x), expr.F(1), negative)
}

// descended returns p - lr*(direction + decay*p).
func descended(p, direction *expr.Expr) *expr.Expr {
	step := expr.New(expr.Add, direction, expr.New(expr.Mul, scalar("decay"), p))
	return expr.New(expr.Sub, p, expr.New(expr.Mul, scalar("lr"), step))
}

// average returns beta*old + (1-beta)*new.
func average(beta float64, old, new *expr.Expr) *expr.Expr {
	return expr.New(expr.Add, expr.New(expr.Mul, expr.F(beta), old), expr.New(expr.Mul, expr.F(1-beta), new))
}

// averaged returns the exponential moving average of parameters after a step, before
// which there were t steps. Its decay is t/(t+9), up to the given decay, as in
// tf.train.ExponentialMovingAverage with num_updates. So it begins with the parameters
// after the first step and forgets them early.
func averaged(decay float64, old, new *expr.Expr) *expr.Expr {
	t := expr.New(expr.ToF32, expr.New(expr.AsI32, expr.NewVar("step", expr.U32)))
	share := expr.New(expr.Min, expr.F(decay), expr.New(expr.Div, t, expr.New(expr.Add, t, expr.F(9))))
	return expr.New(expr.Add, expr.New(expr.Mul, share, old), expr.New(expr.Mul, expr.New(expr.Sub, expr.F(1), share), new))
}

func scalar(name string) *expr.Expr { return expr.NewVar(name, expr.F32) }
