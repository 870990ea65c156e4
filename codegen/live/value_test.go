package live

import (
	"testing"

	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/kernel"
	"github.com/arithlang/mlc/runtime/cpu"
	"github.com/arithlang/mlc/runtime/device"
)

// TestValues compares compiled expressions with the evaluator of package expr.
func TestValues(t *testing.T) {
	integers := func(string) (expr.Type, bool) { return expr.I32, true }
	for _, text := range []string{
		"7", "B", "-B * S", "T - S + layer", "(B * T + 3) / 4", "N % 7", "-N / 3", "abs(T - S)", "min(T, S) + max(B, P)", "!T",
		"where(T < S && S <= C || B == 3, P, -P)", "where(!(T != S), 1, 2)", "T & 6 | S ^ 3",
	} {
		x, err := expr.Parse(text, integers)
		if err != nil {
			t.Fatal(text, err)
		}
		for _, e := range []device.Env{{B: 3, T: 5, S: 7, C: 5, P: 2, N: 1001, Layer: 4}, {B: 2, T: 8, S: 8, C: 9, N: -50}} {
			want := int(expr.Eval32(x, expr.Bindings{
				"B": {I: int64(e.B)}, "T": {I: int64(e.T)}, "S": {I: int64(e.S)}, "C": {I: int64(e.C)},
				"P": {I: int64(e.P)}, "N": {I: int64(e.N)}, "layer": {I: int64(e.Layer)},
			}).I)
			if got := ofLaunch(x)(&e); got != want {
				t.Errorf("%s of %+v is %d, want %d", text, e, got, want)
			}
		}
	}
}

const kernels = `
kernel linear matmul
  in     x     f32[B * T, 64]
  in     w     f32[64, 32]
  out    y     f32[B * T, 32]
  scalar B, T
  grid   m < B * T
  tile   a f32[1, 64]
  tile   b f32[64, 32]
  tile   c f32[1, 32]
  set    a[a1, e] = x[m + a1, e]
  set    b[a1, e] = w[a1, e]
  set    c[a1, e] = 0.0
  dot    c[r, j] += a[r, k] * b[k, j]
  set    y[m + i, e] = c[i, e] for i < 1, e < 32
end

kernel triangle row
  in     x f32[T, 8]
  inout  y f32[T]
  scalar T
  grid   t < T
  for    j = 0 until t + 1
    reduce s = sum(x[j, e] * x[t, e]) for e < 8
    for    k = j until t
      set    y[t] = s + 1.0
    end
  end
end
`

// TestCosts compares counts with counts by hand: beyond 32 bits, and of nested loops.
func TestCosts(t *testing.T) {
	ks, err := kernel.Parse(kernels)
	if err != nil {
		t.Fatal(err)
	}
	const rows = 1e6 * 400
	e := device.Env{B: 1e6, T: 400}
	if got, want := costOf(ks[0])(&e), (cpu.Cost{Flops: rows * 64 * 32 * 2, Products: rows * 64 * 32 * 2, Bytes: 4 * (rows*64 + 64*32 + rows*32)}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	e = device.Env{T: 5}
	if got, want := costOf(ks[1])(&e), (cpu.Cost{Flops: 15*8*2 + 0 + 1 + 3 + 6 + 10, Others: 15*8*2 + 0 + 1 + 3 + 6 + 10, Bytes: 4 * (5*8 + 2*5)}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}
