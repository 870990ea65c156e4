package cost

import (
	"testing"

	"github.com/arithlang/mlc/compiler/expr"
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

kernel ragged map
  in     example_length i32[B]
  in     example_start  i32[B]
  inout  x              f32[R]
  scalar B, T, R
  grid   b < B
  let    rows = min(example_length[b], T)
  let    start = example_start[b]
  set    x[start + i] = x[start + i] + 1.0 for i < rows
end

kernel narrow matmul
  in     x bf16[T, 8]
  in     w bf16[8, 4]
  out    y f32[T, 4]
  scalar T
  for    t = 0 until T
    dot    y[t, j] = x[t, k] * w[k, j] for j < 4, k < 8
    set    y[t, j] = y[t, j] + 1.0 for j < 4
  end
end

kernel split matmul
  in     x f32[T, 8]
  in     w f32[8, 4]
  in     b f32[8, 4]
  out    y f32[T, 4]
  scalar T
  dot    y[t, j] = x[t, k] * w[k, j]; split
  dot    y[t, j] += x[t, k] * b[k, j]
end
`

// TestTotals holds counts to those by hand.
func TestTotals(t *testing.T) {
	ks, err := kernel.Parse(kernels)
	if err != nil {
		t.Fatal(err)
	}
	s := kernel.Scalars{"B": 2, "T": 5, "R": 8, "lr": 0.5}
	for i, want := range []struct {
		flops         float64
		bytes         int
		narrow, split float64
	}{
		{10*64*32*2 + 10*32*2, 4 * (10*64 + 64*32 + 10*32), 0, 0},
		{15*8*2 + 10, 4 * (5*8 + 2*5), 0, 0},
		{5*8 + 5, 2*(5*8+2*5) + 4*5, 0, 0},
		{2 * 4, 4 * (2 + 2 + 2*8), 0, 0},
		{5 * (8*4*2 + 4), 2*(5*8+8*4) + 4*5*4, 5 * 8 * 4 * 2, 0},
		{5 * 8 * 4 * (6 + 2), 4 * (5*8 + 2*8*4 + 5*4), 0, 5 * 8 * 4 * 6},
	} {
		if got := Operations(ks[i]).Total(s); got != want.flops {
			t.Errorf("%s: %v operations, want %v", ks[i].Name, got, want.flops)
		}
		if got := Narrow(ks[i]).Total(s); got != want.narrow {
			t.Errorf("%s: %v operations of 16-bit factors, want %v", ks[i].Name, got, want.narrow)
		}
		if got := Split(ks[i]).Total(s); got != want.split {
			t.Errorf("%s: %v operations of halves, want %v", ks[i].Name, got, want.split)
		}
		if got := Value(Bytes(ks[i]), s); got != want.bytes {
			t.Errorf("%s: %v bytes, want %v", ks[i].Name, got, want.bytes)
		}
	}
}

// TestOthers counts what is no product: all operations on elements, and random words.
func TestOthers(t *testing.T) {
	ks, err := kernel.Parse(`
kernel drop row
  in     x f32[T, 8]
  out    y f32[T, 8]
  scalar T
  grid   t < T
  tile   u u32[8]
  random u[8] = 3 of as_u32(t) from t * 8
  set    y[t, e] = where(u[e] < 1000u, x[t, 7 - e] * 2.0, 0.0) for e < 8
end
`)
	if err != nil {
		t.Fatal(err)
	}
	const rows, width = 5, 8
	// A comparison, a choice and a product for each element; indices are none.
	if got, want := Others(ks[0]).Total(kernel.Scalars{"T": rows}), float64(rows*width*(3+20)); got != want {
		t.Errorf("%v operations, want %v", got, want)
	}
	if got := Products(ks[0]).Total(kernel.Scalars{"T": rows}); got != 0 {
		t.Errorf("%v operations of products", got)
	}
	more, err := kernel.Parse(kernels)
	if err != nil {
		t.Fatal(err)
	}
	s := kernel.Scalars{"B": 2, "T": 5}
	if got, want := Products(more[0]).Total(s), float64(10*64*32*2); got != want {
		t.Errorf("%v operations of products, want %v", got, want)
	}
	if got, want := Others(more[0]).Total(s), float64(10*32*2); got != want {
		t.Errorf("%v others, want %v", got, want)
	}
}

// TestConditionsCount counts what a condition guards only where it holds.
func TestConditionsCount(t *testing.T) {
	rows := Loop{Name: "t", Lo: expr.Int(0), Hi: expr.NewVar("T", expr.I32), Tally: Tally{Count: expr.NewVar("t", expr.I32)}}
	guarded := Loop{Cond: expr.New(expr.Lt, expr.NewVar("T", expr.I32), expr.NewVar("S", expr.I32)), Tally: Tally{Count: expr.Int(100), Loops: []Loop{rows}}}
	all := Tally{Count: expr.Int(1), Loops: []Loop{guarded}}
	for want, s := range map[float64]kernel.Scalars{1 + 100 + 0 + 1 + 2 + 3: {"T": 4, "S": 5}, 1: {"T": 4, "S": 4}} {
		if got := all.Total(s); got != want {
			t.Errorf("%v operations at %v, want %v", got, s, want)
		}
	}
}

// TestLargeTotals wants numbers that do not fit 32 bits.
func TestLargeTotals(t *testing.T) {
	ks, err := kernel.Parse(kernels)
	if err != nil {
		t.Fatal(err)
	}
	const rows = 1 << 20
	s := kernel.Scalars{"B": rows, "T": 1}
	if got, want := Operations(ks[0]).Total(s), float64(rows*(64*32*2+32*2)); got != want {
		t.Errorf("%v operations, want %v", got, want)
	}
	if got, want := Value(Bytes(ks[0]), s), 4*(rows*64+64*32+rows*32); got != want {
		t.Errorf("%v bytes, want %v", got, want)
	}
}
