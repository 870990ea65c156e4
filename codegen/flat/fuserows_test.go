package flat

import (
	"strings"
	"testing"

	"github.com/arithlang/mlc/compiler/kernel"
)

// TestFuseRows makes one loop of those over the same rows, unless a row needs another's, and
// moves what touches neither before it.
func TestFuseRows(t *testing.T) {
	const head = "kernel k map\n  in     x f32[N, 8]\n  out    y f32[N, 8]\n  out    z f32[N, 8]\n  scalar N\n  grid   g < 1\n\n"
	for _, c := range []struct {
		what, body string
		loops      int
		first      string // statement of the kernel; "": any
	}{
		{"its own row", "set y[r, e] = x[r, e]\nset z[r, e] = y[r, e]", 1, ""},
		{"a loop and its own row", "for i = 0 until N\n  set y[i, e] = x[i, e]\nend\nset z[r, e] = y[r, e]", 1, ""},
		{"the row before", "set y[r, e] = x[r, e]\nset z[r, e] = y[max(r - 1, 0), e]", 2, ""},
		{"other rows", "set y[r, e] = x[r, e] for r < N / 2, e < 8\nset z[r, e] = y[r, e]", 2, ""},
		{"something apart between", "set y[r, e] = x[r, e]\nlet n = N * 2\nset z[r, e] = y[r, e] + f32(n)", 1, "let"},
	} {
		ks, err := kernel.Parse(head + c.body + "\nend\n")
		if err != nil {
			t.Fatal(err)
		}
		out := fuseRows(ks[0])
		loops := 0
		for _, s := range out.Body {
			if _, ok := s.(*kernel.For); ok {
				loops++
			}
		}
		text := out.String()
		if _, isLet := out.Body[0].(*kernel.Let); loops != c.loops || c.first == "let" && !isLet {
			t.Errorf("%s: %d loops, want %d\n%s", c.what, loops, c.loops, text)
		}
		if !strings.Contains(text, "row.") {
			t.Errorf("%s: no rows\n%s", c.what, text)
		}
	}
}
