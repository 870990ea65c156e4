package ptx_test

import (
	"maps"
	"strconv"
	"strings"
	"testing"

	"github.com/arithlang/mlc/codegen/ptx"
	"github.com/arithlang/mlc/codegen/ptx/ptxtest"
	"github.com/arithlang/mlc/compiler/kernel"
	"github.com/arithlang/mlc/compiler/kernel/kerneltest"
)

// attending is an attention of two heads with a window, a table of biases and dropout.
const attending = `kernel attending attention
  in     q     bf16[B * T * WIDTH]
  in     k     bf16[B * S * WIDTH]
  in     table f32[2, T, S]
  in     v     bf16[B * S * WIDTH]
  out    y     bf16[B * T * WIDTH]
  out    z     f32[B * T * WIDTH]
  scalar B, T, S, P, example
  grid   b < B, h < 2, m < (T + 31) / 32
  op     c = q, k, v, _, table for b < B, h < 2, t < T, j < S, d < HEAD
  scale  0.25
  mask   j <= i + 2
  drop   0.1 stream 11
  with   y = bf16(c)
  with   z = c

  let    first = m * 32
  let    height = min(T - first, 32)
  tile   qs bf16[height, HEAD]
  tile   o f32[height, HEAD]
  let    count = max(min(S, max(P + first + 3, P + first + height + 2)), 0)
  tile   ks bf16[HEAD, count]
  tile   p f32[height, count]
  tile   biases f32[height, count]
  tile   bits u32[count]
  tile   pr bf16[height, count]
  tile   vs bf16[count, HEAD]
  let    queries = (b * T + first) * WIDTH + h * HEAD
  let    open = b * S * WIDTH + h * HEAD
  set    qs[a1, e] = q[queries + a1 * WIDTH + e]
  set    ks[a1, e] = k[open + e * WIDTH + a1]
  set    p[a1, e] = 0.0
  dot    p[a1, a2] += qs[a1, e] * ks[e, a2]
  set    biases[a1, e] = table[h, first + a1, e]
  set    p[a1, e] = where(e <= P + first + a1 + 2, p[a1, e] * 0.25 + biases[a1, e], -inf)
  for    r = 0 until height
    reduce largest = max(p[r, e])
    let    shift = where(largest == -inf, 0.0, largest)
    set    p[r, e] = exp(p[r, e] - shift)
    reduce total = sum(p[r, e])
    let    norm = where(0.0 < total, 1.0 / total, 0.0)
    random bits[count] = 11 of example + as_u32(b) from (h * T + (first + r)) * ((S + 3) / 4 * 4)
    set    p[r, e] = where(bits[e] < 0x1999999au, 0.0, p[r, e] * norm * 1.1111112)
  end
  set    pr[a1, e] = bf16(p[a1, e])
  set    vs[a1, e] = v[open + a1 * WIDTH + e]
  set    o[a1, e] = 0.0
  dot    o[a1, a2] += pr[a1, e] * vs[e, a2]
  set    y[queries + a1 * WIDTH + e] = bf16(o[a1, e])
  set    z[queries + a1 * WIDTH + e] = o[a1, e]
end
`

// TestAttention wants tensor cores for attention whose factors are BF16, and the bits that
// they give.
func TestAttention(t *testing.T) {
	var ks []*kernel.Kernel
	for _, c := range []struct {
		name          string
		head          int
		from, to, why string
	}{
		{"as_it_is", 16, "-", "-", ""},
		{"heads_of_32", 32, "-", "-", ""},
		{"heads_of_64", 64, "-", "-", ""},
		{"heads_of_128", 128, "-", "-", ""},
	} {
		text := strings.Replace(attending, "kernel attending", "kernel "+c.name, 1)
		text = strings.NewReplacer("WIDTH", strconv.Itoa(2*c.head), "HEAD", strconv.Itoa(c.head), c.from, c.to).Replace(text)
		k := parsed(t, text)
		choice := ptx.Choose(k, ptx.Options{Aligned: always})
		if got := unfit(choice, "attention"); got != c.why || (choice.Name == "attention") != (c.why == "") {
			t.Errorf("%s: %s, since %q, want %q\n%s", c.name, choice.Name, got, c.why, choice.Flat)
		}
		ks = append(ks, k)
	}
	long := maps.Clone(kerneltest.Launches()[1])
	long["B"], long["T"], long["S"], long["P"] = 2, 67, 261, 150
	more := maps.Clone(long)
	more["B"], more["T"], more["S"], more["P"] = 1, 33, 128, 90
	ptxtest.Compare(t, ks, ptx.Options{Aligned: always}, *all, append(ptxtest.Launches(), long, more)...)
}
