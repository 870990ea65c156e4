package host

import (
	"math"

	"github.com/arithlang/mlc/compiler/check"
	"github.com/arithlang/mlc/runtime/eval"
	"github.com/arithlang/mlc/runtime/train"
)

// TrainConfig says how a spec is trained, as a generated program has it.
func TrainConfig(spec *check.Spec, cost Cost) train.Config {
	c := train.Config(spec.Train.Train)
	c.Chunk, c.MicroBatch, c.Group = cost.Chunk, cost.Micro, cost.Group
	c.RowFLOP = math.Round(cost.RowFLOP)
	_, c.Rows = spec.TrainedShape()
	return c
}

// EvalConfig says what is tested of a spec, as a generated program has it.
func EvalConfig(spec *check.Spec) eval.Config {
	c := eval.Config(spec.Eval.Eval)
	c.Reach = reach(&spec.Model)
	return c
}

// reach is the rows of the tables of positions that tests read, and the sizes of
// calibrated biases.
func reach(m *check.Model) eval.Reach {
	var r eval.Reach
	r.Tokens, r.Places = m.Position.Reach()
	rows, keys := m.Decoder.Self.Calibrated()
	across, source := m.Decoder.Cross.Calibrated()
	r.Rows, r.Source = least(least(rows, keys), across), source
	return r
}

// least is the smaller of two sizes; 0 means no size.
func least(a, b int) int {
	if a == 0 || b == 0 {
		return a + b
	}
	return min(a, b)
}
