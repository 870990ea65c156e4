package ptxsim_test

import (
	"strings"
	"testing"

	"github.com/arithlang/mlc/ptxsim"
)

// warningsOf runs a body on 64 threads and returns the warnings.
func warningsOf(t *testing.T, body string, o ptxsim.Options) ([]*ptxsim.Report, error) {
	t.Helper()
	src := snippet(body)
	_, st, err := job{text: src, kernel: "k", grid: line(2), block: line(64),
		args: []any{make([]byte, 4096), make([]byte, 4096)}}.stats(o)
	return st.Warnings, err
}

// TestSameValue checks which unordered writes of one value cause only a warning.
func TestSameValue(t *testing.T) {
	cases := []struct {
		name, body string
		race       bool // an error anyway
	}{
		{"lanes, warps and blocks", "st.global.u32 [%rd0], 7;", false},
		{"vectors", "st.shared.v2.u32 [sh], {5, 6};", false},
		{"bytes", "cvt.u16.u32 %h1, 3;\nst.shared.u8 [sh+1], %h1;", false},
		{"other values in one instruction", "st.shared.u32 [sh], %r0;", true},
		{"other values of warps", "shr.u32 %r4, %r0, 5;\nst.shared.u32 [sh], %r4;", true},
		{"other values of blocks", "mov.u32 %r4, %ctaid.x;\nst.global.u32 [%rd0], %r4;", true},
		{"half the vector", "st.shared.v2.u32 [sh], {5, %r0};", true},
		{"overlapping words", `
			and.b32 %r4, %r0, 1;
			shl.b32 %r4, %r4, 1;
			add.u32 %r4, %r2, %r4;
			mov.u16 %h1, 7;
			setp.eq.u32 %p1, %r0, 0;
			@%p1 st.shared.u32 [sh], 0x70007;
			@!%p1 st.shared.u16 [%r4], %h1;`, false},
		{"what was there before", `
			setp.eq.u32 %p1, %r0, 0;
			@%p1 st.shared.u32 [sh], 1;
			bar.sync 0;
			setp.lt.u32 %p2, %r0, 2;
			@%p2 st.shared.u32 [sh], %r0;`, true},
		{"a read beside it", `
			st.shared.u32 [sh], 7;
			ld.shared.u32 %r4, [sh];`, true},
		{"an atomic beside it", `
			setp.eq.u32 %p1, %r0, 0;
			@%p1 st.global.u32 [%rd0], 1;
			@!%p1 atom.global.or.b32 %r4, [%rd0], 1;`, true},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			for _, order := range orders {
				w, err := warningsOf(t, c.body, ptxsim.Options{SameValue: true, Order: order})
				if c.race {
					wantKind(t, err, ptxsim.Race, "", "")
					continue
				}
				if err != nil {
					t.Fatal(err)
				}
				if len(w) == 0 || w[0].Kind != ptxsim.Race || w[0].Other == nil || !strings.Contains(w[0].Error(), "of the same value") {
					t.Errorf("warnings %v", w)
				}
			}
			_, err := warningsOf(t, c.body, ptxsim.Options{})
			wantKind(t, err, ptxsim.Race, "", "")
		})
	}
}

// TestUnwaited checks the warning about copies that nobody waits for.
func TestUnwaited(t *testing.T) {
	const copies = "cp.async.ca.shared.global [%r3], [%rd4], 4;\n"
	for body, want := range map[string]int{
		copies: 1, copies + "cp.async.commit_group;": 1, copies + "cp.async.wait_all;": 0,
		copies + "cp.async.commit_group;\ncp.async.wait_group 0;": 0,
		copies + "cp.async.commit_group;\ncp.async.wait_group 1;": 1,
	} {
		w, err := warningsOf(t, body, ptxsim.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if len(w) != want || want > 0 && (w[0].Kind != ptxsim.PendingCopy || w[0].Op != "cp.async.ca.shared.global") {
			t.Errorf("%q: warnings %v", body, w)
		}
	}
}

// TestPadding checks that a structure can be copied with its padding, but other bytes may not be
// read before they are written. Twelve bytes per lane are not a multiple of the access.
func TestPadding(t *testing.T) {
	const local = ".local .align 8 .b8 mine[24];\n"
	if _, err := warningsOf(t, local+`
		st.local.u32 [mine+8], %r0;
		ld.local.u64 %rd5, [mine+8];
		st.local.u64 [mine+16], %rd5;
		ld.local.u32 %r4, [mine+16];
		setp.ne.u32 %p1, %r4, %r0;
		@%p1 trap;`, ptxsim.Options{}); err != nil {
		t.Error(err)
	}
	_, err := warningsOf(t, local+"st.local.u32 [mine+8], %r0;\nld.local.u64 %rd5, [mine];", ptxsim.Options{})
	wantKind(t, err, ptxsim.Uninitialised, "", "")
	_, err = warningsOf(t, "st.shared.u32 [%r3], %r0;\nld.shared.u64 %rd5, [sh+1016];", ptxsim.Options{})
	wantKind(t, err, ptxsim.Uninitialised, "", "")
	if _, err := warningsOf(t, ".local .align 8 .b8 odd[12];\nst.local.u64 [odd], %rd0;\nld.local.u64 %rd5, [odd];", ptxsim.Options{}); err != nil {
		t.Error(err)
	}
}

// TestSizes checks that sizes beyond the limits cause errors and take no memory.
func TestSizes(t *testing.T) {
	const header = ".version 7.8\n.target sm_80\n.address_size 64\n"
	for text, want := range map[string]string{
		".global .b8 x[0x7fffffff];":                                    "line 4: no room for x: it takes 2147483647 bytes of .global memory, 1048576 are left",
		".const .b8 x[65000]; .const .b8 y[1000];":                      "no room for y: it takes 1000 bytes of .const memory, 536 are left",
		".entry k() { .local .b8 x[0x7fffffff]; ret; }":                 "2147483647 bytes of local memory per thread, at most 524288 are allowed",
		".entry k() { .shared .b8 x[0x7fffffff]; ret; }":                "2147483647 bytes of shared memory, at most",
		".entry k() { .reg .b32 %r<1000000000>; add.u32 %r1,1,1; ret;}": "the simulator runs at most 67108864 blocks",
	} {
		d := ptxsim.New(ptxsim.Options{Memory: 1 << 20})
		m, err := d.Load([]byte(header + text))
		if err == nil {
			var k *ptxsim.Kernel
			if k, err = m.Kernel("k"); err == nil {
				_, err = k.Launch(ptxsim.Launch{Grid: [3]int{1 << 30, 65535, 65535}, Block: line(1)})
			}
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\n got %v\nwant %s", text, err, want)
		}
	}
}

// TestUnordered checks the warning about unordered volatile and relaxed accesses of two warps, at
// least one a write.
func TestUnordered(t *testing.T) {
	const (
		first = "setp.lt.u32 %p1, %r0, 32;\n" // the first warp
		mine  = "st.volatile.shared.u32 [%r3], %r0;\n"
	)
	for _, c := range []struct {
		name, body string
		warns      bool
	}{
		{"a reduction without barriers", mine + first + "@%p1 ld.volatile.shared.u32 %r5, [%r3+128];\n@%p1 st.volatile.shared.u32 [%r3], %r5;", true},
		{"with one", mine + "bar.sync 0;\n" + first + "@%p1 ld.volatile.shared.u32 %r5, [%r3+128];\n@%p1 st.volatile.shared.u32 [%r3], %r5;", false},
		{"within a warp", mine + "xor.b32 %r4, %r3, 4;\nld.volatile.shared.u32 %r5, [%r4];", false},
		{"two writes", "st.relaxed.cta.shared.u32 [sh], 7;", true},
		{"two reads", "ld.volatile.global.u32 %r4, [%rd1];", false},
		{"two reads and a write of one of both", "ld.volatile.global.u32 %r4, [%rd1];\n" + first + "@%p1 st.volatile.global.u32 [%rd1], 1;", true},
		{"a write that a fence releases", first + "fence.acq_rel.gpu;\n@%p1 st.relaxed.gpu.global.u32 [%rd1], 1;\n@!%p1 ld.relaxed.gpu.global.u32 %r4, [%rd1];\nfence.acq_rel.gpu;", false},
		{"a write that releases", first + "@%p1 st.release.gpu.global.u32 [%rd1], 1;\n@!%p1 ld.relaxed.gpu.global.u32 %r4, [%rd1];", false},
		{"a read that acquires", first + "@%p1 st.relaxed.gpu.global.u32 [%rd1], 1;\n@!%p1 ld.acquire.gpu.global.u32 %r4, [%rd1];", false},
		{"atomic operations", "red.global.add.u32 [%rd1], 1;\natom.shared.exch.b32 %r4, [sh], %r0;", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, order := range orders {
				src := snippet("st.shared.u32 [%r3], 0;\nbar.sync 0;\n" + c.body)
				_, st, err := job{text: src, kernel: "k", grid: line(1), block: line(64),
					args: []any{make([]byte, 4096), make([]byte, 4096)}}.stats(ptxsim.Options{Order: order})
				if err != nil {
					t.Fatal(err)
				}
				if w := st.Warnings; (len(w) > 0) != c.warns || c.warns && (w[0].Kind != ptxsim.Unordered || w[0].Other == nil || w[0].Other.Warp == w[0].Warp) {
					t.Errorf("%v: warnings %v", order, w)
				}
			}
		})
	}
}
