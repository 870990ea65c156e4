package ptxsim_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/arithlang/mlc/ptxsim"
)

// locks are ways to wait for the lock in the word at %rd1. Its holder adds one to the next word.
// In some, the waiting warp is in the same state in each iteration, in others it is not.
var locks = map[string]string{
	"compare and swap": `
wait:
	atom.global.acquire.gpu.cas.b32 %r4, [%rd1], 0, 1;
	setp.ne.u32 %p1, %r4, 0;
	@%p1 bra wait;`,
	"exchange": `
wait:
	atom.global.acquire.gpu.exch.b32 %r4, [%rd1], 1;
	setp.eq.u32 %p1, %r4, 1;
	@%p1 bra wait;`,
	"counted": `
	mov.u32 %r5, 0;
wait:
	add.u32 %r5, %r5, 1;
	atom.global.acquire.gpu.cas.b32 %r4, [%rd1], 0, 1;
	setp.ne.u32 %p1, %r4, 0;
	@%p1 bra wait;`,
	"watched": `
wait:
	ld.relaxed.gpu.global.u32 %r4, [%rd1];
	setp.ne.u32 %p1, %r4, 0;
	@%p1 bra wait;
	atom.global.acquire.gpu.cas.b32 %r4, [%rd1], 0, 1;
	setp.ne.u32 %p1, %r4, 0;
	@%p1 bra wait;`,
}

const holding = `
	ld.global.u32 %r6, [%rd1+4];
	add.u32 %r6, %r6, 1;
	st.global.u32 [%rd1+4], %r6;
	st.global.u32 [%rd3], %r6;
	mov.u32 %r7, 0;
hold:
	add.u32 %r7, %r7, 1;
	setp.lt.u32 %p2, %r7, 30;
	@%p2 bra hold;
	atom.global.release.gpu.exch.b32 %r4, [%rd1], 0;`

// holds runs a block whose threads each take the lock once, and returns the number of
// instructions.
func holds(t *testing.T, wait string, order ptxsim.Order, threads int) int64 {
	t.Helper()
	j := job{text: snippet(wait + holding), kernel: "k", block: [3]int{threads}, args: []any{out(4 * threads), make([]byte, 8)}}
	bufs, st, err := j.stats(ptxsim.Options{Order: order, Seed: 1, MaxSteps: 1 << 24})
	if err != nil {
		t.Fatalf("%d threads: %v", threads, err)
	}
	turns := unwords(bufs[0])
	slices.Sort(turns)
	for i, n := range turns {
		if int(n) != i+1 {
			t.Fatalf("%d threads: holders have the numbers %d", threads, turns)
		}
	}
	if got := unwords(bufs[1]); got[0] != 0 || int(got[1]) != threads {
		t.Errorf("%d threads: lock and count are %d", threads, got)
	}
	return st.Steps
}

// TestLocks lets the threads of a warp wait for one lock. Twice as many threads must take less
// than three times the instructions. A cost per pair of threads would make it four times.
func TestLocks(t *testing.T) {
	for name, wait := range locks {
		for _, order := range orders {
			t.Run(fmt.Sprint(name, ", ", order), func(t *testing.T) {
				last := holds(t, wait, order, 8)
				for _, threads := range []int{16, 32} {
					steps := holds(t, wait, order, threads)
					if steps > 3*last {
						t.Errorf("%d threads need %d instructions, and half of them %d", threads, steps, last)
					}
					last = steps
				}
				holds(t, wait, order, 96)
			})
		}
	}
}
