package flat

import (
	"os"
	"strings"
	"testing"

	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/kernel"
)

// whole is a valid kernel that has every node; broken ones differ in one place.
const entire = `flat entire row // spec.arith:1:2
  in     x f32[N, 8]
  in     w f32[8, 4]
  in     ids i32[N]
  inout  y f32[N, 4]
  out    z f32[N]
  scalar N, scale, example
  grid   g < N

  tile   t f32[4 * 8]
  tile   r u32[8]
  tile   own f32[8]
cells
  let    k = min(8, N)
  var    v f32 = 0.0
  var    u f32
  fill   u = v + scale
  set    v = u
  fill   t[16] = 1.0
  random r[k] = 3 of example from g * 8
  dot    y[g * 4; 4, 1] = x[g * 8; 8, 1] * w[0; 4, 1] for 1, 4, 8; most 1, 4
  dot    y[g * 4; 4, 1] += x[g * 8; 8, 1] * w[0; 4, 1] for 1, 4, 8
  dot    v += x[g * 8; 0, 1] * x[g * 8; 1, 0] for 8
  reduce s = max(x[g * 8 + e]) for e < 8
  for    i = 0 until k; apart with own
    fill   own[8] = 0.5
    set    t[i] = own[i] + t[i]
  end
  for    i = 1 until 3
    if     ids[g] < i
      set    t[i * 4 + j] = f32(i * j) for j < 4
    end
  end
  set    z[g] = s + u
end
`

// TestVerify breaks a kernel in one place a case, and wants a message of its own.
func TestVerify(t *testing.T) {
	if _, err := verified(t, "", ""); err != nil {
		t.Fatal(err)
	}
	seen := map[string]string{}
	for _, c := range []struct{ from, to, want string }{
		{"entire row", "entire thing", `no kind is called "thing"`},
		{"scalar N, scale, example", "scalar N, scale, example, N", "N is declared twice"},
		{"tile   t f32[4 * 8]", "let    t = 1\ntile t f32[4]", "let t = 1: before the cells there are only tiles"},
		{"tile   t f32[4 * 8]", "var    t f32", "var t f32: before the cells there are only tiles"},
		{"tile   t f32[4 * 8]", "tile   b bool[4 * 8]\ntile t f32[32]", "a tile holds no bool"},
		{"tile   t f32[4 * 8]", "tile   t f32[scale]", "size: scale is f32, not i32"},
		{"tile   t f32[4 * 8]", "tile   t f32[ids[0]]", "size: it depends on ids[0]"},
		{"tile   own f32[8]", "tile   own f32[8]\ntile t f32[8]", "t is already in use"},
		{"tile   own f32[8]", "tile   own f32[8]\ntile g f32[8]", "grid: g is already in use"},
		{"let    k = min(8, N)", "let    k = 8\nlet N = 8", "N is already in use"},
		{"let    k = min(8, N)", "let    k = 8\nlet for = 8", `"for" is no valid name`},
		{"let    k = min(8, N)", "let    k = N + as_i32(r[0])", "tile r is read before anything is written to it"},
		{"let    k = min(8, N)", "var    k i32", "variable k is read before anything is written to it"},
		{"fill   u = v + scale", "fill   u = v + t", "t is a tile, which has elements"},
		{"fill   u = v + scale", "fill   u = v[0]", "v is a variable, which has no elements"},
		{"fill   u = v + scale", "fill   u = z[g]", "buffer z is written only"},
		{"fill   u = v + scale", "fill   u = 1", "value: 1 is i32, not f32"},
		{"fill   u = v + scale", "fill   k = 1", "k is a scalar, which it cannot write"},
		{"fill   u = v + scale", "fill   t = 1.0", "t is a tile, which it cannot write"},
		{"fill   t[16] = 1.0", "fill   t[16] = x[g, 0]", "x[g, 0] has 2 indices; flat elements have one"},
		{"fill   t[16] = 1.0", "fill   t[ids[g]] = 1.0", "size: it depends on ids[g]"},
		{"fill   t[16] = 1.0", "fill   x[16] = 1.0", "x is a buffer, which it cannot write"},
		{"random r[k] = 3 of", "random t[k] = 3 of", "random words go to a tile of u32, not f32"},
		{"random r[k] = 3 of", "random r[k] = 65280 of", "stream 65280 is above"},
		{"random r[k] = 3 of example from g * 8", "random r[k] = 3 of g from g * 8", "example: g is i32, not u32"},
		{"random r[k] = 3 of example from g * 8", "random r[k] = 3 of example from example", "base: example is u32, not i32"},
		{"dot    v += x", "dot    v = x", "a product of one value is added to it"},
		{"dot    v += x", "dot    s += x", "result: s is not known here"},
		{"+= x[g * 8; 8, 1] * w", "+= x[g * 8; 8, 1] * y", "y is written while it is read"},
		{"+= x[g * 8; 8, 1] * w", "+= x[g * 8; 0 - 8, 1] * w", ""},
		{"+= x[g * 8; 8, 1] * w", "+= x[g * 8; -8, 1] * w", "stride of x: it is -8"},
		{"+= x[g * 8; 8, 1] * w", "+= x[g * 8; 8, ids[0]] * w", "stride of x: it depends on ids[0]"},
		{"+= x[g * 8; 8, 1] * w", "+= x[scale; 8, 1] * w", "offset of x: scale is f32, not i32"},
		{"+= x[g * 8; 8, 1] * w", "+= ids[g * 8; 8, 1] * w", "buffer ids is i32, not f32"},
		{"+= x[g * 8; 8, 1] * w", "+= k[g * 8; 8, 1] * w", "k is a scalar, which has no elements"},
		{"+= x[g * 8; 8, 1] * w", "+= own[g * 8; 8, 1] * w", "tile own is read before anything is written to it"},
		{"dot    y[g * 4; 4, 1] +=", "dot    y[g * 4; 4, 2] +=", "the columns of y do not lie side by side"},
		{"dot    y[g * 4; 4, 1] +=", "dot    w[g * 4; 4, 1] +=", "w is written while it is read"},
		{"dot    y[g * 4; 4, 1] +=", "dot    z[g * 4; 4, 1] +=", "buffer z is written only"},
		{"most 1, 4", "most 1, -4", "a bound is negative"},
		{"for 1, 4, 8; most", "for 1, 4, ids[0]; most", "length of the sums: it depends on ids[0]"},
		{"for 1, 4, 8; most", "for ids[0], 4, 8; most", "size: it depends on ids[0]"},
		{"for e < 8", "for e < 8.0", "axis e: 8.0 is f32, not i32"},
		{"for e < 8", "for e < 8, s < 8", "a reduction runs over one axis, not 2"},
		{"max(x[g * 8 + e])", "max(e)", "value: e is i32, not f32"},
		{"reduce s =", "reduce s = sum(u) for e < 2\nreduce s =", "s is already in use"},
		{"until k; apart with own", "until k; apart with x", "x is a buffer, which no turn can have for itself"},
		{"until k; apart with own", "until k; apart with none", "no tile or variable is called none"},
		{"    fill   own[8] = 0.5", "    dot    v += x[0; 0, 1] * x[0; 1, 0] for 8", "all threads of a block compute a product"},
		{"own[i] + t[i]", "own[i] + t[i + 1]", "it reads t[i + 1], but of t it may read only what it sets"},
		{"for    i = 1 until 3", "for    i = 1 until scale", "end: scale is f32, not i32"},
		{"for    i = 1 until 3", "for    i = scale until 3", "first: scale is f32, not i32"},
		{"for    i = 1 until 3", "for    k = 1 until 3\nend\nfor i = 1 until 3", "k is already in use"},
		{"if     ids[g] < i", "if     ids[g]", "condition: ids[g] is i32, not bool"},
		{"t[i * 4 + j] = f32(i * j) for j < 4", "t[i * 4 + j] = f32(i * j) for j < 4, h < 2", "axis h does not move what is set"},
		{"t[i * 4 + j] = f32(i * j) for j < 4", "t[i * 4 + j] = f32(i * j) for j < 4, i < 2", "i is already in use"},
		{"t[i * 4 + j] = f32(i * j) for j < 4", "v = f32(i * j) for j < 4", "a variable has no elements for axes"},
		{"t[i * 4 + j] = f32(i * j) for j < 4", "1.0 = f32(i * j) for j < 4", "1.0 is nothing that can be set"},
		{"set    z[g] = s + u", "set    x[g] = s + u", "buffer x is read only"},
		{"set    z[g] = s + u", "set    y[g] = s + u", "no node writes z"},
		{"set    z[g] = s + u", "set    z[g] = f32(i)", "unknown name i"},
	} {
		k, err := verified(t, c.from, c.to)
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%q: %v", c.to, err)
		case c.want == "":
		case err == nil:
			t.Errorf("%q is accepted:\n%s", c.to, k)
		case !strings.Contains(err.Error(), c.want):
			t.Errorf("%q: %v, want %s", c.to, err, c.want)
		case seen[err.Error()] != "":
			t.Errorf("%q is told as %q is: %v", c.to, seen[err.Error()], err)
		}
		if err != nil {
			seen[err.Error()] = c.to
		}
	}
}

// verified is the entire kernel with one change.
func verified(t *testing.T, from, to string) (Kernel, error) {
	t.Helper()
	if !strings.Contains(entire, from) {
		t.Fatalf("the kernel has no %q", from)
	}
	text := strings.Replace(entire, from, to, 1)
	ks, err := Parse(text)
	if err != nil {
		return Kernel{}, err
	}
	return ks[0], Verify(ks[0])
}

// TestVerifyMade breaks kernels in ways that no text has.
func TestVerifyMade(t *testing.T) {
	for _, c := range []struct {
		node Node
		want string
	}{
		{&Let{Name: "a"}, "let a = ?: it has no value"},
		{&Alloc{Name: "a", Type: expr.F32, Size: expr.Int(1), Value: expr.F(1)}, "a tile has no first value"},
		{&Assign{Value: expr.F(1)}, "set ? = 1.0: it sets nothing"},
		{&Fill{Dst: "v"}, "value: there is no expression"},
		{&Fill{Dst: "q", Value: expr.F(1)}, "no tile or variable is called q"},
		{&Assign{Dst: expr.NewVar("v", expr.I32), Value: expr.Int(1)}, "v is f32, not i32"},
		{&Assign{Dst: expr.NewElem("z", expr.I32, expr.Int(0)), Value: expr.Int(1)}, "buffer z is f32, not i32"},
		{&Let{Name: "a", Value: expr.NewVar("N", expr.U32)}, "N is i32, not u32"},
		{&Let{Name: "a", Value: expr.NewElem("q", expr.F32, expr.Int(0))}, "no tile or buffer is called q"},
		{&Reduce{Name: "a", Op: expr.Mul, Axis: kernel.Axis{Var: "e", Size: expr.Int(1)}, Value: expr.F(1)}, "* is no reduction"},
		{&Dot{M: expr.Int(1), K: expr.Int(1), A: one("x"), B: one("w"), C: one("v")}, "it has rows or columns, but not both"},
		{&Loop{Name: "i", Lo: expr.Int(0), Hi: expr.Int(1), Own: map[string]bool{"t": true}}, "its turns follow one another, but have tiles of their own"},
		{&Branch{Cond: &expr.Expr{Op: expr.Not, Type: expr.Bool, Args: []*expr.Expr{expr.F(1)}}}, "condition: ! wants"},
	} {
		k, err := verified(t, "", "")
		if err != nil {
			t.Fatal(err)
		}
		k.Body = append(k.Body, c.node)
		if err := Verify(k); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", Describe(c.node), err, c.want)
		}
	}
}

// FuzzParse looks for texts that are read, but not from what they print, and for
// those that no reader can bear.
func FuzzParse(f *testing.F) {
	f.Add(entire)
	for _, path := range []string{"families", "corners", "leaves", "positions", "attention"} {
		text, err := os.ReadFile("../cpu/testdata/" + path + ".txtar")
		if err != nil {
			f.Fatal(err)
		}
		kir, _, _ := strings.Cut(strings.SplitN(string(text), "--\n", 2)[1], "\n-- ")
		ks, err := kernel.Parse(kir)
		if err != nil {
			f.Fatal(err)
		}
		for _, k := range ks {
			f.Add(Of(k, Processor()).String())
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		ks, err := Parse(text)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "line ") {
				t.Errorf("%v names no line", err)
			}
			return
		}
		for _, k := range ks {
			if Verify(k) != nil {
				return
			}
		}
		again, err := Parse(Format(ks))
		if err != nil || Format(again) != Format(ks) {
			t.Errorf("%v in\n%s", err, Format(ks))
		}
	})
}
