package ptxsim_test

import (
	"math"
	"math/rand/v2"
	"slices"
)

// tritonPrograms are the programs in triton.py.
func tritonPrograms(rng *rand.Rand) []program {
	const n = 992
	x, y, z := randomFloats(rng, n), randomFloats(rng, n), randomFloats(rng, 720)
	a, b := eighths(rng, 64*96), eighths(rng, 96*64)
	s, t := integers(rng, 45*29, -128, 127), integers(rng, 29*37, -128, 127)
	q, k, v := eighths(rng, 90*32), eighths(rng, 90*32), eighths(rng, 90*32)
	c, m, w := integers(rng, 500, 0, 19), randomWords(rng, 48*64), integers(rng, 64, -999, 999)
	r := eighths(rng, 5*128)
	list := []program{
		{file: "add", grid: line(2), args: []any{floats(x...), floats(y...), out(4 * n), uint32(n)},
			result: 2, want: floats(each2(x, y, func(x, y float32) float32 { return x + y })...)},
		{file: "softmax", grid: line(4), shared: 16, args: []any{floats(z...), out(4 * 720), uint32(180)}, result: 1, want: floats(softmaxOf(z, 4)...), near: 1e-5},
		{file: "matmul-f16", kernel: "matmul", grid: [3]int{2, 2, 1}, shared: 8192,
			args:   []any{toF16(a...), toF16(b...), out(4 * 64 * 64), uint32(64), uint32(64), uint32(96)},
			result: 2, want: floats(product(a, b, 64, 96, 64)...)},
		{file: "matmul-s8", kernel: "matmul", grid: [3]int{2, 2, 1}, shared: 4096,
			args:   []any{narrow(s), narrow(t), out(4 * 45 * 37), uint32(45), uint32(37), uint32(29)},
			result: 2, want: packed(product(s, t, 45, 29, 37)...)},
		{file: "attention", grid: line(3), shared: 10240, args: []any{toBF16(q...), toBF16(k...), toBF16(v...), out(4 * 90 * 32), uint32(90), float32(0.02)},
			result: 3, want: floats(attended(q, k, v, 90, 32, 0.02)...), near: 5e-3},
		{file: "count", grid: line(2), args: []any{packed(c...), make([]byte, 80), uint32(500)}, result: 1, want: packed(counted(c, 20)...)},
		{file: "cumsum", grid: line(1), shared: 32, args: []any{packed(c[:200]...), out(800), uint32(200)}, result: 1, want: packed(sums(c[:200])...)},
		{file: "transpose", grid: [3]int{2, 2, 1}, shared: 4096, args: []any{words(m...), out(4 * 48 * 64), uint32(48), uint32(64)},
			result: 1, want: words(transposed(m, 48, 64)...)},
		{file: "sort", grid: line(1), shared: 256, args: []any{packed(w...), out(256)}, result: 1, want: packed(sortedRows(w, 64)...)},
		{file: "locked", grid: line(5), shared: 4, args: []any{floats(r...), floats(make([]float32, 128)...), make([]byte, 4)},
			result: 1, want: floats(product([]float32{1, 1, 1, 1, 1}, r, 1, 5, 128)...)},
		{file: "called", grid: line(50), args: []any{floats(r[:50]...), out(200)},
			result: 1, want: floats(each2(r[:50], r[:50], func(x, _ float32) float32 { return 3 * x })...)},
	}
	for i := range list {
		p := &list[i]
		if p.kernel == "" {
			p.kernel = p.file
		}
		p.file, p.block = "triton-"+p.file, line(128)
		p.args = append(p.args, uint64(0), uint64(0)) // Triton's own
	}
	return list
}

func narrow(x []int32) []byte {
	b := make([]int8, len(x))
	for i, v := range x {
		b[i] = int8(v)
	}
	return packed(b...)
}

func sums(x []int32) []int32 {
	y := slices.Clone(x)
	for i := 1; i < len(y); i++ {
		y[i] += y[i-1]
	}
	return y
}

// attended returns attention with powers of two: rows of d, each over all n.
func attended(q, k, v []float32, n, d int, scale float64) []float32 {
	o := make([]float32, n*d)
	for i := range n {
		total, row := 0.0, make([]float64, d)
		for j := range n {
			s := 0.0
			for e := range d {
				s += float64(q[i*d+e]) * float64(k[j*d+e])
			}
			p := math.Exp2(s * scale)
			total += p
			for e := range d {
				row[e] += p * float64(v[j*d+e])
			}
		}
		for e := range d {
			o[i*d+e] = float32(row[e] / total)
		}
	}
	return o
}
