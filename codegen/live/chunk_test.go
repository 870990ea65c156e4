package live_test

import (
	"slices"
	"testing"

	"github.com/arithlang/mlc/codegen/live"
	"github.com/arithlang/mlc/runtime/device"
)

// TestChunksBesideGroups has chunks of 6 examples, of which 4 share draws: launches as large
// as a GPU may have leave the parameters of launches of one example.
func TestChunksBesideGroups(t *testing.T) {
	m, err := live.New(compile(t, "small/looped", []string{"model.width=16", "model.heads=2", "train.batch=12", "train.microbatch=4"}))
	if err != nil {
		t.Fatal(err)
	}
	if m.Train.Chunk, m.Train.MicroBatch = 6, 1; m.Train.Group != 4 {
		t.Fatalf("%d examples share draws", m.Train.Group)
	}
	step := func(launches func(device.Machine) device.Machine) []float32 {
		tr := simulatedTrainer(t, m)
		tr.Machine = launches(tr.Machine)
		if _, err := tr.Step(0.01); err != nil {
			t.Fatal(err)
		}
		params := make([]float32, m.Plan.NumParams)
		tr.Machine.Root().GetFloats(params, device.Ref{Space: device.Params})
		return params
	}
	small := step(func(m device.Machine) device.Machine { return launching{Machine: m, examples: 1} })
	if large := step(func(m device.Machine) device.Machine { return m }); !slices.Equal(small, large) {
		t.Errorf("other parameters than with launches of one example: %s", differing(large, small))
	}
}
