package num

import (
	"math"
	"math/bits"
)

// Tensor cores add c and all products of a step as one fixed-point sum. They align the exact,
// unnormalised products to the greatest exponent and cut them to some fraction bits. They round
// the exact sum of the rest once. The steps of an instruction and the number of bits depend on
// the architecture. The model comes from Xie et al., "MMA-Sim", who validated it on hardware. The
// model of sm_90 reproduces every bit of the H100's products in prove/records.

// factor is sig * 2^(exp-frac). The leading bit of a normal number is at frac, of a subnormal
// number below it.
type factor struct {
	sig     int32
	exp     int32
	bits    uint32
	special bool // an infinity or a NaN
}

// noTerm is the exponent of a zero term.
const noTerm = -126

// tensorCore describes an architecture's sums: how many fraction bits it keeps, and how many
// products make one step.
type tensorCore struct{ kept, step int }

// tensorCoreOf returns the tensor core of mma for factors of a format. A step has half as many
// tf32 products as 16-bit products.
func tensorCoreOf(arch int, fin Format) tensorCore {
	t := tensorCore{24, 8}
	if arch >= 90 {
		t = tensorCore{25, 16}
	}
	if fin == F32 {
		t.step /= 2
	}
	return t
}

// mostProducts is the size of the longest step.
const mostProducts = 16

// sum adds c and the products of a step. The factors have format fin, the accumulators fc.
func (t tensorCore) sum(fin, fc Format, c uint64, a, b []factor) uint64 {
	// This shift makes every alignment a shift to the right.
	frac := 2 * int32(formats[fin].frac)
	kept := int32(t.kept)
	up := max(0, kept-frac)
	var terms [mostProducts]struct {
		sig int64
		exp int32
	}
	last := readFactor(uint32(c), formats[fc].frac, uint32(fc.sign()), uint32(fc.inf()), int32(fc.bias()))
	special := last.special
	if last.sig == 0 {
		last.exp = noTerm
	}
	top := max(noTerm, last.exp)
	for k := range a {
		x, y := &a[k], &b[k]
		special = special || x.special || y.special
		p, e := int64(x.sig)*int64(y.sig)<<up, x.exp+y.exp
		if p == 0 {
			e = noTerm
		}
		terms[k].sig, terms[k].exp = p, e
		top = max(top, e)
	}
	if special {
		return specialSum(fin, fc, c, a, b)
	}
	drop := top - kept + frac + up
	total := cut(int64(last.sig)<<kept, top-last.exp+int32(formats[fc].frac))
	for _, p := range terms[:len(a)] {
		total += cut(p.sig, drop-p.exp)
	}
	return packSum(fc, total, int(top)-t.kept)
}

// cut returns x / 2^by, rounded towards zero. by is not negative.
func cut(x int64, by int32) int64 {
	by = min(by, 62)
	return (x + x>>63&(1<<uint(by)-1)) >> uint(by)
}

// packSum rounds a sum. Single precision is rounded towards zero, except that too large sums
// become infinite; half precision is rounded to nearest even.
func packSum(f Format, sum int64, exp int) uint64 {
	n := number{neg: sum < 0, exp: exp, lo: uint64(max(sum, -sum))}
	if f != F32 {
		return f.pack(Mode{}, n)
	}
	length := bits.Len64(n.lo)
	e := exp + length - 1
	switch {
	case e > 127:
		return f.signedInf(n.neg)
	case e < -126 || sum == 0:
		return f.pack(Mode{Round: RZ}, n)
	}
	sig := n.lo << (64 - length) >> 40
	return uint64(sum)>>63<<31 | uint64(e+126)<<23 + sig
}

// specialSum returns the sum if an operand is an infinity or a NaN.
func specialSum(fin, fc Format, c uint64, a, b []factor) uint64 {
	s := fc.Float(c)
	for k := range a {
		s += float64(fin.Float(uint64(a[k].bits)) * fin.Float(uint64(b[k].bits)))
	}
	switch {
	case math.IsNaN(s):
		return fc.NaN()
	case math.IsInf(s, 0):
		return fc.signedInf(s < 0)
	}
	panic("BUG: a dot product with special operands is finite")
}

// dot adds the products of an element, step by step.
func (t tensorCore) dot(fin, fc Format, c uint64, a, b []factor) uint64 {
	step := min(t.step, len(a))
	for k := 0; k < len(a); k += step {
		c = t.sum(fin, fc, c, a[k:k+step], b[k:k+step])
	}
	return c
}

// Mma computes a*b + c like mma on the tensor cores of an architecture. It takes the rows of a
// and the columns of b, each k patterns of the format fin, and in c the accumulators of the
// format fc, row by row. It replaces c by the result. For single precision factors it uses tf32's
// bits.
func Mma(arch int, fin, fc Format, k int, a, b, c []uint64) {
	tensorCoreOf(arch, fin).products(fin, fc, k, a, b, c)
}

// Wmma is Mma for wmma: tf32 has steps of 4 on all architectures (recorded on an H100).
func Wmma(arch int, fin, fc Format, k int, a, b, c []uint64) {
	t := tensorCoreOf(arch, fin)
	if fin == F32 {
		t.step = 4
	}
	t.products(fin, fc, k, a, b, c)
}

func (t tensorCore) products(fin, fc Format, k int, a, b, c []uint64) {
	var rows, cols [mostFactors]factor
	x, y := factors(fin, a, rows[:0]), factors(fin, b, cols[:0])
	n := len(b) / k
	for i := range len(a) / k {
		for j := range n {
			c[i*n+j] = t.dot(fin, fc, c[i*n+j], x[i*k:i*k+k], y[j*k:j*k+k])
		}
	}
}

// mostFactors is the size of an operand: 16 rows of 16.
const mostFactors = 256

func factors[T uint16 | uint32 | uint64](f Format, xs []T, r []factor) []factor {
	frac, sign, inf, bias := formats[f].frac, uint32(f.sign()), uint32(f.inf()), int32(f.bias())
	mask := ^uint32(0)
	if f == F32 {
		mask <<= 13
	}
	for _, x := range xs {
		r = append(r, readFactor(uint32(x)&mask, frac, sign, inf, bias))
	}
	return r
}

// readFactor splits a pattern into its parts, given the layout of its format.
func readFactor(x uint32, frac uint, sign, inf uint32, bias int32) factor {
	sig, exp := int32(x&(1<<frac-1)), int32(x&inf>>frac)
	if exp > 0 {
		sig |= 1 << frac
	} else {
		exp = 1
	}
	if x&sign != 0 {
		sig = -sig
	}
	return factor{sig, exp - bias, x, x&inf == inf}
}

// DotInt computes an element of mma with integer operands, extended to 32 bits. The sum wraps, or
// with sat is clamped.
func DotInt(sat bool, c uint32, a, b []int32) uint32 {
	sum := int64(int32(c))
	for k := range a {
		sum += int64(a[k]) * int64(b[k])
	}
	if sat {
		return clampWord(sum)
	}
	return uint32(sum)
}

// DotF64 computes an element of mma with double precision operands: a chain of fma.
func DotF64(c uint64, a, b []uint64) uint64 {
	for k := range a {
		c = FmaF64(a[k], b[k], c)
	}
	return c
}

// DotB1 computes an element of mma with single-bit operands: c plus the number of ones in a & b,
// or in a ^ b.
func DotB1(and bool, c uint32, a, b []uint32) uint32 {
	for k := range a {
		x := a[k] ^ b[k]
		if and {
			x = a[k] & b[k]
		}
		c += uint32(bits.OnesCount32(x))
	}
	return c
}
