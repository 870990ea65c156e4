package ir

import (
	"math"

	"github.com/arithlang/mlc/compiler/expr"
)

// Runs returns I32 [B, rows]: the place, from 1, of token P+t in its run. A run is a
// maximal sequence of tokens I32 [B, K] for which member holds, a Bool over x0. Other
// tokens have place 0. K is rows if P is 0, or C when rows are decoded. If members are
// digits, these are the rows of Abacus embeddings (McLeish et al. 2024, arXiv:2405.17399,
// section 3.1).
func (b *Builder) Runs(tokens *Value, member *expr.Expr, rows Dim) *Value {
	if b.err != nil {
		return &Value{}
	}
	return b.Emit(Runs, Attr{Expr: member, Shape: []Dim{tokens.Type.Shape[0], rows}}, tokens)
}

// Total returns I32 [B, rows]: for token P+t the number of tokens up to it for which
// member holds.
func (b *Builder) Total(tokens *Value, member *expr.Expr, rows Dim) *Value {
	if b.err != nil {
		return &Value{}
	}
	return b.Emit(Runs, Attr{Expr: member, Total: true, Shape: []Dim{tokens.Type.Shape[0], rows}}, tokens)
}

// Draw returns I32 of a shape [B, ..]: random numbers in 0 … choices-1. Groups of
// consecutive examples in a step's batch share one number for all elements.
func (b *Builder) Draw(choices, group int, stream uint32, shape ...Dim) *Value {
	return b.Emit(Draw, Attr{Rows: choices, Group: group, Stream: stream, Shape: shape})
}

// Subset returns I32 of shape [T] or [T, 1]. It draws size of the numbers 0 … choices-1
// for each group of consecutive examples in a step's batch, and returns the first T in
// ascending order. A launch must lie within one group. If T exceeds size, the result is 0
// … T-1. So a row's number does not depend on the rows of its launch. Ruoss et al. 2023,
// arXiv:2305.16843, section 3.
func (b *Builder) Subset(choices, size, group int, stream uint32, shape ...Dim) *Value {
	return b.Emit(Subset, Attr{Rows: choices, Size: size, Group: group, Stream: stream, Shape: shape})
}

// Noise returns F32 [B, T, D] from the standard normal distribution, or [1, T, D], which
// is the noise of the launch's first example. The bits of row P+t do not depend on the
// launch's other rows.
func (b *Builder) Noise(stream uint32, shape ...Dim) *Value {
	return b.Emit(Noise, Attr{Stream: stream, Shape: shape})
}

// Normal returns a standard normal number from two random words, by the method of Box and
// Muller 1958 ("A note on the generation of random normal deviates"). The first uniform
// number is in (0, 1], so that its logarithm is finite.
func Normal(word1, word2 *expr.Expr) *expr.Expr {
	const ulp = 1.0 / (1 << 24)
	uniform := func(word *expr.Expr) *expr.Expr {
		return expr.New(expr.ToF32, expr.New(expr.AsI32, bin(expr.Shr, word, expr.U(8))))
	}
	u := bin(expr.Mul, bin(expr.Add, uniform(word1), expr.F(1)), expr.F(ulp))
	angle := bin(expr.Mul, uniform(word2), expr.F(2*math.Pi*ulp))
	radius := expr.New(expr.Sqrt, bin(expr.Mul, expr.F(-2), expr.New(expr.Log, u)))
	return bin(expr.Mul, radius, expr.New(expr.Cos, angle))
}

// Rotary rotates the first fraction of each head of x [B, T, H*dh] by angles proportional
// to positions (Su et al. 2021, arXiv:2104.09864, section 3.2.2). With r = dh*fraction/2,
// elements n and r+n are rotated by position * base^(-n/r), as in GPT-NeoX's half-split
// layout. position is an I32 expression over row d0, P, and args [T, 1] as x0, x1, ….
func (b *Builder) Rotary(x *Value, position *expr.Expr, heads int, base, fraction float64, args ...*Value) *Value {
	if b.err != nil {
		return &Value{}
	}
	shape := x.Type.Shape
	r := int(math.Round(float64(shape[len(shape)-1].N/heads)*fraction)) / 2
	if r < 1 {
		return x
	}
	rate := expr.New(expr.Exp, bin(expr.Mul, expr.New(expr.ToF32, D(1)), expr.F(-math.Log(base)/float64(r))))
	angle := bin(expr.Mul, expr.New(expr.ToF32, position), rate)
	table := func(f expr.Op) *Value { return b.MapShape(expr.New(f, angle), []Dim{shape[1], N(r)}, args...) }
	return b.Rotate(x, table(expr.Cos), table(expr.Sin), heads)
}

// Rotate rotates pairs of elements in each head of x [B, T, H*dh]. With cos and sin [T,
// r], elements n and r+n, n < r, become x[n] cos - x[r+n] sin and x[r+n] cos + x[n] sin.
// Other elements stay.
func (b *Builder) Rotate(x, cos, sin *Value, heads int) *Value {
	return b.Emit(Rotate, Attr{Attn: &AttnAttr{Heads: heads}}, x, cos, sin)
}

// RMSNorm returns x / sqrt(mean(x²) + eps) * gamma over the last axis of x [.., D] (Zhang
// and Sennrich 2019, arXiv:1910.07467).
func (b *Builder) RMSNorm(x, gamma *Value, eps float64) *Value {
	return b.Emit(RMSNorm, Attr{Eps: eps}, x, gamma)
}
