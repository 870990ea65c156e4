package ir_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/arithlang/mlc/compiler/ir"
	"github.com/arithlang/mlc/compiler/ir/irtest"
)

func floats(shape []int, xs ...float64) ir.Tensor { return ir.Tensor{Shape: shape, F: xs} }

func ints(shape []int, xs ...int64) ir.Tensor { return ir.Tensor{Shape: shape, I: xs} }

// sizes is the launch of the cases in worked.
var sizes = ir.Env{
	Dims:    map[string]int{"B": 2, "T": 3, "C": 4, "P": 1, "N": 5},
	Scalars: map[string]float64{"scale": 0.5},
}

// worked has ops with results computed by hand. The function's parameters are p0, p1, …
// with the given types, and its result is the value of line.
var worked = []struct {
	name   string
	params []string
	line   string
	args   []ir.Tensor
	want   ir.Tensor
}{
	{"map broadcasts from the right", []string{"f32[B, T]", "f32[T]", "f32[B, 1]"}, "map v0 v1 v2 {expr = x0 * 100.0 + x1 * 10.0 + x2} : f32[B, T]",
		[]ir.Tensor{floats([]int{2, 3}, 1, 2, 3, 4, 5, 6), floats([]int{3}, 7, 8, 9), floats([]int{2, 1}, 1, 2)},
		floats([]int{2, 3}, 171, 281, 391, 472, 582, 692)},
	{"map sees indices and the launch", nil, "map {shape = [B, T]; expr = scale * f32(d0 * 10 + d1 + P * C)} : f32[B, T]", nil,
		floats([]int{2, 3}, 2, 2.5, 3, 7, 7.5, 8)},
	{"map makes integers", []string{"i32[T]"}, "map v0 {expr = x0 % 3 + d0} : i32[T]", []ir.Tensor{ints([]int{3}, 7, 5, -1)}, ints([]int{3}, 1, 3, 1)},
	{"map reads by index", []string{"f32[3, 2]", "i32[T]"}, "map v0 v1 {expr = x0[x1, 1]} : f32[T]",
		[]ir.Tensor{floats([]int{3, 2}, 1, 2, 3, 4, 5, 6), ints([]int{3}, 2, 0, 1)}, floats([]int{3}, 6, 2, 4)},
	{"map to a scalar", nil, "map {expr = 2.5} : f32[]", nil, floats([]int{}, 2.5)},
	{"matmul", []string{"f32[B, T]", "f32[T, 2]"}, "matmul v0 v1 : f32[B, 2]",
		[]ir.Tensor{floats([]int{2, 3}, 1, 2, 3, 4, 5, 6), floats([]int{3, 2}, 1, 10, 2, 20, 3, 30)}, floats([]int{2, 2}, 14, 140, 32, 320)},
	{"matmul with a shared right operand", []string{"f32[B, 1, 2]", "f32[2, 2]"}, "matmul v0 v1 : f32[B, 1, 2]",
		[]ir.Tensor{floats([]int{2, 1, 2}, 1, 2, 3, 4), floats([]int{2, 2}, 1, 0, 1, 1)}, floats([]int{2, 1, 2}, 3, 2, 7, 4)},
	{"batched matmul of transposed operands", []string{"f32[B, 2, 1]", "f32[B, 3, 2]"}, "matmul v0 v1 {transa; transb} : f32[B, 1, 3]",
		[]ir.Tensor{floats([]int{2, 2, 1}, 1, 2, 3, 4), floats([]int{2, 3, 2}, 1, 0, 0, 1, 1, 1, 2, 0, 0, 2, 1, 1)},
		floats([]int{2, 1, 3}, 1, 2, 3, 6, 8, 7)},
	{"outer", []string{"f32[B, 1, 2]", "f32[B, 1, 3]"}, "outer v0 v1 : f32[2, 3]",
		[]ir.Tensor{floats([]int{2, 1, 2}, 1, 2, 3, 4), floats([]int{2, 1, 3}, 1, 0, 1, 0, 1, 1)},
		floats([]int{2, 3}, 1, 3, 4, 2, 4, 6)},
	{"sum", []string{"f32[B, T, 2]"}, "sum v0 {axes = 0 2} : f32[T]",
		[]ir.Tensor{floats([]int{2, 3, 2}, 1, 2, 3, 4, 5, 6, 10, 20, 30, 40, 50, 60)}, floats([]int{3}, 33, 77, 121)},
	{"segment_sum", []string{"f32[N]"}, "segment_sum v0 : f32[N/1024]", []ir.Tensor{floats([]int{5}, 1, 2, 3, 4, 5)}, floats([]int{1}, 15)},
	{"max", []string{"f32[B, T]"}, "max v0 {axes = 1} : f32[B]", []ir.Tensor{floats([]int{2, 3}, -1, -3, -2, 1, 5, 5)}, floats([]int{2}, -1, 5)},
	{"max of integers", []string{"i32[B, T]"}, "max v0 {axes = 0} : i32[T]", []ir.Tensor{ints([]int{2, 3}, -4, -3, -2, -5, 5, 5)}, ints([]int{3}, -4, 5, 5)},
	{"transpose", []string{"f32[B, T, 1]"}, "transpose v0 {axes = 1 2 0} : f32[T, 1, B]",
		[]ir.Tensor{floats([]int{2, 3, 1}, 1, 2, 3, 4, 5, 6)}, floats([]int{3, 1, 2}, 1, 4, 2, 5, 3, 6)},
	{"reshape", []string{"f32[B, T]"}, "reshape v0 {shape = [T, 1, B]} : f32[T, 1, B]",
		[]ir.Tensor{floats([]int{2, 3}, 1, 2, 3, 4, 5, 6)}, floats([]int{3, 1, 2}, 1, 2, 3, 4, 5, 6)},
	{"gather", []string{"f32[3, 2]", "i32[B]"}, "gather v0 v1 : f32[B, 2]",
		[]ir.Tensor{floats([]int{3, 2}, 1, 2, 3, 4, 5, 6), ints([]int{2}, 2, 0)}, floats([]int{2, 2}, 5, 6, 1, 2)},
	{"scatter", []string{"i32[T]", "f32[T, 2]"}, "scatter v0 v1 {rows = 4} : f32[4, 2]",
		[]ir.Tensor{ints([]int{3}, 1, 3, 1), floats([]int{3, 2}, 1, 2, 3, 4, 5, 6)}, floats([]int{4, 2}, 0, 0, 6, 8, 0, 0, 3, 4)},
	{"append", []string{"f32[B, C, 1]", "f32[B, T, 1]"}, "append v0 v1 : f32[B, C, 1]",
		[]ir.Tensor{floats([]int{2, 4, 1}, 1, 2, 3, 4, 5, 6, 7, 8), floats([]int{2, 3, 1}, 10, 20, 30, 40, 50, 60)},
		floats([]int{2, 4, 1}, 1, 10, 20, 30, 5, 40, 50, 60)},
	{"append to rows of numbers", []string{"i32[B, C]", "i32[B, T]"}, "append v0 v1 : i32[B, C]",
		[]ir.Tensor{ints([]int{2, 4}, 1, 2, 3, 4, 5, 6, 7, 8), ints([]int{2, 3}, 10, 20, 30, 40, 50, 60)},
		ints([]int{2, 4}, 1, 10, 20, 30, 5, 40, 50, 60)},
	{"runs of rows 1 to 3", []string{"i32[B, C]"}, "runs v0 {shape = [B, T]; expr = (4 <= x0) & (x0 <= 13)} : i32[B, T]",
		[]ir.Tensor{ints([]int{2, 4}, 4, 13, 14, 5, 17, 9, 9, 9)}, ints([]int{2, 3}, 2, 0, 1, 1, 2, 3)},
	{"rotate by 90 and 180 degrees", []string{"f32[B, T, 10]", "f32[T, 2]", "f32[T, 2]"}, "rotate v0 v1 v2 {heads = 2} : f32[B, T, 10]",
		[]ir.Tensor{floats([]int{2, 3, 10}, slices.Repeat([]float64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, 6)...),
			floats([]int{3, 2}, 0, -1, 1, 1, 1, 0), floats([]int{3, 2}, 1, 0, 0, 0, 0, 1)},
		floats([]int{2, 3, 10}, slices.Repeat([]float64{-3, -2, 1, -4, 5, -8, -7, 6, -9, 10, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 1, -4, 3, 2, 5, 6, -9, 8, 7, 10}, 2)...)},
	{"each of two heads three times", []string{"f32[B, 4]"}, "repeat_heads v0 {group = 3; heads = 6} : f32[B, 12]",
		[]ir.Tensor{floats([]int{2, 4}, 1, 2, 3, 4, 5, 6, 7, 8)},
		floats([]int{2, 12}, 1, 2, 1, 2, 1, 2, 3, 4, 3, 4, 3, 4, 5, 6, 5, 6, 5, 6, 7, 8, 7, 8, 7, 8)},
	{"the sums of two and two heads", []string{"f32[B, 8]"}, "sum_heads v0 {group = 2; heads = 4} : f32[B, 4]",
		[]ir.Tensor{floats([]int{2, 8}, 1, 2, 3, 4, 5, 6, 7, 8, 1, 0, 1, 0, 0, 1, 0, 2)},
		floats([]int{2, 4}, 4, 6, 12, 14, 2, 0, 0, 3)},
	{"rms norm", []string{"f32[B, 2]", "f32[2]"}, "rmsnorm v0 v1 {eps = 0} : f32[B, 2]",
		[]ir.Tensor{floats([]int{2, 2}, 1, 7, -3, 0), floats([]int{2}, 1, 10)}, floats([]int{2, 2}, 0.2, 14, -math.Sqrt2, 0)},
	{"layer norm", []string{"f32[B, 2]", "f32[2]", "f32[2]"}, "layernorm v0 v1 v2 {eps = 0} : f32[B, 2]",
		[]ir.Tensor{floats([]int{2, 2}, 1, 3, 6, -2), floats([]int{2}, 2, 1), floats([]int{2}, 0, 5)}, floats([]int{2, 2}, -2, 6, 2, 4)},
	{"cross entropy", []string{"f32[T, 2]", "i32[T]"}, "cross_entropy v0 v1 : f32[T]",
		[]ir.Tensor{floats([]int{3, 2}, math.Log(3), 0, 0, 500, 1, 2), ints([]int{3}, 1, 1, -1)}, floats([]int{3}, math.Log(4), 0, 0)},
	{"argmax", []string{"f32[T, 3]"}, "argmax v0 : i32[T]",
		[]ir.Tensor{floats([]int{3, 3}, 1, 2, 2, -1, -2, -3, 0, 0, 0)}, ints([]int{3}, 1, 0, 0)},
}

// function returns the text of a function with one line.
func function(params []string, line string) string {
	var s strings.Builder
	s.WriteString("func f\n")
	for k, p := range params {
		s.WriteString("v" + string(rune('0'+k)) + " = param p" + string(rune('0'+k)) + " input : " + p + "\n")
	}
	s.WriteString("v9 = " + line + "\nresult y v9\nend\n")
	return s.String()
}

func TestWorkedCases(t *testing.T) {
	for _, c := range worked {
		t.Run(c.name, func(t *testing.T) {
			f := irtest.Parse(t, function(c.params, c.line))
			got := irtest.Eval(t, f, sizes, c.args)[0]
			if err := irtest.Same(got, c.want, 1e-12); err != nil {
				t.Errorf("%v\ngot  %v\nwant %v", err, got, c.want)
			}
		})
	}
}

func TestEvalErrors(t *testing.T) {
	cases := []struct {
		params []string
		line   string
		args   []ir.Tensor
		want   string
	}{
		{[]string{"f32[3, 2]", "i32[B]"}, "gather v0 v1 : f32[B, 2]", []ir.Tensor{floats([]int{3, 2}, 1, 2, 3, 4, 5, 6), ints([]int{2}, 3, 0)}, "id 3 is outside"},
		{[]string{"i32[B]", "f32[B, 1]"}, "scatter v0 v1 {rows = 2} : f32[2, 1]", []ir.Tensor{ints([]int{2}, -1, 0), floats([]int{2, 1}, 1, 1)}, "id -1 is outside"},
		{[]string{"f32[3]"}, "map v0 {expr = x0[d0]; shape = [C]} : f32[C]", []ir.Tensor{floats([]int{3}, 1, 2, 3)}, "index [3] is outside"},
		{nil, "map {expr = f32(S)} : f32[]", nil, "launch variable S is not set"},
		{[]string{"f32[S]"}, "dropout v0 : f32[S]", []ir.Tensor{floats([]int{1}, 1)}, "size S is not set"},
		{[]string{"f32[B]"}, "dropout v0 : f32[B]", []ir.Tensor{floats([]int{3}, 1, 2, 3)}, "has shape [3], not [2]"},
		{[]string{"f32[B]"}, "dropout v0 : f32[B]", []ir.Tensor{floats([]int{2}, 1)}, "has 1 elements, not 2"},
		{[]string{"f32[B]"}, "dropout v0 : f32[B]", nil, "0 arguments for 1"},
		{[]string{"i32[B, T]"}, "runs v0 {shape = [B, T]; expr = x0 < 2} : i32[B, T]", []ir.Tensor{ints([]int{2, 3}, 1, 2, 3, 4, 5, 6)}, "row 3 of 3 tokens"},
		{[]string{"f32[B, T, 1]", "f32[B, C, 1]"}, "append v0 v1 : f32[B, T, 1]",
			[]ir.Tensor{floats([]int{2, 3, 1}, 1, 2, 3, 4, 5, 6), floats([]int{2, 4, 1}, 1, 2, 3, 4, 5, 6, 7, 8)}, "rows 1 to 4 do not fit into 3"},
	}
	for _, c := range cases {
		f := irtest.Parse(t, function(c.params, c.line))
		_, err := ir.Eval(f, sizes, c.args)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s\n  gives %v\n  want  %s", c.line, err, c.want)
		}
	}
}

// TestDropout checks which random word each element uses, including the first example's
// number, and the value of a kept element.
func TestDropout(t *testing.T) {
	f := irtest.Parse(t, function([]string{"f32[B, T, 2]"}, "dropout v0 {rate = 0.25; stream = 9} : f32[B, T, 2]"))
	env := sizes
	env.Example = 40
	env.Rand = func(stream, example uint32, e int) uint32 {
		if stream != 9 {
			t.Errorf("stream %d", stream)
		}
		// Element 3 of example 40 and element 0 of example 41 are just below the
		// threshold 1<<30, all others at it.
		if example == 40 && e == 3 || example == 41 && e == 0 {
			return 1<<30 - 1
		}
		return 1 << 30
	}
	got := irtest.Eval(t, f, env, []ir.Tensor{floats([]int{2, 3, 2}, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1)})[0]
	k := float64(float32(1 / 0.75))
	if err := irtest.Same(got, floats([]int{2, 3, 2}, k, k, k, 0, k, k, 0, k, k, k, k, k), 0); err != nil {
		t.Errorf("%v in %v", err, got)
	}
}

func TestDropoutRate(t *testing.T) {
	f := irtest.Parse(t, "func f\nv0 = param x input : f32[B, 100, 100]\nv1 = dropout v0 {rate = 0.1; stream = 2} : f32[B, 100, 100]\nresult y v1\nend\n")
	env := ir.Env{Dims: map[string]int{"B": 2}, Seed: 7, Step: 3}
	x := ir.Tensor{Shape: []int{2, 100, 100}, F: make([]float64, 20000)}
	for i := range x.F {
		x.F[i] = 1
	}
	zeros := 0
	for _, y := range irtest.Eval(t, f, env, []ir.Tensor{x})[0].F {
		if y == 0 {
			zeros++
		}
	}
	if zeros < 1850 || zeros > 2150 {
		t.Errorf("%d of 20000 elements dropped at rate 0.1", zeros)
	}
}

func TestFLOPs(t *testing.T) {
	cases := []struct {
		params []string
		line   string
		want   float64
	}{
		{[]string{"f32[B, T, 5]", "f32[5, 7]"}, "matmul v0 v1 : f32[B, T, 7]", 2 * 2 * 3 * 5 * 7},
		{[]string{"f32[5, T]", "f32[5, 7]"}, "matmul v0 v1 {transa} : f32[T, 7]", 2 * 3 * 5 * 7},
		{[]string{"f32[B, T, 5]", "f32[B, T, 7]"}, "outer v0 v1 : f32[5, 7]", 2 * 2 * 3 * 5 * 7},
		{[]string{"f32[B, T]"}, "map v0 {expr = x0 * x0 + f32(d1 + 1)} : f32[B, T]", 6 * 3},
		{[]string{"f32[B, T]"}, "sum v0 {axes = 1} : f32[B]", 6},
		{[]string{"f32[B, T]"}, "dropout v0 {rate = 0.5} : f32[B, T]", 6},
		{[]string{"i32[B]", "f32[B, T]"}, "scatter v0 v1 {rows = 9} : f32[9, T]", 6},
		{[]string{"f32[B, T]"}, "reshape v0 {shape = [T, B]} : f32[T, B]", 0},
		{[]string{"f32[B, T]"}, "argmax v0 : i32[B]", 6 + 6},
	}
	for _, c := range cases {
		got, err := ir.FLOPs(irtest.Parse(t, function(c.params, c.line)), sizes)
		if err != nil || got != c.want {
			t.Errorf("%s: %v FLOP (%v), want %v", c.line, got, err, c.want)
		}
	}
}
