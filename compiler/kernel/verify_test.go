package kernel

import (
	"strings"
	"testing"
)

// entire is a valid kernel that has every statement; broken ones differ in one place.
const entire = `kernel entire row // spec.arith:1:2
  in     x f32[N * 8]
  in     w f32[8, 4]
  in     ids i32[N]
  in     b bf16[N * 8]
  inout  y f32[N * 4]
  out    z f32[N]
  out    half f16[N]
  scalar N, scale, example
  grid   g < N

  once
    tile   t f32[4 * 8]
    tile   r u32[8]
    tile   own f32[8]
  end
  let    k = min(8, N)
  var    v f32 = 0.0
  var    u f32
  set    u = v + scale
  set    v = u
  set    t[e] = 1.0 for e < 16
  random r[k] = 3 of example from g * 8
  dot    y[g * 4 + m * 4 + n] = x[g * 8 + m * 8 + d] * w[d, n] for m < 1, n < 4, d < 8; most 1, 4
  dot    y[g * 4 + m * 4 + n] += x[g * 8 + m * 8 + d] * w[d, n] for m < 1, n < 4, d < 8
  dot    v += x[g * 8 + d] * x[g * 8 + d] for d < 8
  dot    v += b[g * 8 + d] * b[d] for d < 8
  set    half[g] = f16(f32(b[g]))
  reduce s = max(x[g * 8 + e]) for e < 8
  for    i = 0 until k; independent with own
    set    own[e] = 0.5
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

// TestVerify breaks a kernel in one place per case, and wants a specific message.
func TestVerify(t *testing.T) {
	if _, err := verified(t, "", ""); err != nil {
		t.Fatal(err)
	}
	seen := map[string]string{}
	for _, c := range []struct{ from, to, want string }{
		{"entire row", "entire thing", `no kind is called "thing"`},
		{"scalar N, scale, example", "scalar N, scale, example, N", "N is already in use"},
		{"    tile   t f32[4 * 8]", "let    t = 1\ntile t f32[4]", "let t = 1: once for all cells there are only tiles"},
		{"    tile   t f32[4 * 8]", "var    t f32", "var t f32: once for all cells there are only tiles"},
		{"    tile   t f32[4 * 8]", "tile   q bool[4 * 8]\ntile t f32[32]", "a tile holds no bool"},
		{"    tile   t f32[4 * 8]", "tile   q f32[]\ntile t f32[32]", "a tile has an extent"},
		{"    tile   t f32[4 * 8]", "tile   t f32[scale]", "extent: scale is f32, not i32"},
		{"    tile   t f32[4 * 8]", "tile   t f32[ids[0]]", "extent: its size depends on ids[0]"},
		{"    tile   own f32[8]", "tile   own f32[8]\ntile t f32[8]", "there are two tiles of this name"},
		{"grid   g < N", "grid   g < N, own < 2", "own is already in use"},
		{"let    k = min(8, N)", "let    k = 8\nlet N = 8", "let N = 8: N is already in use"},
		{"let    k = min(8, N)", "let    k = 8\nlet lr = 8", "let lr = 8: lr is the name of a scalar"},
		{"let    k = min(8, N)", "let    k = 8\nlet for = 8", `"for" is no valid name`},
		{"let    k = min(8, N)", "let    k = N + as_i32(r[0])", "tile r is read before anything is written to it"},
		{"let    k = min(8, N)", "var    k i32", "variable k is read before anything is written to it"},
		{"set    u = v + scale", "set    u = v + t", "t is a tile, which has elements"},
		{"set    u = v + scale", "set    u = v[0]", "v is a variable, which has no elements"},
		{"set    u = v + scale", "set    u = z[g]", "buffer z is written only"},
		{"set    u = v + scale", "set    u = 1", "value: 1 is i32, not f32"},
		{"set    u = v + scale", "set    k = 1", "k is a scalar, which it cannot write"},
		{"set    u = v + scale", "set    t = 1.0", "t is a tile, which it cannot write"},
		{"t[e] = 1.0 for e < 16", "t[e] = x[g, e] for e < 16", "buffer x has rank 1, not 2"},
		{"t[e] = 1.0 for e < 16", "x[e] = 1.0 for e < 16", "buffer x is read only"},
		{"random r[k] = 3 of", "random r[ids[g]] = 3 of", "size: its size depends on ids[g]"},
		{"random r[k] = 3 of", "random t[k] = 3 of", "random words go to a tile of u32 and rank 1, not f32"},
		{"random r[k] = 3 of", "random r[k] = 65280 of", "stream 65280 is above"},
		{"random r[k] = 3 of example from g * 8", "random r[k] = 3 of g from g * 8", "example: g is i32, not u32"},
		{"random r[k] = 3 of example from g * 8", "random r[k] = 3 of example from example", "base: example is u32, not i32"},
		{"dot    v += x", "dot    v = x", "a product of one value is added to it"},
		{"dot    v += x", "dot    k += x", "k is i32, not f32"},
		{"dot    v += x[g * 8 + d] * x[g * 8 + d] for d < 8", "dot    v += x[g * 8 + d] * x[g * 8 + m] for d < 8, m < 2", "it wants the axes of rows, columns and the sum"},
		{"+= x[g * 8 + m * 8 + d] * w[d, n]", "+= x[g * 8 + m * 8 + d] * y[d * 4 + n]", "y is written while it is read"},
		{"+= x[g * 8 + m * 8 + d] * w", "+= x[g * 8 + m * 8 - d] * w", "index 0 of x falls with d"},
		{"+= x[g * 8 + m * 8 + d] * w", "+= x[g * 8 + m * m + d] * w", "x[g * 8 + m * m + d] * w[d, n] for m < 1, n < 4, d < 8: index 0 of x is not linear in m"},
		{"+= x[g * 8 + m * 8 + d] * w", "+= x[g * 8 + m * 8 + d + n] * w", "has the axis n, which it must not"},
		{"+= x[g * 8 + m * 8 + d] * w", "+= x[g * 8 + m * n + d] * w", "index 0 of x is not linear in m"},
		{"+= x[g * 8 + m * 8 + d] * w", "+= x[ids[m] + d] * w", "is not linear in m"},
		{"+= x[g * 8 + m * 8 + d] * w", "+= ids[g * 8 + d] * w", "operand: ids[g * 8 + d] is i32, not f32"},
		{"+= x[g * 8 + m * 8 + d] * w", "+= k * w", "k is no element"},
		{"+= x[g * 8 + m * 8 + d] * w", "+= own[m * 8 + d] * w", "tile own is read before anything is written to it"},
		{"dot    y[g * 4 + m * 4 + n] +=", "dot    y[g * 4 + m * 4 + n * 2] +=", "the columns of y do not lie side by side"},
		{"dot    y[g * 4 + m * 4 + n] =", "dot    r[m + n] =", "result: r[m + n] is u32, not f32"},
		{"dot    y[g * 4 + m * 4 + n] +=", "dot    w[m, n] +=", "w is written while it is read"},
		{"dot    y[g * 4 + m * 4 + n] +=", "dot    z[m * 4 + n] +=", "result: buffer z is written only"},
		{"dot    y[g * 4 + m * 4 + n] +=", "dot    y[ids[g] + m * 4 + n] +=", ""},
		{"most 1, 4", "most 1, -4", "a bound is negative"},
		{"b[g * 8 + d] * b[d]", "b[g * 8 + d] * x[d]", "its factors are bf16 and f32"},
		{"dot    y[g * 4 + m * 4 + n] +=", "dot    half[m * 4 + n] =", "result: half[m * 4 + n] is f16, not f32"},
		{"var    u f32", "var    u f32\nvar o f16", "f16 is a type of elements alone"},
		{"let    k = min(8, N)", "let    k = min(8, N)\nlet o = b[g]", "bf16 is a type of elements alone"},
		{"half[g] = f16(f32(b[g]))", "half[g] = b[g]", "value: b[g] is bf16, not f16"},
		{"half[g] = f16(f32(b[g]))", "z[g] = b[g]", "value: b[g] is bf16, not f32"},
		{"max(x[g * 8 + e])", "max(b[e])", "value: b[e] is bf16, not f32"},
		{"d < 8; most", "d < ids[0]; most", "axis d: its size depends on ids[0]"},
		{"s = max(x[g * 8 + e]) for e < 8", "s = max(x[g * 8 + e]) for e < 8.0", "axis e: 8.0 is f32, not i32"},
		{"s = max(x[g * 8 + e]) for e < 8", "s = max(x[g * 8 + e]) for e < 8, s < 8", "a reduction runs over one axis, not 2"},
		{"max(x[g * 8 + e])", "max(e)", "value: e is i32, not f32"},
		{"reduce s =", "reduce s = sum(u) for e < 2\nreduce s =", "s is already in use"},
		{"until k; independent with own", "until k; independent with x", "x is a buffer, which no iteration can have for itself"},
		{"until k; independent with own", "until k; independent with none", "no tile or variable is called none"},
		{"    set    own[e] = 0.5", "    dot    v += x[d] * x[d] for d < 8", "all threads of a block compute a product"},
		{"own[i] + t[i]", "own[i] + t[i + 1]", "it reads t[i + 1], but of t it may read only t[i]"},
		{"for    i = 1 until 3", "for    i = 1 until scale", "end: scale is f32, not i32"},
		{"for    i = 1 until 3", "for    i = scale until 3", "first: scale is f32, not i32"},
		{"for    i = 1 until 3", "for    k = 1 until 3\nend\nfor i = 1 until 3", "for k = 1 until 3: k is already in use"},
		{"if     ids[g] < i", "if     ids[g]", "condition: ids[g] is i32, not bool"},
		{"t[i * 4 + j] = f32(i * j) for j < 4", "t[i * 4 + j] = f32(i * j) for j < 4, h < 2", "axis h does not appear in the index of t"},
		{"t[i * 4 + j] = f32(i * j) for j < 4", "t[i * 4 + j] = f32(i * j) for j < 4, i < 2", "i is already in use"},
		{"t[i * 4 + j] = f32(i * j) for j < 4", "v = f32(i * j) for j < 4", "a variable has no elements for axes"},
		{"set    z[g] = s + u", "set    x[g] = s + u", "set x[g] = s + u: buffer x is read only"},
		{"set    z[g] = s + u", "set    y[g] = s + u", "no statement writes z"},
		{"set    z[g] = s + u", "set    z[g] = f32(q)", "q is not known here"},
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

// verified returns the entire kernel with one change.
func verified(t *testing.T, from, to string) (*Kernel, error) {
	t.Helper()
	if !strings.Contains(entire, from) {
		t.Fatalf("the kernel has no %q", from)
	}
	text := strings.Replace(entire, from, to, 1)
	ks, err := Parse(text)
	if err != nil {
		return nil, err
	}
	return ks[0], Verify(ks[0])
}

// TestIndependentIsReversed wants the last iteration of an independent loop to run first.
func TestIndependentIsReversed(t *testing.T) {
	for clause, want := range map[string]float32{"": 3, "; independent": 0} {
		ks, err := Parse("kernel k row\nout y f32[1]\nonce\ntile t f32[1]\nend\nfor i = 0 until 4" + clause +
			"\nset t[0] = f32(i)\nend\nset y[0] = t[0]\nend")
		if err != nil {
			t.Fatal(err)
		}
		y := []float32{-1}
		if err := Run(ks[0], nil, []Buffer{{F: y}}); err != nil || y[0] != want {
			t.Errorf("%q: %v, %v, want %v", clause, err, y[0], want)
		}
	}
}
