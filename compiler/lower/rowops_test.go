package lower_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/arithlang/mlc/compiler/ir"
	"github.com/arithlang/mlc/compiler/ir/irtest"
	"github.com/arithlang/mlc/compiler/kernel"
	"github.com/arithlang/mlc/compiler/lower"
	"github.com/arithlang/mlc/compiler/plan"
)

// TestSumOfSegments holds the sum over an arena to its bits: sums of segments, and segments of
// these, each as 32 partial values, one after another.
func TestSumOfSegments(t *testing.T) {
	f := irtest.Parse(t, "func f\nv0 = param g input : f32[N]\nv1 = map v0 {expr = x0 * x0} : f32[N]\n"+
		"v2 = segment_sum v1 : f32[N/1024]\nv3 = sum v2 {axes = 0} : f32[]\nresult sum v3\nend\n")
	p, err := lower.Lower(&plan.Plan{Optimizer: []*ir.Func{f}})
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{1, 1023, 1024, 1025, 5*ir.Segment + 99, ir.Segment*ir.Segment + 3*ir.Segment + 5} {
		m, e, s := lower.NewMachine(p), p.Entry("f"), kernel.Scalars{"N": float64(n)}
		m.Grads = make([]float32, n)
		rng := rand.New(rand.NewPCG(1, uint64(n)))
		for i := range m.Grads {
			m.Grads[i] = float32(rng.NormFloat64())
		}
		m.Prepare(e, s)
		if err := m.Run(e, s); err != nil {
			t.Fatal(err)
		}
		var sums []float32
		for segment := range slices.Chunk(m.Grads, ir.Segment) {
			sums = append(sums, partials(segment, func(x float32) float32 { return x * x }))
		}
		want := float32(0)
		for segment := range slices.Chunk(sums, ir.Segment) {
			want += partials(segment, func(x float32) float32 { return x })
		}
		if got := m.Floats(e, "sum", 0)[0]; got != want {
			t.Errorf("%d elements: %v, want %v", n, got, want)
		}
	}
}

// partials adds terms of a segment as 32 partial values.
func partials(segment []float32, term func(x float32) float32) float32 {
	var all [32]float32
	for i, x := range segment {
		all[i/4%32] += term(x)
	}
	for d := 16; d > 0; d /= 2 {
		for i := range d {
			all[i] += all[i+d]
		}
	}
	return all[0]
}
