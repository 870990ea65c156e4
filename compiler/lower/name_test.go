package lower

import (
	"testing"

	"github.com/arithlang/mlc/compiler/kernel"
)

// TestNameOf wants names to describe kernels.
func TestNameOf(t *testing.T) {
	for want, text := range map[string]string{
		"k_t_bias_dropout_add_acc": `matmul
  in     x    f32[T, 8]
  in     x2   f32[T, 8]
  in     w    f32[8, 8]
  in     bias f32[8]
  inout  y    f32[T, 8]
  scalar T
  op     c = x * w' for r < T, e < 8, k < 8
  with   v1 = c + bias[e]
  with   v2 = dropout 0.1 stream 7 of v1
  with   y += v2 + x2[r, e]
`,
		"k_source_relu": `map
  in     x    f32[S, 8]
  out    y    f32[S, 8]
  scalar S
  op     for r < S, e < 8
  with   y = max(x[r, e], 0.0)
`,
		"k": `map
  in     x    f32[S]
  out    y    f32[S]
  scalar S
  op     for e < S
  with   y = max(x[e], 1.0)
`,
		"k_add": `map
  in     x    f32[T, 8]
  out    y    f32[T, 8]
  scalar T
  op     for r < T, e < 8
  with   y = sqrt(x[r, e]) + abs(x[r, e])
`,
		"k_dx": `layernorm_grad
  in     x    f32[T, 8]
  in     dy   f32[T, 8]
  out    dx   f32[T, 8]
  out    s    f32[T, 1]
  scalar T
  op     dx, _, s = x, _, dy for r < T, e < 8
`,
	} {
		ks, err := kernel.Parse("kernel k " + text + "end\n")
		if err != nil {
			t.Fatalf("%s: %v", want, err)
		}
		if got := nameOf(ks[0]); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
