package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/arithlang/mlc/bench/peers"
	"github.com/arithlang/mlc/runtime/track"
)

// An agreement is the distance between a peer's training step and the compiled program's. Both
// start from equal parameters and moments, on the same batch and without dropout. Distances are
// relative; over tensors, the largest counts.
type agreement struct {
	Title    string
	Loss     float64
	Gradient float64 `json:"gradient"`
	Worst    string  `json:"gradient_of"` // the tensor with the largest distance
	Step     float64 `json:"step"`        // distance of parameters, relative to their change
	StepOf   string  `json:"step_of"`
}

// Tolerances for two programs that compute in float32 in different orders. Adam divides a
// gradient by its size, so the smallest gradients, which are mostly rounding, count as much as
// any in a step.
const (
	lossTolerance     = 1e-5
	gradientTolerance = 1e-3
	stepTolerance     = 1e-2
)

// err returns an error if the two are different models.
func (a agreement) err() error {
	for _, x := range []struct {
		what         string
		apart, limit float64
	}{
		{"losses", a.Loss, lossTolerance},
		{"gradients of " + a.Worst, a.Gradient, gradientTolerance},
		{"steps of " + a.StepOf, a.Step, stepTolerance},
	} {
		if !(x.apart <= x.limit) {
			return fmt.Errorf("%s is another model: the %s are %.2g apart", a.Title, x.what, x.apart)
		}
	}
	return nil
}

// small are settings that make a comparison quick and exact.
var small = []string{"train.batch=8", "train.schedule=constant", "model.dropout=0%", "eval.samples=1", "eval.digits=[6]"}

// agreements compares a case's second step with each library's. After the first step no parameter
// is exactly 0 or 1.
func (o *options) agreements(ctx context.Context, b *builder, c peers.Case, installed []peer) ([]agreement, error) {
	small := small
	if c.Kind == "gpt" { // a text has no problems to test
		small = slices.DeleteFunc(slices.Clone(small), func(set string) bool { return strings.HasPrefix(set, "eval.") })
	}
	t, err := b.build(ctx, c, append(c.Certain[:len(c.Certain):len(c.Certain)], small...))
	if err != nil {
		return nil, err
	}
	run := filepath.Join(b.temp, "run-"+c.Name)
	for _, args := range [][]string{{"--steps", "1"}, {"--steps", "2", "--resume"}} {
		if _, err := output(ctx, "", t.binary, append([]string{"train", "--quiet", "--out", run}, args...)...); err != nil {
			return nil, err
		}
	}
	last, err := track.Last(run)
	if err != nil {
		return nil, err
	}
	problem, err := b.problem(t, 1, 1)
	if err != nil {
		return nil, err
	}
	var all []agreement
	for _, p := range installed {
		if !p.has(c) || p.Name == "compile" { // it runs eager's code
			continue
		}
		argv := p.command(o.Python, b.root, problem, o.Threads, "--follow", checkpoint(run, 1), checkpoint(run, 2))
		out, err := output(ctx, "", argv[0], argv[1:]...)
		if err != nil {
			return nil, err
		}
		a := agreement{Title: p.Title}
		if err := json.Unmarshal(out, &a); err != nil {
			return nil, err
		}
		a.Loss = math.Abs(a.Loss-last.Loss) / last.Loss
		logf("%s, one step of %s: loss %.1e, gradients %.1e (%s), parameters %.1e (%s) apart", c.Name, a.Title, a.Loss, a.Gradient, a.Worst, a.Step, a.StepOf)
		all = append(all, a)
	}
	return all, nil
}

func checkpoint(run string, step int) string {
	return filepath.Join(run, "ckpt", fmt.Sprintf("step-%08d.safetensors", step))
}
