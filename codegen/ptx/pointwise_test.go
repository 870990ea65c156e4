package ptx_test

import (
	"strings"
	"testing"

	"github.com/arithlang/mlc/codegen/ptx"
	"github.com/arithlang/mlc/compiler/kernel"
)

// moments updates a range in cells. It uses a value of a buffer after overwriting it.
const moments = `kernel moments map
  in     x  f32[N]
  inout  m  f32[N]
  inout  p  f32[N]
  scalar N, lr
  grid   r < (N + 1023) / 1024

  tile   old f32[min(N - r * 1024, 1024)]
  set    old[e] = m[r * 1024 + e]
  set    m[r * 1024 + e] = old[e] * 0.9 + x[r * 1024 + e]
  set    p[r * 1024 + e] = p[r * 1024 + e] - lr * sqrt(abs(old[e] * 0.9 + x[r * 1024 + e] + old[e]))
end
`

// TestPointwise wants a range in registers where each element is alone, and only there; and
// the interpreter's bits either way.
func TestPointwise(t *testing.T) {
	var ks []*kernel.Kernel
	for _, c := range []struct{ name, from, to, why string }{
		{"as_it_is", "", "", ""},
		{"odd_cells", "1024", "1023", ""},
		{"a_neighbour", "+ old[e]))", "+ old[0]))", "it reads other elements of old than it writes"},
		{"another_range", "x[r * 1024 + e] + old[e]))", "old[e])) for e < min(N - r * 1024, 7)", "its ranges differ"},
		{"a_reduction", "set    p[r * 1024 + e] = ", "reduce s = sum(old[e])\n  set    p[r * 1024 + e] = s + ", "it does more than setting elements of ranges"},
	} {
		text := strings.Replace(strings.ReplaceAll(moments, c.from, c.to), "kernel moments", "kernel "+c.name, 1)
		k := parsed(t, text)
		choice := ptx.Choose(k, ptx.Options{})
		if why := unfit(choice, "pointwise"); why != c.why || (choice.Name == "pointwise") != (c.why == "") {
			t.Errorf("%s: %s, since %q, want %q\n%s", c.name, choice.Name, why, c.why, choice.Flat)
		}
		ks = append(ks, k)
	}
	either(t, ks)
}
