package host

import (
	"math"

	"github.com/arithlang/mlc/compiler/check"
	"github.com/arithlang/mlc/compiler/plan"
	"github.com/arithlang/mlc/runtime/device"
	"github.com/arithlang/mlc/runtime/eval"
	"github.com/arithlang/mlc/runtime/task"
	"github.com/arithlang/mlc/runtime/train"
)

// TrainConfig says how a spec is trained, as a generated program has it.
func TrainConfig(spec *check.Spec, cost Cost) train.Config {
	t := &spec.Train
	_, rows := spec.TrainedShape()
	c := train.Config{
		Times: spec.Model.Times(), Backprop: t.Backprop, Progressive: t.Progressive, SumLoss: t.SumLoss, Throttle: t.Throttle,
		Optimizer: t.Optimizer, LR: t.LR, Beta1: t.Beta1, Beta2: t.Beta2, Eps: t.Eps, Decay: t.Decay,
		Schedule: t.Schedule, Warmup: t.Warmup, Cooldown: t.Cooldown, Clip: t.Clip,
		Batch: t.Batch, Ramp: t.Ramp, RampFrom: t.RampFrom, Chunk: cost.Chunk, MicroBatch: cost.Micro, Group: cost.Group,
		Rows: rows, RowFLOP: math.Round(cost.RowFLOP), Budget: budget(t), Stop: (*train.Stop)(t.Stop), Seed: t.Seed,
	}
	if t.Progressive {
		c.Alpha = t.Alpha
	}
	if t.Report != (check.Report{Problems: train.Glance}) { // which is what no Report stands for
		c.Report = train.Report(t.Report)
	}
	return c
}

// budget is the one that is set.
func budget(t *check.Train) train.Budget {
	switch {
	case t.Steps > 0:
		return train.Budget{Steps: t.Steps}
	case t.Examples > 0:
		return train.Budget{Examples: t.Examples}
	case t.FLOP > 0:
		return train.Budget{FLOP: t.FLOP}
	}
	return train.Budget{Time: t.Time}
}

// EvalConfig says what is tested of a spec, as a generated program has it.
func EvalConfig(spec *check.Spec) eval.Config {
	e := &spec.Eval
	c := eval.Config{
		Digits: e.Digits, Samples: e.Samples, Pad: task.Pad(e.Pad), FirstToken: e.FirstToken, Greedy: e.Greedy,
		Times: e.Times, Settle: e.Settle, Reach: reach(&spec.Model),
	}
	if g := e.Grid; g != nil {
		c.Grid = eval.Grid{First: eval.Span{Lo: g.FirstLo, Hi: g.FirstHi}, Second: eval.Span{Lo: g.SecondLo, Hi: g.SecondHi}}
	}
	if e.DiagonalHi > 0 {
		c.Diagonal = eval.Span{Lo: e.DiagonalLo, Hi: e.DiagonalHi}
	}
	if spec.Model.Loop != nil {
		c.Loop = spec.Model.Loop.Times
	}
	return c
}

// reach is the rows of the tables of positions that tests read, and the sizes of
// calibrated biases.
func reach(m *check.Model) eval.Reach {
	var r eval.Reach
	switch p := &m.Position; {
	case p.Kind == "learned", p.Kind == "random" && p.Inner == "learned":
		r.Tokens = p.Max
	case p.Kind == "abacus":
		r.Places = p.Table
	}
	rows, keys := m.Decoder.Self.Calibrated()
	across, source := m.Decoder.Cross.Calibrated()
	r.Rows, r.Source = least(least(rows, keys), across), source
	return r
}

// least is the smaller of two sizes, of which 0 is none.
func least(a, b int) int {
	if a == 0 || b == 0 {
		return a + b
	}
	return min(a, b)
}

// Group is a group of parameters as a generated program has it.
func Group(g *plan.Group) device.Group {
	out := device.Group{Name: g.Name, Stack: g.Stack, Off: g.Off, Layers: g.Layers, Stride: g.Stride()}
	for _, p := range g.Params {
		q := device.Param{Name: p.Name, Shape: p.Shape, Init: device.Init(p.Init), Decay: p.Decay, Fixed: p.Fixed}
		if p.Min != nil {
			q.Min = new(float32(*p.Min))
		}
		out.Params = append(out.Params, q)
	}
	return out
}
