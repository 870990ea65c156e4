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
	"github.com/arithlang/mlc/internal/full"
)

// relative turns grading into the gradient of an attention with relative scores, of distances up
// to CLIP.
var relative = strings.NewReplacer(
	"in     table f32[2, T, T]", "in     relative f32[B * T * 2 * SPANS]\n  out    drelative f32[B * T * 2 * SPANS]\n  out    drelative2 bf16[B * T * 2 * SPANS]",
	"op     dq, dk, dv = q, k, v, dout, largest_, norm_, y, _, table for b < B, h < 2, t < T, j < T, d < HEAD", "op     dq, dk, dv, drelative = q, k, v, dout, largest_, norm_, y, relative for b < B, h < 2, t < T, j < T, d < HEAD, n < SPANS",
	"  with   dq2 = bf16(dq)", "  with   dq2 = bf16(dq)\n  with   drelative2 = bf16(drelative)",
	"  tile   dk_ f32[T, HEAD]", "  tile   dk_ f32[T, HEAD]\n  tile   apart f32[SPANS]",
	"tile   biases f32[height, count]", "tile   distances f32[height, SPANS]",
	"set    biases[a1, e] = table[h, first + a1, e]", "set    distances[a1, e] = relative[((b * T + (first + a1)) * 2 + h) * SPANS + e]",
	"p[a1, e] * 0.25 + biases[a1, e]", "(p[a1, e] + distances[a1, min(max(e - (P + first + a1) + CLIP, 0), 2 * CLIP)]) * 0.25",
	"* (ds[r, e] - delta) * 0.25\n", `* (ds[r, e] - delta) * 0.25
      set    apart[e] = 0.0
      let    lead = CLIP - (P + first + r)
      let    near = min(max(lead, 1), 2 * CLIP)
      let    far = min(lead + count, 2 * CLIP)
      if     near < far
        set    apart[near + e] = ds[r, near + e - lead] for e < max(far - near, 0)
      end
      reduce end0 = sum(where(min(max(e - (P + first + r) + CLIP, 0), 2 * CLIP) == 0, ds[r, e], 0.0))
      set    apart[0] = end0
      reduce end1 = sum(where(min(max(e - (P + first + r) + CLIP, 0), 2 * CLIP) == 2 * CLIP, ds[r, e], 0.0))
      set    apart[2 * CLIP] = end1
      let    drow = ((b * T + (first + r)) * 2 + h) * SPANS
      set    drelative[drow + e] = apart[e]
      set    drelative2[drow + e] = bf16(apart[e])
`)

// relativeOf returns the text of this gradient with heads of this width.
func relativeOf(name string, head, clip int) string {
	text := strings.NewReplacer("2 * CLIP", strconv.Itoa(2*clip), "CLIP", strconv.Itoa(clip), "SPANS", strconv.Itoa(2*clip+1)).Replace(relative.Replace(grading))
	return gradingOf(text, name, head)
}

// TestAttentionRelativeGrad wants tensor cores for gradients of attention with relative scores.
// The gradients of relative scores are stored by key; without a key they are 0.
func TestAttentionRelativeGrad(t *testing.T) {
	var ks []*kernel.Kernel
	for _, c := range []struct {
		name          string
		head, clip    int
		from, to, why string
	}{
		{"near", 16, 2, "", "", ""},
		{"far", 32, 20, "", "", ""},
		{"to_both_sides", 16, 3, "where(e <= P + first + a1, (", "where(e <= P + first + a1 && P + first + a1 < e + 7, (", ""},
		{"apart", 16, 2, "set    apart[near + e]", "set    apart[near + 2*e]", "a row sets places apart"},
		{"of_others", 16, 2, "ds[r, near + e - lead]", "ds[r, near + 2*e - lead]", "a row writes other than a tile of its own"},
		{"if_written", 16, 2, "set    apart[near + e] = ds[r, near + e - lead] for e < max(far - near, 0)", "set    drelative[((b * T + (first + r)) * 2 + h) * 5 + e] = 0.0 for e < 5", "rows have loops or conditions"},
		{"of_more", 16, 2, "      set    apart[0] = end0", "      set    ds[r, e] = ds[r, e] * 2.0\n      set    apart[0] = end0", "a row writes other than a tile of its own"},
		{"of_less", 16, 2, "      set    drelative[", "      set    ds[r, e] = ds[r, e] * 2.0\n      set    drelative[", "a row writes other than a tile of its own"},
		{"at_its_end", 16, 2, "drelative[drow + e] = apart[e]", "drelative[drow + e] = apart[4 - e] for e < 5", "a row writes other than a tile of its own"},
	} {
		text := relativeOf("relative_"+c.name, c.head, c.clip)
		if !strings.Contains(text, c.from) {
			t.Fatalf("%s: no %q in\n%s", c.name, c.from, text)
		}
		k := parsed(t, strings.Replace(text, c.from, c.to, 1))
		choice := ptx.Choose(k, ptx.Options{Aligned: always})
		if got := unfit(choice, "attention_grad"); got != c.why || (choice.Name == "attention_grad") != (c.why == "") {
			t.Errorf("%s: %s, since %q, want %q\n%s", c.name, choice.Name, got, c.why, choice.Flat)
		}
		if c.why == "" {
			ks = append(ks, k)
		}
	}
	long := maps.Clone(kerneltest.Launches()[1])
	long["B"], long["T"], long["S"], long["P"] = 1, 133, 133, 0
	o := ptx.Options{Aligned: always}
	ptxtest.Compare(t, ks, o, *all, full.Some(attended(1), 1)...)
	ptxtest.Compare(t, full.Some(ks, 1), o, *all, long)
}
