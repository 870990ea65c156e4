package model

import (
	"maps"
	"math"
	"slices"
	"testing"

	"github.com/arithlang/mlc/compiler/check"
	"github.com/arithlang/mlc/compiler/ir"
	"github.com/arithlang/mlc/compiler/ir/irtest"
	"github.com/arithlang/mlc/dsl"
	"github.com/arithlang/mlc/runtime/config"
)

// TestOptimizers: each optimizer that a spec can name has a row, and there are no other
// rows.
func TestOptimizers(t *testing.T) {
	var names []string
	for _, o := range dsl.NewSchema().Row("train.optimizer").Choices {
		names = append(names, o.Name)
	}
	slices.Sort(names)
	if rows := slices.Sorted(maps.Keys(optimizers)); !slices.Equal(rows, names) {
		t.Errorf("there are rows for %q, and the schema has %q", rows, names)
	}
}

// TestSkippedUpdates evaluates updates in float64. If the clipping factor is NaN, an
// update changes nothing. Otherwise it changes its arguments and respects the bound.
func TestSkippedUpdates(t *testing.T) {
	train := check.Train{Train: config.Train{Beta1: 0.9, Beta2: 0.99, Eps: 1e-8}, Muon: check.Muon{Steps: 2}, Average: 0.9, Grokfast: &check.Grokfast{Alpha: 0.75, Lamb: 2}}
	all := maps.Clone(optimizers)
	for name, o := range optimizers {
		all[name+" with an average"] = o.averaging()
		all[name+" of filtered gradients"] = o.averaging().filtering()
	}
	for name, o := range all {
		rules := map[string]*rule{name: &o.rule}
		if o.matrix != nil {
			rules[name+" of matrices"] = o.matrix
		}
		for name, r := range rules {
			f, err := r.update("update", train, ir.N(2), ir.N(3))
			if err != nil {
				t.Fatal(err)
			}
			args := make([]ir.Tensor, 2+len(r.states))
			for i := range args {
				args[i] = ir.Tensor{Shape: []int{2, 3}, F: []float64{0.5, 0.25, 3, 1, 0.75, 2}}
			}
			args[1].F = []float64{math.Inf(1), 1, math.NaN(), 4, 5, 6}
			results := func(clip, bound float64) []ir.Tensor {
				return irtest.Eval(t, f, ir.Env{Step: 3, Scalars: map[string]float64{
					"clip": clip, "bound": bound, "lr": 0.1, "bias_correction1": 1, "bias_correction2": 1, "decay": 0.1}}, args)
			}
			for i, got := range results(math.NaN(), 10) {
				if want := append(slices.Clone(args[2:]), args[0])[i]; !slices.Equal(got.F, want.F) {
					t.Errorf("%s: result %d becomes %v", name, i, got.F)
				}
			}
			args[1].F = []float64{1, -2, 3, -4, 5, -6}
			free, bounded := results(1, math.Inf(-1)), results(1, 0.6)
			for i := range free {
				for e, x := range free[i].F {
					want := x
					switch {
					case i == len(r.states):
						want = max(x, 0.6)
					case r.states[i] == config.AverageState: // a quarter of the old average
						want = max(0.6, free[len(r.states)].F[e])*0.75 + 0.25*args[2+i].F[e]
					}
					if got := bounded[i].F[e]; got != want || i == len(r.states) && x == args[0].F[e] {
						t.Errorf("%s: element %d of result %d becomes %g, without a bound %g", name, e, i, got, x)
					}
				}
			}
		}
	}
}

// TestGrokfast compares two weights over some steps with the rules of Lee et al. 2024 and
// Lion, and the norm with the norm of filtered gradients.
func TestGrokfast(t *testing.T) {
	filter := &check.Grokfast{Alpha: 0.75, Lamb: 2}
	train := check.Train{Train: config.Train{Beta1: 0.5, Beta2: 0.25}, Grokfast: filter}
	norm, err := sumSquares(train)
	if err != nil {
		t.Fatal(err)
	}
	o := optimizers["lion"].filtering()
	update, err := o.update("update", train, ir.Sym("N"))
	if err != nil {
		t.Fatal(err)
	}
	tensor := func(x ...float64) ir.Tensor { return ir.Tensor{Shape: []int{len(x)}, F: x} }
	p, slow, momentum := tensor(1, -1), tensor(7, 7), tensor(0, 0) // the first step ignores the average
	weights, mean, own := []float64{1, -1}, []float64{0, 0}, []float64{0, 0}
	for step, grads := range [][]float64{{1, -2}, {-3, 0.5}, {-1, 1}, {4, -0.25}} {
		const clip, lr = 0.5, 0.125
		squares := 0.0
		for e, g := range grads {
			if mean[e] = 0.75*mean[e] + 0.25*g; step == 0 {
				mean[e] = g
			}
			g += 2 * mean[e]
			squares += g * g
			g *= clip
			weights[e] -= lr * math.Copysign(1, 0.5*own[e]+0.5*g)
			own[e] = 0.25*own[e] + 0.75*g
		}
		env := ir.Env{Dims: map[string]int{"N": 2}, Step: uint32(step), Scalars: map[string]float64{"clip": clip, "bound": math.Inf(-1), "lr": lr, "decay": 0}}
		if got := irtest.Eval(t, norm, env, []ir.Tensor{tensor(grads...), slow})[0].F[0]; got != squares {
			t.Errorf("step %d: the squared norm is %g, want %g", step, got, squares)
		}
		out := irtest.Eval(t, update, env, []ir.Tensor{p, tensor(grads...), slow, momentum})
		slow, momentum, p = out[0], out[1], out[2]
		if !slices.Equal(p.F, weights) || !slices.Equal(slow.F, mean) || !slices.Equal(momentum.F, own) {
			t.Errorf("step %d: weights %v, average %v, momentum %v; want %v, %v, %v", step, p.F, slow.F, momentum.F, weights, mean, own)
		}
	}
}

// TestExampleLoss: rows with labels share the weight of their example.
func TestExampleLoss(t *testing.T) {
	m := builder{spec: &check.Spec{Train: check.Train{Train: config.Train{ExampleLoss: true}}}}
	f, err := m.lossWeight()
	if err != nil {
		t.Fatal(err)
	}
	got := irtest.Eval(t, f, ir.Env{Dims: map[string]int{"B": 3, "T": 3}, Scalars: map[string]float64{"scale": 0.5}},
		[]ir.Tensor{{Shape: []int{3, 3}, F: make([]float64, 9)}, {Shape: []int{3, 3}, I: []int64{-1, 0, 7, 4, 4, 4, -1, -1, -1}}})[0].F
	third := 0.5 / 3
	if want := []float64{0.25, 0.25, 0.25, third, third, third, 0.5, 0.5, 0.5}; !slices.Equal(got, want) {
		t.Errorf("weights %v, want %v", got, want)
	}
}

// TestLossWeight: rows have the weight of a scalar, and NaN if their loss is not finite.
func TestLossWeight(t *testing.T) {
	m := builder{spec: &check.Spec{Train: check.Train{}}}
	f, err := m.lossWeight()
	if err != nil {
		t.Fatal(err)
	}
	got := irtest.Eval(t, f, ir.Env{Dims: map[string]int{"B": 2, "T": 3}, Scalars: map[string]float64{"scale": 0.125}},
		[]ir.Tensor{{Shape: []int{2, 3}, F: []float64{0, 2, math.Inf(1), math.NaN(), 1e30, math.Inf(-1)}}})[0].F
	for i, finite := range []bool{true, true, false, false, true, false} {
		if finite != (got[i] == 0.125) || !finite && !math.IsNaN(got[i]) {
			t.Errorf("row %d has weight %g", i, got[i])
		}
	}
}
