package model

import (
	"math"
	"testing"

	"github.com/arithlang/mlc/compiler/check"
	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/ir"
	"github.com/arithlang/mlc/compiler/ir/irtest"
	"github.com/arithlang/mlc/compiler/plan"
)

// TestRotary compares both kinds of rotary positions with their definitions: heads of a
// product that are rotated, and a product of rows that are rotated as one head. Rows
// begin at the third.
func TestRotary(t *testing.T) {
	const width, heads, rows, first, base = 8, 2, 3, 2, 100.0
	x, w := numbers(rows*width, 0.7), numbers(width*width, 1.3)
	for _, c := range []struct {
		name string
		r    check.Rotary
		want []float64
	}{
		{"heads", check.Rotary{Base: base, Fraction: 0.5}, turned(product(x, w, width), width, heads, 1, first, base)},
		{"input", check.Rotary{Base: base, Fraction: 0.5, Input: true}, product(turned(x, width, 1, 2, first, base), w, width)},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := projection(t, c.r, width, heads, rows, first, x, w)
			for k := range c.want {
				if math.Abs(got[k]-c.want[k]) > 1e-5 {
					t.Fatalf("element %d of row %d is %v, want %v", k%width, k/width, got[k], c.want[k])
				}
			}
		})
	}
}

// projection evaluates the keys of rows x with matrix w.
func projection(t *testing.T, r check.Rotary, width, heads, rows, first int, x, w []float64) []float64 {
	t.Helper()
	m := &builder{spec: &check.Spec{Model: check.Model{Width: width, Heads: heads}}, plan: &plan.Plan{}}
	m.stack("decoder", 1, check.Share{}, m.matrix("self.k", check.Weight{}, width, width, func(_, _ int) plan.Init { return plan.Init{} }))
	l := m.newLayer("keys", "decoder", m.spec.Model.Pos, streamDecoder, decoding)
	l.b.Result("y", l.projected(l.b.Param("x", m.rows("T"), ir.Input), "self", "k", &check.Site{Rotary: &r}), false)
	f, err := l.b.Func()
	if err != nil {
		t.Fatal(err)
	}
	env := ir.Env{Dims: map[string]int{"B": 1, "T": rows, "P": first}}
	args := []ir.Tensor{{Shape: []int{1, rows, width}, F: x}, {Shape: []int{width, width}, F: w}}
	return irtest.Eval(t, f, env, args)[0].F
}

// turned rotates elements n and r+n, n < r, in each head of each row by the row's
// position times base^(-n/r).
func turned(x []float64, width, heads, r, first int, base float64) []float64 {
	out := append([]float64(nil), x...)
	for k := range out {
		row, n := k/width, k%(width/heads)
		if n >= r {
			continue
		}
		sin, cos := math.Sincos(float64(first+row) * math.Pow(base, -float64(n)/float64(r)))
		out[k], out[k+r] = x[k]*cos-x[k+r]*sin, x[k+r]*cos+x[k]*sin
	}
	return out
}

func product(x, w []float64, width int) []float64 {
	out := make([]float64, len(x))
	for k := range out {
		for n := range width {
			out[k] += x[k/width*width+n] * w[n*width+k%width]
		}
	}
	return out
}

// numbers returns irregular numbers.
func numbers(n int, step float64) []float64 {
	out := make([]float64, n)
	for k := range out {
		out[k] = math.Sin(step * float64(k*k+1))
	}
	return out
}

// TestShawTable: a layer has one table of 2 clip + 1 vectors, as wide as a head, for all
// heads.
func TestShawTable(t *testing.T) {
	m := &builder{spec: &check.Spec{Model: check.Model{Width: 8, Heads: 2, Init: xavier}}, plan: &plan.Plan{}}
	for clip, want := range map[int][]int{0: nil, 3: {7, 4}} {
		var shape []int
		for _, p := range m.site("self", &check.Site{Shaw: clip, Bias: expr.F(0)}, 1) {
			if p.Name == "self.relative" {
				shape = p.Shape
			}
		}
		if len(shape) != len(want) || len(want) > 0 && (shape[0] != want[0] || shape[1] != want[1]) {
			t.Errorf("clip %d has a table %v, want %v", clip, shape, want)
		}
	}
}
