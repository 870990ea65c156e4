package cli

import (
	"context"
	"fmt"
	"math"
	"path/filepath"

	"github.com/arithlang/mlc/codegen/host"
	"github.com/arithlang/mlc/compiler/check"
	"github.com/arithlang/mlc/compiler/probe"
	"github.com/arithlang/mlc/runtime/ckpt"
	"github.com/arithlang/mlc/runtime/task"
	"github.com/arithlang/mlc/runtime/train"
	"github.com/arithlang/mlc/serve"
)

// A probed run is its model, ready to be looked into, and its problems.
type probed struct {
	*probe.Model
	problems *task.Task
	length   int // of the longest problems of training, in tokens
}

// probe reads a run: its spec, and the weights of its newest checkpoint.
func (a *app) probe(run string) (*probed, error) {
	rec, err := recordOf(run)
	if err != nil {
		return nil, err
	}
	dir, _ := rec.Trained(run)
	spec, err := a.specOf(run, rec.Name, filepath.Base(dir), dir != run)
	if err != nil {
		return nil, err
	}
	all, err := train.Checkpoints(dir)
	if err != nil {
		return nil, err
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s has no checkpoint yet", dir)
	}
	file, err := ckpt.Read(all[len(all)-1])
	if err != nil {
		return nil, err
	}
	weights := probe.Weights{}
	for _, t := range file.Tensors {
		weights[t.Name] = t.Data
	}
	p := &probed{}
	if p.Model, err = probe.New(spec, weights, rec.Seed); err != nil {
		return nil, err
	}
	if p.problems, err = task.New(task.Config(spec.Task.Task), rec.Seed); err != nil {
		return nil, err
	}
	p.problems = p.problems.WithPad(host.EvalConfig(spec).Pad)
	source, target := spec.TrainedShape()
	p.length = max(source, target)
	return p, nil
}

// specOf is the spec of a run, or of one stage of it.
func (a *app) specOf(run, name, stage string, staged bool) (*check.Spec, error) {
	t, err := a.trainingOf(run, name)
	if err != nil {
		return nil, err
	}
	spec, found := check.Resolve(t.options())
	if spec == nil || found.HasErrors() {
		if err := a.findings(t.source, found); err != nil {
			return nil, err
		}
		return nil, errShown
	}
	if !staged {
		return spec, nil
	}
	for _, s := range spec.Stages {
		if s.Name == stage && s.Spec != nil {
			return s.Spec, nil
		}
	}
	return nil, fmt.Errorf("%s has no stage %s that trains", run, stage)
}

// attention is what the model of a run pays to a problem.
func (a *app) attention(ctx context.Context, run, problem string) (*serve.Attention, error) {
	p, err := a.probe(run)
	if err != nil {
		return nil, err
	}
	asked, err := p.problems.Parse(problem)
	if err != nil {
		return nil, err
	}
	found, err := p.Attend(ctx, p.problems, asked)
	if err != nil {
		return nil, err
	}
	out := &serve.Attention{Rows: found.Target, Cols: found.Target}
	for _, s := range found.Sites {
		rows, cols := found.Target, found.Source
		switch {
		case s.Source:
			rows = found.Source
		case s.Self:
			cols = found.Target
		}
		for h, values := range s.Values {
			out.Maps = append(out.Maps, serve.Map{Name: s.Name, Run: s.Run, Head: h, Rows: rows, Cols: cols, Values: values})
		}
	}
	return out, nil
}

// mostCells bounds a side of a drawn bias.
const mostCells = 64

// biases are those that the model of a run has learned, at its longest problems of training.
func (a *app) biases(run string) (out []serve.Bias, err error) {
	p, err := a.probe(run)
	if err != nil {
		return nil, err
	}
	found, err := p.Biases(min(p.length, mostCells))
	if err != nil {
		return nil, err
	}
	for _, b := range found {
		one := serve.Bias{Name: b.Name, Head: b.Head, Kind: "map", Values: b.Values}
		if least, values, ok := b.Distances(); ok {
			one.Kind, one.Values = "curve", [][]float64{nil}
			for k, x := range values {
				if !math.IsNaN(x) { // no open cell is so far apart
					one.X, one.Values[0] = append(one.X, float64(least+k)), append(one.Values[0], x)
				}
			}
		}
		out = append(out, one)
	}
	return out, nil
}
