package ptx_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/arithlang/mlc/codegen/ptx"
	"github.com/arithlang/mlc/codegen/ptx/ptxtest"
	"github.com/arithlang/mlc/compiler/kernel"
	"github.com/arithlang/mlc/compiler/kernel/kerneltest"
	"github.com/arithlang/mlc/internal/full"
)

// cached is an attention with relative scores. Its keys are a cache of C rows, P of them before
// its own.
const cached = `kernel cached attention
  in     q        bf16[R * 32]
  in     k        bf16[B * C * 32]
  in     relative f32[R * 18]
  in     v        bf16[B * C * 32]
  out    y        bf16[R * 32]
  scalar B, T, R, C, P
  grid   b < B, h < 2
  span   first, height of T

  tile   qs bf16[height, 16]
  tile   distances f32[height, 9]
  tile   o f32[height, 16]
  let    count = max(min(C, max(P + first + 1, P + first + height)), 0)
  tile   ks bf16[16, count]
  tile   p f32[height, count]
  tile   pr bf16[height, count]
  tile   vs bf16[count, 16]
  let    queries = (b * T + first) * 32 + h * 16
  let    open = b * C * 32 + h * 16
  set    qs[a1, e] = q[queries + a1 * 32 + e]
  set    ks[a1, e] = k[open + e * 32 + a1]
  set    p[a1, e] = 0.0
  dot    p[a1, a2] += qs[a1, e] * ks[e, a2]
  set    distances[a1, e] = relative[((b * T + (first + a1)) * 2 + h) * 9 + e]
  set    p[a1, e] = where(e <= P + first + a1, (p[a1, e] + distances[a1, min(max(e - (P + first + a1) + 4, 0), 8)]) * 0.125, -inf)
  for    r = 0 until height
    reduce largest = max(p[r, e])
    let    shift = where(largest == -inf, 0.0, largest)
    set    p[r, e] = exp(p[r, e] - shift)
    reduce total = sum(p[r, e])
    let    norm = where(0.0 < total, 1.0 / total, 0.0)
    set    p[r, e] = p[r, e] * norm
  end
  set    pr[a1, e] = bf16(p[a1, e])
  set    vs[a1, e] = v[open + a1 * 32 + e]
  set    o[a1, e] = 0.0
  dot    o[a1, a2] += pr[a1, e] * vs[e, a2]
  set    y[queries + a1 * 32 + e] = bf16(o[a1, e])
end
`

// packed is the kernel cached without a cache, on examples of different lengths.
var packed = strings.NewReplacer(
	"kernel cached", "kernel packed", "B * C", "R", "R, C, P", "R, P", "j < C", "j < T", "b * T", "start", "b * C", "start",
	"  out    y", "  in     example_length i32[B]\n  in     example_start i32[B]\n  out    y",
	"  span   first, height of T", "  span   first, height of T",
	"  tile   qs bf16[height, 16]", `  let    rows = min(example_length[b], T)
  let    start = example_start[b]
  let    own_first = where(first < rows, first, 0)
  let    own_height = min(height, where(first < rows, rows - first, 0))
  tile   qs bf16[own_height, 16]`,
	"max(min(C, max(P + first + 1, P + first + height)), 0)", "where(0 < own_height, max(min(rows, max(P + own_first + 1, P + own_first + own_height)), 0), 0)",
	"first", "own_first", "height", "own_height",
).Replace(cached)

// TestAttentionRelative wants tensor cores for attention with relative scores, with a cache and
// with packed rows. It compares the bits.
func TestAttentionRelative(t *testing.T) {
	var ks []*kernel.Kernel
	for _, text := range []string{cached, packed} {
		k := parsed(t, text)
		if choice := ptx.Choose(k, ptx.Options{Aligned: always}); choice.Name != "attention" {
			t.Errorf("%s: %s, since %q", k.Name, choice.Name, choice.Unfit)
		}
		ks = append(ks, k)
	}
	long := maps.Clone(kerneltest.Launches()[1])
	long["B"], long["T"], long["C"], long["P"] = 2, 17, 155, 133
	alone := maps.Clone(long)
	alone["B"], alone["T"], alone["C"], alone["P"] = 1, 137, 137, 0
	o := ptx.Options{Aligned: always}
	ptxtest.Compare(t, ks, o, *all, append(full.Some(attended(2), 1), long, alone)...)
}
