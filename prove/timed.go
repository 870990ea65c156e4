package prove

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/arithlang/mlc/codegen/live"
	"github.com/arithlang/mlc/prove/timing"
	"github.com/arithlang/mlc/runtime/cuda"
	"github.com/arithlang/mlc/runtime/cuda/cublaslt"
	"github.com/arithlang/mlc/runtime/profile"
)

// A race is a model whose kernels are timed.
type race struct {
	model
	batch int      // examples of a step; 0: as many as in training
	fewer []string // on a slow device, instead
}

// races are an encoder-decoder, a small loop, and the largest model in each precision. A
// step of that is seconds: it is given one launch's worth of examples, as at the start of
// its training.
func races() []race {
	all := trials()
	out := []race{{all[1].model, 0, all[1].fewer}, {all[4].model, 0, all[4].fewer}}
	for _, set := range [][]string{nil, narrow, split} {
		out = append(out, race{model{"looped8x2", set}, 512, []string{"train.batch=2", "train.microbatch=2", "model.width=32", "model.heads=2",
			"model.ffn=geglu(hidden = 32)", "model.head=geglu(hidden = 32)"}})
	}
	return out
}

// How many steps are timed, if there is time.
const (
	warmSteps  = 3
	timedSteps = 20
)

func timedParts(*Env) ([]string, string) { return names(races()), "" }

// runTimed times the kernels of one of the races.
func runTimed(ctx context.Context, e *Env, p *Part) error {
	race, err := find(races(), p.Name)
	if err != nil {
		return err
	}
	var set []string
	o := timing.Options{Warm: warmSteps, Steps: timedSteps, Batch: race.batch}
	if e.Reduced() {
		set, o = race.fewer, timing.Options{Warm: 1, Steps: 1}
	}
	if end, ok := ctx.Deadline(); ok {
		o.End = time.Now().Add(time.Until(end) * 3 / 4) // the last steps begin before it
	}
	program, err := race.compile(set...)
	if err != nil {
		return err
	}
	m, err := live.New(program)
	if err != nil {
		return err
	}
	d, err := e.Open()
	if err != nil {
		return err
	}
	library, without := e.library(d)
	o.Library = library
	got, err := timing.Measure(ctx, m, d, o)
	if err == nil {
		got.NoLibrary = without
		if e.Reduced() {
			timeless(&got.GPU)
		}
	}
	if library != nil {
		err = errors.Join(err, library.Close())
	}
	p.Timed = got
	return errors.Join(err, d.Close())
}

// library computes products on the device, to be compared with: nil where there is none,
// and why.
func (e *Env) library(d cuda.Driver) (by cuda.Multiplier, why string) {
	switch {
	case e.multiplier != nil:
		return e.multiplier(d), ""
	case e.Device != "cuda":
		return nil, ""
	}
	by, err := cublaslt.Open(d, "")
	if err != nil {
		return nil, err.Error()
	}
	return by, ""
}

// timeless takes all times from what was measured on a device that has none: those of
// the host that plays it say nothing. How often each kernel was launched stays.
func timeless(g *profile.GPU) {
	rows := g.Rows
	*g = profile.GPU{Steps: g.Steps, Launches: g.Launches, Kernels: g.Kernels, Driver: g.Driver, Marked: g.Marked, Reason: "the device has no speed"}
	for _, r := range rows {
		if r.Launches > 0 || r.OnGPU > 0 {
			g.Rows = append(g.Rows, profile.Row{Name: r.Name, Launches: r.Launches, OnGPU: r.OnGPU})
		}
	}
}

// worstKernels is how many kernels of a model the page shows.
const worstKernels = 8

// timedLines are what the page says of a model that was timed.
func timedLines(t *timing.Timing) []string {
	if t.Seconds == 0 {
		return []string{fmt.Sprintf("%d examples a step, %.0f launches, %.0f of them on the device: not measured here", t.Batch, t.Launches, t.Kernels)}
	}
	lines := []string{
		fmt.Sprintf("%d examples in %.3f ms as in training; alone %.3f ms, the device at work for %.0f %%; %.0f launches, %.0f of them on the device",
			t.Batch, 1e3*t.Ahead, 1e3*t.Seconds, 100*t.Busy, t.Launches, t.Kernels),
		fmt.Sprintf("%-28s %9s %10s %7s %8s", "kernel", "launches", "µs each", "step", "of peak"),
	}
	if t.Products != nil {
		lines = append(lines[:1], t.Products.String(), lines[1])
	}
	for _, r := range t.Rows[:min(worstKernels, len(t.Rows))] {
		line := fmt.Sprintf("%-28s %9.0f %10.1f %5.1f %% %6.1f %% %s", r.Name, r.OnGPU, r.Median, 100*r.Share, 100*r.OfPeak, r.Bound)
		lines = append(lines, strings.TrimRight(line, " "))
	}
	return lines
}
