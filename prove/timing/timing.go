// Package timing times training steps of a compiled model on a GPU, whole and kernel by kernel,
// at the shapes of training. Package codegen/live makes the model, and runtime/profile reads the
// GPU's clock. A phase of package prove uses it.
package timing

import (
	"context"
	"fmt"
	"time"

	"github.com/arithlang/mlc/codegen/live"
	"github.com/arithlang/mlc/runtime/cuda"
	"github.com/arithlang/mlc/runtime/device"
	"github.com/arithlang/mlc/runtime/profile"
)

// Options of Measure.
type Options struct {
	Warm, Steps int             // warm-up steps, and steps to time: whole ones, and as many kernel by kernel
	Batch       int             // examples a step; 0 for as many as in training
	Library     cuda.Multiplier // its products are compared with the kernels'; nil: none
	Multiply    bool            // whole steps use the library's products, too
	Alone       bool            // time only kernels, no whole steps
	End         time.Time       // after this only the first step of each kind begins; zero: no limit
}

// A Timing holds the times of steps.
type Timing struct {
	Name       string `json:"name"`
	Batch      int    `json:"batch"` // examples a step
	MicroBatch int    `json:"micro_batch"`
	Warm       int    `json:"warm_up_steps"`
	profile.GPU
	NoLibrary string `json:"no_library,omitempty"` // why there is no library to compare products with
}

// little divides the learning rate: learning does not matter, but numbers must stay finite.
const little = 100

// Measure trains a model on a device. Warm-up steps allocate memory and record graphs; then it
// times whole steps, and steps kernel by kernel. It does not close the driver and the library,
// and does not check results.
func Measure(ctx context.Context, m *live.Model, d cuda.Driver, o Options) (*Timing, error) {
	sized := *m
	if o.Batch > 0 {
		sized.Train.Batch = o.Batch
		sized.Train.Chunk, sized.Train.MicroBatch = min(m.Train.Chunk, o.Batch), min(m.Train.MicroBatch, o.Batch)
	}
	machine, err := m.Multiplied(d, o.Library)
	if err != nil {
		return nil, err
	}
	machine.Multiply(o.Multiply)
	t, err := sized.Trainer(machine)
	if err != nil {
		return nil, err
	}
	step := func(on device.Machine) error {
		t.Machine = on
		_, err := t.Step(t.Config.LR / little)
		return err
	}
	out := &Timing{Name: m.Name, Batch: t.Config.Batch, MicroBatch: t.Config.MicroBatch}
	for out.Warm < o.Warm && (out.Warm == 0 || o.End.IsZero() || time.Now().Before(o.End)) {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if err := step(machine); err != nil {
			return nil, fmt.Errorf("step %d of %s: %w", out.Warm+1, m.Name, err)
		}
		out.Warm++
	}
	run := profile.Run{Machine: machine, Costs: m.Costs, Step: step, Steps: o.Steps, End: o.End, Alone: o.Alone, Ahead: func(n int) error {
		t.Machine = machine
		_, err := t.Steps(n, t.Config.LR/little)
		return err
	}}
	for _, k := range m.GPU.Kernels {
		run.Names = append(run.Names, k.Name)
	}
	g, err := run.Measure(ctx)
	if err != nil {
		return nil, fmt.Errorf("steps of %s: %w", m.Name, err)
	}
	out.GPU = *g
	return out, nil
}
