package live_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/arithlang/mlc/codegen/live"
	"github.com/arithlang/mlc/ptxsim"
	"github.com/arithlang/mlc/runtime/comm"
	"github.com/arithlang/mlc/runtime/comm/commtest"
	"github.com/arithlang/mlc/runtime/cuda"
	"github.com/arithlang/mlc/runtime/device"
)

// TestStepsOfRanks takes two steps of a model on one simulated GPU, and on two and three that
// share its chunks. All have the same parameters, to the last bit.
func TestStepsOfRanks(t *testing.T) {
	m, err := live.New(compile(t, "tiny", []string{"train.batch=5", "train.microbatch=1", "train.chunk=1"}))
	if err != nil {
		t.Fatal(err)
	}
	want, err := stepped(m, nil)
	if err != nil {
		t.Fatal(err)
	}
	for size := 2; size <= 3; size++ {
		errs := commtest.Run(size, commtest.Faults{}, func(w comm.World) error {
			got, err := stepped(m, w)
			if err == nil && !slices.Equal(got, want) {
				err = fmt.Errorf("rank %d of %d has other parameters than one machine", w.Rank(), size)
			}
			return err
		})
		if err := errors.Join(errs...); err != nil {
			t.Error(err)
		}
	}
}

// stepped returns the parameters after two steps.
func stepped(m *live.Model, w comm.World) ([]float32, error) {
	d, err := gpus.Open(ptxsim.Options{})
	if err != nil {
		return nil, err
	}
	machine, err := m.Machine(d)
	if w != nil {
		machine, err = m.Ranked(d, cuda.Staged(d, w))
	}
	if err != nil {
		return nil, err
	}
	defer machine.Close()
	tr, err := m.Trainer(machine)
	if err != nil {
		return nil, err
	}
	for range 2 {
		if _, err := tr.Step(0.01); err != nil {
			return nil, err
		}
	}
	params := make([]float32, m.Plan.NumParams)
	machine.Root().GetFloats(params, device.Ref{Space: device.Params})
	return params, machine.Err()
}
