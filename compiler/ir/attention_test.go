package ir_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/arithlang/mlc/compiler/ir"
	"github.com/arithlang/mlc/compiler/ir/irtest"
)

// An attentionCase is an attention site as text and, for the reference, in Go. The
// parameters are r: f32[2] and table: f32[2, 4].
type attentionCase struct {
	name    string
	attrs   string
	heads   int
	open    func(h, i, j int) bool
	bias    func(r, table []float64, h, i, j int) float64
	rate    float64
	word    func(h, t, j int) int // of a cell's dropout
	scale   float64
	far     int // where distances are clipped; 0: no relative scores
	b, t, j int // examples, target rows in this launch, keys
	c, p    int // all target rows, first one of this launch
	width   int
}

var attentionCases = []attentionCase{
	{name: "plain", attrs: "heads = 2; scale = 0.5", heads: 2, scale: 0.5, b: 2, t: 3, j: 5, c: 3, width: 6},
	{name: "one of all", attrs: "heads = 1; scale = 1", heads: 1, scale: 1, b: 1, t: 1, j: 1, c: 1, width: 1},
	{
		name: "window", attrs: "heads = 2; scale = 0.5; self; mask = j <= i && i - j <= 1", heads: 2, scale: 0.5, b: 2, t: 5, j: 5, c: 5, width: 6,
		open: func(_, i, j int) bool { return j <= i && i-j <= 1 },
	},
	{
		name: "decoding rows 3 and 4 of 7", attrs: "heads = 2; scale = 0.5; self; mask = j <= i && h + j < I", heads: 2, scale: 0.5, b: 2, t: 2, j: 7, c: 7, p: 3, width: 4,
		open: func(h, i, j int) bool { return j <= i && h+j < 7 },
	},
	{
		name: "closed rows", attrs: "heads = 2; scale = 0.5; mask = i % 2 == 1 && h < H - 1", heads: 2, scale: 0.5, b: 2, t: 4, j: 3, c: 4, width: 4,
		open: func(h, i, _ int) bool { return i%2 == 1 && h < 1 },
	},
	{
		name: "kerple", attrs: "heads = 2; scale = 0.5; parameters = r table; bias = -r[0] * log(1.0 + abs(r[h]) * f32(abs(i - j)))", heads: 2, scale: 0.5, b: 1, t: 4, j: 5, c: 4, width: 4,
		bias: func(r, _ []float64, h, i, j int) float64 {
			return -r[0] * math.Log(1+math.Abs(r[h])*math.Abs(float64(i-j)))
		},
	},
	{
		// Closed cells index the table out of range.
		name: "table", attrs: "heads = 2; scale = 0.5; parameters = r table; mask = j <= i && i - j < 4; bias = table[h, i - j] + r[1]", heads: 2, scale: 0.5, b: 2, t: 6, j: 6, c: 6, width: 2,
		open: func(_, i, j int) bool { return j <= i && i-j < 4 },
		bias: func(r, table []float64, h, i, j int) float64 { return table[h*4+i-j] + r[1] },
	},
	{
		name: "relative, rows 3 to 5 of 6", attrs: "heads = 2; scale = 0.5; self; relative = 2; mask = j <= i", heads: 2, scale: 0.5, far: 2, b: 2, t: 3, j: 6, c: 6, p: 3, width: 4,
		open: func(_, i, j int) bool { return j <= i },
	},
	{
		name: "relative with a bias", attrs: "heads = 2; scale = 0.5; relative = 1; parameters = r table; bias = table[h, min(j, 3)] + r[1]", heads: 2, scale: 0.5, far: 1, b: 1, t: 5, j: 4, c: 5, width: 4,
		bias: func(r, table []float64, h, _, j int) float64 { return table[h*4+min(j, 3)] + r[1] },
	},
	{
		// The parameter is also read at closed cells.
		name: "fixed", attrs: "heads = 2; scale = 0.5; fixed; parameters = r table; mask = i % 2 == 1; bias = max(table[h, j], r[h])", heads: 2, scale: 0.5, b: 2, t: 4, j: 4, c: 4, width: 4,
		open: func(_, i, _ int) bool { return i%2 == 1 },
		bias: func(r, table []float64, h, _, j int) float64 { return max(table[h*4+j], r[h]) },
	},
	{
		name: "dropout", attrs: "rate = 0.5; stream = 4; heads = 2; scale = 0.5; mask = j <= i", heads: 2, scale: 0.5, rate: 0.5, b: 2, t: 5, j: 5, c: 5, width: 4,
		open: func(_, i, j int) bool { return j <= i },
		word: func(h, t, j int) int { return (h*5+t)*8 + j },
	},
	{
		name: "dropout in a window", attrs: "rate = 0.5; stream = 4; heads = 2; scale = 0.5; mask = j <= i && i - j <= 1", heads: 2, scale: 0.5, rate: 0.5, b: 2, t: 5, j: 4, c: 5, width: 4,
		open: func(_, i, j int) bool { return j <= i && i-j <= 1 },
		word: func(h, t, j int) int { return (h*2+j-t+1)*8 + t },
	},
	{
		name: "dropout in a steep window from row 1 on", attrs: "rate = 0.5; stream = 4; heads = 2; scale = 0.5; mask = J - 2 - 2*i <= j && j < J + 1 - 2*i", heads: 2, scale: 0.5, rate: 0.5, b: 2, t: 3, j: 7, c: 5, p: 1, width: 4,
		open: func(_, i, j int) bool { return 5-2*i <= j && j < 8-2*i },
		word: func(h, t, j int) int { return (h*3+j-5+2*(t+1))*4 + t },
	},
	{
		name: "dropout from row 2 on", attrs: "rate = 0.5; stream = 4; heads = 2; scale = 0.5", heads: 2, scale: 0.5, rate: 0.5, b: 2, t: 3, j: 4, c: 5, p: 2, width: 4,
		word: func(h, t, j int) int { return (h*3+t)*4 + j },
	},
}

// function returns the attention. Unless it drops weights, it also returns weights and
// logits.
func (c *attentionCase) function() string {
	params, args, more := "", "", ""
	if c.far > 0 {
		params, args = fmt.Sprintf("  v5 = param far input : f32[B, T, %d]\n", c.heads*(2*c.far+1)), " v5"
	}
	if c.bias != nil {
		params, args = "  v3 = param r weight : f32[2]\n  v4 = param table weight : f32[2, 4]\n"+params, args+" v3 v4"
	}
	if c.rate == 0 {
		for n, result := range []string{"weights", "logits"} {
			more += fmt.Sprintf("  v%d = attention_weights v0 v1%s {result = %s; %s} : f32[B, %d, T, S]\n  result %[3]s v%[1]d\n", 7+n, args, result, c.attrs, c.heads)
		}
	}
	return fmt.Sprintf("func f\n  v0 = param q input : f32[B, T, %[1]d]\n  v1 = param k input : f32[B, S, %[1]d]\n  v2 = param v input : f32[B, S, %[1]d]\n%[2]s"+
		"  v6 = attention v0 v1 v2%[3]s {%[4]s} : f32[B, T, %[1]d]\n  result y v6\n%[5]send\n", c.width, params, args, c.attrs, more)
}

func (c *attentionCase) env() ir.Env {
	return ir.Env{
		Dims: map[string]int{"B": c.b, "T": c.t, "S": c.j, "C": c.c, "P": c.p}, Example: 10,
		Rand: func(stream, example uint32, e int) uint32 { return (stream*31 + example*7 + uint32(e)) * 2654435761 },
	}
}

// naive computes attention one output at a time, with its weights and logits.
func (c *attentionCase) naive(env ir.Env, args []ir.Tensor) []ir.Tensor {
	q, k, v := args[0].F, args[1].F, args[2].F
	out := ir.Tensor{Shape: args[0].Shape, F: make([]float64, len(q))}
	probs := ir.Tensor{Shape: []int{c.b, c.heads, c.t, c.j}}
	logits := ir.Tensor{Shape: probs.Shape}
	dh := c.width / c.heads
	for b := range c.b {
		for h := range c.heads {
			for row := range c.t {
				i := c.p + row
				weights := make([]float64, c.j)
				total := 0.0
				for j := range c.j {
					if c.open != nil && !c.open(h, i, j) {
						logits.F = append(logits.F, math.Inf(-1))
						continue
					}
					s := 0.0
					if c.far > 0 {
						at := max(min(j-i, c.far), -c.far) + c.far
						s = c.scale * args[len(args)-1].F[((b*c.t+row)*c.heads+h)*(2*c.far+1)+at]
					}
					for d := range dh {
						s += c.scale * q[(b*c.t+row)*c.width+h*dh+d] * k[(b*c.j+j)*c.width+h*dh+d]
					}
					if c.bias != nil {
						s += c.bias(args[3].F, args[4].F, h, i, j)
					}
					logits.F = append(logits.F, s)
					weights[j] = math.Exp(s)
					total += weights[j]
				}
				for j, w := range weights {
					probs.F = append(probs.F, w/max(total, 1e-300))
					if w == 0 || c.rate > 0 && env.Rand(4, env.Example+uint32(b), c.word(h, row, j)) < uint32(c.rate*(1<<32)) {
						continue
					}
					for d := range dh {
						out.F[(b*c.t+row)*c.width+h*dh+d] += w / total / (1 - c.rate) * v[(b*c.j+j)*c.width+h*dh+d]
					}
				}
			}
		}
	}
	return []ir.Tensor{out, probs, logits}
}

func TestAttention(t *testing.T) {
	for _, c := range attentionCases {
		t.Run(c.name, func(t *testing.T) {
			f, env := irtest.Parse(t, c.function()), c.env()
			args := irtest.Args(t, f, env, 5)
			want := c.naive(env, args)
			for n, got := range irtest.Eval(t, f, env, args) {
				if err := irtest.Same(got, want[n], 1e-9); err != nil {
					t.Errorf("%s: %v", f.Results[n].Name, err)
				}
			}
		})
	}
}

// TestTableCloses wants 0 for a query whose keys a table closes, and what the others give by hand.
func TestTableCloses(t *testing.T) {
	f := irtest.Parse(t, `func f
  v0 = param q input : f32[B, T, 1]
  v1 = param k input : f32[B, S, 1]
  v2 = param v input : f32[B, S, 1]
  v3 = param table input : f32[1, T, S]
  v4 = attention v0 v1 v2 v3 {heads = 1; scale = 1; table} : f32[B, T, 1]
  result y v4
end
`)
	closed := math.Inf(-1)
	args := []ir.Tensor{
		{Shape: []int{1, 2, 1}, F: []float64{3, 0}}, {Shape: []int{1, 2, 1}, F: []float64{1, 2}},
		{Shape: []int{1, 2, 1}, F: []float64{5, 7}}, {Shape: []int{1, 2, 2}, F: []float64{closed, closed, closed, 0}},
	}
	got := irtest.Eval(t, f, ir.Env{Dims: map[string]int{"B": 1, "T": 2, "S": 2, "C": 2, "P": 0}}, args)[0]
	if got.F[0] != 0 || got.F[1] != 7 {
		t.Errorf("%v, want 0 and 7", got.F)
	}
}
