// Package peertest compares models with the results of PyTorch that bench/peers/looped.py
// wrote. Package compiler's tests interpret the models; tests of the root package run
// generated programs on every device.
package peertest

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
)

// A Case is a decoder-only model and its results on a few problems [B, T].
type Case struct {
	Set            []string // settings that turn looped.arith into this model
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

// A Pass is one training pass: NoGrad recurrences without gradients, then WithGrad
// recurrences with them. Loss is the mean over labeled tokens, and Rows has the loss of
// each token. Gradients are the gradients of Loss by parameter, and empty in some passes.
type Pass struct {
	NoGrad    int `json:"no_grad"`
	WithGrad  int `json:"with_grad"`
	Loss      float64
	Rows      [][]float32
	Gradients [][]float32
}

// A Test is the model's predictions after Times recurrences. The first Test uses the
// number that the model is trained with.
type Test struct {
	Times int
	Pred  [][]int32
}

// A Model runs the model of a Case.
type Model interface {
	// Pass returns the loss of each token and the gradient of the mean loss by parameter,
	// after free recurrences without gradients and kept with them.
	Pass(free, kept int) (rows [][]float32, gradients map[string][]float32)
	// Forward predicts all tokens at once, with the given number of recurrences.
	Forward(times int) [][]int32
	// Decode predicts one range of the case's Launches after the other.
	Decode(times int) [][]int32
}

// Launches are the ranges of rows that a decoding computes at once: the first three, two
// single ones, then the rest.
func (c *Case) Launches() [][2]int {
	return [][2]int{{0, 3}, {3, 4}, {4, 5}, {5, len(c.Target[0])}}
}

// Read reads a case from a folder. It returns an error if a file is missing or malformed.
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

// Kept returns the number of tokens that have labels.
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

// How far a program may be from PyTorch. The program computes in float32 from the numbers
// that PyTorch used in float64. The bounds are a few times as wide as PyTorch's own error
// in float32. Norms enlarge roundings, and these models have up to 16 in a row.
const (
	// For the mean loss, where most roundings cancel.
	lossTolerance = 5e-7

	// For a token's loss, relative to the largest of its example.
	rowTolerance = 3e-6

	// For a gradient, relative to the largest element of its tensor.
	gradientTolerance = 5e-5

	// A smaller tensor is compared relative to this share of the largest gradient. Its
	// elements are sums that cancel. One gradient is zero: the bias adds this number to
	// all scores, which softmax ignores.
	leastShare = 0.002
)

// Compare runs all passes and tests of a case and lists the differences of the model's
// results.
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

// ComparePass runs one pass and lists its differences.
func (c *Case) ComparePass(m Model, p Pass) []string {
	rows, gradients := m.Pass(p.NoGrad, p.WithGrad)
	diffs := append(c.CompareLosses(p, rows), c.wrongGradients(p, gradients)...)
	for i, d := range diffs {
		diffs[i] = fmt.Sprintf("%d recurrences without gradient and %d with: %s", p.NoGrad, p.WithGrad, d)
	}
	return diffs
}

// CompareLosses lists the tokens' losses, rows, that differ from a pass.
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

// distance returns the largest difference between two elements, or NaN if the lengths
// differ.
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
