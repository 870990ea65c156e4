package flat

import (
	"strings"
	"testing"

	"github.com/arithlang/mlc/compiler/kernel"
)

// TestOwnRows makes elements hang on a cell, one by one.
func TestOwnRows(t *testing.T) {
	const text = `kernel some attention
  in     q     f32[B * T * 64]
  in     k     f32[B * T * 64]
  in     table f32[2, T, T]
  in     v     f32[B * T * 64]
  out    y     f32[B * T * 64]
  scalar B, T, P, example
  grid   b < B, h < 2, m < (T + 31) / 32

  let    first = m * 32
  let    height = min(T - first, 32)
  tile   qs f32[height, 32]
  tile   o f32[height, 32]
  let    count = max(min(T, max(P + first + 3, P + first + height + 2)), 0)
  tile   ks f32[32, count]
  tile   p f32[height, count]
  tile   bits u32[count]
  tile   vs f32[count, 32]
  let    queries = (b * T + first) * 64 + h * 32
  let    open = b * T * 64 + h * 32
  set    qs[a1, e] = q[queries + a1 * 64 + e]
  set    ks[a1, e] = k[open + e * 64 + a1]
  dot    p[a1, a2] = qs[a1, e] * ks[e, a2]
  set    p[a1, e] = where(e <= P + first + a1 + 2, p[a1, e] * 0.25 + table[h, first + a1, e], -inf)
  for    r = 0 until height
    reduce largest = max(p[r, e])
    let    row = first + r
    random bits[count] = 11 of example + as_u32(b) from (h * T + (first + r)) * ((T + 3) / 4 * 4)
    set    p[r, e] = where(bits[e] < 7u, 0.0, p[r, e] - largest + f32(row))
  end
  set    vs[a1, e] = v[open + a1 * 64 + e]
  dot    o[a1, a2] = p[a1, e] * vs[e, a2]
  set    y[queries + a1 * 64 + e] = o[a1, e]
end
`
	for _, c := range []struct {
		name, from, to string
		want           bool
	}{
		{"none", "", "", true},
		{"the number of rows", "p[a1, e] * 0.25", "p[a1, e] * f32(height)", false},
		{"the number of keys", "p[a1, e] * 0.25", "p[a1, e] * f32(count)", false},
		{"a row of the cell", "p[a1, e] * 0.25", "p[a1, e] * f32(a1)", false},
		{"the first row", "e <= P + first + a1 + 2", "e <= P + first", false},
		{"rows the other way", "e <= P + first + a1 + 2", "e <= P + first - a1", false},
		{"a let of a row", "f32(row)", "f32(row * 2)", true},
		{"a let of the cell", "f32(row)", "f32(row - first)", false},
		{"random words", "(h * T + (first + r))", "(h * T + r)", false},
		{"a reduction", "max(p[r, e])", "max(p[r, e] + f32(height))", false},
		{"where keys begin", "k[open +", "k[queries +", false},
		{"where values begin", "v[open +", "v[queries +", false},
		{"results", "y[queries + a1 * 64 + e]", "y[queries + (height - 1 - a1) * 64 + e]", false},
	} {
		ks, err := kernel.Parse(strings.Replace(text, c.from, c.to, 1))
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		for form, k := range map[string]*kernel.Kernel{"as it is": ks[0], "flat": Of(ks[0], Processor())} {
			if _, ok := AttentionCells(k); ok != c.want {
				t.Errorf("%s, %s: %v, want %v", c.name, form, ok, c.want)
			}
		}
	}
}
