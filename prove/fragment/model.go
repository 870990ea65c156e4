package fragment

import "math"

// A model computes the results of one case of a probe that the simulator cannot run. Operands and
// results are indexed by operand, then by thread. The models reproduce every result of the H100
// in prove/records. Boxes have their own model, since a box reaches into other cases.
type model func(p *Probe, in [][]uint64) [][]uint64

// results allocates the results of a case.
func (p *Probe) results() [][]uint64 {
	out := make([][]uint64, len(p.Out))
	for k := range out {
		out[k] = make([]uint64, p.Threads)
	}
	return out
}

// dot computes an element of D from an element of C, a row of A and a column of B.
type dot func(x *product, c uint64, a, b []uint64) uint64

// products returns the model of a matrix product.
func products(d dot) model {
	return func(p *Probe, in [][]uint64) [][]uint64 {
		x, out := p.product, p.results()
		a, b := make([]uint64, x.k), make([]uint64, x.k)
		for row := range x.m {
			for col := range x.n {
				for l := range x.k {
					a[l], b[l] = x.get(in, 'a', row, l), x.get(in, 'b', l, col)
				}
				operand, thread, e := x.place(x, 'd', row, col)
				out[operand][thread] |= d(x, x.get(in, 'c', row, col), a, b) << (e * x.d.width)
			}
		}
		return out
	}
}

// wgmmaDot computes an element of wgmma. Floats are one sum of C and all products, with 25
// fraction bits below the greatest exponent, as in mma on sm_90. With 8-bit factors there are 13,
// and results in single precision keep only 13.
func wgmmaDot(x *product, c uint64, a, b []uint64) uint64 {
	if x.a.kind != 'f' {
		sum := c
		for l := range a {
			sum += uint64(int64(x.a.value(a[l]) * x.b.value(b[l])))
		}
		return sum & x.d.mask()
	}
	kept, frac := 25, 23
	if x.a.width == 8 {
		kept, frac = 13, 13
	}
	sum := alignedSum(kept, x.c, c, x.a, a, x.b, b)
	if x.d.width == 32 {
		return cutSingle(sum, frac)
	}
	if math.IsNaN(sum) {
		return x.d.mask() &^ x.d.sign()
	}
	return x.d.nearest(sum + 0) // no -0
}

// negated returns the product of -A.
func negated(d dot) dot {
	return func(x *product, c uint64, a, b []uint64) uint64 {
		minus := make([]uint64, len(a))
		for l := range a {
			minus[l] = a[l] ^ x.a.sign()
		}
		return d(x, c, minus, b)
	}
}

// mmaBytesDot computes an element of mma with 8-bit factors. An H100 runs it as two steps of mma
// with halves: first the lower, then the upper two bytes of each register. The sum begins with 0,
// and C is added by an ordinary addition.
func mmaBytesDot(x *product, c uint64, a, b []uint64) uint64 {
	single := registerType("f32")
	var sum uint64
	for half := range 2 {
		var p, q []uint64
		for l := range a {
			if l%4/2 == half {
				p, q = append(p, a[l]), append(q, b[l])
			}
		}
		sum = cutSingle(alignedSum(25, single, sum, x.a, p, x.b, q), 23)
	}
	r := math.Float32frombits(uint32(c)) + math.Float32frombits(uint32(sum))
	if r != r {
		return 0x7fffffff
	}
	return uint64(math.Float32bits(r))
}

// alignedSum adds C and products as tensor cores do. All terms are truncated to so many fraction
// bits below the greatest exponent; the exponent of a product is the sum of its factors'
// exponents. Double precision holds every number here exactly.
func alignedSum(kept int, ct Type, c uint64, at Type, a []uint64, bt Type, b []uint64) float64 {
	const least = -126
	v := ct.value(c)
	top, special := least, math.IsNaN(v) || math.IsInf(v, 0)
	if v != 0 {
		top = max(top, ct.exponent(c))
	}
	terms := make([]float64, len(a))
	all := v
	for l := range a {
		terms[l] = at.factor(a[l]) * bt.factor(b[l])
		all += terms[l]
		if terms[l] != 0 {
			top = max(top, at.exponent(a[l])+bt.exponent(b[l]))
		}
		special = special || math.IsNaN(terms[l]) || math.IsInf(terms[l], 0)
	}
	if special {
		return all
	}
	sum := math.Trunc(math.Ldexp(v, kept-top))
	for _, t := range terms {
		sum += math.Trunc(math.Ldexp(t, kept-top))
	}
	return math.Ldexp(sum, top-kept)
}

// factor returns the value of a factor: tf32 keeps 10 fraction bits.
func (t Type) factor(x uint64) float64 {
	if t.name == "tf32" {
		x = x >> 13 << 13
	}
	return t.value(x)
}

// exponent returns the exponent of an element of a float type. Subnormal numbers have the least
// exponent.
func (t Type) exponent(x uint64) int {
	return max(int(x>>t.frac&(1<<t.exp-1)), 1) - t.bias()
}

// cutSingle truncates a number to a single with so many fraction bits, or to infinity if it is
// too large.
func cutSingle(v float64, frac int) uint64 {
	var sign uint64
	if v < 0 {
		sign, v = 1<<31, -v
	}
	_, e := math.Frexp(v)
	e = max(e-1, -126)
	switch {
	case math.IsNaN(v):
		return 0x7fffffff
	case v == 0:
		return 0
	case math.IsInf(v, 0) || e > 127:
		return sign | 0x7f800000
	}
	return sign | uint64(math.Ldexp(v, frac-e))<<(23-frac) + uint64(e+126)<<23
}

// model computes an imageForm. It reads both matrices at the addresses in the descriptors.
func (f *imageForm) model(p *Probe, in [][]uint64) [][]uint64 {
	t := p.In[0]
	element := func(at int) float64 { // an element of shared memory, by byte offset
		word := in[at/(4*group)][at/4%group]
		return t.value(t.element(word, at/2%2))
	}
	out := p.results()
	for row := range 64 {
		for col := range 8 {
			sum := 0.0
			for k := range 16 {
				sum += element(swizzled(f.swizzle, f.start+matrixOffset(f.swizzle, f.leading, f.stride, f.transA, row, k))) *
					element(swizzled(f.swizzle, bAt+f.start+matrixOffset(f.swizzle, f.bLeading, f.bStride, f.transB, col, k)))
			}
			operand, lane, _ := accumulatorPlace(p.Out[0], row%16, col)
			out[operand][row/16*warp+lane] = uint64(math.Float32bits(float32(sum)))
		}
	}
	return out
}

// matrixOffset returns the offset in bytes of a 16-bit element before swizzling: row i of A or
// column i of B, at place k. Without a swizzle, parts are 8 by 8. The leading stride is then
// between parts along k and the other stride between parts along i, in both orders. With a
// swizzle, a part is 8 runs of as many bytes; in the order by i (trans), the strides are
// exchanged.
func matrixOffset(swizzle, leading, stride, trans, i, k int) int {
	width := max(swizzle, 16) / 2 // neighbouring elements
	switch {
	case trans == 0:
		return i/8*stride + k/width*leading + i%8*2*width + k%width*2
	case swizzle == 0:
		return i/8*stride + k/8*leading + k%8*16 + i%8*2
	}
	return i/width*leading + k/8*stride + k%8*2*width + i%width*2
}

// swizzled exchanges the 16-byte chunks of an address, by the number of its 128-byte run.
func swizzled(swizzle, at int) int {
	return at ^ at>>7&(max(swizzle, 16)/16-1)<<4
}
