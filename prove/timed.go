package prove

import (
	"cmp"
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
	title string
	model
	batch   int      // examples a step; 0 for as many as in training
	fewer   []string // settings on a slow device
	library use
}

// A use is a purpose of NVIDIA's library of products.
type use int

// The uses.
const (
	besides use = iota // its products are compared with mlc's kernels, if it is installed
	unused
	instead // it replaces mlc's kernels, and is compared
)

// String returns the title, or the model's name.
func (r race) String() string { return cmp.Or(r.title, r.model.String()) }

// races are an encoder-decoder, a small loop, and the largest model in each precision. A step of
// the largest takes seconds, so it gets the examples of one launch, as at the start of its
// training.
func races() []race {
	all := trials()
	out := []race{{model: all[1].model, fewer: all[1].fewer}, {model: all[4].model, fewer: all[4].fewer}}
	for _, set := range [][]string{nil, narrow, split} {
		out = append(out, race{model: model{"looped8x2", set}, batch: 512, fewer: fewerLoops})
	}
	return out
}

// The number of steps to time, if there is time.
const (
	warmSteps  = 3
	timedSteps = 20
)

func timedParts(*Env) ([]string, string) { return names(races()), "" }

// runTimed times the kernels of one race.
func runTimed(ctx context.Context, e *Env, p *Part) error {
	race, err := find(races(), p.Name)
	if err != nil {
		return err
	}
	return e.race(ctx, p, race)
}

// program compiles the race's model at the size for the device.
func (r race) program(e *Env) (*live.Model, error) {
	var set []string
	if e.Reduced() {
		set = r.fewer
	}
	p, err := r.compile(set...)
	if err != nil {
		return nil, err
	}
	return live.New(p)
}

// race times steps of a model and its kernels.
func (e *Env) race(ctx context.Context, p *Part, r race) error {
	o := timing.Options{Warm: warmSteps, Steps: timedSteps, Batch: r.batch}
	if e.Reduced() || e.brief {
		o.Warm, o.Steps = 1, 1
	}
	if e.Reduced() {
		o.Batch = 0
	}
	if end, ok := ctx.Deadline(); ok {
		o.End = time.Now().Add(time.Until(end) * 3 / 4) // the last steps begin before that
	}
	d, err := e.Open()
	if err != nil {
		return err
	}
	var library cuda.Multiplier
	var without string
	if r.library != unused {
		library, without = e.library(d)
	}
	if r.library == instead && library == nil {
		return errors.Join(skipf("no library computes products: %s", cmp.Or(without, "the device has none")), d.Close())
	}
	o.Library, o.Multiply = library, r.library == instead
	m, err := r.program(e)
	if err == nil {
		p.Timed, err = timing.Measure(ctx, m, d, o)
	}
	if err == nil {
		p.Timed.NoLibrary = without
		if e.Reduced() {
			timeless(&p.Timed.GPU)
		}
	}
	if library != nil {
		err = errors.Join(err, library.Close())
	}
	return errors.Join(err, d.Close())
}

// library opens NVIDIA's library of products on the device, or returns nil and the reason.
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

// timeless removes all times from the measurements of a device without speed, since they would be
// the host's. Counts of launches stay.
func timeless(g *profile.GPU) {
	rows := g.Rows
	*g = profile.GPU{Steps: g.Steps, Launches: g.Launches, Kernels: g.Kernels, Driver: g.Driver, Marked: g.Marked, Reason: "the device has no speed"}
	for _, r := range rows {
		if r.Launches > 0 || r.OnGPU > 0 {
			g.Rows = append(g.Rows, profile.Row{Name: r.Name, Launches: r.Launches, OnGPU: r.OnGPU})
		}
	}
}

// WorstKernels is the number of kernels of a model on the page.
const WorstKernels = 8

// timedLines formats the timing of a model.
func timedLines(t *timing.Timing) []string {
	if t.Seconds == 0 {
		return []string{fmt.Sprintf("%d examples a step, %.0f launches, %.0f of them on the device: not measured here", t.Batch, t.Launches, t.Kernels)}
	}
	lines := []string{
		fmt.Sprintf("%d examples in %.3f ms as in training; alone %.3f ms, the device busy for %.0f %%; %.0f launches, %.0f of them on the device",
			t.Batch, 1e3*t.Ahead, 1e3*t.Seconds, 100*t.Busy, t.Launches, t.Kernels),
		fmt.Sprintf("%-28s %9s %10s %7s %8s", "kernel", "launches", "µs each", "share", "of peak"),
	}
	if t.Products != nil {
		lines = append(lines[:1], t.Products.String(), lines[1])
	}
	rows := t.Working()
	for _, r := range rows[:min(WorstKernels, len(rows))] {
		line := fmt.Sprintf("%-28s %9.0f %10.1f %5.1f %% %6.1f %% %s", r.Name, r.OnGPU, r.Median, 100*r.Share, 100*r.OfPeak, r.Bound)
		lines = append(lines, strings.TrimRight(line, " "))
	}
	return lines
}
