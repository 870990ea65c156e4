package ptxsim_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/arithlang/mlc/ptxsim"
)

// tallied runs a body in one block and returns its counts. The body may read the 8 KiB of shared
// memory without writing them first.
func tallied(t *testing.T, body string, threads int) *ptxsim.Counts {
	t.Helper()
	src := strings.Replace(snippet(body), "sh[1024]", "sh[8192]", 1)
	return launchCounted(t, src, ptxsim.Options{Count: true, NoInit: true}, 1, threads)
}

func launchCounted(t *testing.T, src string, o ptxsim.Options, blocks, threads int) *ptxsim.Counts {
	t.Helper()
	j := job{text: src, kernel: "k", grid: [3]int{blocks}, block: [3]int{threads}, args: []any{make([]byte, 1<<14), make([]byte, 1<<14)}}
	_, st, err := j.stats(o)
	if err != nil {
		t.Fatal(err)
	}
	return st.Counts
}

// TestCountsGlobal has one access to global memory per case. %r0 is the thread; %rd3 and %rd4 are
// the addresses of its words in two buffers.
func TestCountsGlobal(t *testing.T) {
	type traffic = ptxsim.Traffic
	for _, c := range []struct {
		name, body                     string
		threads                        int
		loads, stores, atomics, copies traffic
		fetched, kept                  int64
	}{
		{name: "a word a lane", body: "ld.global.f32 %f0, [%rd4];", threads: 32,
			loads: traffic{1, 4, 128}, fetched: 128},
		{name: "two warps", body: "st.global.f32 [%rd3], 0f00000000;", threads: 64,
			stores: traffic{2, 8, 256}, kept: 256},
		{name: "half a warp", body: "setp.lt.u32 %p0, %r0, 16; @%p0 ld.global.f32 %f0, [%rd4];", threads: 32,
			loads: traffic{1, 2, 64}, fetched: 64},
		{name: "a warp that does nothing", body: "setp.gt.u32 %p0, %r0, 99; @%p0 ld.global.f32 %f0, [%rd4];", threads: 32},
		{name: "stride 2", body: "add.s64 %rd4, %rd4, %rd2; ld.global.f32 %f0, [%rd4];", threads: 32,
			loads: traffic{1, 8, 128}, fetched: 128},
		{name: "stride 32", body: "shl.b64 %rd2, %rd2, 5; add.s64 %rd4, %rd1, %rd2; ld.global.f32 %f0, [%rd4];", threads: 32,
			loads: traffic{1, 32, 128}, fetched: 128},
		{name: "broadcast", body: "ld.global.f32 %f0, [%rd1];", threads: 32,
			loads: traffic{1, 1, 128}, fetched: 4},
		{name: "across sectors by an offset of a word", body: "ld.global.f32 %f0, [%rd4+4];", threads: 32,
			loads: traffic{1, 5, 128}, fetched: 128},
		{name: "a vector of four", body: "shl.b64 %rd2, %rd2, 2; add.s64 %rd4, %rd1, %rd2; ld.global.v4.f32 {%f0, %f1, %f2, %f3}, [%rd4];", threads: 32,
			loads: traffic{1, 16, 512}, fetched: 512},
		{name: "bytes", body: "cvt.u64.u32 %rd5, %r0; add.s64 %rd5, %rd5, %rd0; st.global.u8 [%rd5], 1;", threads: 32,
			stores: traffic{1, 1, 32}, kept: 32},
		{name: "the same twice is fetched once", body: "ld.global.f32 %f0, [%rd4]; ld.global.f32 %f1, [%rd4];", threads: 32,
			loads: traffic{2, 8, 256}, fetched: 128},
		{name: "what was stored is not fetched", body: "st.global.u32 [%rd3], 1; ld.global.u32 %r4, [%rd3];", threads: 32,
			loads: traffic{1, 4, 128}, stores: traffic{1, 4, 128}, kept: 128},
		{name: "a generic address", body: "ld.f32 %f0, [%rd4];", threads: 32,
			loads: traffic{1, 4, 128}, fetched: 128},
		{name: "atomics of one word", body: "red.global.add.u32 [%rd0], 1;", threads: 32,
			atomics: traffic{1, 1, 128}, fetched: 4, kept: 4},
		{name: "a copy", body: "shl.b64 %rd2, %rd2, 2; add.s64 %rd4, %rd1, %rd2; shl.b32 %r4, %r0, 4; add.s32 %r4, %r4, %r2;" +
			"cp.async.cg.shared.global [%r4], [%rd4], 16; cp.async.wait_all;", threads: 32,
			copies: traffic{1, 16, 512}, fetched: 512},
		{name: "a copy of 8 of 16 bytes, of 16 lanes", body: "shl.b64 %rd2, %rd2, 2; add.s64 %rd4, %rd1, %rd2; shl.b32 %r4, %r0, 4; add.s32 %r4, %r4, %r2;" +
			"setp.lt.u32 %p0, %r0, 16; selp.u32 %r5, 8, 0, %p0;" +
			"cp.async.cg.shared.global [%r4], [%rd4], 16, %r5; cp.async.wait_all;", threads: 32,
			copies: traffic{1, 8, 128}, fetched: 128},
		{name: "a tile of 16 rows of 32 bytes, 128 bytes apart", threads: 32,
			body:  "wmma.load.a.sync.aligned.row.m16n16k16.global.f16 {%r4, %r5, %r6, %r7, %r8, %r9, %r10, %r11}, [%rd1], 64;",
			loads: traffic{1, 16, 512}, fetched: 512},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := tallied(t, c.body, c.threads)
			for _, x := range []struct {
				name      string
				got, want any
			}{
				{"loads", got.Loads, c.loads}, {"stores", got.Stores, c.stores}, {"atomics", got.Atomics, c.atomics},
				{"copies", got.Copies, c.copies}, {"fetched", got.Fetched, c.fetched}, {"kept", got.Kept, c.kept},
			} {
				if x.got != x.want {
					t.Errorf("%s: %+v, want %+v", x.name, x.got, x.want)
				}
			}
		})
	}
}

// TestCountsShared has one access to shared memory per case. In a tile of 32 by 32 words, a warp
// accesses rows and columns; ldmatrix takes rows of 16 bytes.
func TestCountsShared(t *testing.T) {
	const ldmatrix = "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r6, %r7, %r8, %r9}, [%r5];"
	for _, c := range []struct {
		name, body             string
		loads, stores, atomics ptxsim.Banks
	}{
		{name: "a row", body: "ld.shared.u32 %r4, [%r3];", loads: ptxsim.Banks{1, 1, 0}},
		{name: "a column", body: "mad.lo.u32 %r5, %r0, 128, %r2; ld.shared.u32 %r4, [%r5];", loads: ptxsim.Banks{1, 32, 31}},
		{name: "a column of rows of 33", body: "mad.lo.u32 %r5, %r0, 132, %r2; ld.shared.u32 %r4, [%r5];", loads: ptxsim.Banks{1, 1, 0}},
		{name: "a column, stored", body: "mad.lo.u32 %r5, %r0, 128, %r2; st.shared.u32 [%r5], 1;", stores: ptxsim.Banks{1, 32, 31}},
		{name: "stride 2", body: "mad.lo.u32 %r5, %r0, 8, %r2; ld.shared.u32 %r4, [%r5];", loads: ptxsim.Banks{1, 2, 1}},
		{name: "stride 3", body: "mad.lo.u32 %r5, %r0, 12, %r2; ld.shared.u32 %r4, [%r5];", loads: ptxsim.Banks{1, 1, 0}},
		{name: "broadcast", body: "ld.shared.u32 %r4, [%r2];", loads: ptxsim.Banks{1, 1, 0}},
		{name: "halves of words", body: "mad.lo.u32 %r5, %r0, 2, %r2; ld.shared.u16 %h0, [%r5];", loads: ptxsim.Banks{1, 1, 0}},
		{name: "two words of a bank, each for half a warp", body: "and.b32 %r5, %r0, 1; mad.lo.u32 %r5, %r5, 128, %r2; ld.shared.u32 %r4, [%r5];",
			loads: ptxsim.Banks{1, 2, 1}},
		{name: "eight bytes", body: "mad.lo.u32 %r5, %r0, 8, %r2; ld.shared.u64 %rd5, [%r5];", loads: ptxsim.Banks{1, 2, 0}},
		// The 16 lanes of a half have 8 pairs of banks: each pair has two words.
		{name: "eight bytes, stride 16", body: "mad.lo.u32 %r5, %r0, 16, %r2; ld.shared.u64 %rd5, [%r5];", loads: ptxsim.Banks{1, 4, 2}},
		{name: "sixteen bytes", body: "mad.lo.u32 %r5, %r0, 16, %r2; ld.shared.v4.u32 {%r6, %r7, %r8, %r9}, [%r5];", loads: ptxsim.Banks{1, 4, 0}},
		{name: "sixteen bytes, stride 128", body: "mad.lo.u32 %r5, %r0, 128, %r2; ld.shared.v4.u32 {%r6, %r7, %r8, %r9}, [%r5];", loads: ptxsim.Banks{1, 32, 28}},
		{name: "a generic address", body: "mov.u32 %r5, sh; cvt.u64.u32 %rd5, %r5; cvta.shared.u64 %rd5, %rd5; add.s64 %rd5, %rd5, %rd2; ld.u32 %r4, [%rd5];",
			loads: ptxsim.Banks{1, 1, 0}},
		// Rows of 128 bytes without a swizzle: the 8 rows of a matrix have the same 4 banks.
		{name: "ldmatrix", body: "mad.lo.u32 %r5, %r0, 128, %r2;" + ldmatrix, loads: ptxsim.Banks{1, 32, 28}},
		{name: "ldmatrix of padded rows", body: "mad.lo.u32 %r5, %r0, 144, %r2;" + ldmatrix, loads: ptxsim.Banks{1, 4, 0}},
		// Chunk 0 of row r lies at chunk r%8.
		{name: "ldmatrix with a swizzle", body: "and.b32 %r4, %r0, 7; shl.b32 %r4, %r4, 4; mad.lo.u32 %r5, %r0, 128, %r2; xor.b32 %r5, %r5, %r4;" + ldmatrix,
			loads: ptxsim.Banks{1, 4, 0}},
		{name: "ldmatrix of one matrix", body: "mad.lo.u32 %r5, %r0, 128, %r2; ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r6}, [%r5];",
			loads: ptxsim.Banks{1, 8, 7}},
		{name: "atomics of words", body: "red.shared.add.u32 [%r3], 1;", atomics: ptxsim.Banks{1, 1, 0}},
		{name: "atomics of one word", body: "red.shared.add.u32 [%r2], 1;", atomics: ptxsim.Banks{1, 32, 31}},
		{name: "where a copy goes", body: "shl.b64 %rd2, %rd2, 2; add.s64 %rd4, %rd1, %rd2; mad.lo.u32 %r5, %r0, 128, %r2;" +
			"cp.async.ca.shared.global [%r5], [%rd4], 16; cp.async.wait_all;", stores: ptxsim.Banks{1, 32, 28}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := tallied(t, c.body, 32)
			if got.SharedLoads != c.loads || got.SharedStores != c.stores || got.SharedAtomics != c.atomics {
				t.Errorf("loads %+v, stores %+v, atomics %+v; want %+v, %+v, %+v", got.SharedLoads, got.SharedStores, got.SharedAtomics, c.loads, c.stores, c.atomics)
			}
		})
	}
}

// TestCountsLocal accesses words at equal and at different offsets. The 32 lanes' words with one
// offset lie next to each other, 8 in a sector.
func TestCountsLocal(t *testing.T) {
	for _, c := range []struct {
		name, body string
		want       ptxsim.Traffic
	}{
		{"one offset", "st.local.u32 [lo+8], %r0;", ptxsim.Traffic{Requests: 1, Sectors: 4, Bytes: 128}},
		{"a vector", "st.local.v4.u32 [lo], {%r0, %r0, %r0, %r0};", ptxsim.Traffic{Requests: 1, Sectors: 16, Bytes: 512}},
		{"an offset each", "mov.u32 %r5, lo; add.s32 %r5, %r5, %r1; st.local.u32 [%r5], %r0;", ptxsim.Traffic{Requests: 1, Sectors: 32, Bytes: 128}},
		{"bytes of a word", "st.local.u8 [lo+3], %r0;", ptxsim.Traffic{Requests: 1, Sectors: 4, Bytes: 32}},
	} {
		if got := tallied(t, ".local .align 16 .b8 lo[128];"+c.body, 32).Local; got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}

// TestCountsInstructions checks the classes of instructions in a body and in the code that
// snippet adds.
func TestCountsInstructions(t *testing.T) {
	const zero = "mov.b32 %r4, 0; mov.f32 %f0, 0f00000000;"
	around := map[ptxsim.Class]int64{ptxsim.Memory: 2, ptxsim.Move: 2, ptxsim.Integer: 5, ptxsim.Control: 1}
	for _, c := range []struct {
		name, body string
		warps      int64
		want       map[ptxsim.Class]int64
		products   map[string]int64
	}{
		{"nothing", "", 1, nil, nil},
		{"nothing, in three warps", "", 3, nil, nil},
		{"fp32", zero + "fma.rn.f32 %f1, %f0, %f0, %f0; add.f32 %f1, %f1, %f0; max.f32 %f1, %f1, %f0; setp.lt.f32 %p0, %f0, %f1;", 1,
			map[ptxsim.Class]int64{ptxsim.Move: 2, ptxsim.FP32: 4}, nil},
		{"other floats", zero + "mov.f64 %d0, 0d0000000000000000; add.f64 %d1, %d0, %d0; mov.b16 %h0, 0; add.f16 %h1, %h0, %h0; fma.rn.bf16x2 %r5, %r4, %r4, %r4;", 1,
			map[ptxsim.Class]int64{ptxsim.Move: 4, ptxsim.FP64: 1, ptxsim.FP16: 2}, nil},
		{"special functions", zero + "ex2.approx.f32 %f1, %f0; rsqrt.approx.f32 %f1, %f0; div.rn.f32 %f1, %f0, %f0; div.u32 %r5, %r4, 3;", 1,
			map[ptxsim.Class]int64{ptxsim.Move: 2, ptxsim.Special: 3, ptxsim.Integer: 1}, nil},
		{"warps and barriers", zero + "shfl.sync.bfly.b32 %r5, %r4, 1, 31, -1; bar.sync 0; bar.warp.sync -1; membar.cta;", 1,
			map[ptxsim.Class]int64{ptxsim.Move: 2, ptxsim.Warp: 1, ptxsim.Barrier: 3}, nil},
		// Both sides of the branch, its end, and the shuffle once for both groups.
		{"a branch that diverges", zero + "setp.lt.u32 %p0, %r0, 7; @%p0 bra L; add.s32 %r4, %r4, 1; bra M; L: add.s32 %r4, %r4, 2; M: shfl.sync.bfly.b32 %r5, %r4, 1, 31, -1;", 1,
			map[ptxsim.Class]int64{ptxsim.Move: 2, ptxsim.Integer: 3, ptxsim.Control: 2, ptxsim.Warp: 1}, nil},
		{"products", zero + "mov.f32 %f1, %f0; mov.f32 %f2, %f0; mov.f32 %f3, %f0; mov.u32 %r8, 0;" +
			"L: mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%f0,%f1,%f2,%f3}, {%r4,%r4,%r4,%r4}, {%r4,%r4}, {%f0,%f1,%f2,%f3};" +
			"mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%f0,%f1,%f2,%f3}, {%r4,%r4,%r4,%r4}, {%r4,%r4}, {%f0,%f1,%f2,%f3};" +
			"add.s32 %r8, %r8, 1; setp.lt.u32 %p1, %r8, 5; @%p1 bra L;", 2,
			map[ptxsim.Class]int64{ptxsim.Move: 6, ptxsim.Product: 10, ptxsim.Integer: 10, ptxsim.Control: 4},
			map[string]int64{"mma.m16n8k16.f32.bf16.bf16.f32": 10, "mma.m16n8k8.f32.tf32.tf32.f32": 10}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := tallied(t, c.body, int(32*c.warps))
			for _, class := range ptxsim.Classes() {
				if want := c.warps * (around[class] + c.want[class]); got.Instructions[class] != want {
					t.Errorf("%v: %d, want %d", class, got.Instructions[class], want)
				}
			}
			if !maps.Equal(got.Products, c.products) {
				t.Errorf("products %v, want %v", got.Products, c.products)
			}
		})
	}
}

// TestCountsAnyOrder checks that the counts are the same in every order and with several workers,
// and absent without Options.Count.
func TestCountsAnyOrder(t *testing.T) {
	src := snippet("mov.u32 %r5, %ctaid.x; mad.lo.u32 %r5, %r5, 256, %r1; cvt.u64.u32 %rd5, %r5; add.s64 %rd4, %rd1, %rd5; add.s64 %rd3, %rd0, %rd5;" +
		"ld.global.u32 %r4, [%rd4]; st.shared.u32 [%r3], %r4; bar.sync 0; ld.shared.u32 %r4, [%r2]; st.global.u32 [%rd3], %r4;")
	var first *ptxsim.Counts
	for _, order := range orders {
		for _, workers := range []int{1, 3} {
			got := launchCounted(t, src, ptxsim.Options{Count: true, Order: order, Workers: workers}, 7, 64)
			if first == nil {
				first = got
			}
			if !maps.Equal(got.Instructions, first.Instructions) || got.Loads != first.Loads || got.Shared() != first.Shared() || got.Kept != first.Kept {
				t.Errorf("%v, %d workers: %+v, else %+v", order, workers, got, first)
			}
		}
	}
	if want := (ptxsim.Traffic{Requests: 14, Sectors: 56, Bytes: 7 * 256}); first.Loads != want {
		t.Errorf("loads %+v, want %+v", first.Loads, want)
	}
	if got := launchCounted(t, src, ptxsim.Options{}, 7, 64); got != nil {
		t.Errorf("counted without being asked: %+v", got)
	}
}

// TestCountsTranspose transposes 64 by 64 elements in four blocks of 8 warps. Each warp writes 4
// rows of 32 into a tile and reads 4 columns. If the tile's rows have 33 words, there are no
// conflicts; with 32 words, there are 31 per column.
func TestCountsTranspose(t *testing.T) {
	const requests = 4 * 8 * 4
	for pitch, conflicts := range map[string]int64{"33": 0, "32": 31 * requests} {
		j := job{text: strings.ReplaceAll(text(t, "transpose"), ", 33, ", ", "+pitch+", "), kernel: "transpose",
			grid: [3]int{2, 2}, block: [3]int{32, 8}, args: []any{make([]byte, 4*64*64), out(4 * 64 * 64), uint32(64)}}
		_, st, err := j.stats(ptxsim.Options{Count: true})
		if err != nil {
			t.Fatal(err)
		}
		c, global := st.Counts, ptxsim.Traffic{Requests: requests, Sectors: 4 * requests, Bytes: 128 * requests}
		if c.Loads != global || c.Stores != global || c.Fetched != global.Bytes || c.Kept != global.Bytes {
			t.Errorf("rows of %s words: %+v", pitch, c)
		}
		stores := ptxsim.Banks{Requests: requests, Wavefronts: requests}
		loads := ptxsim.Banks{Requests: requests, Wavefronts: requests + conflicts, Conflicts: conflicts}
		if c.SharedStores != stores || c.SharedLoads != loads {
			t.Errorf("rows of %s words: stores %+v, loads %+v", pitch, c.SharedStores, c.SharedLoads)
		}
	}
}
