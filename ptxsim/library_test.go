package ptxsim_test

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/arithlang/mlc/ptxsim"
)

// exhibit is a kernel in testdata with an oracle, and with mistakes that must be reported or
// change the result.
type exhibit struct {
	job
	result  int // the buffer to check
	want    []byte
	near    float64 // of floats: allowed error; 0 means exact
	mutants [][2]string
}

func exhibits(t testing.TB) []exhibit {
	rng := rand.New(rand.NewPCG(1, 2))
	load := func(name string) job { return job{text: text(t, name), kernel: name} }
	return []exhibit{
		vecadd(load("vecadd"), rng), reduce(load("reduce"), rng), transpose(load("transpose"), rng),
		histogram(load("histogram"), rng), matmul(load("matmul"), rng), pipeline(load("pipeline"), rng),
		gemm(load("gemm"), rng), scan(load("scan"), rng), softmax(load("softmax"), rng),
	}
}

func randomWords(rng *rand.Rand, n int) []uint32 {
	v := make([]uint32, n)
	for i := range v {
		v[i] = rng.Uint32()
	}
	return v
}

func randomFloats(rng *rand.Rand, n int) []float32 {
	v := make([]float32, n)
	for i := range v {
		v[i] = float32(rng.NormFloat64())
	}
	return v
}

func vecadd(j job, rng *rand.Rand) exhibit {
	const n = 131
	a, b, c := randomFloats(rng, n), randomFloats(rng, n), make([]float32, n)
	for i := range c {
		c[i] = a[i] + b[i]
	}
	j.grid, j.block = [3]int{3}, [3]int{64}
	j.args = []any{floats(a...), floats(b...), out(4 * n), uint32(n)}
	return exhibit{job: j, result: 2, want: floats(c...), mutants: [][2]string{
		{"setp.ge.u32 %p, %r3, %r4", "setp.gt.u32 %p, %r3, %r4"},
		{"@%p bra DONE;", ""},
		{"mul.wide.u32 %rd3, %r3, 4", "mul.wide.u32 %rd3, %r3, 2"},
		{"ld.global.f32 %f1, [%rd5]", "ld.global.f32 %f1, [%rd5+4]"},
		{"ld.global.f32 %f1, [%rd5]", "ld.global.f32 %f1, [%rd5+2]"},
		{"mov.u32 %r2, %tid.x;", ""},
	}}
}

func reduce(j job, rng *rand.Rand) exhibit {
	const blocks = 3
	x := randomWords(rng, 256*blocks)
	sums := make([]uint32, blocks)
	for i, v := range x {
		sums[i/256] += v
	}
	j.grid, j.block = [3]int{blocks}, [3]int{256}
	j.args = []any{words(x...), out(4 * blocks)}
	return exhibit{job: j, result: 1, want: words(sums...), mutants: [][2]string{
		{"bar.sync 0;", ""},
		{"%r10, 4, 31, 255", "%r10, 4, 31, 127"},
		{"%r10, 1, 31, 255", "%r10, 2, 31, 255"},
		{"part[32]", "part[28]"},
		{"setp.ge.u32 %p1, %r0, 8", "setp.ge.u32 %p1, %r0, 9"},
		{"@!%p0 st.shared", "st.shared"},
		{"@%p2 bra DONE;", ""},
	}}
}

func transpose(j job, rng *rand.Rand) exhibit {
	const n = 64
	x, y := randomWords(rng, n*n), make([]uint32, n*n)
	for i, v := range x {
		y[i%n*n+i/n] = v
	}
	j.grid, j.block = [3]int{n / 32, n / 32}, [3]int{32, 8}
	j.args = []any{words(x...), out(4 * n * n), uint32(n)}
	return exhibit{job: j, result: 1, want: words(y...), mutants: [][2]string{
		{"bar.sync 0;", ""},
		{"tile[4224]", "tile[4096]"},
		{"mad.lo.s32 %r12, %r0, 33, %r7", "mad.lo.s32 %r12, %r0, 32, %r7"},
		{"setp.lt.u32 %p1, %r6, 32", "setp.lt.u32 %p1, %r6, 33"},
	}}
}

func histogram(j job, rng *rand.Rand) exhibit {
	const n = 3001
	x, bins := make([]byte, n), make([]uint32, 256)
	for i := range x {
		x[i] = byte(rng.NormFloat64() * 9)
		bins[x[i]]++
	}
	j.grid, j.block = [3]int{3}, [3]int{256}
	j.args = []any{x, words(make([]uint32, 256)...), uint32(n)}
	return exhibit{job: j, result: 1, want: words(bins...), mutants: [][2]string{
		{"st.shared.u32 [%r3], 0;\n\tbar.sync 0;", "st.shared.u32 [%r3], 0;"},
		{"COUNTED:\n\tbar.sync 0;", "COUNTED:"},
		{"st.shared.u32 [%r3], 0;", ""},
		{"count[1024]", "count[1020]"},
		{"setp.ge.u32 %p0, %r9, %r4", "setp.gt.u32 %p0, %r9, %r4"},
		{"red.shared.add.u32 [%r12], 1;", "ld.shared.u32 %r14, [%r12];\n\tadd.s32 %r14, %r14, 1;\n\tst.shared.u32 [%r12], %r14;"},
		{"red.global.add.u32 [%rd5], %r13;", "st.global.u32 [%rd5], %r13;"},
	}}
}

func matmul(j job, rng *rand.Rand) exhibit {
	const n = 32
	a, b, c := randomFloats(rng, n*n), randomFloats(rng, n*n), make([]float32, n*n)
	for i := range c {
		sum := float32(0)
		for k := range n {
			sum = fma(a[i/n*n+k], b[k*n+i%n], sum)
		}
		c[i] = sum
	}
	j.grid, j.block = [3]int{n / 16, n / 16}, [3]int{16, 16}
	j.args = []any{floats(a...), floats(b...), out(4 * n * n), uint32(n)}
	return exhibit{job: j, result: 2, want: floats(c...), mutants: [][2]string{
		{"bar.sync 0; // filled", ""},
		{"bar.sync 0; // used", ""},
		{"setp.lt.u32 %p0, %r20, 16", "setp.lt.u32 %p0, %r20, 17"},
		{".f32 bs[256]", ".f32 bs[240]"},
		{"add.s32 %r22, %r22, 64", "add.s32 %r22, %r22, 60"},
		{"setp.lt.u32 %p1, %r15, %r4", "setp.le.u32 %p1, %r15, %r4"},
	}}
}

// fma rounds a*b+c once: it computes the sum to 100 bits.
func fma(a, b, c float32) float32 {
	hi := float64(a) * float64(b)
	s := hi + float64(c)
	// If s lies half-way between two singles, the bits lost in the sum decide.
	v := s - hi
	lost := (hi - (s - v)) + (float64(c) - v)
	if lost != 0 && math.Float64bits(s)&1 == 0 {
		if (lost > 0) == (s > 0) {
			s = math.Float64frombits(math.Float64bits(s) + 1)
		} else {
			s = math.Float64frombits(math.Float64bits(s) - 1)
		}
	}
	return float32(s)
}

func pipeline(j job, rng *rand.Rand) exhibit {
	const n = 5
	x, sums := randomWords(rng, 128*n), make([]uint32, 128)
	for i, v := range x {
		sums[127-i%128] += v
	}
	j.block = [3]int{128}
	j.args = []any{words(x...), out(4 * 128), uint32(n)}
	return exhibit{job: j, result: 1, want: words(sums...), mutants: [][2]string{
		{"bar.sync 0; // filled", ""},
		{"bar.sync 0; // used", ""},
		{"cp.async.wait_group 1;", ""},
		{"cp.async.wait_group 1;", "cp.async.wait_group 2;"},
		{"cp.async.commit_group;\n\tmov.u32 %r6", "mov.u32 %r6"},
		{"LAST:\n\tcp.async.commit_group;", "LAST:"},
		{"buf[1024]", "buf[768]"},
		{"sub.s32 %r5, 508, %r3", "sub.s32 %r5, 512, %r3"},
		{"@%p0 bra LAST;", ""},
	}}
}

func gemm(j job, rng *rand.Rand) exhibit {
	a, b, c := make([]uint16, 16*32), make([]uint16, 32*8), make([]float32, 16*8)
	for i := range a {
		a[i] = uint16(math.Float32bits(float32(rng.NormFloat64())) >> 16)
	}
	for i := range b {
		b[i] = uint16(math.Float32bits(float32(rng.NormFloat64())) >> 16)
	}
	wide := func(x uint16) float64 { return float64(math.Float32frombits(uint32(x) << 16)) }
	for i := range c {
		sum := 0.0
		for k := range 32 {
			sum += wide(a[i/8*32+k]) * wide(b[k*8+i%8])
		}
		c[i] = float32(sum)
	}
	j.block = [3]int{32}
	j.args = []any{halfBytes(a), halfBytes(b), out(4 * 16 * 8)}
	return exhibit{job: j, result: 2, want: floats(c...), near: 1e-5, mutants: [][2]string{
		{"cp.async.wait_all;", ""},
		{"bar.warp.sync -1;", ""},
		{"x2.trans", "x2"},
		{"[%r9+32]", "[%r9+16]"},
		{"[%r9+32]", "[%r9+40]"},
		{"[%r10+256]", "[%r10+272]"},
		{"cp.async.cg.shared.global [%r5], [%rd1], 16;", ""},
		{"st.global.v2.f32 [%rd5+256]", "st.global.v2.f32 [%rd5+260]"},
	}}
}

func halfBytes(v []uint16) (b []byte) {
	for _, x := range v {
		b = append(b, byte(x), byte(x>>8))
	}
	return b
}

func scan(j job, rng *rand.Rand) exhibit {
	const blocks = 2
	x, sums := randomWords(rng, 256*blocks), make([]uint32, 256*blocks)
	for i, v := range x {
		if sums[i] = v; i%256 > 0 {
			sums[i] += sums[i-1]
		}
	}
	j.grid, j.block, j.shared = [3]int{blocks}, [3]int{256}, 1024
	j.args = []any{words(x...), out(4 * 256 * blocks)}
	return exhibit{job: j, result: 1, want: words(sums...), mutants: [][2]string{
		{"bar.sync 0; // stored", ""},
		{"bar.sync 0; // loaded", ""},
		{"@!%p0 ld.shared", "ld.shared"},
		{"bar.sync 0; // loaded", "@%p0 bar.sync 0;"},
		{"setp.lt.u32 %p1, %r7, 256", "setp.lt.u32 %p1, %r7, 128"},
		{"setp.lt.u32 %p0, %r0, %r7", "setp.le.u32 %p0, %r0, %r7"},
	}}
}

func softmax(j job, rng *rand.Rand) exhibit {
	const n, rows = 45, 3
	x, y := randomFloats(rng, n*rows), make([]float32, n*rows)
	for r := range rows {
		sum := 0.0
		for i := range n {
			sum += math.Exp(float64(x[r*n+i]))
		}
		for i := range n {
			y[r*n+i] = float32(math.Exp(float64(x[r*n+i])) / sum)
		}
	}
	j.grid, j.block = [3]int{rows}, [3]int{32}
	j.args = []any{floats(x...), out(4 * n * rows), uint32(n)}
	return exhibit{job: j, result: 1, want: floats(y...), near: 1e-5, mutants: [][2]string{
		{"mov.f32 %f1, 0fFF800000;", ""},
		{"@%p1 ld.global", "ld.global"},
		{"@%p1 st.global", "st.global"},
		{"sub.f32 %f5, %f1, %f2", "sub.f32 %f5, %f1, %f3"},
		{"shfl.sync.bfly.b32 %f9, %f8, %r5, 31, -1", "shfl.sync.bfly.b32 %f9, %f8, %r5, 31, 65535"},
	}}
}

// check compares the result with the oracle's result.
func (x *exhibit) check(bufs [][]byte) error {
	got := bufs[x.result]
	if x.near == 0 {
		for i := range got {
			if got[i] != x.want[i] {
				return fmt.Errorf("word %d is wrong", i/4)
			}
		}
		return nil
	}
	want := unfloats(x.want)
	for i, v := range unfloats(got) {
		if d := math.Abs(float64(v - want[i])); !(d <= x.near*max(1, math.Abs(float64(want[i])))) {
			return fmt.Errorf("value %d is %v, not %v", i, v, want[i])
		}
	}
	return nil
}

// TestLibrary runs every kernel in every order, with early and with late copies. It checks for
// right results, equal bits and no report.
func TestLibrary(t *testing.T) {
	for _, x := range exhibits(t) {
		t.Run(x.kernel, func(t *testing.T) {
			var first []byte
			for _, order := range orders {
				for _, eager := range []bool{false, true} {
					for _, workers := range []int{1, 3} {
						bufs := x.must(t, ptxsim.Options{Order: order, Seed: 7, Eager: eager, Workers: workers})
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
				}
			}
		})
	}
}

// TestMutants makes a mistake in a kernel and checks, in every order, that it is reported or
// changes the result.
func TestMutants(t *testing.T) {
	for _, x := range exhibits(t) {
		for _, m := range x.mutants {
			if !strings.Contains(x.text, m[0]) {
				t.Fatalf("%s: no %q", x.kernel, m[0])
			}
			for _, order := range orders {
				y := x
				y.text = strings.Replace(x.text, m[0], m[1], 1)
				bufs, err := y.run(ptxsim.Options{Order: order, Seed: 3, MaxSteps: 1 << 24})
				if err == nil {
					err = y.check(bufs)
				}
				if err == nil {
					t.Errorf("%s, order %d: %q for %q is not noticed", x.kernel, order, m[1], m[0])
				} else if order == ptxsim.RoundRobin {
					t.Logf("%s: %q for %q: %v", x.kernel, m[1], m[0], err)
				}
			}
		}
	}
}

// TestJitter checks that approximate instructions err on demand, and only a little.
func TestJitter(t *testing.T) {
	x := softmax(job{text: text(t, "softmax"), kernel: "softmax"}, rand.New(rand.NewPCG(1, 2)))
	plain, jittered := x.must(t, ptxsim.Options{}), x.must(t, ptxsim.Options{Jitter: true, Seed: 5})
	if err := x.check(jittered); err != nil {
		t.Error(err)
	}
	if bytes.Equal(plain[1], jittered[1]) {
		t.Error("jitter changes nothing")
	}
}
