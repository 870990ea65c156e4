// Package irtest has random arguments and comparisons for tests of tensor IR.
package irtest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/ir"
)

// Parse returns the one function in text.
func Parse(t testing.TB, text string) *ir.Func {
	t.Helper()
	fs, err := ir.Parse(text)
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	if len(fs) != 1 {
		t.Fatalf("%d functions in\n%s", len(fs), text)
	}
	return fs[0]
}

// Eval evaluates f and fails the test on an error.
func Eval(t testing.TB, f *ir.Func, env ir.Env, args []ir.Tensor) []ir.Tensor {
	t.Helper()
	out, err := ir.Eval(f, env, args)
	if err != nil {
		t.Fatalf("%v in\n%s", err, f)
	}
	return out
}

// Args returns random arguments for f: normal numbers, and integers that are in range for
// the ops that use them directly (0 to 2 for others).
func Args(t testing.TB, f *ir.Func, env ir.Env, seed uint64) []ir.Tensor {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 1))
	var out []ir.Tensor
	for _, p := range f.Params {
		x := ir.Tensor{Shape: []int{}}
		n := 1
		for _, d := range p.Type.Shape {
			s, err := d.Size(env.Dims)
			if err != nil {
				t.Fatal(err)
			}
			x.Shape = append(x.Shape, s)
			n *= s
		}
		lo, hi := bounds(f, p)
		for range n {
			if p.Type.Elem == expr.F32 {
				x.F = append(x.F, rng.NormFloat64())
			} else {
				x.I = append(x.I, lo+rng.Int64N(hi-lo))
			}
		}
		out = append(out, x)
	}
	return out
}

// bounds returns the range lo … hi-1 of an integer parameter.
func bounds(f *ir.Func, p *ir.Value) (lo, hi int64) {
	for _, v := range f.Values {
		for k, a := range v.Args {
			switch {
			case a != p:
			case v.Op == ir.Gather && k == 1:
				return 0, int64(v.Args[0].Type.Shape[0].N)
			case v.Op == ir.Scatter && k == 0:
				return 0, int64(v.Attr.Rows)
			case v.Op == ir.CrossEntropy || v.Op == ir.CrossEntropyGrad:
				x := v.Args[0].Type
				return -1, int64(x.Shape[x.Rank()-1].N)
			}
		}
	}
	return 0, 3
}

// Same returns an error if a and b differ by more than tol, absolutely and relative to b.
// NaNs are equal. With tol 0 all other bits must be equal.
func Same(a, b ir.Tensor, tol float64) error {
	if fmt.Sprint(a.Shape) != fmt.Sprint(b.Shape) || len(a.F) != len(b.F) || len(a.I) != len(b.I) {
		return fmt.Errorf("shapes %v and %v", a.Shape, b.Shape)
	}
	for k := range a.I {
		if a.I[k] != b.I[k] {
			return fmt.Errorf("element %d: %d, want %d", k, a.I[k], b.I[k])
		}
	}
	for k, x := range a.F {
		y := b.F[k]
		same := math.Float64bits(x) == math.Float64bits(y) || x != x && y != y
		if !same && !(math.Abs(x-y) <= tol*(1+math.Abs(y)) && tol > 0) {
			return fmt.Errorf("element %d: %v, want %v", k, x, y)
		}
	}
	return nil
}
