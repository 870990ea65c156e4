package main

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/arithlang/mlc/codegen/host"
	"github.com/arithlang/mlc/compiler/check"
	"github.com/arithlang/mlc/runtime/task"
)

// A problem is what a peer is told of a model; peers/models.py reads it.
type problem struct {
	Kind    string             `json:"kind"`
	Width   int                `json:"width"`
	Heads   int                `json:"heads"`
	Hidden  int                `json:"hidden"`
	Layers  int                `json:"layers"`
	Vocab   int                `json:"vocab"`
	Dropout float64            `json:"dropout"`
	Adam    map[string]float64 `json:"adam"`
	Tensors map[string][]int   `json:"tensors"`
	Batches []batch            `json:"batches"`
}

// A batch is tokens, an example a row.
type batch struct {
	Source [][]int32 `json:"source"`
	Target [][]int32 `json:"target"`
	Labels [][]int32 `json:"labels"`
}

// batches is how many a peer is given to train on in turn.
const batches = 4

// problem writes the problem file of a trainer, with the n batches that it trains
// on after so many steps, and returns its path.
func (b *builder) problem(t *trainer, after, n int) (path string, err error) {
	p := newProblem(t)
	if p.Batches, err = trained(t.spec, after, n); err != nil {
		return "", err
	}
	text, err := json.Marshal(p)
	if err != nil {
		return "", err
	}
	file, err := os.CreateTemp(b.temp, t.Name+"-*.json")
	if err != nil {
		return "", err
	}
	if _, err := file.Write(text); err != nil {
		return "", err
	}
	return file.Name(), file.Close()
}

func newProblem(t *trainer) problem {
	m, o := &t.spec.Model, &t.spec.Train
	p := problem{Kind: t.Kind, Width: m.Width, Heads: m.Heads, Hidden: m.Hidden, Layers: m.Decoder.Layers, Dropout: m.Dropout,
		Adam:    map[string]float64{"lr": o.LR, "beta1": o.Beta1, "beta2": o.Beta2, "eps": o.Eps},
		Tensors: map[string][]int{}}
	for _, x := range t.info.Tensors {
		p.Tensors[x.Name] = x.Shape
		if x.Name == "embed.token" {
			p.Vocab = x.Shape[0]
		}
	}
	return p
}

// trained are the n batches that a spec's program trains on after so many steps.
func trained(s *check.Spec, after, n int) ([]batch, error) {
	problems, err := task.New(host.TaskConfig(&s.Task), s.Train.Seed)
	if err != nil {
		return nil, err
	}
	var all []batch
	for step := range n {
		drawn := make([]task.Problem, s.Train.Batch)
		for i := range drawn {
			drawn[i] = problems.Train(int64((after+step)*s.Train.Batch + i))
		}
		b, err := problems.Batch(drawn)
		if err != nil {
			return nil, fmt.Errorf("batch %d: %w", after+step, err)
		}
		all = append(all, batch{rows(b.Source, b.S), rows(b.Target, b.T), rows(b.Labels, b.T)})
	}
	return all, nil
}

// rows cuts tokens into examples.
func rows(tokens []int32, n int) [][]int32 {
	var all [][]int32
	for ; len(tokens) > 0; tokens = tokens[n:] {
		all = append(all, tokens[:n])
	}
	return all
}
