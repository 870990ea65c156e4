// Package bench is the verb bench, which times training steps and their kernels.
package bench

import (
	"bufio"
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/arithlang/mlc/runtime/cuda"
	gpupeak "github.com/arithlang/mlc/runtime/cuda/peak"
	"github.com/arithlang/mlc/runtime/device"
	"github.com/arithlang/mlc/runtime/flags"
	"github.com/arithlang/mlc/runtime/profile"
	"github.com/arithlang/mlc/runtime/program"
	"github.com/arithlang/mlc/runtime/train"
	"github.com/arithlang/mlc/runtime/world"
)

// Cmd is the verb bench.
type Cmd struct {
	world.Flags
	flags.Timing
	JSON bool `help:"Print the result as JSON." name:"json"`
}

// warmSteps give every worker all its memory.
const warmSteps = 2

// maxBatch is the most examples of a step, the limit of train.batch in the language.
const maxBatch = 1 << 20

// Run times training steps on the spec's shapes.
func (c *Cmd) Run(a world.App) error { return c.Together(a, c.run) }

func (c *Cmd) run(a world.App) error {
	if c.Steps < 0 {
		return world.Usagef("--steps %d must not be negative", c.Steps)
	}
	if c.Batch > maxBatch {
		return world.Usagef("--batch %d: want at most %d examples", c.Batch, maxBatch)
	}
	if c.Trace != "" && c.Serve {
		return world.Usagef("--trace records steps that are timed launch by launch: leave out --serve")
	}
	if c.Kernels && c.Serve {
		return world.Usagef("--kernels times kernels: leave out --serve")
	}
	c.Trains = true
	if c.Batch > 0 {
		a.Model.Train.Batch = c.Batch
	}
	if c.Chunk > 0 {
		a.Model.Train.Chunk, a.Model.Train.MicroBatch = c.Chunk, min(a.Model.Train.MicroBatch, c.Chunk)
	}
	a.Model.Task.Padded = a.Model.Task.Padded || c.Padded
	machine, err := c.Open(a)
	if err != nil {
		return err
	}
	t, err := world.Await(a, func() (*train.Trainer, error) {
		t, err := c.trainer(&a.Model, machine)
		if err == nil {
			err = a.Lead(t)
		}
		if err == nil {
			_, err = timeSteps(t, warmSteps)
		}
		return t, err
	})
	if err != nil {
		return err
	}
	if c.Serve {
		return serve(a, t)
	}
	r, err := world.Await(a, func() (*Result, error) { return c.measure(&a.Model, t) })
	if err != nil {
		return err
	}
	if err := c.writeTrace(a, r.trace); err != nil {
		return err
	}
	if c.JSON {
		return world.PrintJSON(a, r)
	}
	_, err = fmt.Fprint(a.Out, r.table())
	return err
}

// writeTrace writes the time line, if there is one.
func (c *Cmd) writeTrace(a world.App, t *profile.Trace) error {
	if t == nil {
		return nil
	}
	lost, err := t.Write(c.Trace)
	if err != nil {
		return fmt.Errorf("cannot write the time line: %w", err)
	}
	if lost > 0 {
		fmt.Fprintf(a.Err, "%s lacks the last %d launches: use fewer --steps\n", c.Trace, lost)
	}
	return nil
}

// trainer returns a trainer ready for the first step of a temporary run.
func (c *Cmd) trainer(m *program.Model, machine device.Machine) (*train.Trainer, error) {
	t := &train.Trainer{Machine: machine, Plan: &m.Plan, Params: m.Params, Config: m.Train, Given: m.Tables()}
	return t, t.Prepare(m.Task, m.Kit)
}

// slow is the learning rate of timed steps: no warm-up precedes them.
func slow(t *train.Trainer) float64 {
	const slower = 100
	return t.Config.LR / slower
}

// timeSteps runs steps and returns their times.
func timeSteps(t *train.Trainer, n int) ([]time.Duration, error) {
	took := make([]time.Duration, n)
	for i := range took {
		start := time.Now()
		if _, err := t.Step(slow(t)); err != nil {
			return nil, err
		}
		took[i] = time.Since(start)
	}
	return took, nil
}

// tracedSteps runs timeSteps and records the steps in a trace.
func tracedSteps(t *train.Trainer, n int, trace *profile.Trace) (took []time.Duration, err error) {
	for i := range n {
		start := time.Now()
		one, err := timeSteps(t, 1)
		if err != nil {
			return nil, err
		}
		trace.Step(i+1, start, one[0])
		took = append(took, one[0])
	}
	return took, nil
}

// serve reads numbers of steps and answers with seconds, until its input ends.
func serve(a world.App, t *train.Trainer) error {
	lines := bufio.NewScanner(a.In)
	lines.Buffer(nil, world.LongestLine)
	for {
		if more, err := world.NextLine(a, lines); err != nil || !more {
			return err
		}
		n, err := strconv.Atoi(strings.TrimSpace(lines.Text()))
		if err != nil || n < 1 {
			return world.Usagef("%.60q is no number of steps", lines.Text())
		}
		start := time.Now()
		if _, err := world.Await(a, func() (train.Outcome, error) { return t.Steps(n, slow(t)) }); err != nil {
			return err
		}
		if _, err := fmt.Fprintf(a.Out, "%.6f\n", time.Since(start).Seconds()); err != nil {
			return err
		}
	}
}

// howMany returns the number of timed steps: the flag's, or a few seconds' worth.
func (c *Cmd) howMany(t *train.Trainer) (int, error) {
	if c.Steps > 0 {
		return c.Steps, nil
	}
	took, err := timeSteps(t, 1)
	if err != nil {
		return 0, err
	}
	return int(min(max(3*time.Second/took[0], 3), 100)), nil
}

// measure times whole steps, unless only kernels are timed, and then as many launch by launch.
func (c *Cmd) measure(m *program.Model, t *train.Trainer) (*Result, error) {
	steps, err := c.howMany(t)
	if err != nil {
		return nil, err
	}
	r, err := newBenchResult(m, t, steps)
	if err != nil {
		return nil, err
	}
	if c.Trace != "" {
		r.trace = profile.NewTrace(m.Name+", "+t.Machine.About().String(), kernelNames(m))
	}
	if gpu, ok := world.Local(t.Machine).(*cuda.Machine); ok {
		err = r.onGPU(m, t, gpu, c.Kernels)
	} else {
		err = c.onCPU(r, m, t)
	}
	if r.Seconds > 0 {
		r.Examples = float64(r.Batch) / r.Seconds
	}
	r.Memory = peakMemory()
	return r, err
}

// onCPU measures by the host's clock, since the host does the work.
func (c *Cmd) onCPU(r *Result, m *program.Model, t *train.Trainer) error {
	if !c.Kernels {
		took, err := timeSteps(t, r.Steps)
		if err != nil {
			return err
		}
		r.Seconds = profile.Median(took).Seconds()
		if r.Ranks, err = c.sums(t, r.Steps); err != nil {
			return err
		}
	}
	watch := profile.NewStopwatch(t.Machine, costs(m))
	t.Machine, watch.Trace = watch, r.trace
	took, err := tracedSteps(t, r.Steps, r.trace)
	if err != nil {
		return err
	}
	isa, threads, err := c.Processor()
	if err != nil {
		return err
	}
	r.Threads, r.Peak, r.Levels, r.Timed = threads, measurePeak(isa, threads), measureLevels(threads), profile.Mean(took)
	r.Begun = measureBegun(isa, threads)
	table := profile.Table{Steps: r.Steps, Threads: threads, Step: r.Timed, CPU: true, ISA: isa, Begun: r.Begun, Levels: r.Levels, Peak: gpupeak.Peak{Flops: r.Peak.Flops, Narrow: r.Peak.Narrow, Bytes: r.Peak.Bytes}}
	laps, clearing := watch.Laps()
	for i, l := range laps {
		table.Add(m.CPU[i].Name, l)
	}
	table.Add("(clearing)", clearing)
	table.Finish("(rest: sums of gradients, problems, waiting)", table.Rest())
	r.Kernels = table.Rows
	return nil
}

// onGPU measures steps as they run in training, and their parts by the GPU's clock.
func (r *Result) onGPU(m *program.Model, t *train.Trainer, gpu *cuda.Machine, alone bool) (err error) {
	run := profile.Run{Machine: gpu, Names: kernelNames(m), Costs: costs(m), Steps: r.Steps, Trace: r.trace, Alone: alone, Step: func(on device.Machine) error {
		t.Machine = on
		_, err := timeSteps(t, 1)
		return err
	}, Ahead: func(n int) error {
		t.Machine = gpu
		_, err := t.Steps(n, slow(t))
		return err
	}}
	if r.GPU, err = run.Measure(context.Background()); err != nil {
		return err
	}
	r.Seconds, r.Timed, r.Peak = r.GPU.Ahead, r.GPU.Timed, peak(r.GPU.Peak)
	r.Kernels, r.GPU.Rows = r.GPU.Rows, nil
	return nil
}

// kernelNames returns the names of the kernels by number.
func kernelNames(m *program.Model) (all []string) {
	for _, k := range m.CPU {
		all = append(all, k.Name)
	}
	return all
}

// costs returns the costs of the kernels by number.
func costs(m *program.Model) (all []profile.Cost) {
	for _, k := range m.CPU {
		all = append(all, k.Cost)
	}
	return all
}
