package runtime

import (
	"time"

	"github.com/arithlang/mlc/runtime/cuda"
	gpupeak "github.com/arithlang/mlc/runtime/cuda/peak"
	"github.com/arithlang/mlc/runtime/train"
)

// onGPU measures by the clock of the GPU: whole steps as they are in training, then
// steps with a mark behind every launch, and what is possible at best.
func (r *benchResult) onGPU(m *Model, t *train.Trainer, gpu *cuda.Machine) error {
	r.GPU = &gpuBench{}
	if err := r.wholeSteps(t, gpu); err != nil {
		return err
	}
	best, err := gpupeak.Measure(gpu.Driver())
	if err != nil {
		return err
	}
	r.Peak = peak{Flops: best.Flops, Bytes: best.Bytes}
	return r.timedSteps(m, t, gpu)
}

// wholeSteps times steps one by one, with marks only around what is handed over together.
func (r *benchResult) wholeSteps(t *train.Trainer, gpu *cuda.Machine) error {
	before := gpu.Calls()
	var host, device []time.Duration
	busy, err := watched(gpu, false, func(w *cuda.Watch) (busy float64, err error) {
		for range r.Steps {
			took, err := timeSteps(t, 1)
			if err != nil {
				return 0, err
			}
			laps, err := w.Read()
			if err != nil {
				return 0, err
			}
			host, device = append(host, took[0]), append(device, laps.Total())
			busy += laps.Whole.Time.Seconds()
		}
		return busy, nil
	})
	if err != nil {
		return err
	}
	steps, calls := float64(r.Steps), gpu.Calls()
	r.Seconds, r.GPU.Host = median(device).Seconds(), median(host).Seconds()
	if all := mean(device) * steps; all > 0 {
		r.GPU.Busy = busy / all
	}
	r.GPU.Kernels = float64(calls.Kernels-before.Kernels) / steps
	r.GPU.Driver = float64(calls.Driver-before.Driver) / steps
	return nil
}

// timedSteps makes the rows. They and the rest add up to the steps that they are of:
// every lap of the GPU's clock is in one of them.
func (r *benchResult) timedSteps(m *Model, t *train.Trainer, gpu *cuda.Machine) error {
	plan := newStopwatch(gpu, m.CPU)
	t.Machine = plan
	laps, err := watched(gpu, true, func(w *cuda.Watch) (cuda.Laps, error) {
		if _, err := timeSteps(t, r.Steps); err != nil {
			return cuda.Laps{}, err
		}
		return w.Read()
	})
	if err != nil {
		return err
	}
	total := laps.Total()
	r.Timed = total.Seconds() / float64(r.Steps)
	kernels, clearing := plan.laps()
	launches := clearing.launches
	for i, l := range kernels {
		launches += l.launches
		l.onGPU, l.time = laps.Kernels[i].Times, laps.Kernels[i].Time
		r.row(m.CPU[i].Name, l)
	}
	r.GPU.Launches = float64(launches) / float64(r.Steps)
	for _, own := range []struct {
		name string
		cuda.Lap
		plan int
	}{
		{"(clearing)", laps.Clear, clearing.launches}, {"(copies on the GPU)", laps.Copy, 0},
		{"(sums of gradients)", laps.Add, 0}, {"(copies from and to the host)", laps.Transfers, 0},
	} {
		r.row(own.name, lap{launches: own.plan, onGPU: own.Times, time: own.Time})
	}
	r.finish(kernelBench{Name: "(the GPU waits for the host)", Seconds: laps.Idle.Time.Seconds() / float64(r.Steps)})
	return nil
}

// watched does something while a GPU's clock is read.
func watched[T any](gpu *cuda.Machine, each bool, do func(w *cuda.Watch) (T, error)) (T, error) {
	w, err := gpu.Watch(each)
	if err != nil {
		var none T
		return none, err
	}
	got, err := do(w)
	if closed := w.Close(); err == nil {
		err = closed // of a lost device it is the error that is known
	}
	return got, err
}
