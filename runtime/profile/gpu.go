package profile

import (
	"context"
	"time"

	"github.com/arithlang/mlc/runtime/cuda"
	"github.com/arithlang/mlc/runtime/cuda/peak"
	"github.com/arithlang/mlc/runtime/device"
)

// A Run describes a measurement on a GPU.
type Run struct {
	Machine *cuda.Machine
	Names   []string // of kernels, by number
	Costs   []Cost   // by number
	Step    func(m device.Machine) error
	Ahead   func(n int) error // runs n steps, each queued as soon as the machine takes it, as in training; waits for the last
	Steps   int               // how many whole steps, as many queued ahead, and as many kernel by kernel
	Trace   *Trace            // records the steps that are timed kernel by kernel; nil: no trace
	End     time.Time         // deadline of all; whole steps end at a third of the time that is left; zero: no deadline
	Alone   bool              // time only the kernels, no whole steps
}

// GPU is the time of a model's step on a GPU. Times are seconds by the GPU's clock, unless
// stated otherwise, and 0 if it has no clock.
type GPU struct {
	Steps    int       `json:"steps"`         // number of whole steps timed
	Seconds  float64   `json:"step_seconds"`  // median of whole steps
	Host     float64   `json:"host_seconds"`  // median of whole steps, by the host's clock
	Ahead    float64   `json:"ahead_seconds"` // mean of steps that are queued ahead, as in training, by the host's clock
	Busy     float64   `json:"busy"`          // share of the time that the GPU works instead of waiting for the host
	Launches float64   `json:"plan_launches"`
	Kernels  float64   `json:"gpu_launches"`    // launches on the GPU: launches that differ only in their data become one
	Driver   float64   `json:"driver_launches"` // launches that the driver is asked for: a graph is one
	Peak     peak.Peak `json:"peak"`            // as measured
	Marked   int       `json:"timed_steps"`     // steps with a time for each launch
	Timed    float64   `json:"timed_step_seconds"`
	Rows     []Row     `json:"kernels,omitempty"` // longest first, then the rest; they add up to a timed step
	Reason   string    `json:"not_timed,omitempty"`

	Products *Products `json:"products,omitempty"` // nil: no library computes products
}

// waiting is the last of the Rows.
const waiting = "(the GPU waits for the host)"

// Working returns the rows without the time that the GPU waits: marks after every launch make
// that longer than in training. Shares are of the sum of these rows.
func (g *GPU) Working() (rows []Row) {
	sum := 0.0
	for _, r := range g.Rows {
		if r.Name != waiting {
			rows, sum = append(rows, r), sum+r.Seconds
		}
	}
	for i := range rows {
		if rows[i].Share = 0; sum > 0 {
			rows[i].Share = rows[i].Seconds / sum
		}
	}
	return rows
}

// Measure times whole steps one by one, then as many queued ahead as in training, then steps
// with a mark after every launch. Before the marked steps it measures the GPU's peaks. It runs
// at least one step of each kind and checks ctx between steps. With Alone it times only the
// marked steps.
func (r *Run) Measure(ctx context.Context) (*GPU, error) {
	g := &GPU{}
	var err error
	if !r.Alone {
		if err = r.whole(ctx, g); err != nil {
			return nil, err
		}
		if err = r.ahead(g); err != nil {
			return nil, err
		}
	}
	if g.Peak, err = peak.Measure(r.Machine.Driver()); err != nil {
		return nil, err
	}
	if err := r.timed(ctx, g); err != nil {
		return nil, err
	}
	if err := r.compare(ctx, g); err != nil {
		if ctx.Err() != nil {
			return nil, err
		}
		g.Products = &Products{Library: r.Machine.Multiplier().Name(), Failed: err.Error()} // the times so far remain valid
	}
	if g.Timed == 0 {
		g.Reason, g.Ahead = "the device has no clock", 0
	}
	return g, nil
}

// steps calls do up to r.Steps times, at least once. It stops when the given share of the
// remaining time has passed.
func (r *Run) steps(ctx context.Context, share float64, do func() error) (n int, err error) {
	start := time.Now()
	for n < max(r.Steps, 1) {
		if n > 0 && !r.End.IsZero() && float64(time.Since(start)) >= share*float64(r.End.Sub(start)) {
			break
		}
		if ctx.Err() != nil {
			return n, context.Cause(ctx)
		}
		if err := do(); err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

// whole times steps one by one, with marks only around the work that is submitted together.
func (r *Run) whole(ctx context.Context, g *GPU) error {
	const third = 1. / 3
	before := r.Machine.Calls()
	var host, device []time.Duration
	busy := 0.0
	err := r.watched(false, func(w *cuda.Watch) (err error) {
		g.Steps, err = r.steps(ctx, third, func() error {
			start := time.Now()
			if err := r.Step(r.Machine); err != nil {
				return err
			}
			host = append(host, time.Since(start))
			laps, err := w.Read()
			device = append(device, laps.Total())
			busy += laps.Whole.Time.Seconds()
			return err
		})
		return err
	})
	if err != nil {
		return err
	}
	n, calls := float64(g.Steps), r.Machine.Calls()
	g.Seconds, g.Host = Median(device).Seconds(), Median(host).Seconds()
	if all := n * Mean(device); all > 0 {
		g.Busy = busy / all
	}
	g.Kernels, g.Driver = float64(calls.Kernels-before.Kernels)/n, float64(calls.Driver-before.Driver)/n
	return nil
}

// ahead times as many steps as whole, in rounds, and keeps the median. It does not repeat a
// long round.
func (r *Run) ahead(g *GPU) error {
	const rounds, long = 3, time.Second
	var took []time.Duration
	for len(took) == 0 || len(took) < rounds && took[0] < long {
		start := time.Now()
		if err := r.Ahead(g.Steps); err != nil {
			return err
		}
		took = append(took, time.Since(start))
	}
	g.Ahead = Median(took).Seconds() / float64(g.Steps)
	return nil
}

// maxSamples bounds the memory for a kernel's median.
const maxSamples = 1 << 16

// timed fills in the rows. Every lap of the GPU's clock is in exactly one row. So the rows add
// up to the timed step, and no row is negative.
func (r *Run) timed(ctx context.Context, g *GPU) error {
	plan := NewStopwatch(r.Machine, r.Costs)
	samples := make([][]time.Duration, len(r.Names))
	var laps cuda.Laps
	err := r.watched(true, func(w *cuda.Watch) (err error) {
		w.Each(func(kernel int, took time.Duration, other string) {
			if kernel < 0 {
				r.Trace.follow(other, took)
				return
			}
			r.Trace.follow(r.Names[kernel], took)
			if len(samples[kernel]) < maxSamples {
				samples[kernel] = append(samples[kernel], took)
			}
		})
		if g.Marked, err = r.steps(ctx, 1, func() error { return r.Step(plan) }); err != nil {
			return err
		}
		laps, err = w.Read()
		return err
	})
	if err != nil {
		return err
	}
	total := laps.Total()
	g.Timed = total.Seconds() / float64(g.Marked)
	t := Table{Steps: g.Marked, Threads: 1, Step: g.Timed, Peak: g.Peak}
	kernels, clearing := plan.Laps()
	launches := clearing.Launches
	for i, l := range kernels {
		launches += l.Launches
		if !r.Machine.Tensor(i) {
			l.Cost = l.Plain()
		}
		l.OnGPU, l.Time = laps.Kernels[i].Times, laps.Kernels[i].Time
		if len(samples[i]) > 0 {
			l.Median = Median(samples[i])
		}
		t.Add(r.Names[i], l)
	}
	g.Launches = float64(launches) / float64(g.Marked)
	for _, own := range []struct {
		name string
		cuda.Lap
		plan int
	}{
		{"(clearing)", laps.Clear, clearing.Launches}, {"(copies on the GPU)", laps.Copy, 0},
		{"(sums of gradients)", laps.Add, 0}, {"(clipping's factor)", laps.Settle, 0}, {"(copies from and to the host)", laps.Transfers, 0},
		{"(exchange between ranks)", laps.Ranks, 0},
	} {
		t.Add(own.name, Lap{Launches: own.plan, OnGPU: own.Times, Time: own.Time})
	}
	t.Finish(waiting, laps.Idle.Time.Seconds()/float64(g.Marked))
	g.Rows = t.Rows
	return nil
}

// watched calls do while the GPU's clock is read.
func (r *Run) watched(each bool, do func(w *cuda.Watch) error) error {
	w, err := r.Machine.Watch(each)
	if err != nil {
		return err
	}
	err = do(w)
	if closed := w.Close(); err == nil {
		err = closed // for a lost device this is the known error
	}
	return err
}
