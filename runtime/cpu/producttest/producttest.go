// Package producttest has operands of matrix products for tests, and compares results.
package producttest

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/arithlang/mlc/internal/full"
)

// Special returns a random float32, often one that matters for rounding or ranges.
func Special(r *rand.Rand) float32 {
	switch r.IntN(24) {
	case 0:
		return math.Float32frombits(r.Uint32()) // any class
	case 1:
		return math.Float32frombits(r.Uint32() & 0x807FFFFF) // subnormal
	case 2:
		return float32(math.Inf(r.IntN(2)*2 - 1))
	case 3:
		return math.Float32frombits(uint32(r.IntN(2)) << 31) // zero
	case 4:
		return float32(r.NormFloat64() * 1e-20)
	case 5:
		return float32(math.NaN())
	}
	return float32(r.NormFloat64())
}

// Value returns a source of special numbers, or of normal ones.
func Value(r *rand.Rand) func() float32 {
	if r.IntN(2) == 0 {
		return func() float32 { return float32(r.NormFloat64()) }
	}
	return func() float32 { return Special(r) }
}

// Fill returns n values.
func Fill(n int, value func() float32) []float32 {
	s := make([]float32, n)
	for i := range s {
		s[i] = value()
	}
	return s
}

// Same compares bits; all NaNs are equal.
func Same(a, b float32) bool { return math.Float32bits(a) == math.Float32bits(b) || a != a && b != b }

// Difference describes the first element that is not the wanted one, or returns "".
func Difference(got, want []float32) string {
	for i := range want {
		if !Same(got[i], want[i]) {
			return fmt.Sprintf("element %d is %v (%#x), want %v (%#x)", i, got[i], math.Float32bits(got[i]), want[i], math.Float32bits(want[i]))
		}
	}
	return ""
}

// Rounds returns n, or fewer in short tests, as on an emulated processor.
func Rounds(n int) int { return full.Either((n+19)/20, n) }

// layouts are the strides of operands.
var layouts = []struct {
	name    string
	strides func(rows, cols int) (rs, cs int)
}{
	{"rows", func(_, cols int) (int, int) { return cols, 1 }},
	{"columns", func(rows, _ int) (int, int) { return 1, rows }},
	{"wide", func(_, cols int) (int, int) { return cols + 3, 1 }},
	{"spread", func(rows, cols int) (int, int) { return 2*cols + 1, 2 }},
	{"repeated", func(_, _ int) (int, int) { return 0, 1 }},
}

// A Shape is the sizes and strides of a product.
type Shape struct {
	M, N, K, Ldc       int
	Ars, Acs, Brs, Bcs int
	Name               string
}

// NewShape returns random layouts for a product.
func NewShape(r *rand.Rand, m, n, k int) Shape {
	la, lb := layouts[r.IntN(len(layouts))], layouts[r.IntN(len(layouts))]
	s := Shape{M: m, N: n, K: k, Ldc: n + r.IntN(3)}
	s.Name = fmt.Sprintf("m=%d n=%d k=%d, a by %s, b by %s", m, n, k, la.name, lb.name)
	s.Ars, s.Acs = la.strides(m, k)
	s.Brs, s.Bcs = lb.strides(k, n)
	return s
}

// Elements are the sizes of A, B and C.
func (s *Shape) Elements() (a, b, c int) {
	return (s.M-1)*s.Ars + (s.K-1)*s.Acs + 1, (s.K-1)*s.Brs + (s.N-1)*s.Bcs + 1, (s.M-1)*s.Ldc + s.N
}

// Define computes C by definition. An output begins as the element of c, or as 0 unless add is
// set. For each k, in ascending order, term adds the product of two elements of A and B.
func (s *Shape) Define(c []float32, add bool, term func(a, b int, sum float32) float32) {
	for i := range s.M {
		for j := range s.N {
			sum := float32(0)
			if add {
				sum = c[i*s.Ldc+j]
			}
			for l := range s.K {
				sum = term(i*s.Ars+l*s.Acs, l*s.Brs+j*s.Bcs, sum)
			}
			c[i*s.Ldc+j] = sum
		}
	}
}
