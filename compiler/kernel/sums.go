package kernel

import (
	"math"

	"github.com/arithlang/mlc/compiler/expr"
)

// Sums says how a device adds the products of a Dot where it does not add them as defined. A
// device that does so for products of 16-bit factors, or of halves of F32 factors, truncates the
// products of a step and the sum to Kept bits after the leading bit of the largest, adds them
// exactly, and truncates the result to F32.
type Sums struct {
	Step int // products of a step; half as many of halves
	Kept int

	// With Fours, a product over the columns of the kernel's first product begins each 16 with
	// columns 4 n and 4 n + 1. The order matters if a step has fewer than 16 products.
	Fours bool

	// With Flushed, only products of BF16 differ: subnormal factors and sums are 0.
	Flushed bool
}

// takes reports whether add replaces the defined sum of a product.
func (add *Sums) takes(d *Dot, factors expr.Type) bool {
	switch {
	case add == nil:
		return false
	case add.Flushed:
		return factors == expr.BF16
	}
	return d.Split || factors.Narrow()
}

// inFours reports whether Fours applies to a product: it is over the columns of the first.
func (add *Sums) inFours(k *Kernel, d *Dot) bool {
	if add == nil || !add.Fours || len(d.Axes) < 3 {
		return false
	}
	for s := range All(k.Body) {
		if first, ok := s.(*Dot); ok && len(first.Axes) == 3 {
			return expr.Equal(d.Axes[2].Size, first.Axes[1].Size)
		}
	}
	return false
}

// fours returns factors in the order of Fours, 16 at a time, with missing ones as 0.
func fours(x []float32) []float32 {
	var out []float32
	for ; len(x) > 0; x = x[min(16, len(x)):] {
		for i := range 16 {
			if from := i%8/2*4 + i%2 + i/8*2; from < len(x) {
				out = append(out, x[from])
			} else {
				out = append(out, 0)
			}
		}
	}
	return out
}

// Add adds the products of the elements of a and b, which have equal lengths, to sum.
func (add *Sums) Add(sum float32, a, b []float32) float32 {
	if add.Flushed {
		for i := range a {
			sum = flush(expr.FMA32(flush(a[i]), flush(b[i]), flush(sum)))
		}
		return sum
	}
	for len(a) > add.Step {
		sum = add.one(sum, a[:add.Step], b[:add.Step])
		a, b = a[add.Step:], b[add.Step:]
	}
	if len(a) == 0 {
		return sum
	}
	return add.one(sum, a, b)
}

// flush replaces a subnormal number by a zero of its sign.
func flush(x float32) float32 {
	if math.Abs(float64(x)) < 0x1p-126 {
		return float32(math.Copysign(0, float64(x)))
	}
	return x
}

// splitDepth is the number of products of halves added before the next kind of half.
const splitDepth = 8

// AddSplit adds split products of F32 factors. The instruction is mma.m16n8k8 on TF32, three
// times per 8 products.
func (add *Sums) AddSplit(sum float32, a, b []float32) float32 {
	half := &Sums{Step: add.Step / 2, Kept: add.Kept}
	var aHigh, aLow, bHigh, bLow [splitDepth]float32
	for len(a) > 0 {
		n := min(splitDepth, len(a))
		for i := range n {
			aHigh[i], aLow[i] = Halves(a[i])
			bHigh[i], bLow[i] = Halves(b[i])
		}
		sum = half.Add(sum, aLow[:n], bHigh[:n])
		sum = half.Add(sum, aHigh[:n], bLow[:n])
		sum = half.Add(sum, aHigh[:n], bHigh[:n])
		a, b = a[n:], b[n:]
	}
	return sum
}

// Halves returns x rounded to TF32, to nearest even, and the remainder truncated to TF32.
// Their sum differs from x by at most 2^-23 |x| unless they are subnormal. If x is not finite,
// low is NaN.
func Halves(x float32) (high, low float32) {
	const dropped = 23 - 10
	cut := func(bits uint32) float32 { return math.Float32frombits(bits >> dropped << dropped) }
	bits := math.Float32bits(x)
	high = cut(bits + bits>>dropped&1 + 1<<(dropped-1) - 1)
	return high, cut(math.Float32bits(x - high))
}

// leastExponent is the exponent of subnormal numbers and of 0.
const leastExponent = -126

// exponent returns e where |x| = m 2^e, 1 <= m < 2, at least leastExponent.
func exponent(x float32) int {
	return max(int(math.Float32bits(x)>>23&0xff)-127, leastExponent)
}

// one adds one step. Aligned terms have 28 bits, so float64 is exact except for the truncations.
func (add *Sums) one(sum float32, a, b []float32) float32 {
	top, plain := exponent(sum), float64(sum)
	for i := range a {
		p := float64(a[i]) * float64(b[i])
		if plain += p; p != 0 {
			top = max(top, exponent(a[i])+exponent(b[i]))
		}
	}
	if math.IsNaN(plain) || math.IsInf(plain, 0) {
		return float32(plain)
	}
	scale, back := math.Ldexp(1, add.Kept-top), math.Ldexp(1, top-add.Kept)
	total := math.Trunc(scale * float64(sum))
	for i := range a {
		total += math.Trunc(scale * (float64(a[i]) * float64(b[i])))
	}
	return towardsZero(back * total)
}

// towardsZero rounds x towards zero to F32, and to infinity from 2^128 on.
func towardsZero(x float64) float32 {
	if math.Abs(x) >= 0x1p128 {
		return float32(math.Inf(int(math.Copysign(1, x))))
	}
	y := float32(x)
	if math.Abs(float64(y)) > math.Abs(x) {
		y = math.Nextafter32(y, 0)
	}
	if y == 0 {
		return 0
	}
	return y
}
