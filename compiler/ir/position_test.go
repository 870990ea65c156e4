package ir_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/ir"
	"github.com/arithlang/mlc/compiler/ir/irtest"
	"github.com/arithlang/mlc/dsl/diag"
)

// TestRunsOfTexts numbers the digits (ids 4 … 13) of problems, compared with rows
// computed by hand. 30 is any other letter.
func TestRunsOfTexts(t *testing.T) {
	cases := []struct {
		name      string
		ids, want []int64
	}{
		{"12+345=465$", []int64{5, 6, 14, 7, 8, 9, 17, 8, 10, 9, 3}, []int64{1, 2, 0, 1, 2, 3, 0, 1, 2, 3, 0}},
		{"1 2+3=42$", []int64{5, 0, 6, 14, 7, 17, 8, 6, 3}, []int64{1, 0, 1, 0, 1, 0, 1, 2, 0}},
		{"A1B2+A3B4=A4B6", []int64{19, 5, 20, 6, 14, 19, 7, 20, 8, 17, 19, 8, 20, 10}, []int64{0, 1, 0, 1, 0, 0, 1, 0, 1, 0, 0, 1, 0, 1}},
		{"21-543=333-$", []int64{6, 5, 15, 9, 8, 7, 17, 7, 7, 7, 15, 3}, []int64{1, 2, 0, 1, 2, 3, 0, 1, 2, 3, 0, 0}},
		{"98282+3859172=2787472$", []int64{13, 12, 6, 12, 6, 14, 7, 12, 9, 13, 5, 11, 6, 17, 6, 11, 12, 11, 8, 11, 6, 3},
			[]int64{1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3, 4, 5, 6, 7, 0}},
	}
	f := irtest.Parse(t, function([]string{"i32[B, C]"}, "runs v0 {shape = [B, T]; expr = (4 <= x0) & (x0 <= 13)} : i32[B, T]"))
	for _, c := range cases {
		n := len(c.ids)
		for first := range n { // all rows from the first on
			env := ir.Env{Dims: map[string]int{"B": 1, "T": n - first, "C": n, "P": first}}
			got := irtest.Eval(t, f, env, []ir.Tensor{ints([]int{1, n}, c.ids...)})[0]
			if !slices.Equal(got.I, c.want[first:]) {
				t.Errorf("%s from row %d: %v, want %v", c.name, first, got.I, c.want[first:])
			}
		}
	}
}

// TestDraw: a group shares its number, and all numbers are equally frequent.
func TestDraw(t *testing.T) {
	f := irtest.Parse(t, function(nil, "draw {shape = [B, T]; stream = 5; rows = 101; group = 4} : i32[B, T]"))
	env := ir.Env{Dims: map[string]int{"B": 40_400, "T": 2}, Example: 6, Seed: 7}
	got := irtest.Eval(t, f, env, nil)[0]
	count := map[int64]int{}
	for b := range 40_400 {
		group := slices.Clone(got.I[2*b:][:2])
		if group[0] != group[1] {
			t.Fatalf("example %d has %v", b, group)
		}
		if (b+6)%4 != 0 && b > 0 && group[0] != got.I[2*b-1] {
			t.Fatalf("example %d has %d in the group of %d", b, group[0], got.I[2*b-1])
		}
		count[group[0]]++
	}
	for n := range int64(101) { // each is expected 400 times, ten groups of ten
		if c := count[n]; c < 240 || c > 580 {
			t.Errorf("%d is drawn %d times, expected 400", n, c)
		}
	}
	if len(count) != 101 {
		t.Errorf("%d different numbers", len(count))
	}
}

// TestSubset checks order, size and that all pairs of 0 … 4 are equally frequent. A
// launch with fewer rows has the first numbers of a longer one. It also tries too many
// rows.
func TestSubset(t *testing.T) {
	f := irtest.Parse(t, function(nil, "subset {shape = [T, 1]; stream = 5; rows = 5; size = 2; group = 4} : i32[T, 1]"))
	count := map[string]int{}
	for step := range uint32(5000) {
		got := irtest.Eval(t, f, ir.Env{Dims: map[string]int{"T": 2}, Seed: 3, Step: step, Example: 4 * step}, nil)[0]
		if got.I[0] >= got.I[1] || got.I[0] < 0 || got.I[1] > 4 {
			t.Fatalf("step %d: %v", step, got.I)
		}
		count[fmt.Sprint(got.I)]++
		first := irtest.Eval(t, f, ir.Env{Dims: map[string]int{"T": 1}, Seed: 3, Step: step, Example: 4 * step}, nil)[0]
		if first.I[0] != got.I[0] {
			t.Fatalf("step %d: a launch of one row has %d, one of two rows %v", step, first.I[0], got.I)
		}
	}
	for pair, n := range count {
		if n < 400 || n > 600 {
			t.Errorf("%s is drawn %d times, expected 500", pair, n)
		}
	}
	if len(count) != 10 {
		t.Errorf("%d different pairs", len(count))
	}
	if got := irtest.Eval(t, f, ir.Env{Dims: map[string]int{"T": 3}}, nil)[0]; !slices.Equal(got.I, []int64{0, 1, 2}) {
		t.Errorf("3 rows: %v", got.I)
	}
}

// TestNoise checks the moments and the distribution of 120,000 numbers. Rows decoded one
// by one must have the bits of the whole, and examples must differ.
func TestNoise(t *testing.T) {
	f := irtest.Parse(t, function(nil, "noise {shape = [B, T, 5]; stream = 5} : f32[B, T, 5]"))
	const examples, rows = 200, 120
	env := ir.Env{Dims: map[string]int{"B": examples, "T": rows, "P": 0}, Seed: 3, Step: 1, Example: 9}
	whole := irtest.Eval(t, f, env, nil)[0]
	var moments [5]float64
	inside := 0
	for _, x := range whole.F {
		for k := range moments {
			moments[k] += math.Pow(x, float64(k)) / float64(len(whole.F))
		}
		if math.Abs(x) < 1 {
			inside++
		}
	}
	for k, want := range [5]float64{1, 0, 1, 0, 3} {
		if math.Abs(moments[k]-want) > 0.05 {
			t.Errorf("moment %d is %v, want %v", k, moments[k], want)
		}
	}
	if share := float64(inside) / float64(len(whole.F)); math.Abs(share-0.6827) > 0.005 {
		t.Errorf("%v of the numbers are within one standard deviation", share)
	}
	env.Dims = map[string]int{"B": 2, "T": 1, "P": 77}
	row := irtest.Eval(t, f, env, nil)[0]
	for b := range 2 {
		if got, want := row.F[5*b:][:5], whole.F[(b*rows+77)*5:][:5]; !slices.Equal(got, want) {
			t.Errorf("row 77 of example %d is %v alone, %v among all", b, got, want)
		}
	}
	if slices.Equal(row.F[:5], row.F[5:]) {
		t.Error("two examples have the same noise")
	}
}

// TestNormalIsFinite evaluates extreme random words with the bits of every back end.
func TestNormalIsFinite(t *testing.T) {
	for _, word1 := range []uint32{0, 255, 256, 1 << 31, 0xFFFFFEFF, 0xFFFFFF00, 0xFFFFFFFF} {
		for _, word2 := range []uint32{0, 1 << 30, 1 << 31, 0xFFFFFFFF} {
			x := expr.Eval32(ir.Normal(expr.U(word1), expr.U(word2)), expr.Bindings{}).F
			if !(math.Abs(x) <= 5.8) {
				t.Errorf("words %#x, %#x give %v", word1, word2, x)
			}
		}
	}
}

// TestRotary checks the angles position * base^(-n/r), and that elements beyond the
// fraction stay. Products of queries and keys depend only on distances.
func TestRotary(t *testing.T) {
	b := ir.NewBuilder("f", diag.Pos{})
	x := b.Param("x", ir.T(ir.Sym("B"), ir.Sym("T"), ir.N(12)), ir.Input)
	at := expr.New(expr.Add, ir.Sym("P").Expr(), ir.D(0))
	b.Result("y", b.Rotary(x, at, 2, 100, 0.7), false)
	f, err := b.Func()
	if err != nil {
		t.Fatal(err)
	}
	vector := []float64{1, 2, 3, 4, 5, 6, -1, 0.5, 2, -2, 0, 1}
	at17 := func(first int) []float64 {
		env := ir.Env{Dims: map[string]int{"B": 1, "T": 1, "P": first}}
		return irtest.Eval(t, f, env, []ir.Tensor{floats([]int{1, 1, 12}, vector...)})[0].F
	}
	got := at17(17)
	for h := range 2 { // heads of 6, of which 4 elements rotate: pairs (0, 2) and (1, 3)
		x := vector[6*h:]
		want := slices.Clone(x[:6])
		for n := range 2 {
			sin, cos := math.Sincos(17 * math.Pow(100, -float64(n)/2))
			want[n], want[n+2] = x[n]*cos-x[n+2]*sin, x[n+2]*cos+x[n]*sin
		}
		if err := irtest.Same(floats([]int{6}, got[6*h:][:6]...), floats([]int{6}, want...), 1e-6); err != nil {
			t.Errorf("head %d: %v", h, err)
		}
	}
	dot := func(a, b []float64) (sum float64) {
		for i := range a {
			sum += a[i] * b[i]
		}
		return sum
	}
	if near, far := dot(at17(3), at17(8)), dot(at17(103), at17(108)); math.Abs(near-far) > 1e-4 {
		t.Errorf("products at distance 5 are %v and %v", near, far)
	}
}
