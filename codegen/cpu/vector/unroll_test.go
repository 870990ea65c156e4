package vector

import (
	"fmt"
	"strings"
	"testing"

	"github.com/arithlang/mlc/compiler/kernel"
)

// TestUnrolled checks that loops of few iterations over short rows are unrolled, with a name
// for each iteration, and that other loops are not.
func TestUnrolled(t *testing.T) {
	const head = "kernel k map\n  in     x f32[N * 32]\n  out    y f32[N * 32]\n  scalar N\n  grid   g < 1\n\n"
	for _, c := range []struct{ what, loop, want string }{
		{"short rows", "for h = 1 until 3\nlet at = h * 8\nreduce s = sum(x[at + e]) for e < 8\nset y[at + e] = s for e < 8\nend", `
			let at.1 = 8
			reduce s.1 = sum(x[at.1 + e]) for e < 8
			set y[at.1 + e] = s.1 for e < 8
			let at.2 = 16
			reduce s.2 = sum(x[at.2 + e]) for e < 8
			set y[at.2 + e] = s.2 for e < 8`},
		{"rows of any length", "for h = 0 until 2\nset y[h * N + e] = 0.0 for e < N\nend", ""},
		{"any number of iterations", "for h = 0 until N\nset y[h] = 0.0\nend", ""},
		{"many iterations", "for h = 0 until 1000\nset y[h] = 0.0\nend", ""},
		{"a loop within", "for h = 0 until 2\nfor i = 0 until 2\nset y[h + i] = 0.0\nend\nend", ""},
	} {
		ks, err := kernel.Parse(head + c.loop + "\nend\n")
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, s := range unrolled(ks[0].Body[0].(*kernel.For)) {
			got = append(got, strings.Fields(text(s))...)
		}
		if want := strings.Fields(c.want); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s:\n%v, want\n%v", c.what, got, want)
		}
	}
}

// text prints a statement.
func text(s kernel.Stmt) string {
	k := kernel.Kernel{Body: []kernel.Stmt{s}}
	_, body, _ := strings.Cut(k.String(), "\n\n")
	return strings.TrimSuffix(strings.TrimSpace(body), "end")
}
