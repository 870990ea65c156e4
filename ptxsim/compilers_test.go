package ptxsim_test

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/arithlang/mlc/ptxsim"
)

// program is a kernel written by another compiler, with an oracle. The kernel and its source are
// in testdata/compilers.
type program struct {
	file, kernel string
	grid, block  [3]int
	shared       int
	args         []any
	result       int // the buffer to check
	want         []byte
	near         float64 // of floats: allowed error; 0 means exact
}

// TestCompilers runs the programs in every order and checks for right results, equal bits and no
// report. Threads that store the same value twice cause only a warning.
func TestCompilers(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for _, p := range slices.Concat(clangPrograms("clang-O0", rng), clangPrograms("clang-O2", rng), tritonPrograms(rng), nvccPrograms(rng)) {
		t.Run(p.file+"/"+p.kernel, func(t *testing.T) {
			x := exhibit{result: p.result, want: p.want, near: p.near, job: job{
				text: text(t, "compilers/"+p.file), kernel: p.kernel, grid: p.grid, block: p.block, shared: p.shared, args: p.args}}
			var first []byte
			for _, order := range orders {
				bufs := x.must(t, ptxsim.Options{Order: order, Seed: 7, SameValue: true})
				if err := x.check(bufs); err != nil {
					t.Fatalf("order %d: %v", order, err)
				}
				if first == nil {
					first = bufs[x.result]
				}
				if !bytes.Equal(first, bufs[x.result]) {
					t.Errorf("order %d gives other bits", order)
				}
			}
		})
	}
}

// packed returns a buffer of numbers.
func packed[T int32 | int8 | uint16 | uint64](v ...T) []byte {
	var b bytes.Buffer
	if err := binary.Write(&b, binary.LittleEndian, v); err != nil {
		panic("BUG: " + err.Error())
	}
	return b.Bytes()
}

func integers(rng *rand.Rand, n, least, most int) []int32 {
	v := make([]int32, n)
	for i := range v {
		v[i] = int32(least + rng.IntN(most-least+1))
	}
	return v
}

// eighths returns numbers that f16 and bf16 can represent, and whose products single precision
// sums without rounding.
func eighths(rng *rand.Rand, n int) []float32 {
	v := make([]float32, n)
	for i := range v {
		v[i] = float32(rng.IntN(63)-31) / 8
	}
	return v
}

// toF16 and toBF16 convert numbers that the formats can represent.

func toF16(v ...float32) []byte {
	h := make([]uint16, len(v))
	for i, x := range v {
		if w := math.Float32bits(x); x != 0 {
			h[i] = uint16(w>>16&0x8000 | (w>>23&0xff-112)<<10 | w>>13&0x3ff)
		}
	}
	return packed(h...)
}

func toBF16(v ...float32) []byte {
	h := make([]uint16, len(v))
	for i, x := range v {
		h[i] = uint16(math.Float32bits(x) >> 16)
	}
	return packed(h...)
}

// product returns the product of two matrices, summed in double precision.
func product[T float32 | int32](a, b []T, rows, depth, cols int) []T {
	c := make([]T, rows*cols)
	for i := range c {
		s := 0.0
		for k := range depth {
			s += float64(a[i/cols*depth+k]) * float64(b[k*cols+i%cols])
		}
		c[i] = T(s)
	}
	return c
}

func transposed[T any](x []T, rows, cols int) []T {
	y := make([]T, len(x))
	for i, v := range x {
		y[i%cols*rows+i/cols] = v
	}
	return y
}

func softmaxOf(x []float32, rows int) []float32 {
	n := len(x) / rows
	y := make([]float32, len(x))
	for r := range rows {
		sum := 0.0
		for _, v := range x[r*n : r*n+n] {
			sum += math.Exp(float64(v))
		}
		for i := range n {
			y[r*n+i] = float32(math.Exp(float64(x[r*n+i])) / sum)
		}
	}
	return y
}

// counted returns how often each of n numbers occurs.
func counted[T int32 | byte](x []T, n int) []int32 {
	bins := make([]int32, n)
	for _, v := range x {
		bins[v]++
	}
	return bins
}

func line(n int) [3]int { return [3]int{n, 1, 1} }

// nvccPrograms is the kernel of nvcc.ptx: sums of squares.
func nvccPrograms(rng *rand.Rand) []program {
	const n = 700
	x := eighths(rng, n)
	sum := float32(0)
	for _, v := range x {
		sum += v * v / 2
	}
	return []program{{file: "nvcc", kernel: "_Z6reducePKfPfi", grid: line(3), block: line(256),
		args: []any{floats(x...), floats(0), uint32(n)}, result: 1, want: floats(sum)}}
}

// TestAssertion triggers the assertion in nvcc.ptx.
func TestAssertion(t *testing.T) {
	j := job{text: text(t, "compilers/nvcc"), kernel: "_Z6reducePKfPfi", grid: line(1), block: line(32), args: []any{floats(1), floats(0), uint32(0)}}
	_, err := j.run(ptxsim.Options{})
	wantKind(t, err, ptxsim.Trap, j.text, "call.uni")
}
