package ptxsim_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/arithlang/mlc/ptxsim"
)

// faults are bodies of snippet with one mistake each, and the kind and line of the expected
// report.
var faults = []struct {
	name            string
	blocks, threads int
	kind            ptxsim.Kind
	at, body        string
}{
	{"write and write of two warps", 1, 64, ptxsim.Race, "HERE", `
	st.shared.u32 [sh], 1; // HERE`},
	{"lanes of one instruction", 1, 32, ptxsim.Race, "HERE", `
	st.shared.u32 [sh+4], 7; // HERE`},
	{"neighbour read without a barrier", 1, 64, ptxsim.Race, "", `
	st.shared.u32 [%r3], %r0;
	bar.sync 0;
	xor.b32 %r4, %r3, 128;
	ld.shared.u32 %r5, [%r4];
	st.shared.u32 [%r3], %r5; // HERE`},
	{"cross-lane read without a warp barrier", 1, 32, ptxsim.Race, "HERE", `
	st.shared.u32 [%r3], %r0;
	xor.b32 %r4, %r3, 4;
	ld.shared.u32 %r5, [%r4]; // HERE`},
	{"one byte of two lanes", 1, 32, ptxsim.Race, "HERE", `
	add.s32 %r4, %r2, %r0;
	st.shared.u8 [%r4], %r0;
	shr.u32 %r5, %r0, 1;
	shl.b32 %r5, %r5, 1;
	add.s32 %r5, %r5, %r2;
	setp.eq.u32 %p1, %r0, 3;
	@%p1 st.shared.u16 [%r5], %r0; // HERE`},
	{"two blocks, one word", 2, 1, ptxsim.Race, "HERE", `
	st.global.u32 [%rd3], 1; // HERE`},
	{"a block reads what another wrote", 2, 1, ptxsim.Race, "", `
	mov.u32 %r4, %ctaid.x;
	setp.eq.u32 %p1, %r4, 0;
	@%p1 st.global.u32 [%rd3], 1;
	@!%p1 ld.global.u32 %r5, [%rd3];`},
	{"a flag without a fence", 2, 1, ptxsim.Race, "HERE", `
	mov.u32 %r4, %ctaid.x;
	setp.eq.u32 %p1, %r4, 0;
	@!%p1 bra READ;
	st.global.u32 [%rd0+64], 5;
	st.relaxed.gpu.global.u32 [%rd0], 1;
	bra END;
READ:
	ld.relaxed.gpu.global.u32 %r5, [%rd0];
	setp.eq.u32 %p2, %r5, 0;
	@%p2 bra READ;
	ld.global.u32 %r6, [%rd0+64]; // HERE
END:`},
	{"atomic and plain", 1, 64, ptxsim.Race, "", `
	st.shared.u32 [%r3], 0;
	bar.sync 0;
	setp.lt.u32 %p1, %r0, 32;
	@%p1 red.shared.add.u32 [sh], 1;
	setp.eq.u32 %p2, %r0, 40;
	@%p2 ld.shared.u32 %r4, [sh]; // HERE`},
	{"named barrier of other warps", 1, 96, ptxsim.Race, "", `
	st.shared.u32 [%r3], 0;
	bar.sync 0;
	st.shared.u32 [%r3], %r0;
	shr.u32 %r4, %r0, 5;
	setp.eq.u32 %p1, %r4, 2;
	@%p1 bra THIRD;
	bar.sync 1, 64;
THIRD:
	xor.b32 %r5, %r3, 256;
	and.b32 %r5, %r5, 256;
	add.s32 %r5, %r5, %r2;
	setp.eq.u32 %p2, %r0, 64;
	@%p2 ld.shared.u32 %r6, [%r2]; // HERE`},
	{"beyond the end", 1, 1, ptxsim.OutOfBounds, "HERE", `
	ld.global.u32 %r4, [%rd1+16384]; // HERE`},
	{"before the start", 1, 1, ptxsim.OutOfBounds, "HERE", `
	ld.global.u32 %r4, [%rd1+-4]; // HERE`},
	{"half beyond the end", 1, 1, ptxsim.OutOfBounds, "HERE", `
	ld.shared.v4.u32 {%r4,%r5,%r6,%r7}, [%r2+1024]; // HERE`},
	{"null pointer", 1, 1, ptxsim.OutOfBounds, "HERE", `
	mov.u64 %rd5, 0;
	st.global.u32 [%rd5], 1; // HERE`},
	{"a generic address called shared", 1, 1, ptxsim.OutOfBounds, "HERE", `
	mov.u64 %rd5, sh;
	cvta.shared.u64 %rd5, %rd5;
	ld.shared.u32 %r4, [%rd5]; // HERE`},
	{"matrices from global memory", 1, 32, ptxsim.OutOfBounds, "HERE", `
	ldmatrix.sync.aligned.m8n8.x1.b16 {%r4}, [%rd1]; // HERE`},
	{"misaligned word", 1, 1, ptxsim.Misaligned, "HERE", `
	add.s32 %r4, %r2, 2;
	st.shared.u32 [%r4], 1; // HERE`},
	{"misaligned vector", 1, 32, ptxsim.Misaligned, "HERE", `
	ld.global.v4.u32 {%r4,%r5,%r6,%r7}, [%rd4]; // HERE`},
	{"unwritten shared memory", 1, 1, ptxsim.Uninitialised, "HERE", `
	st.shared.u16 [sh+8], 1;
	ld.shared.u32 %r4, [sh+8]; // HERE`},
	{"unwritten register", 1, 32, ptxsim.UndefinedReg, "HERE", `
	setp.lt.u32 %p1, %r0, 16;
	@%p1 mov.u32 %r4, 1;
	add.s32 %r5, %r4, 1;
	mul.wide.u32 %rd5, %r5, 4;
	add.s64 %rd5, %rd1, %rd5;
	ld.global.u32 %r6, [%rd5]; // HERE`},
	{"a stored register was never written", 1, 32, ptxsim.UndefinedReg, "HERE", `
	setp.lt.u32 %p1, %r0, 16;
	@%p1 mov.u32 %r4, 1;
	shfl.sync.bfly.b32 %r5, %r4, 1, 31, -1;
	st.shared.u32 [%r3], %r5;
	ld.shared.u32 %r6, [%r3];
	add.s32 %r6, %r6, 1;
	st.global.u32 [%rd3], %r6; // HERE`},
	{"unwritten predicate", 1, 32, ptxsim.UndefinedReg, "HERE", `
	@%p3 mov.u32 %r4, 1; // HERE`},
	{"barrier in a branch", 1, 64, ptxsim.DivergentBarrier, "HERE", `
	setp.lt.u32 %p1, %r0, 16;
	@%p1 bra SKIP;
	bar.sync 0; // HERE
SKIP:`},
	{"a warp leaves before the barrier", 1, 64, ptxsim.DivergentBarrier, "HERE", `
	setp.ge.u32 %p1, %r0, 32;
	@%p1 exit;
	bar.sync 0; // HERE`},
	{"half a warp leaves before the barrier", 1, 32, ptxsim.DivergentBarrier, "HERE", `
	setp.ge.u32 %p1, %r0, 16;
	@%p1 exit;
	bar.sync 0; // HERE`},
	{"two barriers", 1, 64, ptxsim.Deadlock, "", `
	setp.ge.u32 %p1, %r0, 32;
	@%p1 bra OTHER;
	bar.sync 1;
	bra END;
OTHER:
	bar.sync 2;
END:`},
	{"thirty threads at a barrier", 1, 64, ptxsim.BadBarrier, "HERE", `
	bar.sync 1, 30; // HERE`},
	{"counts that differ", 1, 96, ptxsim.BadBarrier, "HERE", `
	shr.u32 %r4, %r0, 5;
	setp.eq.u32 %p1, %r4, 0;
	selp.b32 %r5, 64, 96, %p1;
	bar.sync 1, %r5; // HERE`},
	{"barrier seventeen", 1, 32, ptxsim.BadBarrier, "HERE", `
	mov.u32 %r4, 17;
	bar.sync %r4; // HERE`},
	{"a lane outside its mask", 1, 32, ptxsim.DivergentWarp, "HERE", `
	shfl.sync.bfly.b32 %r4, %r0, 1, 31, 65535; // HERE`},
	{"lanes of the mask go elsewhere", 1, 32, ptxsim.DivergentWarp, "", `
	setp.lt.u32 %p1, %r0, 16;
	@%p1 bra SKIP;
	shfl.sync.bfly.b32 %r4, %r0, 1, 31, -1; // HERE
	bra END;
SKIP:
	bar.warp.sync -1;
END:`},
	{"a shuffle from a lane that does not take part", 1, 32, ptxsim.InactiveLane, "HERE", `
	setp.ge.u32 %p1, %r0, 16;
	@%p1 bra END;
	shfl.sync.down.b32 %r4, %r0, 8, 31, 65535; // HERE
END:`},
	{"a matrix product of half a warp", 1, 16, ptxsim.DivergentWarp, "HERE", `
	mov.b32 %r20, 0;
	mov.f32 %f0, 0f00000000;
	mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32 {%f1,%f2,%f3,%f4}, {%r20,%r20}, {%r20}, {%f0,%f0,%f0,%f0}; // HERE`},
	{"division by zero", 1, 32, ptxsim.DivideByZero, "HERE", `
	div.u32 %r4, 100, %r0; // HERE`},
	{"trap", 1, 32, ptxsim.Trap, "HERE", `
	setp.eq.u32 %p1, %r0, 5;
	@%p1 trap; // HERE`},
	{"waiting for a flag that nobody sets", 1, 1, ptxsim.Spin, "", `
WAIT:
	ld.volatile.global.u32 %r4, [%rd0];
	setp.eq.u32 %p1, %r4, 0;
	@%p1 bra WAIT;`},
	{"a lock that is not given back", 2, 1, ptxsim.Spin, "", `
WAIT:
	atom.global.cas.b32 %r4, [%rd0], 0, 1;
	setp.ne.u32 %p1, %r4, 0;
	@%p1 bra WAIT;`},
	{"an endless count", 1, 1, ptxsim.StepLimit, "", `
	mov.u32 %r4, 0;
WAIT:
	add.s32 %r4, %r4, 1;
	bra WAIT;`},
	{"reading an asynchronous copy too early", 1, 32, ptxsim.Race, "HERE", `
	cp.async.ca.shared.global [%r3], [%rd4], 4;
	cp.async.commit_group;
	ld.shared.u32 %r4, [%r3]; // HERE`},
	{"overwriting an asynchronous copy", 1, 32, ptxsim.Race, "HERE", `
	cp.async.ca.shared.global [%r3], [%rd4], 4;
	st.shared.u32 [%r3], 1; // HERE`},
	{"two asynchronous copies to one place", 1, 32, ptxsim.Race, "HERE", `
	cp.async.ca.shared.global [%r3], [%rd4], 4;
	cp.async.ca.shared.global [%r3], [%rd4], 4; // HERE`},
	{"writing the source of an asynchronous copy", 1, 32, ptxsim.Race, "HERE", `
	cp.async.ca.shared.global [%r3], [%rd4], 4;
	st.global.u32 [%rd4], 77;
	cp.async.wait_all; // HERE`},
	{"copying over what others still read", 1, 64, ptxsim.Race, "", `
	st.shared.u32 [%r3], 1;
	bar.sync 0;
	xor.b32 %r4, %r3, 128;
	ld.shared.u32 %r5, [%r4];
	cp.async.ca.shared.global [%r3], [%rd4], 4; // HERE`},
	{"an asynchronous copy that is too long", 1, 32, ptxsim.OutOfBounds, "HERE", `
	mov.u32 %r4, 5;
	cp.async.ca.shared.global [%r3], [%rd4], 4, %r4; // HERE`},
}

func TestFaults(t *testing.T) {
	for _, f := range faults {
		t.Run(f.name, func(t *testing.T) {
			for _, order := range orders {
				_, err := runSnippet(ptxsim.Options{Order: order, Seed: 11, MaxSteps: 1 << 21}, f.body, f.blocks, f.threads, nil)
				wantKind(t, err, f.kind, snippet(f.body), f.at)
				if f.kind == ptxsim.Race && f.name != "writing the source of an asynchronous copy" {
					var r *ptxsim.Report
					if errors.As(err, &r); r.Other == nil || r.Other.Line == 0 {
						t.Errorf("%v: the other party is missing", err)
					}
				}
				if order == ptxsim.RoundRobin {
					t.Log(err)
				}
			}
		})
	}
}

// sound are bodies that look suspicious but are correct: no report in any order.
var sound = []struct {
	name            string
	blocks, threads int
	body            string
}{
	{"neighbouring bytes", 1, 64, `
	add.s32 %r4, %r2, %r0;
	st.shared.u8 [%r4], %r0;
	ld.shared.u8 %r5, [%r4];
	add.s32 %r5, %r5, 1;
	st.shared.u8 [%r4], %r5;
	bar.sync 0;
	setp.lt.u32 %p1, %r0, 16;
	@%p1 ld.shared.u32 %r6, [%r3];`},
	{"everybody reads, then one writes", 1, 128, `
	st.shared.u32 [%r3], %r0;
	bar.sync 0;
	ld.shared.u32 %r4, [sh];
	bar.sync 0;
	setp.eq.u32 %p1, %r0, 77;
	@%p1 st.shared.u32 [sh], 1;
	bar.sync 0;
	ld.shared.u32 %r4, [sh];`},
	{"a warp barrier between lanes", 1, 64, `
	st.shared.u32 [%r3], %r0;
	bar.warp.sync -1;
	xor.b32 %r4, %r3, 4;
	ld.shared.u32 %r5, [%r4];
	bar.warp.sync -1;
	st.shared.u32 [%r3], %r5;`},
	{"named barriers of producers and consumers", 1, 64, `
	setp.ge.u32 %p1, %r0, 32;
	mov.u32 %r4, 0;
	@%p1 bra CONSUMER;
PRODUCER:
	bar.sync 1, 64;
	st.shared.u32 [%r3], %r4;
	bar.arrive 2, 64;
	add.s32 %r4, %r4, 1;
	setp.lt.u32 %p2, %r4, 20;
	@%p2 bra PRODUCER;
	bra END;
CONSUMER:
	bar.arrive 1, 64;
	bar.sync 2, 64;
	add.s32 %r5, %r3, -128;
	ld.shared.u32 %r6, [%r5];
	add.s32 %r4, %r4, 1;
	setp.lt.u32 %p2, %r4, 20;
	@%p2 bra CONSUMER;
END:`},
	{"a flag with fences", 2, 1, `
	mov.u32 %r4, %ctaid.x;
	setp.eq.u32 %p1, %r4, 0;
	@!%p1 bra READ;
	st.global.u32 [%rd0+64], 5;
	membar.gl;
	st.volatile.global.u32 [%rd0], 1;
	bra END;
READ:
	ld.volatile.global.u32 %r5, [%rd0];
	setp.eq.u32 %p2, %r5, 0;
	@%p2 bra READ;
	membar.gl;
	ld.global.u32 %r6, [%rd0+64];
END:`},
	{"release and acquire", 2, 1, `
	mov.u32 %r4, %ctaid.x;
	setp.eq.u32 %p1, %r4, 1;
	@!%p1 bra READ;
	st.global.u32 [%rd0+64], 5;
	st.release.gpu.global.u32 [%rd0], 1;
	bra END;
READ:
	ld.acquire.gpu.global.u32 %r5, [%rd0];
	setp.eq.u32 %p2, %r5, 0;
	@%p2 bra READ;
	ld.global.u32 %r6, [%rd0+64];
END:`},
	{"the last block adds up", 4, 64, `
	mov.u32 %r4, %ctaid.x;
	mul.wide.u32 %rd5, %r4, 256;
	add.s64 %rd6, %rd3, %rd5;
	st.global.u32 [%rd6+64], %r0;
	membar.gl;
	bar.sync 0;
	setp.ne.u32 %p1, %r0, 0;
	@%p1 bra WAIT;
	atom.global.inc.u32 %r5, [%rd0], 3;
	membar.gl;
	st.shared.u32 [sh], %r5;
WAIT:
	bar.sync 0;
	ld.shared.u32 %r6, [sh];
	setp.ne.u32 %p2, %r6, 3;
	@%p2 bra END;
	membar.gl;
	ld.global.u32 %r7, [%rd3+64];
	ld.global.u32 %r8, [%rd3+320];
	ld.global.u32 %r9, [%rd3+576];
	ld.global.u32 %r10, [%rd3+832];
END:`},
	{"a lock in a warp", 1, 32, `
	mov.u32 %r4, 0;
TRY:
	atom.acquire.gpu.global.cas.b32 %r5, [%rd0], 0, 1;
	setp.ne.u32 %p1, %r5, 0;
	@%p1 bra AGAIN;
	atom.release.gpu.global.exch.b32 %r6, [%rd0], 0;
	mov.u32 %r4, 1;
AGAIN:
	setp.eq.u32 %p2, %r4, 0;
	@%p2 bra TRY;`},
	{"lanes that wait for a lane of their warp", 1, 32, `
	setp.eq.u32 %p1, %r0, 31;
	@%p1 bra SET;
WAIT:
	ld.volatile.global.u32 %r5, [%rd0];
	setp.eq.u32 %p2, %r5, 0;
	@%p2 bra WAIT;
	bra END;
SET:
	st.volatile.global.u32 [%rd0], 1;
END:`},
	{"a long loop in one half of a warp", 1, 32, `
	mov.u32 %r4, 0;
	setp.lt.u32 %p1, %r0, 16;
	@%p1 bra END;
LOOP:
	add.s32 %r4, %r4, 1;
	setp.lt.u32 %p2, %r4, 5000;
	@%p2 bra LOOP;
END:
	bar.sync 0;
	shfl.sync.bfly.b32 %r5, %r4, 16, 31, -1;`},
	{"lanes that left are not waited for", 1, 32, `
	setp.ge.u32 %p1, %r0, 16;
	@%p1 exit;
	shfl.sync.bfly.b32 %r5, %r0, 8, 31, -1;
	vote.sync.ballot.b32 %r6, %p1, -1;`},
	{"two masks at once", 1, 32, `
	and.b32 %r4, %r0, 16;
	mov.u32 %r5, 65535;
	shl.b32 %r5, %r5, %r4;
	shfl.sync.bfly.b32 %r6, %r0, 8, 31, %r5;`},
	{"a barrier that counts", 1, 50, `
	setp.lt.u32 %p1, %r0, 20;
	bar.red.popc.u32 %r4, 0, %p1;
	bar.red.and.pred %p2, 0, %p1;
	bar.red.or.pred %p3, 0, %p1;
	setp.eq.u32 %p4, %r4, 20;
	and.pred %p4, %p4, %p3;
	not.pred %p2, %p2;
	and.pred %p4, %p4, %p2;
	@!%p4 trap;`},
	{"a barrier of the block that counts", 1, 32, `
	setp.lt.u32 %p1, %r0, 20;
	bar.cta.red.popc.u32 %r4, 0, !%p1;
	barrier.cta.red.and.aligned.pred %p2, 0, 32, %p1;
	setp.ne.or.u32 %p4, %r4, 12, %p2;
	@%p4 trap;`},
	{"matrices at generic addresses", 1, 32, `
	st.shared.u32 [%r3], %r0;
	bar.sync 0;
	mov.u64 %rd5, sh;
	cvta.shared.u64 %rd5, %rd5;
	and.b64 %rd6, %rd2, 28;
	mad.lo.u64 %rd5, %rd6, 4, %rd5;
	ldmatrix.sync.aligned.m8n8.x1.b16 {%r4}, [%rd5];
	setp.ne.u32 %p1, %r4, %r0;
	@%p1 trap;`},
	{"barriers without .aligned", 1, 32, `
	setp.lt.u32 %p1, %r0, 16;
	@%p1 bra OTHER;
	barrier.sync 3;
	bra END;
OTHER:
	barrier.sync 3;
END:`},
	{"atomics of all warps, then a barrier", 1, 96, `
	setp.eq.u32 %p1, %r0, 0;
	@%p1 st.shared.u32 [sh], 0;
	bar.sync 0;
	atom.shared.add.u32 %r4, [sh], 1;
	bar.sync 0;
	ld.shared.u32 %r5, [sh];
	setp.ne.u32 %p2, %r5, 96;
	@%p2 trap;
	bar.sync 0;
	@%p1 st.shared.u32 [sh], 5;`},
	{"undefined values that are discarded", 1, 64, `
	setp.lt.u32 %p1, %r0, 8;
	@%p1 mov.u32 %r4, 1;
	shfl.sync.bfly.b32 %r5, %r4, 4, 31, -1;
	add.s32 %r5, %r5, %r4;
	setp.eq.u32 %p2, %r5, 2;
	and.pred %p2, %p2, %p1;
	selp.b32 %r6, %r5, 7, %p1;
	st.global.u32 [%rd3], %r6;
	st.shared.u32 [%r3], %r5;
	ld.shared.u32 %r7, [%r3];
	@%p2 st.global.u32 [%rd3], %r7;`},
	{"a product with rows that are discarded", 1, 32, `
	setp.lt.u32 %p1, %r0, 16;
	mov.b32 %r20, 0;
	@%p1 mov.b32 %r21, 0;
	mov.f32 %f0, 0f00000000;
	mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32 {%f1,%f2,%f3,%f4}, {%r20,%r21}, {%r20}, {%f0,%f0,%f0,%f0};
	st.global.f32 [%rd3], %f1;
	@%p1 st.global.f32 [%rd3], %f3;`},
	{"a copy with a filled tail", 1, 32, `
	shl.b32 %r4, %r0, 4;
	add.s32 %r4, %r4, %r2;
	mov.u32 %r5, 4;
	mul.wide.u32 %rd5, %r0, 16;
	add.s64 %rd5, %rd1, %rd5;
	cp.async.cg.shared.global [%r4], [%rd5], 16, %r5;
	cp.async.wait_all;
	ld.shared.v4.u32 {%r6,%r7,%r8,%r9}, [%r4];
	setp.ne.u32 %p1, %r7, 0;
	@%p1 trap;
	mov.u64 %rd6, 0;
	mov.u32 %r5, 0;
	cp.async.cg.shared.global [%r4], [%rd6], 16, %r5;
	cp.async.wait_all;`},
}

func TestSound(t *testing.T) {
	for _, s := range sound {
		t.Run(s.name, func(t *testing.T) {
			for _, order := range orders {
				for seed := range uint64(3) {
					if _, err := runSnippet(ptxsim.Options{Order: order, Seed: seed, MaxSteps: 1 << 24}, s.body, s.blocks, s.threads, nil); err != nil {
						t.Fatalf("order %d: %v", order, err)
					}
				}
			}
		})
	}
}

// TestWaived checks that each check can be turned off.
func TestWaived(t *testing.T) {
	cases := []struct {
		body string
		o    ptxsim.Options
	}{
		{"st.shared.u32 [sh], 1;", ptxsim.Options{NoRaces: true}},
		{"st.shared.u32 [sh], 1;", ptxsim.Options{SameValue: true}},
		{"ld.shared.u32 %r4, [sh];\n add.s32 %r5, %r6, %r4;\nst.global.u32 [%rd3], %r5;\n@%p3 bra E;\nE:", ptxsim.Options{NoInit: true}},
	}
	for _, c := range cases {
		if _, err := runSnippet(ptxsim.Options{}, c.body, 1, 32, nil); err == nil {
			t.Errorf("%q is not reported", c.body)
		}
		if _, err := runSnippet(c.o, c.body, 1, 32, nil); err != nil {
			t.Errorf("%q: %v", c.body, err)
		}
	}
	if _, err := runSnippet(ptxsim.Options{SameValue: true}, "st.shared.u32 [sh], %r0;", 1, 32, nil); err == nil {
		t.Error("different values at one place are not reported")
	}
}

// TestReport checks the details in a report.
func TestReport(t *testing.T) {
	_, err := runSnippet(ptxsim.Options{}, "mov.u32 %r4, %ctaid.x;\nsetp.eq.u32 %p1, %r4, 1;\n@%p1 st.shared.u32 [%r3+1000], 1;", 2, 64, nil)
	if err == nil {
		t.Fatal("nothing is reported")
	}
	for _, want := range []string{"out of bounds", "kernel k", "line 24", "st.shared.u32", "block (1,0,0)", "warp 0", "lane 6",
		"address 0x400", "offset 1024 of 1024 bytes of shared memory"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in %q", want, err)
		}
	}
}
