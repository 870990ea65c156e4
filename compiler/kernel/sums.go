package kernel

import (
	"math"

	"github.com/arithlang/mlc/compiler/expr"
)

// Sums is how a device adds the products of 16-bit factors, or of half as many halves of
// F32: those of a step and the sum so far are cut to so many bits behind the leading bit of
// the largest, towards zero, and added exactly; the result is cut to F32. So the tensor cores
// of NVIDIA do by MMA-Sim (Xie et al. 2026).
type Sums struct {
	step, kept int
	fours      bool
	flushed    bool
}

// Pairs is how the instruction VDPBF16PS adds products of BF16: what is below the smallest
// normal number, a factor or a sum, is 0.
func Pairs() *Sums { return &Sums{flushed: true} }

// takes says whether products are not added as is defined.
func (add *Sums) takes(d *Dot, factors expr.Type) bool {
	switch {
	case add == nil:
		return false
	case add.flushed:
		return factors == expr.BF16
	}
	return d.Split || factors.Narrow()
}

// TensorCore is how the instruction mma.m16n8k16 adds in a loop over 16 products at a
// time, on a GPU of an architecture such as 80 or 90. Factors are BF16. With fours, of 16
// products over the columns of a kernel's first product those of columns 4 n and 4 n + 1
// come before the others: it matters where a step is fewer than 16.
func TensorCore(arch int, fours bool) *Sums {
	if arch >= 90 {
		return &Sums{step: 16, kept: 25, fours: fours}
	}
	return &Sums{step: 8, kept: 24, fours: fours}
}

// inFours says whether a product of a kernel is over the columns of its first one.
func (add *Sums) inFours(k *Kernel, d *Dot) bool {
	if add == nil || !add.fours || len(d.Axes) < 3 {
		return false
	}
	for s := range All(k.Body) {
		if first, ok := s.(*Dot); ok && len(first.Axes) == 3 {
			return expr.Equal(d.Axes[2].Size, first.Axes[1].Size)
		}
	}
	return false
}

// fours puts 16 factors after 16 in the order of TensorCore, as many of the last as there
// are.
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

// Add adds the products of the elements of a and b, which are alike in number, to sum.
func (add *Sums) Add(sum float32, a, b []float32) float32 {
	if add.flushed {
		for i := range a {
			sum = flush(expr.FMA32(flush(a[i]), flush(b[i]), flush(sum)))
		}
		return sum
	}
	for len(a) > add.step {
		sum = add.one(sum, a[:add.step], b[:add.step])
		a, b = a[add.step:], b[add.step:]
	}
	if len(a) == 0 {
		return sum
	}
	return add.one(sum, a, b)
}

// flush makes a number below the smallest normal one a zero of its sign.
func flush(x float32) float32 {
	if math.Abs(float64(x)) < 0x1p-126 {
		return float32(math.Copysign(0, float64(x)))
	}
	return x
}

// splitDepth is how many products of halves tensor cores add before the next kind of half.
const splitDepth = 8

// AddSplit adds the products of F32 that are split. The instruction is mma.m16n8k8 of TF32,
// three times for 8 products.
func (add *Sums) AddSplit(sum float32, a, b []float32) float32 {
	half := &Sums{step: add.step / 2, kept: add.kept}
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

// Halves are the TF32 nearest to x, to even where it is half-way, and what is left, cut to
// TF32. Their sum differs from x by 2^-23 |x| at most, where they are not subnormal. Of what
// is not finite the low one is NaN.
func Halves(x float32) (high, low float32) {
	const dropped = 23 - 10
	cut := func(bits uint32) float32 { return math.Float32frombits(bits >> dropped << dropped) }
	bits := math.Float32bits(x)
	high = cut(bits + bits>>dropped&1 + 1<<(dropped-1) - 1)
	return high, cut(math.Float32bits(x - high))
}

// leastExponent is that of subnormal numbers, and taken for that of 0.
const leastExponent = -126

// exponent is e where |x| = m 2^e, 1 <= m < 2, or that of subnormal numbers.
func exponent(x float32) int {
	return max(int(math.Float32bits(x)>>23&0xff)-127, leastExponent)
}

// one takes one step. All is exact in float64 but for what is cut on purpose: aligned
// terms have 28 bits.
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
	scale, back := math.Ldexp(1, add.kept-top), math.Ldexp(1, top-add.kept)
	total := math.Trunc(scale * float64(sum))
	for i := range a {
		total += math.Trunc(scale * (float64(a[i]) * float64(b[i])))
	}
	return towardsZero(back * total)
}

// towardsZero is the F32 next to x that is not larger in size; infinite beyond the
// largest.
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
