package cost

import (
	"testing"

	"github.com/arithlang/mlc/compiler/kernel"
)

const kernels = `
kernel linear matmul
  in     x     f32[B * T, 64]
  in     w     f32[64, 32]
  out    y     f32[B * T, 32]
  scalar B, T
  grid   m < (B * T + 3) / 4
  tile   b f32[64, 32]
  let    height = min(B * T - m * 4, 4)
  tile   a f32[height, 64]
  tile   c f32[height, 32]
  set    a[a1, e] = x[m * 4 + a1, e]
  set    b[a1, e] = w[a1, e]
  set    c[a1, e] = 0.0
  dot    c[r, j] += a[r, k] * b[k, j]
  set    y[m * 4 + i, e] = c[i, e] * 2.0 + 1.0 for i < height, e < 32
end

kernel triangle row
  in     x f32[T, 8]
  inout  y f32[T]
  scalar T
  grid   t < T
  for    j = 0 until t + 1
    reduce s = sum(x[j, e] * x[t, e]) for e < 8
    if     j < t
      set    y[t] = s + 1.0
    end
  end
end

kernel halves row
  in     x bf16[T, 8]
  inout  y f16[T]
  out    z f32[T]
  scalar T
  grid   t < T
  reduce s = sum(f32(x[t, e])) for e < 8
  set    y[t] = f16(tf32(f32(y[t])) + s)
  set    z[t] = f32(bf16(s))
end
`

// TestTotals holds counts to those by hand.
func TestTotals(t *testing.T) {
	ks, err := kernel.Parse(kernels)
	if err != nil {
		t.Fatal(err)
	}
	s := kernel.Scalars{"B": 2, "T": 5, "lr": 0.5}
	for i, want := range []struct {
		flops float64
		bytes int
	}{
		{10*64*32*2 + 10*32*2, 4 * (10*64 + 64*32 + 10*32)},
		{15*8*2 + 10, 4 * (5*8 + 2*5)},
		{5*8 + 5, 2*(5*8+2*5) + 4*5},
	} {
		if got := Operations(ks[i]).Total(s); got != want.flops {
			t.Errorf("%s: %v operations, want %v", ks[i].Name, got, want.flops)
		}
		if got := Value(Bytes(ks[i]), s); got != want.bytes {
			t.Errorf("%s: %v bytes, want %v", ks[i].Name, got, want.bytes)
		}
	}
}
