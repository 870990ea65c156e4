package host

import (
	"math"

	"github.com/arithlang/mlc/compiler/check"
	"github.com/arithlang/mlc/runtime/eval"
	"github.com/arithlang/mlc/runtime/train"
)

// TrainConfig returns a spec's training settings for a generated program.
func TrainConfig(spec *check.Spec, cost Cost) train.Config {
	c := train.Config(spec.Train.Train)
	c.Chunk, c.MicroBatch, c.Group = cost.Chunk, cost.Micro, cost.Group
	c.RowFLOP = math.Round(cost.RowFLOP)
	_, c.Rows = spec.TrainedShape()
	return c
}

// EvalConfig returns a spec's test settings for a generated program.
func EvalConfig(spec *check.Spec) eval.Config {
	c := eval.Config(spec.Eval.Eval)
	c.Reach = reach(&spec.Model)
	return c
}

// reach returns the rows of position tables that tests read, and sizes of calibrated biases.
func reach(m *check.Model) eval.Reach {
	var r eval.Reach
	r.Tokens, r.Places = m.Position.Reach()
	rows, keys := m.Decoder.Self.Calibrated()
	across, source := m.Decoder.Cross.Calibrated()
	r.Rows, r.Source = least(least(rows, keys), across), source
	return r
}

// least returns the smaller of two sizes; 0 means no size.
func least(a, b int) int {
	if a == 0 || b == 0 {
		return a + b
	}
	return min(a, b)
}
