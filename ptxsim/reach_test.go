package ptxsim_test

import (
	"strings"
	"testing"

	"github.com/arithlang/mlc/ptxsim"
)

// TestReached checks, for each line, whether a thread ran it and whether its guard kept a thread
// from it, also with several blocks at a time.
func TestReached(t *testing.T) {
	const body = `setp.lt.u32 %p0, %r0, 16;
@%p0 add.u32 %r1, %r0, 1;
@!%p0 add.u32 %r1, %r0, 2;
setp.lt.u32 %p1, %r0, 99;
@%p1 add.u32 %r1, %r0, 3;
@!%p1 add.u32 %r1, %r0, 4;
@%p1 bra over;
add.u32 %r1, %r0, 5;
over: add.u32 %r1, %r0, 6;`
	want := []ptxsim.Reach{{Ran: true}, {Ran: true, Kept: true}, {Ran: true, Kept: true}, {Ran: true}, {Ran: true}, {Kept: true}, {Ran: true}, {}, {Ran: true}}
	src := snippet(body)
	first := strings.Count(src[:strings.Index(src, body)], "\n") + 1
	for _, workers := range []int{1, 3} {
		j := job{text: src, kernel: "k", grid: [3]int{5}, block: [3]int{32}, args: []any{make([]byte, 1<<14), make([]byte, 1<<14)}}
		_, st, err := j.stats(ptxsim.Options{Reach: true, Workers: workers, NoInit: true})
		if err != nil {
			t.Fatal(err)
		}
		for i, line := range strings.Split(body, "\n") {
			if got := st.Reached[first+i]; got != want[i] {
				t.Errorf("%s: %+v, want %+v", line, got, want[i])
			}
		}
		if _, st, _ = j.stats(ptxsim.Options{Workers: workers, NoInit: true}); st.Reached != nil {
			t.Error("nobody has asked which lines are reached")
		}
	}
}
