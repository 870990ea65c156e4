package kernel_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/arithlang/mlc/compiler/kernel"
)

// spanned is a product whose results reveal its rows and their numbers.
const spanned = `kernel linear matmul
  in     x f32[B * T, 4]
  in     w f32[4, 3]
  out    y f32[B * T, 3]
  out    n i32[B * T]
  scalar B, T
  span   first, height of B * T

  tile   c f32[height, 3]
  set    c[i, j] = 0.0
  dot    c[i, j] += x[first + i, k] * w[k, j]
  set    y[first + i, j] = c[i, j]
  set    n[first + i] = first + i for i < height
end
`

func one(t *testing.T, text string) *kernel.Kernel {
	t.Helper()
	ks, err := kernel.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return ks[0]
}

// TestCut gives each row the same bits in cells of any size, and in one cell.
func TestCut(t *testing.T) {
	k := one(t, spanned)
	if got := k.String(); got != spanned {
		t.Errorf("its text is\n%s", got)
	}
	answer := func(k *kernel.Kernel) string {
		bufs := []kernel.Buffer{{F: make([]float32, 20*4)}, {F: make([]float32, 4*3)}, {F: make([]float32, 20*3)}, {I: make([]int32, 20)}}
		for i := range bufs[0].F {
			bufs[0].F[i] = float32(i%7) / 3
		}
		for i := range bufs[1].F {
			bufs[1].F[i] = float32(i) / 5
		}
		if err := kernel.Run(k, kernel.Scalars{"B": 4, "T": 5}, bufs); err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(bufs)
	}
	want := answer(k)
	if !strings.Contains(want, "17 18 19]") {
		t.Fatalf("rows are missing in %s", want)
	}
	for _, rows := range []int64{1, 3, 7, 20, 64} {
		cut := k.Cut(rows)
		if cut.Span != nil || len(cut.Grid) != 1 || answer(cut) != want {
			t.Errorf("cells of %d rows compute something else:\n%s", rows, cut)
		}
	}
	if whole := k.Whole(); whole.Span != nil || len(whole.Grid) > 0 || answer(whole) != want {
		t.Errorf("one cell computes something else:\n%s", whole)
	}
	if again := k.Whole(); again.Cut(5) != again || again.Whole() != again {
		t.Error("a kernel without a span is another one when it is cut")
	}
	few := one(t, strings.ReplaceAll(spanned, "B * T", "16"))
	if cut := few.Cut(16); len(cut.Grid) > 0 || cut.String() != few.Whole().String() {
		t.Errorf("16 rows have several cells of 16:\n%s", cut)
	}
	if cut := few.Cut(15); !slices.ContainsFunc(cut.Grid, func(a kernel.Axis) bool { return a.Size.I == 2 }) {
		t.Errorf("16 rows have no two cells of 15:\n%s", cut)
	}
}

// TestZerosOfAttention wants the interpreter to take cells of 32 queries: the last query of one
// sees all keys of its cell, so that its sum stays -0, and a query before it gets 0 from a closed
// key.
func TestZerosOfAttention(t *testing.T) {
	k := one(t, `kernel k attention
  in     v f32[T, 1]
  out    y f32[T, 1]
  scalar T
  span   first, height of T

  let    count = first + height
  tile   p f32[height, count]
  set    p[i, j] = where(j == first + i, 1e-30, 0.0)
  dot    y[first + i, e] = p[i, j] * v[j, e] for i < height, e < 1, j < count
end
`)
	v, y := make([]float32, 40), make([]float32, 40)
	for i := range v {
		v[i] = 1e-30
	}
	v[20], v[31] = -1e-30, -1e-30
	if err := kernel.Run(k, kernel.Scalars{"T": 40}, []kernel.Buffer{{F: v}, {F: y}}); err != nil {
		t.Fatal(err)
	}
	for i, x := range y {
		if x != 0 || math.Signbit(float64(x)) != (i == 31) {
			t.Errorf("row %d is %v", i, x)
		}
	}
}

// TestSpansAreVerified refuses names that are taken and rows that memory decides.
func TestSpansAreVerified(t *testing.T) {
	for _, c := range []struct{ from, to, want string }{
		{"out    n i32[B * T]\n  scalar B, T\n  span   first, height of B * T", "inout  n i32[B * T]\n  scalar B, T\n  span   first, height of n[0]", "its size depends on n[0]"},
		{"tile   c f32[height, 3]", "let    first = 1\n  tile   c f32[height, 3]", "first is already in use"},
		{"tile   c f32[height, 3]", "let    m = 1\n  tile   c f32[height, 3]", "m is already in use"},
	} {
		ks, err := kernel.Parse(strings.Replace(spanned, c.from, c.to, 1))
		if err == nil {
			err = kernel.Verify(ks[0])
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.to, err, c.want)
		}
	}
	if _, err := kernel.Parse(strings.Replace(spanned, "first, height of", "first of", 1)); err == nil || !strings.Contains(err.Error(), "first, height of rows") {
		t.Errorf("a span without a height: %v", err)
	}
}
