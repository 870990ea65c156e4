package ptxsim_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/arithlang/mlc/ptxsim"
)

// TestEndOfStint ends a block with the last of the instructions that it may run at a time, and shortly
// before and after.
func TestEndOfStint(t *testing.T) {
	const stint = 1 << 20
	for n := stint - 24; n < stint; n++ { // some instructions surround the loop of three
		body := fmt.Sprintf("mov.u32 %%r1, %d;\nloop:\nsub.u32 %%r1, %%r1, 1;\nsetp.ne.u32 %%p1, %%r1, 0;\n@%%p1 bra loop;\n", n/3) + strings.Repeat("mov.u32 %r2, 1;\n", n%3)
		if _, err := runSnippet(ptxsim.Options{}, body, 1, 1, nil); err != nil {
			t.Fatal(n, err)
		}
	}
}
