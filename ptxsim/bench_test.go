package ptxsim_test

import (
	"encoding/binary"
	"testing"

	"github.com/arithlang/mlc/ptxsim"
)

// benchmark launches a kernel over and over and reports lane instructions per second. bufs lists
// the sizes of buffers in words.
func benchmark(b *testing.B, o ptxsim.Options, src, name string, blocks, threads int, bufs []int, tail ...uint32) {
	d := ptxsim.New(o)
	m, err := d.Load([]byte(src))
	if err != nil {
		b.Fatal(err)
	}
	k, err := m.Kernel(name)
	if err != nil {
		b.Fatal(err)
	}
	var args []byte
	for _, n := range bufs {
		p, err := d.Alloc(int64(4 * n))
		if err != nil {
			b.Fatal(err)
		}
		if err := d.Write(p, make([]byte, 4*n)); err != nil {
			b.Fatal(err)
		}
		args = binary.LittleEndian.AppendUint64(args, uint64(p))
	}
	args = append(args, words(tail...)...)
	var steps int64
	for b.Loop() {
		st, err := k.Launch(ptxsim.Launch{Grid: [3]int{blocks, 1, 1}, Block: [3]int{threads, 1, 1}, Args: args})
		if err != nil {
			b.Fatal(err)
		}
		steps += st.Steps
	}
	b.ReportMetric(float64(steps)/b.Elapsed().Seconds()/1e6, "Minstr/s")
}

func BenchmarkElementwise(b *testing.B) {
	const n = 1 << 18
	benchmark(b, ptxsim.Options{}, text(b, "vecadd"), "vecadd", n/256, 256, []int{n, n, n}, n)
}

func BenchmarkElementwiseUnchecked(b *testing.B) {
	const n = 1 << 18
	benchmark(b, ptxsim.Options{NoRaces: true, NoInit: true}, text(b, "vecadd"), "vecadd", n/256, 256, []int{n, n, n}, n)
}

// BenchmarkFMA is a loop of eight independent chains.
func BenchmarkFMA(b *testing.B) {
	src := snippet(`
	mov.f32 %f1, 0f3F800001;
	mov.f32 %f2, 0f3F000000;
	mov.f32 %f8, 0f00000000; mov.f32 %f9, 0f3F800000; mov.f32 %f10, 0f40000000; mov.f32 %f11, 0f40400000;
	mov.u32 %r8, 0;
L:
	fma.rn.f32 %f8, %f8, %f1, %f2;
	fma.rn.f32 %f9, %f9, %f1, %f2;
	fma.rn.f32 %f10, %f10, %f1, %f2;
	fma.rn.f32 %f11, %f11, %f1, %f2;
	add.s32 %r8, %r8, 1;
	setp.lt.u32 %p1, %r8, 1000;
	@%p1 bra L;
	add.f32 %f8, %f8, %f9;
	add.f32 %f10, %f10, %f11;
	add.f32 %f8, %f8, %f10;
	st.global.f32 [%rd3], %f8;`)
	benchmark(b, ptxsim.Options{}, src, "k", 1, 256, []int{1024, 1024})
}

// BenchmarkSharedSum reads shared memory in a loop.
func BenchmarkSharedSum(b *testing.B) {
	src := snippet(`
	mov.u32 %r8, 0;
	st.shared.u32 [%r3], %r0;
	bar.sync 0;
	mov.u32 %r9, 0;
L:
	xor.b32 %r10, %r1, %r8;
	and.b32 %r10, %r10, 1020;
	add.s32 %r10, %r10, %r2;
	ld.shared.u32 %r11, [%r10];
	add.s32 %r9, %r9, %r11;
	add.s32 %r8, %r8, 4;
	setp.lt.u32 %p1, %r8, 4000;
	@%p1 bra L;
	st.global.u32 [%rd3], %r9;`)
	benchmark(b, ptxsim.Options{}, src, "k", 1, 256, []int{1024, 1024})
}

func BenchmarkMatmul(b *testing.B) {
	const n = 128
	d := ptxsim.New(ptxsim.Options{})
	m, err := d.Load([]byte(text(b, "matmul")))
	if err != nil {
		b.Fatal(err)
	}
	k, _ := m.Kernel("matmul")
	var args []byte
	for range 3 {
		p, _ := d.Alloc(4 * n * n)
		if err := d.Write(p, make([]byte, 4*n*n)); err != nil {
			b.Fatal(err)
		}
		args = binary.LittleEndian.AppendUint64(args, uint64(p))
	}
	args = append(args, words(n)...)
	var steps int64
	for b.Loop() {
		st, err := k.Launch(ptxsim.Launch{Grid: [3]int{n / 16, n / 16, 1}, Block: [3]int{16, 16, 1}, Args: args})
		if err != nil {
			b.Fatal(err)
		}
		steps += st.Steps
	}
	b.ReportMetric(float64(steps)/b.Elapsed().Seconds()/1e6, "Minstr/s")
}

// BenchmarkMMA reports multiplications of m16n8k16 per second.
func BenchmarkMMA(b *testing.B) {
	src := snippet(`
	mov.b32 %r20, 0x3f803f80;
	mov.f32 %f0, 0f00000000; mov.f32 %f1, %f0; mov.f32 %f2, %f0; mov.f32 %f3, %f0;
	mov.u32 %r8, 0;
L:
	mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%f0, %f1, %f2, %f3}, {%r20, %r20, %r20, %r20}, {%r20, %r20}, {%f0, %f1, %f2, %f3};
	add.s32 %r8, %r8, 1;
	setp.lt.u32 %p1, %r8, 100;
	@%p1 bra L;
	st.global.f32 [%rd3], %f0;`)
	benchmark(b, ptxsim.Options{}, src, "k", 1, 32, []int{1024, 1024})
}

// BenchmarkRandom is BenchmarkElementwise with the warps in random order.
func BenchmarkRandom(b *testing.B) {
	const n = 1 << 18
	benchmark(b, ptxsim.Options{Order: ptxsim.Random}, text(b, "vecadd"), "vecadd", n/256, 256, []int{n, n, n}, n)
}
