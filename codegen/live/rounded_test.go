package live_test

import (
	"math"
	"slices"
	"testing"

	"github.com/arithlang/mlc/codegen/live"
	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/internal/full"
	"github.com/arithlang/mlc/runtime/device"
	trainer "github.com/arithlang/mlc/runtime/train"
)

// TestRoundedParameters checks the rounded copies of parameters wherever parameters change: at the
// start, after steps, and after a step that changes nothing. It does so in another trainer that
// resumes, adopts or writes zeros, and while parameters are averages.
func TestRoundedParameters(t *testing.T) {
	for _, set := range full.Some([][]string{
		{"train.optimizer=muon", "train.average=ema()", "train.grokfast=ema()"},
		{"train.optimizer=adamw", "train.average=ema()"},
		{"train.optimizer=lion", "train.average=ema()", "model.decoder.layers=2", "train.chunk=1", "train.microbatch=1"},
	}, 1) {
		m, err := live.New(compile(t, "tiny", append(set, "train.precision=bf16", "train.batch=3")))
		if err != nil {
			t.Fatal(err)
		}
		if !m.Plan.Rounds {
			t.Fatal("nothing is kept rounded")
		}
		tr := simulatedTrainer(t, m)
		tr.Dir = t.TempDir()
		start := rounded(t, tr, "at the start")
		path, _ := trained(t, tr, 2)
		if slices.Equal(rounded(t, tr, "after two steps"), start) {
			t.Error("two steps change no rounded parameter")
		}
		if err := tr.WithAverage(func() error {
			rounded(t, tr, "averaged")
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		after := rounded(t, tr, "after the average")
		tr.Machine.Root().PutFloats(device.Ref{Space: device.Params}, slices.Repeat([]float32{3e38}, 64))
		huge := rounded(t, tr, "with huge parameters")
		if _, err := tr.Step(0.01); err == nil {
			t.Error("a step with huge parameters is finite")
		}
		if !slices.Equal(rounded(t, tr, "after a step that changes nothing"), huge) {
			t.Error("a step that changes nothing changes rounded parameters")
		}
		from, err := trainer.Read(path)
		if err != nil {
			t.Fatal(err)
		}
		other := simulatedTrainer(t, m)
		other.Dir = tr.Dir
		if _, err := other.Adopt(from); err != nil {
			t.Fatal(err)
		}
		rounded(t, other, "adopted")
		if err := other.Resume(from); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(rounded(t, other, "resumed"), after) {
			t.Error("a resumed training has other rounded parameters")
		}
		if _, err := other.Step(0.01); err != nil {
			t.Fatal(err)
		}
		rounded(t, other, "a step after it resumed")
		other.Machine.Root().Zero(device.Ref{Space: device.Params, Off: 1}, 3)
		rounded(t, other, "with zeros")
	}
}

// rounded returns the rounded copies and checks them against the parameters.
func rounded(t *testing.T, tr *trainer.Trainer, when string) []uint16 {
	t.Helper()
	n := tr.Plan.NumParams
	params, words := make([]float32, n), make([]float32, n/2)
	w := tr.Machine.Root()
	w.GetFloats(params, device.Ref{Space: device.Params})
	w.GetFloats(words, device.Ref{Space: device.Rounded})
	if err := tr.Machine.Err(); err != nil {
		t.Fatal(err)
	}
	out := make([]uint16, 0, n)
	for _, x := range words {
		bits := math.Float32bits(x)
		out = append(out, uint16(bits), uint16(bits>>16))
	}
	for i, x := range out {
		off := func(bits uint16) float64 { return math.Abs(float64(expr.Widen(expr.BF16, bits)) - float64(params[i])) }
		if x&0x7fff == 0 && params[i] != 0 || x&0x7fff != 0 && off(x) > min(off(x-1), off(x+1)) {
			t.Fatalf("%s parameter %d, %g, is kept rounded as %g", when, i, params[i], expr.Widen(expr.BF16, x))
		}
	}
	return out
}
