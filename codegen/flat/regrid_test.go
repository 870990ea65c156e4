package flat

import (
	"strings"
	"testing"

	"github.com/arithlang/mlc/compiler/kernel"
)

func TestRegrid(t *testing.T) {
	const text = `kernel linear matmul
  in     x f32[B * T, 4]
  in     w f32[4, 3]
  out    y f32[B * T, 3]
  scalar B, T
  grid   m < (B * T + 255) / 256
  op     y = x * w for r < B * T, e < 3, k < 4

  tile   b f32[4, 3]
  let    first = m * 256
  let    height = min(B * T - first, 256)
  tile   a f32[height, 4]
  tile   c f32[height, 3]
  set    a[a1, e] = x[first + a1, e]
  set    b[a1, e] = w[a1, e]
  set    c[a1, e] = 0.0
  dot    c[i, j] += a[i, k] * b[k, j]
  set    y[first + a1, e] = c[a1, e]
end
`
	for _, c := range []struct{ name, from, to, want string }{
		{"fewer rows", "", "", "grid   m < (B * T + 63) / 64"},
		{"rows of each", "", "", "let    height = min(B * T - first, 64)"},
		{"another operation", "linear matmul", "linear row", "(B * T + 255) / 256"},
		{"other rows", "op     y = x * w for r < B * T", "op     y = x * w for r < B", "(B * T + 255) / 256"},
		{"other bounds", "min(B * T - first, 256)", "min(B * T - first, 255)", "(B * T + 255) / 256"},
		{"a use of m", "set    y[first + a1, e]", "set    y[m * 256 + a1, e]", "(B * T + 255) / 256"},
		{"cells that overlap", "let    first = m * 256", "let    first = m * 128", "(B * T + 255) / 256"},
	} {
		ks, err := kernel.Parse(strings.Replace(text, c.from, c.to, 1))
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if got := Regrid(ks[0], 64).String(); !strings.Contains(got, c.want) {
			t.Errorf("%s: no %q in\n%s", c.name, c.want, got)
		}
	}
}
