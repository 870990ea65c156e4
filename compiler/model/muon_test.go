package model

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/arithlang/mlc/compiler/ir"
	"github.com/arithlang/mlc/compiler/ir/irtest"
	"github.com/arithlang/mlc/dsl/diag"
)

// TestOrthogonal applies orthogonal to a matrix with known singular vectors and values.
// The vectors must stay, and the values must follow the iteration's polynomial: near 1
// after five steps.
func TestOrthogonal(t *testing.T) {
	values := []float64{3, 1.5, 0.4, 0.05}
	norm := 0.0
	for _, s := range values {
		norm = math.Hypot(norm, s)
	}
	for _, shape := range [][2]int{{4, 4}, {4, 7}, {7, 4}, {9, 5}} {
		for _, steps := range []int{1, 5} {
			t.Run(fmt.Sprint(shape, " ", steps), func(t *testing.T) {
				rng := rand.New(rand.NewPCG(1, uint64(shape[0])))
				left, right := orthonormal(rng, len(values), shape[0]), orthonormal(rng, len(values), shape[1])
				made := make([]float64, len(values))
				for i, s := range values {
					x := s / norm
					for range steps {
						x = 3.4445*x - 4.7750*x*x*x + 2.0315*x*x*x*x*x
					}
					if steps == 5 && math.Abs(x-1) > 0.35 {
						t.Errorf("a singular value of %g becomes %g", s/norm, x)
					}
					made[i] = x
				}
				got, want := orthogonalOf(t, shape, composed(left, values, right), steps), composed(left, made, right)
				for i := range want {
					if math.Abs(got[i]-want[i]) > 1e-6 {
						t.Fatalf("element %d is %g, want %g", i, got[i], want[i])
					}
				}
			})
		}
	}
	for _, x := range orthogonalOf(t, [2]int{2, 3}, make([]float64, 6), 5) {
		if x != 0 {
			t.Errorf("of a matrix of zeros an element becomes %g", x)
		}
	}
}

// orthogonalOf evaluates orthogonal in float64.
func orthogonalOf(t *testing.T, shape [2]int, x []float64, steps int) []float64 {
	t.Helper()
	b := ir.NewBuilder("orthogonal", diag.Pos{})
	b.Result("y", orthogonal(b, b.Param("x", ir.T(ir.N(shape[0]), ir.N(shape[1])), ir.Input), steps), false)
	f, err := b.Func()
	if err != nil {
		t.Fatal(err)
	}
	return irtest.Eval(t, f, ir.Env{}, []ir.Tensor{{Shape: shape[:], F: x}})[0].F
}

// orthonormal draws n vectors of the given length, by Gram and Schmidt.
func orthonormal(rng *rand.Rand, n, length int) [][]float64 {
	var all [][]float64
	for range n {
		v := make([]float64, length)
		for i := range v {
			v[i] = rng.NormFloat64()
		}
		for _, u := range all {
			along := dot(u, v)
			for i := range v {
				v[i] -= along * u[i]
			}
		}
		size := math.Sqrt(dot(v, v))
		for i := range v {
			v[i] /= size
		}
		all = append(all, v)
	}
	return all
}

func dot(u, v []float64) float64 {
	sum := 0.0
	for i := range u {
		sum += u[i] * v[i]
	}
	return sum
}

// composed returns the matrix with the given singular vectors and values.
func composed(left [][]float64, values []float64, right [][]float64) []float64 {
	out := make([]float64, len(left[0])*len(right[0]))
	for n, s := range values {
		for i, u := range left[n] {
			for j, v := range right[n] {
				out[i*len(right[n])+j] += s * u * v
			}
		}
	}
	return out
}
