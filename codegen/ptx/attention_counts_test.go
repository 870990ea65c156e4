package ptx_test

import (
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/arithlang/mlc/codegen"
	"github.com/arithlang/mlc/codegen/cost"
	"github.com/arithlang/mlc/codegen/ptx"
	"github.com/arithlang/mlc/compiler"
	"github.com/arithlang/mlc/compiler/check"
	"github.com/arithlang/mlc/compiler/kernel"
	"github.com/arithlang/mlc/compiler/kernel/kerneltest"
	"github.com/arithlang/mlc/compiler/scalars"
	"github.com/arithlang/mlc/internal/full"
)

// causal is an attention of two heads, as models without positions have it.
const causal = `kernel causal attention
  in     q     bf16[B * T * WIDTH]
  in     k     bf16[B * T * WIDTH]
  in     v     bf16[B * T * WIDTH]
  out    y     bf16[B * T * WIDTH]
  scalar B, T
  grid   b < B, h < 2
  span   first, height of T

  tile   qs bf16[height, HEAD]
  tile   o f32[height, HEAD]
  let    count = max(min(T, max(first + 1, first + height)), 0)
  tile   ks bf16[HEAD, count]
  tile   p f32[height, count]
  tile   pr bf16[height, count]
  tile   vs bf16[count, HEAD]
  let    queries = (b * T + first) * WIDTH + h * HEAD
  let    open = b * T * WIDTH + h * HEAD
  set    qs[a1, e] = q[queries + a1 * WIDTH + e]
  set    ks[a1, e] = k[open + e * WIDTH + a1]
  set    p[a1, e] = 0.0
  dot    p[a1, a2] += qs[a1, e] * ks[e, a2]
  set    p[a1, e] = where(e <= first + a1, p[a1, e] * 0.125, -inf)
  for    r = 0 until height
    reduce largest = max(p[r, e])
    let    shift = where(largest == -inf, 0.0, largest)
    set    p[r, e] = exp(p[r, e] - shift)
    reduce total = sum(p[r, e])
    let    norm = where(0.0 < total, 1.0 / total, 0.0)
    set    p[r, e] = p[r, e] * norm
  end
  set    pr[a1, e] = bf16(p[a1, e])
  set    vs[a1, e] = v[open + a1 * WIDTH + e]
  set    o[a1, e] = 0.0
  dot    o[a1, a2] += pr[a1, e] * vs[e, a2]
  set    y[queries + a1 * WIDTH + e] = bf16(o[a1, e])
end
`

// causalOf returns the text of causal with heads of this width.
func causalOf(head int) string {
	name := "causal_" + strconv.Itoa(head)
	return strings.NewReplacer("kernel causal", "kernel "+name, "WIDTH", strconv.Itoa(2*head), "HEAD", strconv.Itoa(head)).Replace(causal)
}

const product = "mma.m16n8k16.f32.bf16.bf16.f32"

// TestAttentionCounts checks the memory accesses and the products of a launch. It reads each
// factor and writes each result about once, without bank conflicts. It multiplies only tiles of
// 16 x 16 scores that the mask opens.
func TestAttentionCounts(t *testing.T) {
	const examples, heads = 3, 2
	for _, c := range full.Some([]struct{ width, length int }{{64, 24}, {64, 64}, {16, 64}, {48, 64}, {80, 64}, {96, 64}, {112, 64}, {128, 64}}, 4) {
		width, length := c.width, c.length
		k := parsed(t, causalOf(width))
		s := kernel.Scalars{"B": examples, "T": float64(length)}
		bufs, _, err := kerneltest.Interpret(k, s, kerneltest.Signed, 1, nil)
		if err != nil {
			t.Fatal(err)
		}
		n := launched(t, k, ptx.Options{Aligned: always}, 80, s, bufs).Counts
		least := int64(4 * 2 * examples * heads * length * width)
		if got := 32*(n.Loads.Sectors+n.Copies.Sectors) + n.Stores.Bytes; float64(got) > 1.15*float64(least) {
			t.Errorf("%d rows of %d: %d bytes, %d are what there is", length, width, got, least)
		}
		if n.Stores.Sectors != n.Kept/32 {
			t.Errorf("%d rows of %d: stores to %d sectors, %d are written", length, width, n.Stores.Sectors, n.Kept/32)
		}
		if n.Shared().Conflicts != 0 {
			t.Errorf("%d rows of %d: %+v", length, width, n.Shared())
		}
		rows := (length + 15) / 16
		tiles := rows * (rows + 1) / 2
		if want := int64(examples * heads * tiles * 2 * (width / 8)); n.Products[product] != want {
			t.Errorf("%d rows of %d: %d products, want %d", length, width, n.Products[product], want)
		}
	}
}

// TestAttentionRegisters wants room for two blocks, and no spills but a few bytes of the widest
// kernels. The two sums by key of the widest gradient take 128 of 255 registers. Statistics of
// rows, which attention leaves or reads, cost two others 4 to 12 bytes on some architectures.
func TestAttentionRegisters(t *testing.T) {
	ks := []*kernel.Kernel{
		parsed(t, causalOf(32)),
		parsed(t, gradingOf(grading, "with_dropout", 64)),
		parsed(t, gradingOf(learning, "of_a_table", 64)),
	}
	for _, head := range []int{16, 64, 128} {
		ks = append(ks, parsed(t, attendingOf("of_"+strconv.Itoa(head), head)))
	}
	twoBeside(t, "testdata/assembled_attention.txt", ks, map[string]int{"of_128": 8, "of_a_table": 12})
	twoBeside(t, "testdata/assembled_widest.txt", []*kernel.Kernel{parsed(t, gradingOf(grading, "widest", 128))}, map[string]int{"widest": 64})
}

// TestAttentionGradCounts does the same for gradients. A tile that the mask opens takes seven
// products, three with rows of queries and four with rows of keys. Lanes read four elements at a time
// of the result's gradient, which has a few conflicts.
func TestAttentionGradCounts(t *testing.T) {
	const examples, heads, width, length = 2, 2, 64, 64
	k := parsed(t, gradingOf(untabled(undropped(grading)), "counted", width))
	s := kernel.Scalars{"B": examples, "T": length, "P": 0, "example": 0}
	bufs, _, err := kerneltest.Interpret(k, s, kerneltest.Signed, 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	n := launched(t, k, ptx.Options{Aligned: always}, 80, s, bufs).Counts
	least := int64(8 * 2 * examples * heads * length * width)
	if got := 32 * (n.Loads.Sectors + n.Copies.Sectors + n.Stores.Sectors); float64(got) > 1.15*float64(least) {
		t.Errorf("%d bytes, %d are what there is: %+v", got, least, n)
	}
	if s := n.Shared(); s.Conflicts > s.Wavefronts/32 {
		t.Errorf("banks: %+v", s)
	}
	if got, want := n.Products[product], int64(examples*heads*10*7*width/8); got != want {
		t.Errorf("%d products, want %d", got, want)
	}
}

// untabled returns a gradient without a table, whose results are all rounded.
func untabled(text string) string {
	text = regexp.MustCompile(`(?m)^ *(in     table|tile   biases|set    biases|out    d[qkv] |set    d[qkv]\[).*\n`).ReplaceAllString(text, "")
	return strings.NewReplacer(", _, table", "", " + biases[a1, e]", "").Replace(text)
}

// TestAttentionAloneTraffic counts what moves for 128 queries and keys whose bias is a line, or a
// table, next to the buffers. Blocks of 64 queries read the keys that they see, and a statistic of a
// head lies in a sector with those of other heads. A gradient reads half of the queries' factors twice,
// and a table by query and by key.
func TestAttentionAloneTraffic(t *testing.T) {
	moves(t, "kerple", map[string]float64{"attention": 1.37, "attention_grad": 1.2})
	moves(t, "fire", map[string]float64{"attention": 1.3, "attention_grad": 1.57})
}

// moves wants kernels of attention alone to move at most so many times the bytes of their buffers.
func moves(t *testing.T, spec string, most map[string]float64) {
	t.Helper()
	a, found, err := compiler.CompileAttention(check.Options{Path: "../../specs/attention/" + spec + ".arith", Read: os.ReadFile})
	if err != nil || found.HasErrors() {
		t.Fatal(found, err)
	}
	s := kernel.Scalars{"B": 1, "T": 128, "S": 128, "C": 128, "P": 0}
	for _, name := range []string{"q", "k", "v", "dy"} { // rows of 8 heads of 64, in units of 8
		d := scalars.Distances(name)
		s[d[0]], s[d[1]], s[d[2]] = 128*64, 64, 8
	}
	for _, k := range a.BF16.Kernels {
		limit, ok := most[k.Kind]
		if !ok {
			continue
		}
		delete(most, k.Kind)
		shapes, err := kernel.Extents(k, s)
		if err != nil {
			t.Fatal(err)
		}
		var bufs []kernel.Buffer
		for i, shape := range shapes {
			n := 1
			for _, d := range shape {
				n *= d
			}
			bufs = append(bufs, kernel.NewBuffer(k.Params[i].Type, n))
		}
		c := launched(t, k, codegen.ModuleOptions(a.BF16), 80, s, bufs).Counts
		if moved, floor := 32*c.Global().Sectors, cost.Value(cost.Bytes(k), s); float64(moved) > limit*float64(floor) {
			t.Errorf("%s: %d bytes of %d: %.2f", k.Name, moved, floor, float64(moved)/float64(floor))
		}
	}
	if len(most) > 0 {
		t.Error("no", most)
	}
}
