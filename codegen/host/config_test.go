package host

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/arithlang/mlc/compiler/check"
	"github.com/arithlang/mlc/compiler/lower"
	"github.com/arithlang/mlc/runtime/eval"
	"github.com/arithlang/mlc/runtime/task"
	"github.com/arithlang/mlc/runtime/train"
)

// TestConfigs sets everything that a spec can set for training and tests.
func TestConfigs(t *testing.T) {
	spec := resolve(t, `
task addition { operands = digits(1..6) }
model {
  embed.position = learned(max = 40)
  decoder_only { times = 4 }
}
train {
  loss      = progressive(alpha = 0.25, backprop = 3)
  reduce    = sum_over_batch
  throttle  = loss
  optimizer = adamw(lr = 2e-3, betas = [0.8, 0.95], eps = 1e-7, decay = 0.03)
  schedule  = trapezoid(warmup = 20%, cooldown = 30%)
  clip      = 0.5
  batch     = 96
  ramp      = grow(over = 40%, from = 32)
  budget    = 90s
  report    = full(every = 7steps, problems = 50)
  seed      = 9
  stop      = accuracy(at_least = 75%, on = held_out)
}
eval {
  grid     = [1..2, 3..4]
  diagonal = 5..6
  digits   = [7]
  samples  = 11
  pad      = zero(to = 8, step = 2)
  metric   = first_token
  mode     = greedy
  times    = [5, 6]
  settle   = 12
}`)
	_, rows := spec.TrainedShape()
	wantTrain := train.Config{
		Times: 4, Backprop: 3, Progressive: true, Alpha: 0.25, SumLoss: true, Throttle: true,
		LR: 2e-3, Beta1: 0.8, Beta2: 0.95, Eps: 1e-7, Decay: 0.03, Schedule: "trapezoid", Warmup: 0.2, Cooldown: 0.3,
		Clip: 0.5, Batch: 96, Ramp: 0.4, RampFrom: 32, Chunk: 24, MicroBatch: 8, Group: 16, Rows: rows, RowFLOP: 1235,
		Budget: train.Budget{Time: 90 * time.Second}, Stop: &train.Stop{AtLeast: 0.75, HeldOut: true},
		Report: train.Report{Every: 7, Problems: 50, Full: true}, Precision: "f32", Seed: 9,
	}
	cost := Cost{Batches: lower.Batches{Micro: 8, Chunk: 24, Group: 16}, RowFLOP: 1234.6}
	if diff := cmp.Diff(wantTrain, TrainConfig(spec, cost)); diff != "" {
		t.Errorf("training (-want +got):\n%s", diff)
	}
	wantEval := eval.Config{
		Grid: eval.Grid{First: eval.Span{Lo: 1, Hi: 2}, Second: eval.Span{Lo: 3, Hi: 4}}, Diagonal: eval.Span{Lo: 5, Hi: 6}, Digits: []int{7},
		Samples: 11, Pad: task.Pad{To: 8, Step: 2}, FirstToken: true, Greedy: true, Loop: 4, Times: []int{5, 6}, Settle: 12, Reach: eval.Reach{Tokens: 40},
	}
	if diff := cmp.Diff(wantEval, EvalConfig(spec)); diff != "" {
		t.Errorf("tests (-want +got):\n%s", diff)
	}
}

// TestConfigsLeaveOut wants unset settings left out: the share of a loss that is not
// progressive, and when to stop.
func TestConfigsLeaveOut(t *testing.T) {
	spec := resolve(t, "task successor {}\ntrain.budget = 5examples")
	c := TrainConfig(spec, Cost{})
	if c.Alpha != 0 || c.Report != (train.Report{Problems: train.Glance}) || c.Stop != nil || c.Budget != (train.Budget{Examples: 5}) {
		t.Errorf("%+v", c)
	}
}

// TestGivenAreTables wants only the elements of parameters from files.
func TestGivenAreTables(t *testing.T) {
	spec := resolve(t, "task successor {}")
	spec.Model.Decoder.Self.Params = []check.BiasParam{
		{Name: "a.m", Shape: []int{2}, Init: check.Init{Kind: "file"}, Values: []float32{1, 2}},
		{Name: "b.m", Shape: []int{2}, Init: check.Init{Kind: "stage"}},
	}
	if diff := cmp.Diff(map[string][]float32{"fixed.a.m": {1, 2}}, Given(spec)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
