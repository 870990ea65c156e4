// Package peertest reads what bench/peers/looped.py has computed with PyTorch and
// holds models to it: those that package lower interprets, in package compiler's
// tests, and generated programs on every device, in the tests of the whole.
package peertest

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
)

// A Case is a decoder-only model and what it computes of a few problems [B, T].
type Case struct {
	Set            []string // makes it of looped.arith
	Seed           uint64
	Step           uint32
	Target, Labels [][]int32
	Passes         []Pass
	Tests          []Test
	Names          []string `json:"params"` // in the order of gradients
	Params         []Param  `json:"-"`
}

// A Param is a parameter and its initial value.
type Param struct {
	Name    string
	Shape   []int
	Initial []float32
}

// A Pass is one of training: NoGrad recurrences without gradients, then WithGrad with them.
// Loss is the mean over what has labels, Rows is of each token. Gradients are those
// of Loss; some passes have none.
type Pass struct {
	NoGrad    int `json:"no_grad"`
	WithGrad  int `json:"with_grad"`
	Loss      float64
	Rows      [][]float32
	Gradients [][]float32
}

// A Test is what the model predicts after so many recurrences, at first those that
// it is trained with.
type Test struct {
	Times int
	Pred  [][]int32
}

// A Model runs a Case's model.
type Model interface {
	// Pass gives the loss of each token and the gradient of Loss by parameter.
	Pass(free, kept int) (rows [][]float32, gradients map[string][]float32)
	// Forward predicts all tokens at once.
	Forward(times int) [][]int32
	// Decode predicts the rows of one of the case's Launches after the other.
	Decode(times int) [][]int32
}

// Launches are the ranges of rows that are decoded at once: a few, then single ones,
// then the rest.
func (c *Case) Launches() [][2]int {
	return [][2]int{{0, 3}, {3, 4}, {4, 5}, {5, len(c.Target[0])}}
}

// Read reads a case of a folder of them.
func Read(folder, name string) (*Case, error) {
	c := &Case{}
	if err := decode(filepath.Join(folder, "cases", name+".json"), c); err != nil {
		return nil, err
	}
	params := map[string]Param{}
	if err := decode(filepath.Join(folder, "params.json"), &params); err != nil {
		return nil, err
	}
	for _, name := range c.Names {
		p := params[name]
		p.Name = name
		c.Params = append(c.Params, p)
	}
	return c, nil
}

func decode(path string, into any) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return json.Unmarshal(data, into)
}

// Kept is how many tokens have labels.
func (c *Case) Kept() int {
	n := 0
	for _, row := range c.Labels {
		for _, label := range row {
			if label >= 0 {
				n++
			}
		}
	}
	return n
}

// How far a program may be from PyTorch, which computed in float64 what the program
// computes in float32 from the same numbers: a few times as far as PyTorch itself is
// in float32. Norms enlarge roundings, and these models have up to 16 in a row.
const (
	// Of the mean loss, where most of the roundings cancel.
	lossTolerance = 5e-7

	// Of a token's loss, relative to the largest of its example.
	rowTolerance = 3e-6

	// Of a gradient, relative to the largest element of its tensor.
	gradientTolerance = 5e-5

	// But tensors are not held to their own size where it is less than this share of
	// the largest gradient's: elements of sums that cancel. One is zero, that of a
	// number which a bias adds to all scores, and softmax ignores.
	leastShare = 0.002
)

// Compare does all passes and tests of a case, and says in what the model's results
// differ.
func (c *Case) Compare(m Model) []string {
	var diffs []string
	for _, p := range c.Passes {
		diffs = append(diffs, c.ComparePass(m, p)...)
	}
	for i, test := range c.Tests {
		same := func(program string, pred [][]int32) {
			if !slices.EqualFunc(pred, test.Pred, slices.Equal) {
				diffs = append(diffs, fmt.Sprintf("%s says %v after %d recurrences, want %v", program, pred, test.Times, test.Pred))
			}
		}
		same("forward", m.Forward(test.Times))
		if i == 0 {
			same("decode", m.Decode(test.Times))
		}
	}
	return diffs
}

// ComparePass does one pass.
func (c *Case) ComparePass(m Model, p Pass) []string {
	rows, gradients := m.Pass(p.NoGrad, p.WithGrad)
	diffs := append(c.CompareLosses(p, rows), c.wrongGradients(p, gradients)...)
	for i, d := range diffs {
		diffs[i] = fmt.Sprintf("%d recurrences without gradient and %d with: %s", p.NoGrad, p.WithGrad, d)
	}
	return diffs
}

// CompareLosses says in what the losses of each token differ from those of a pass.
func (c *Case) CompareLosses(p Pass, rows [][]float32) []string {
	var diffs []string
	sum := 0.0
	for b, want := range p.Rows {
		for _, loss := range rows[b] {
			sum += float64(loss)
		}
		if d := distance(rows[b], want); !(d <= rowTolerance*float64(slices.Max(want))) {
			diffs = append(diffs, fmt.Sprintf("the losses of example %d are %g off: %v, want %v", b, d, rows[b], want))
		}
	}
	if mean := sum / float64(c.Kept()); !(math.Abs(mean-p.Loss) <= lossTolerance*p.Loss) {
		diffs = append(diffs, fmt.Sprintf("the loss is %v, want %v", mean, p.Loss))
	}
	return diffs
}

func (c *Case) wrongGradients(p Pass, got map[string][]float32) []string {
	var diffs []string
	least := 0.0
	for _, want := range p.Gradients {
		least = max(least, leastShare*largest(want))
	}
	for i, want := range p.Gradients {
		if d := distance(got[c.Names[i]], want); !(d <= gradientTolerance*max(least, largest(want))) {
			diffs = append(diffs, fmt.Sprintf("the gradient of %s is %g off, its largest element is %g", c.Names[i], d, largest(want)))
		}
	}
	return diffs
}

func largest(xs []float32) float64 { return distance(xs, make([]float32, len(xs))) }

// distance is the largest difference of an element; NaN if the lengths differ.
func distance(got, want []float32) float64 {
	if len(got) != len(want) {
		return math.NaN()
	}
	d := 0.0
	for i, w := range want {
		x := math.Abs(float64(got[i]) - float64(w))
		if !(x <= d) {
			d = x
		}
	}
	return d
}
