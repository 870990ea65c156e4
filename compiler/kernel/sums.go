package kernel

import "math"

// Sums adds to sum the products of the elements of a and b, which are alike in number.
// It is how Dot adds where its factors have 16 bits.
type Sums func(sum float32, a, b []float32) float32

// RunSums is Run for a device that adds products of 16-bit factors in an order of its
// own; nil is the order of the definition. All else stays as it is defined.
func RunSums(k *Kernel, s Scalars, bufs []Buffer, add Sums) error {
	m, shapes, err := start(k, s)
	if err != nil {
		return err
	}
	m.add = add
	m.bindBuffers(shapes, bufs)
	if m.err == nil {
		m.run()
	}
	return m.result()
}

// A tensorCore adds products in steps: those of a step and the sum so far are cut to so
// many bits behind the leading bit of the largest, towards zero, and added exactly; the
// result is cut to F32. So the tensor cores of NVIDIA do by MMA-Sim (Xie et al. 2026).
type tensorCore struct{ step, kept int }

// TensorCore is how the instruction mma.m16n8k16 adds in a loop over 16 products at a
// time, on a GPU of an architecture such as 80 or 90. Factors are BF16.
func TensorCore(arch int) Sums {
	core := tensorCore{8, 24}
	if arch >= 90 {
		core = tensorCore{16, 25}
	}
	return func(sum float32, a, b []float32) float32 {
		for len(a) > core.step {
			sum = core.add(sum, a[:core.step], b[:core.step])
			a, b = a[core.step:], b[core.step:]
		}
		if len(a) == 0 {
			return sum
		}
		return core.add(sum, a, b)
	}
}

// leastExponent is that of subnormal numbers, and taken for that of 0.
const leastExponent = -126

// exponent is e where |x| = m 2^e, 1 <= m < 2, or that of subnormal numbers.
func exponent(x float32) int {
	return max(int(math.Float32bits(x)>>23&0xff)-127, leastExponent)
}

// add takes one step. All is exact in float64 but for what is cut on purpose: aligned
// terms have 28 bits.
func (t tensorCore) add(sum float32, a, b []float32) float32 {
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
	aligned := func(x float64) float64 { return math.Trunc(math.Ldexp(x, t.kept-top)) }
	total := aligned(float64(sum))
	for i := range a {
		total += aligned(float64(a[i]) * float64(b[i]))
	}
	return towardsZero(math.Ldexp(total, top-t.kept))
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
