package ptx_test

import (
	"math"
	"regexp"
	"strings"
	"testing"

	"github.com/arithlang/mlc/codegen/ptx"
	"github.com/arithlang/mlc/compiler/kernel"
	"github.com/arithlang/mlc/compiler/kernel/kerneltest"
)

// A span holds a number that a kernel computes. Each operation, in float64, moves its ends by the
// largest error of the kernel. That is half a unit in the last place, or the error of sums on
// tensor cores (TestMMACounts). Rounding to BF16 keeps the order of numbers, and so of the ends.
type span struct{ lo, hi float64 }

func exact(x float64) span { return span{x, x} }

// size returns the largest absolute value.
func (x span) size() float64 { return max(math.Abs(x.lo), math.Abs(x.hi)) }

// off returns x widened by an error.
func (x span) off(by float64) span { return span{x.lo - by, x.hi + by} }

// rounded returns x after a number of operations in F32.
func (x span) rounded(operations int) span {
	return x.off(float64(operations) * (x.size()*0x1p-24 + 0x1p-149))
}

func (x span) plus(y span) span  { return span{x.lo + y.lo, x.hi + y.hi} }
func (x span) minus(y span) span { return span{x.lo - y.hi, x.hi - y.lo} }

func (x span) times(y span) span {
	a, b, c, d := x.lo*y.lo, x.lo*y.hi, x.hi*y.lo, x.hi*y.hi
	return span{min(a, b, c, d), max(a, b, c, d)}
}

// exp may be off by a unit, and may be 0 for a tiny result.
func (x span) exp() span { return span{math.Exp(x.lo), math.Exp(x.hi)}.rounded(2).off(0x1p-126) }

func (x span) bf16() span { return span{bf16(x.lo), bf16(x.hi)} }

// bf16 rounds to the nearest number of BF16.
func bf16(x float64) float64 {
	_, e := math.Frexp(x)
	unit := math.Ldexp(1, max(e, -125)-8)
	return math.RoundToEven(x/unit) * unit
}

// dot returns a sum of products on tensor cores.
func dot(x, y []span) span {
	sum, size := span{}, 0.0
	for i := range x {
		p := x[i].times(y[i])
		sum, size = sum.plus(p), size+p.size()
	}
	return sum.off((2 + float64(len(x))/8) * (0x1p-23*size + 0x1p-149))
}

// total returns a sum in F32 in any order.
func total(x []span) span {
	sum, size := span{}, 0.0
	for _, x := range x {
		sum, size = sum.plus(x), size+x.size()
	}
	return sum.off(float64(len(x)) * 0x1p-24 * size)
}

// softmax makes weights of the scores of open keys.
func softmax(scores []span) []span {
	largest := exact(math.Inf(-1))
	for _, s := range scores {
		largest = span{max(largest.lo, s.lo), max(largest.hi, s.hi)}
	}
	p := make([]span, len(scores))
	for j, s := range scores {
		p[j] = s.minus(largest).rounded(1).exp()
	}
	sum := total(p)
	norm := span{1 / sum.hi, 1 / sum.lo}.rounded(1)
	for j := range p {
		p[j] = p[j].times(norm).rounded(1)
	}
	return p
}

// An exactly is one head of an example of an attention, as its kernel reads it. Query i sees
// keys below i + open. A gradient is given y, largest and norm, which may be any.
type exactly struct {
	q, k, v, dout, table [][]span
	y                    [][]span
	largest, norm        []span
	open                 int
}

// scores returns the scores of the keys that a query sees.
func (x *exactly) scores(i int) []span {
	var scores []span
	for j, k := range x.k[:min(len(x.k), i+x.open)] {
		scores = append(scores, dot(x.q[i], k).times(exact(0.25)).plus(x.table[i][j]).rounded(1))
	}
	return scores
}

// results returns the rows of results.
func (x *exactly) results() [][]span {
	var all [][]span
	for i := range x.q {
		all = append(all, weighted(rounds(softmax(x.scores(i))), x.v))
	}
	return all
}

func rounds(x []span) []span {
	var all []span
	for _, x := range x {
		all = append(all, x.bf16())
	}
	return all
}

// weighted returns the weighted sum of rows.
func weighted(weights []span, rows [][]span) []span {
	var sums []span
	for d := range rows[0] {
		var column []span
		for j := range weights {
			column = append(column, rows[j][d])
		}
		sums = append(sums, dot(weights, column))
	}
	return sums
}

// gradients returns the gradients of queries, keys and values.
func (x *exactly) gradients() (dq, dk, dv [][]span) {
	weights, ds := make([][]span, len(x.k)), make([][]span, len(x.k)) // rows by key, columns by query
	for i := range x.q {
		w, grads, products := x.scores(i), []span(nil), []span(nil)
		for j := range w {
			w[j] = w[j].minus(x.largest[i]).rounded(1).exp().times(x.norm[i]).rounded(1)
			grads = append(grads, dot(x.dout[i], x.v[j]))
		}
		for d, g := range x.dout[i] {
			products = append(products, g.times(x.y[i][d]).rounded(1))
		}
		delta := total(products)
		for j := range w {
			grads[j] = w[j].times(grads[j].minus(delta).rounded(1)).rounded(1).times(exact(0.25))
		}
		w, grads = rounds(w), rounds(grads)
		dq = append(dq, weighted(grads, x.k))
		for j := range x.k {
			if j >= len(w) {
				w, grads = append(w, span{}), append(grads, span{})
			}
			weights[j], ds[j] = append(weights[j], w[j]), append(ds[j], grads[j])
		}
	}
	for j := range x.k { // parts of 32 queries, and their sums, are off by less
		dk, dv = append(dk, weighted(ds[j], x.q)), append(dv, weighted(weights[j], x.dout))
	}
	return dq, dk, dv
}

// undropped returns a kernel without its dropout.
func undropped(text string) string {
	text = strings.Replace(text, "where(bits[e] < 0x1999999au, 0.0, p[r, e] * norm * 1.1111112)", "p[r, e] * norm", 1)
	text = regexp.MustCompile(`(?m)^.*(bits|drop |weight f32).*\n`).ReplaceAllString(text, "")
	return strings.ReplaceAll(text, "weight[", "p[")
}

// rowsOf returns a head's rows for an example, from a buffer that two heads share.
func rowsOf(b kernel.Buffer, example, rows, h, head int) [][]span {
	all := make([][]span, rows)
	for i := range all {
		for d := range head {
			all[i] = append(all[i], exact(elementOf(b, ((example*rows+i)*2+h)*head+d)))
		}
	}
	return all
}

// elementOf returns an element of BF16 or F32.
func elementOf(b kernel.Buffer, i int) float64 {
	if b.H != nil {
		return float64(math.Float32frombits(uint32(b.H[i]) << 16))
	}
	return float64(b.F[i])
}

// within checks that rows of a kernel, in BF16 or F32, lie in their spans. It returns the mean
// width of the spans as a part of the largest value.
func within(t *testing.T, name string, narrow bool, got, want [][]span) float64 {
	t.Helper()
	size, width, n := 0.0, 0.0, 0.0
	for i := range want {
		for d, w := range want[i] {
			x := got[i][d].lo
			if narrow {
				w = w.bf16()
			}
			if !(w.lo <= x && x <= w.hi) {
				t.Fatalf("%s, row %d, element %d: %v is not from %v to %v", name, i, d, x, w.lo, w.hi)
			}
			size, width, n = max(size, want[i][d].size()), width+want[i][d].hi-want[i][d].lo, n+1
		}
	}
	return width / n / size
}

// A bounded is a launch of a kernel of two heads whose results must lie in spans.
type bounded struct {
	text       string
	head       int // its width
	b, t, s, p int
	open       int // keys that the first query sees
	arch       int
}

var boundeds = []bounded{
	{attendingOf("bound_once", 64), 64, 2, 35, 50, 3, 6, 80},
	{attendingOf("bound_often", 16), 16, 1, 37, 150, 110, 113, 90},
	{gradingOf(grading, "bound_grad", 32), 32, 1, 70, 70, 0, 1, 80},
	{gradingOf(grading, "bound_long", 16), 16, 1, 140, 140, 0, 1, 90},
}

// want returns the spans of the results of a head in an example, given the kernel's buffers.
func (c bounded) want(named map[string]kernel.Buffer, b, h int) map[string][][]span {
	rows := func(name string, n int) [][]span { return rowsOf(named[name], b, n, h, c.head) }
	x := exactly{q: rows("q", c.t), k: rows("k", c.s), v: rows("v", c.s), open: c.open}
	for i := range c.t {
		var biases []span
		for j := range c.s {
			biases = append(biases, exact(elementOf(named["table"], (h*c.t+i)*c.s+j)))
		}
		x.table = append(x.table, biases)
	}
	if _, forward := named["z"]; forward {
		z := x.results()
		return map[string][][]span{"z": z, "y": z}
	}
	x.dout, x.y = rows("dout", c.t), rows("y", c.t)
	left := func(name string) (all []span) {
		for i := range c.t {
			all = append(all, exact(elementOf(named[name], (b*c.t+i)*2+h)))
		}
		return all
	}
	x.largest, x.norm = left("largest_"), left("norm_")
	dq, dk, dv := x.gradients()
	return map[string][][]span{"dq": dq, "dk": dk, "dv": dv, "dq2": dq, "dk2": dk, "dv2": dv}
}

// TestAttentionBound compares attention and its gradient with float64. Each result must lie in
// the span that rounding allows. The mean width of spans is at most 2^-14 of the largest result.
func TestAttentionBound(t *testing.T) {
	for _, c := range boundeds {
		k := parsed(t, undropped(c.text))
		t.Run(k.Name, func(t *testing.T) {
			s := kernel.Scalars{"B": float64(c.b), "T": float64(c.t), "S": float64(c.s), "P": float64(c.p), "example": 0}
			bufs, _, err := kerneltest.Interpret(k, s, kerneltest.Signed, 1, nil)
			if err != nil {
				t.Fatal(err)
			}
			launched(t, k, ptx.Options{Aligned: always}, c.arch, s, bufs)
			named := map[string]kernel.Buffer{}
			for i, b := range bufs {
				named[k.Params[i].Name] = b
			}
			for head := range 2 * c.b {
				b, h := head/2, head%2
				for name, want := range c.want(named, b, h) {
					got := rowsOf(named[name], b, len(want), h, c.head)
					if wide := within(t, name, named[name].H != nil, got, want); wide > 0x1p-14 {
						t.Errorf("%s may be anywhere within %g of its largest", name, wide)
					}
				}
			}
		})
	}
}
