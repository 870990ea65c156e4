package ptxsim_test

import (
	"math"
	"math/rand/v2"
	"slices"
)

// clangPrograms are the programs in clang.cu, for n numbers unless stated otherwise.
func clangPrograms(file string, rng *rand.Rand) []program {
	const n = 300
	x, y, e := randomFloats(rng, n), randomFloats(rng, n), eighths(rng, n)
	c, text := integers(rng, n, -1000, 1000), make([]byte, n)
	for i := range text {
		text[i] = byte(rng.NormFloat64() * 9)
	}
	a, b := eighths(rng, 37*37), eighths(rng, 37*37)
	p, q := eighths(rng, 32*48), eighths(rng, 48*16)
	rows, numbers := integers(rng, 16*40, -99, 99), make([]uint64, 100)
	for i := range numbers {
		numbers[i] = uint64(i + 1)
	}
	list := []program{
		{kernel: "saxpy", grid: line(3), block: line(128), args: []any{floats(x...), floats(y...), float32(2.5), uint64(n)},
			result: 1, want: floats(each2(x, y, func(x, y float32) float32 { return float32(2.5*float64(x) + float64(y)) })...), near: 1e-6},
		{kernel: "poly", grid: line(3), block: line(128), args: []any{floats(x...), out(4 * n), uint32(n)}, result: 1, want: floats(polynomials(x)...), near: 1e-4},
		{kernel: "argmax", grid: line(1), block: line(128), args: []any{floats(x...), out(4), uint32(n)}, result: 1, want: words(uint32(slices.Index(x, slices.Max(x))))},
		{kernel: "structures", grid: line(1), block: line(64), args: []any{raw(append(floats(1, 2, 3, 4, 5), 0, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0)), out(4 * 64)},
			want: floats(structures()...)},
		{kernel: "cases", grid: line(3), block: line(128), args: []any{packed(c...), out(4 * n), uint32(n)}, result: 1, want: packed(classified(c)...)},
		{kernel: "softmax", grid: line(4), block: line(32), shared: n, args: []any{floats(x...), out(4 * n), uint32(n / 4)},
			result: 1, want: floats(softmaxOf(x, 4)...), near: 1e-5},
		{kernel: "histogram", grid: line(2), block: line(96), args: []any{text, make([]byte, 1024), uint32(n)}, result: 1, want: packed(counted(text, 256)...)},
		{kernel: "sort16", grid: line(1), block: line(64), args: []any{packed(rows...), out(4 * 16 * 40), uint32(40)}, result: 1, want: packed(sortedRows(rows, 16)...)},
		{kernel: "matmul", grid: [3]int{3, 3, 1}, block: [3]int{16, 16, 1}, args: []any{floats(a...), floats(b...), out(4 * 37 * 37), uint32(37)},
			result: 2, want: floats(product(a, b, 37, 37, 37)...)},
		{kernel: "tensor", grid: line(2), block: line(32), args: []any{toF16(p...), toF16(transposed(q, 48, 16)...), out(4 * 32 * 16), uint32(48)},
			result: 2, want: floats(product(p, q, 32, 48, 16)...)},
		{kernel: "moments", grid: line(3), block: line(128), args: []any{floats(e...), out(8 * 6), uint32(n / 3)}, result: 1, want: packed(moments(e, 3)...)},
		{kernel: "half", grid: line(3), block: line(128), args: []any{toF16(e...), out(2 * n), uint32(n)},
			result: 1, want: toF16(each2(e, e, func(x, _ float32) float32 { return 2.5*x + 1 })...)},
		{kernel: "collatz", grid: line(1), block: line(128), args: []any{packed(numbers...), out(400), uint32(100)}, result: 1, want: words(collatz(numbers)...)},
	}
	for i := range list {
		list[i].file = file
	}
	return list
}

func each2(x, y []float32, f func(x, y float32) float32) []float32 {
	z := make([]float32, len(x))
	for i := range z {
		z[i] = f(x[i], y[i])
	}
	return z
}

func polynomials(x []float32) []float32 {
	y := make([]float32, len(x))
	for i := range y {
		v := 1.0
		for range i & 7 {
			v = v*float64(x[i]) + 0.5
		}
		y[i] = float32(v)
	}
	return y
}

// structures returns the result of the kernel with this name for {1, 2, 3, 4, 5} and 7.
func structures() []float32 {
	y := make([]float32, 64)
	for t := range y {
		a := [5]float32{1, 2, 3, 4, 5}
		a[t%5] = 2
		y[t] = (a[0]+a[1]+a[2]+a[3]+a[4])*float32(7+t) + 1
	}
	return y
}

func classified(x []int32) []int32 {
	y := make([]int32, len(x))
	for i, c := range x {
		k := c & 15
		y[i] = map[int32]int32{0: 17, 1: c * 3, 2: c ^ 21, 3: c - 9, 4: c / 3, 5: 2, 6: c % 7, 7: ^c, 9: 5, 10: c << 3}[k]
		if k == 8 || k > 10 {
			y[i] = -1
		}
	}
	return y
}

func sortedRows(x []int32, n int) []int32 {
	y := slices.Clone(x)
	for row := range slices.Chunk(y, n) {
		slices.Sort(row)
	}
	return y
}

// moments returns the means of numbers and of their squares, row by row.
func moments(x []float32, rows int) (bits []uint64) {
	n := len(x) / rows
	for row := range slices.Chunk(x, n) {
		s, q := 0.0, 0.0
		for _, v := range row {
			s += float64(v)
			q += float64(v) * float64(v)
		}
		bits = append(bits, math.Float64bits(s/float64(n)), math.Float64bits(q/float64(n)))
	}
	return bits
}

func collatz(numbers []uint64) []uint32 {
	steps := make([]uint32, len(numbers))
	for i, v := range numbers {
		for ; v != 1; steps[i]++ {
			if v%2 == 0 {
				v /= 2
			} else {
				v = 3*v + 1
			}
		}
	}
	return steps
}
