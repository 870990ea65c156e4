package ptx_test

import (
	"bytes"
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

// attending is an attention of two heads with a window, a table of biases and dropout.
const attending = `kernel attending attention
  in     q     bf16[B * T * WIDTH]
  in     k     bf16[B * S * WIDTH]
  in     table f32[2, T, S]
  in     v     bf16[B * S * WIDTH]
  out    y     bf16[B * T * WIDTH]
  out    z     f32[B * T * WIDTH]
  out    largest_ f32[B * T * 2]
  out    norm_ f32[B * T * 2]
  scalar B, T, S, P, example
  grid   b < B, h < 2
  span   first, height of T

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
    set    largest_[(b * T + (first + r)) * 2 + h] = shift
    set    norm_[(b * T + (first + r)) * 2 + h] = norm
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

// grading is the gradient of an attention with a table of biases and dropout.
const grading = `kernel grading attention_grad
  in     q     bf16[B * T * WIDTH]
  in     k     bf16[B * T * WIDTH]
  in     table f32[2, T, T]
  in     v     bf16[B * T * WIDTH]
  in     dout  bf16[B * T * WIDTH]
  in     largest_ f32[B * T * 2]
  in     norm_ f32[B * T * 2]
  in     y     bf16[B * T * WIDTH]
  out    dq    f32[B * T * WIDTH]
  out    dq2   bf16[B * T * WIDTH]
  out    dk    f32[B * T * WIDTH]
  out    dk2   bf16[B * T * WIDTH]
  out    dv    f32[B * T * WIDTH]
  out    dv2   bf16[B * T * WIDTH]
  scalar B, T, P, example
  grid   b < B, h < 2

  tile   dk_ f32[T, HEAD]
  tile   dv_ f32[T, HEAD]
  set    dk_[a1, e] = 0.0
  set    dv_[a1, e] = 0.0
  for    m = 0 until (T + 31) / 32
    let    first = m * 32
    let    height = min(T - first, 32)
    tile   qs bf16[height, HEAD]
    tile   dos bf16[height, HEAD]
    tile   ys bf16[height, HEAD]
    tile   sum_q f32[height, HEAD]
    tile   qr bf16[height, HEAD]
    let    count = max(min(T, max(P + first + 1, P + first + height)), 0)
    tile   ks bf16[HEAD, count]
    tile   p f32[height, count]
    tile   biases f32[height, count]
    tile   vs bf16[HEAD, count]
    tile   ds f32[height, count]
    tile   weight f32[height, count]
    tile   bits u32[count]
    tile   dsr bf16[height, count]
    tile   kr bf16[count, HEAD]
    tile   pr bf16[height, count]
    let    queries = (b * T + first) * WIDTH + h * HEAD
    let    open = b * T * WIDTH + h * HEAD
    set    qs[a1, e] = q[queries + a1 * WIDTH + e]
    set    ks[a1, e] = k[open + e * WIDTH + a1]
    set    p[a1, e] = 0.0
    dot    p[a1, a2] += qs[a1, e] * ks[e, a2]
    set    biases[a1, e] = table[h, first + a1, e]
    set    p[a1, e] = where(e <= P + first + a1, p[a1, e] * 0.25 + biases[a1, e], -inf)
    set    dos[a1, e] = dout[queries + a1 * WIDTH + e]
    set    ys[a1, e] = y[queries + a1 * WIDTH + e]
    set    vs[a1, e] = v[open + e * WIDTH + a1]
    set    ds[a1, e] = 0.0
    dot    ds[a1, a2] += dos[a1, e] * vs[e, a2]
    for    r = 0 until height
      let    largest = largest_[(b * T + (first + r)) * 2 + h]
      let    norm = norm_[(b * T + (first + r)) * 2 + h]
      reduce delta = sum(f32(dos[r, e]) * f32(ys[r, e]))
      set    p[r, e] = exp(p[r, e] - largest) * norm
      random bits[count] = 11 of example + as_u32(b) from (h * T + (first + r)) * ((T + 3) / 4 * 4)
      set    weight[r, e] = where(bits[e] < 0x1999999au, 0.0, p[r, e] * 1.1111112)
      set    ds[r, e] = where(bits[e] < 0x1999999au, 0.0, ds[r, e] * 1.1111112)
      set    ds[r, e] = p[r, e] * (ds[r, e] - delta) * 0.25
    end
    set    dsr[a1, e] = bf16(ds[a1, e])
    set    kr[a1, e] = k[open + a1 * WIDTH + e]
    set    sum_q[a1, e] = 0.0
    dot    sum_q[a1, a2] += dsr[a1, e] * kr[e, a2]
    set    dq[queries + a1 * WIDTH + e] = sum_q[a1, e]
    set    dq2[queries + a1 * WIDTH + e] = bf16(sum_q[a1, e])
    set    qr[a1, e] = q[queries + a1 * WIDTH + e]
    dot    dk_[a1, a2] += dsr[e, a1] * qr[e, a2] for a1 < count, a2 < HEAD, e < height
    set    pr[a1, e] = bf16(weight[a1, e])
    dot    dv_[a1, a2] += pr[e, a1] * dos[e, a2] for a1 < count, a2 < HEAD, e < height
  end
  let    all_k = b * T * WIDTH + h * HEAD
  set    dk[all_k + a1 * WIDTH + e] = dk_[a1, e]
  set    dk2[all_k + a1 * WIDTH + e] = bf16(dk_[a1, e])
  let    all_v = b * T * WIDTH + h * HEAD
  set    dv[all_v + a1 * WIDTH + e] = dv_[a1, e]
  set    dv2[all_v + a1 * WIDTH + e] = bf16(dv_[a1, e])
end
`

// across is a gradient without a mask, whose keys are other rows.
const across = `kernel across attention_grad
  in     q    bf16[B * T * WIDTH]
  in     k    bf16[B * S * WIDTH]
  in     v    bf16[B * S * WIDTH]
  in     dout bf16[B * T * WIDTH]
  in     largest_ f32[B * T * 2]
  in     norm_ f32[B * T * 2]
  in     y    bf16[B * T * WIDTH]
  out    dq   f32[B * T * WIDTH]
  out    dq2  bf16[B * T * WIDTH]
  out    dk   f32[B * S * WIDTH]
  out    dk2  bf16[B * S * WIDTH]
  out    dv   f32[B * S * WIDTH]
  out    dv2  bf16[B * S * WIDTH]
  scalar B, T, S, example
  grid   b < B, h < 2

  tile   dk_ f32[S, HEAD]
  tile   dv_ f32[S, HEAD]
  set    dk_[a1, e] = 0.0
  set    dv_[a1, e] = 0.0
  for    m = 0 until (T + 31) / 32
    let    first = m * 32
    let    height = min(T - first, 32)
    tile   qs bf16[height, HEAD]
    tile   dos bf16[height, HEAD]
    tile   ys bf16[height, HEAD]
    tile   sum_q f32[height, HEAD]
    tile   qr bf16[height, HEAD]
    let    count = max(S, 0)
    tile   ks bf16[HEAD, count]
    tile   p f32[height, count]
    tile   vs bf16[HEAD, count]
    tile   ds f32[height, count]
    tile   weight f32[height, count]
    tile   bits u32[count]
    tile   dsr bf16[height, count]
    tile   kr bf16[count, HEAD]
    tile   pr bf16[height, count]
    let    queries = (b * T + first) * WIDTH + h * HEAD
    let    open = b * S * WIDTH + h * HEAD
    set    qs[a1, e] = q[queries + a1 * WIDTH + e]
    set    ks[a1, e] = k[open + e * WIDTH + a1]
    set    p[a1, e] = 0.0
    dot    p[a1, a2] += qs[a1, e] * ks[e, a2]
    set    p[a1, e] = p[a1, e] * 0.25
    set    dos[a1, e] = dout[queries + a1 * WIDTH + e]
    set    ys[a1, e] = y[queries + a1 * WIDTH + e]
    set    vs[a1, e] = v[open + e * WIDTH + a1]
    set    ds[a1, e] = 0.0
    dot    ds[a1, a2] += dos[a1, e] * vs[e, a2]
    for    r = 0 until height
      let    largest = largest_[(b * T + (first + r)) * 2 + h]
      let    norm = norm_[(b * T + (first + r)) * 2 + h]
      reduce delta = sum(f32(dos[r, e]) * f32(ys[r, e]))
      set    p[r, e] = exp(p[r, e] - largest) * norm
      random bits[count] = 13 of example + as_u32(b) from (h * T + (first + r)) * ((S + 3) / 4 * 4)
      set    weight[r, e] = where(bits[e] < 0x1999999au, 0.0, p[r, e] * 1.1111112)
      set    ds[r, e] = where(bits[e] < 0x1999999au, 0.0, ds[r, e] * 1.1111112)
      set    ds[r, e] = p[r, e] * (ds[r, e] - delta) * 0.25
    end
    set    dsr[a1, e] = bf16(ds[a1, e])
    set    kr[a1, e] = k[open + a1 * WIDTH + e]
    set    sum_q[a1, e] = 0.0
    dot    sum_q[a1, a2] += dsr[a1, e] * kr[e, a2]
    set    dq[queries + a1 * WIDTH + e] = sum_q[a1, e]
    set    dq2[queries + a1 * WIDTH + e] = bf16(sum_q[a1, e])
    set    qr[a1, e] = q[queries + a1 * WIDTH + e]
    dot    dk_[a1, a2] += dsr[e, a1] * qr[e, a2] for a1 < count, a2 < HEAD, e < height
    set    pr[a1, e] = bf16(weight[a1, e])
    dot    dv_[a1, a2] += pr[e, a1] * dos[e, a2] for a1 < count, a2 < HEAD, e < height
  end
  let    all_k = b * S * WIDTH + h * HEAD
  set    dk[all_k + a1 * WIDTH + e] = dk_[a1, e]
  set    dk2[all_k + a1 * WIDTH + e] = bf16(dk_[a1, e])
  let    all_v = b * S * WIDTH + h * HEAD
  set    dv[all_v + a1 * WIDTH + e] = dv_[a1, e]
  set    dv2[all_v + a1 * WIDTH + e] = bf16(dv_[a1, e])
end
`

// learning is a gradient of packed rows. Its table of biases has a gradient, a sum over examples.
const learning = `kernel learning attention_grad
  in     q              bf16[R * WIDTH]
  in     k              bf16[R * WIDTH]
  in     table          f32[2, T, T]
  in     v              bf16[R * WIDTH]
  in     dout           bf16[R * WIDTH]
  in     largest_       f32[R * 2]
  in     norm_          f32[R * 2]
  in     y              bf16[R * WIDTH]
  in     example_length i32[B]
  in     example_start  i32[B]
  inout  dtable         f32[2, T, T]
  out    dq             bf16[R * WIDTH]
  out    dk             bf16[R * WIDTH]
  out    dv             bf16[R * WIDTH]
  scalar B, T, R, P
  grid   h < 2

  tile   dtable_ f32[T, T]
  set    dtable_[a1, e] = dtable[h, a1, e]
  for    b = 0 until B
    let    rows = min(example_length[b], T)
    tile   dk_ f32[rows, HEAD]
    tile   dv_ f32[rows, HEAD]
    let    start = example_start[b]
    set    dk_[a1, e] = 0.0
    set    dv_[a1, e] = 0.0
    for    m = 0 until (rows + 31) / 32
      let    first = min(m * 32, rows)
      let    height = min(rows - first, 32)
      tile   qs bf16[height, HEAD]
      tile   dos bf16[height, HEAD]
      tile   ys bf16[height, HEAD]
      tile   sum_q f32[height, HEAD]
      tile   qr bf16[height, HEAD]
      let    count = where(0 < height, max(min(rows, max(P + first + 1, P + first + height)), 0), 0)
      tile   ks bf16[HEAD, count]
      tile   p f32[height, count]
      tile   biases f32[height, count]
      tile   vs bf16[HEAD, count]
      tile   ds f32[height, count]
      tile   dsr bf16[height, count]
      tile   kr bf16[count, HEAD]
      tile   pr bf16[height, count]
      let    queries = (start + first) * WIDTH + h * HEAD
      let    open = start * WIDTH + h * HEAD
      set    qs[a1, e] = q[queries + a1 * WIDTH + e]
      set    ks[a1, e] = k[open + e * WIDTH + a1]
      set    p[a1, e] = 0.0
      dot    p[a1, a2] += qs[a1, e] * ks[e, a2]
      set    biases[a1, e] = table[h, first + a1, e]
      set    p[a1, e] = where(e <= P + first + a1, p[a1, e] * 0.125 + biases[a1, e], -inf)
      set    dos[a1, e] = dout[queries + a1 * WIDTH + e]
      set    ys[a1, e] = y[queries + a1 * WIDTH + e]
      set    vs[a1, e] = v[open + e * WIDTH + a1]
      set    ds[a1, e] = 0.0
      dot    ds[a1, a2] += dos[a1, e] * vs[e, a2]
      for    r = 0 until height
        let    largest = largest_[(start + (first + r)) * 2 + h]
        let    norm = norm_[(start + (first + r)) * 2 + h]
        reduce delta = sum(f32(dos[r, e]) * f32(ys[r, e]))
        set    p[r, e] = exp(p[r, e] - largest) * norm
        set    dtable_[first + r, e] = dtable_[first + r, e] + p[r, e] * (ds[r, e] - delta) for e < count
        set    ds[r, e] = p[r, e] * (ds[r, e] - delta) * 0.125
      end
      set    dsr[a1, e] = bf16(ds[a1, e])
      set    kr[a1, e] = k[open + a1 * WIDTH + e]
      set    sum_q[a1, e] = 0.0
      dot    sum_q[a1, a2] += dsr[a1, e] * kr[e, a2]
      set    dq[queries + a1 * WIDTH + e] = bf16(sum_q[a1, e])
      set    qr[a1, e] = q[queries + a1 * WIDTH + e]
      dot    dk_[a1, a2] += dsr[e, a1] * qr[e, a2] for a1 < count, a2 < HEAD, e < height
      set    pr[a1, e] = bf16(p[a1, e])
      dot    dv_[a1, a2] += pr[e, a1] * dos[e, a2] for a1 < count, a2 < HEAD, e < height
    end
    let    all_k = start * WIDTH + h * HEAD
    set    dk[all_k + a1 * WIDTH + e] = bf16(dk_[a1, e])
    let    all_v = start * WIDTH + h * HEAD
    set    dv[all_v + a1 * WIDTH + e] = bf16(dv_[a1, e])
  end
  set    dtable[h, a1, e] = dtable_[a1, e]
end
`

// attendingOf returns the text of attending with heads of this width.
func attendingOf(name string, head int) string {
	return strings.NewReplacer("kernel attending", "kernel "+name, "WIDTH", strconv.Itoa(2*head), "HEAD", strconv.Itoa(head)).Replace(attending)
}

// gradingOf returns the text of a gradient with heads of this width.
func gradingOf(text, name string, head int) string {
	return strings.NewReplacer("kernel grading", "kernel "+name, "kernel across", "kernel "+name, "kernel learning", "kernel "+name,
		"WIDTH", strconv.Itoa(2*head), "HEAD", strconv.Itoa(head)).Replace(text)
}

// attended returns Launches, the largest with this number of examples: a block has one example.
func attended(examples float64) []kernel.Scalars {
	all := ptxtest.Launches()
	all[len(all)-1]["B"] = examples
	return all
}

// TestAttention wants tensor cores for attention whose factors are BF16, and the bits that
// they give.
func TestAttention(t *testing.T) {
	var ks []*kernel.Kernel
	for _, c := range []struct {
		name          string
		head          int
		from, to, why string
	}{
		{"as_it_is", 16, "", "", ""},
		{"heads_of_32", 32, "", "", ""},
		{"heads_of_64", 64, "", "", ""},
		{"heads_of_128", 128, "", "", ""},
		{"by_distance", 16, "biases[a1, e], -inf", "0.5 * f32(first + a1 - e), -inf", ""},
		{"to_both_sides", 16, "where(e <= P + first + a1 + 2", "where(e <= P + first + a1 + 2 && P + first + a1 < e + 3", ""},
		{"of_a_cache", 16, "b * S * 32 + h", "(B - 1 - b) * S * 32 + h", ""},
		{"heads_of_48", 48, "", "", ""},
		{"heads_of_80", 80, "", "", ""},
		{"heads_of_96", 96, "", "", ""},
		{"heads_of_112", 112, "", "", ""},
		{"heads_of_24", 24, "", "", "the width of a head is no multiple of 16 up to 128"},
		{"heads_of_144", 144, "", "", "the width of a head is no multiple of 16 up to 128"},
		{"words_in_between", 16, "(S + 3) / 4 * 4)", "S)", "a row's random words do not begin with a counter"},
		{"others_scores", 16, "exp(p[r, e] - shift)", "exp(p[r, count - 1 - e] - shift)", "it reads other elements of p"},
		{"no_rounding", 16, "bf16(p[a1, e])", "bf16(p[a1, e] * 2.0)", "its weights are not the rounded scores"},
	} {
		text := attendingOf(c.name, c.head)
		if !strings.Contains(text, c.from) {
			t.Fatalf("%s: no %q in\n%s", c.name, c.from, text)
		}
		text = strings.Replace(text, c.from, c.to, 1)
		k := parsed(t, text)
		choice := ptx.Choose(k, ptx.Options{Aligned: always})
		if got := unfit(choice, "attention"); got != c.why || (choice.Name == "attention") != (c.why == "") {
			t.Errorf("%s: %s, since %q, want %q\n%s", c.name, choice.Name, got, c.why, choice.Flat)
		}
		if c.why == "" {
			ks = append(ks, k)
		}
	}
	long := maps.Clone(kerneltest.Launches()[1])
	long["B"], long["T"], long["S"], long["P"] = 2, 67, 261, 150
	more := maps.Clone(long)
	more["B"], more["T"], more["S"], more["P"] = 1, 33, 128, 90
	o := ptx.Options{Aligned: always}
	t.Run("few", func(t *testing.T) { ptxtest.Compare(t, full.Some(ks, 6), o, *all, full.Some(attended(1), 2)...) })
	t.Run("many", func(t *testing.T) { ptxtest.Compare(t, ks[:1], o, *all, long, more) })
}

// TestAttentionGrad wants tensor cores for gradients of attention, in blocks of queries that
// fit into registers and in many.
func TestAttentionGrad(t *testing.T) {
	var ks []*kernel.Kernel
	for _, c := range []struct {
		name           string
		head           int
		text, from, to string
		why            string
	}{
		{"grad_of_16", 16, grading, "", "", ""},
		{"grad_of_32", 32, grading, "", "", ""},
		{"grad_of_64", 64, grading, "", "", ""},
		{"grad_across", 16, across, "", "", ""},
		{"grad_of_table", 16, learning, "", "", ""},
		{"grad_of_one_column", 16, learning, "dtable_[first + r, e] = dtable_[first + r, e]", "dtable_[first + r, 0] = dtable_[first + r, 0]", "it adds up other sums"},
		{"grad_of_48", 48, grading, "", "", ""},
		{"grad_of_96", 96, learning, "", "", ""},
		{"grad_of_128", 128, grading, "", "", ""},
		{"grad_of_24", 24, grading, "", "", "the width of a head is no multiple of 16 up to 128"},
		{"grad_of_kept", 16, grading, "set    ds[r, e] = p[r, e] * (ds", "reduce most = max(ds[r, e])\n      set    ds[r, e] = most * weight[r, e] * (ds", "it reads other elements of weight"},
		{"grad_of_other_sums", 16, grading, "dot    dv_[a1, a2]", "dot    dv_[T - count + a1, a2]", "it adds to sums of other keys"},
		{"grad_of_other_keys", 16, moving.Replace(grading), "(b * T + lo) * 32", "b * T * 32", "blocks of queries have different keys"},
		{"grad_of_fewer", 16, grading, "min(T - first, 32)", "min(T - first, 16)", "a block has up to 16 queries, not 32"},
		{"grad_of_one", 16, grading, "set    dk_[a1, e] = 0.0", "set    dk_[a1, e] = 1.0", "it begins with more than sums of 0"},
	} {
		k := parsed(t, strings.Replace(gradingOf(c.text, c.name, c.head), c.from, c.to, 1))
		choice := ptx.Choose(k, ptx.Options{Aligned: always})
		if got := unfit(choice, "attention_grad"); got != c.why || (choice.Name == "attention_grad") != (c.why == "") {
			t.Errorf("%s: %s, since %q, want %q\n%s", c.name, choice.Name, got, c.why, choice.Flat)
		}
		if c.why == "" {
			ks = append(ks, k)
		}
	}
	long := maps.Clone(kerneltest.Launches()[1])
	long["B"], long["T"], long["S"], long["P"] = 1, 133, 150, 0
	o := ptx.Options{Aligned: always}
	first, err := ptx.Module(ks, o)
	for range full.Either(1, 2) {
		if again, err2 := ptx.Module(ks, o); err != nil || err2 != nil || !bytes.Equal(first.Text, again.Text) {
			t.Fatalf("printed twice it differs: %v, %v", err, err2)
		}
	}
	t.Run("wide", func(t *testing.T) {
		ptxtest.Compare(t, full.Some(ks[1:3], 1), o, *all, full.Some(kerneltest.Launches()[1:], 1)...)
	})
	t.Run("long", func(t *testing.T) {
		ptxtest.Compare(t, []*kernel.Kernel{ks[0], ks[3], ks[4]}, o, *all, append(full.Some(attended(2), 0), long)...)
	})
	t.Run("wider", func(t *testing.T) {
		ptxtest.Compare(t, full.Some(ks[5:], 2), o, *all, full.Some([]kernel.Scalars{kerneltest.Launches()[1], long}, 1)...)
	})
}
