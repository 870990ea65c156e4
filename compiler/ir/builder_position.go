package ir

import (
	"math"

	"github.com/arithlang/mlc/compiler/expr"
)

// Runs is I32 [B, rows]: for token P+t of tokens I32 [B, K] its number, from 1, in
// its maximal run of tokens for which member, a Bool over x0, holds; 0 for other
// tokens. K is rows where P is 0, or C when rows are decoded. With digits as
// members these are the rows of Abacus embeddings (McLeish et al. 2024,
// arXiv:2405.17399, section 3.1).
func (b *Builder) Runs(tokens *Value, member *expr.Expr, rows Dim) *Value {
	if b.err != nil {
		return &Value{}
	}
	return b.Emit(Runs, Attr{Expr: member, Shape: []Dim{tokens.Type.Shape[0], rows}}, tokens)
}

// Total is I32 [B, rows]: for token P+t how many tokens up to it member holds for.
func (b *Builder) Total(tokens *Value, member *expr.Expr, rows Dim) *Value {
	if b.err != nil {
		return &Value{}
	}
	return b.Emit(Runs, Attr{Expr: member, Total: true, Shape: []Dim{tokens.Type.Shape[0], rows}}, tokens)
}

// Draw is I32 of a shape [B, ..]: a random number of 0 … choices-1, the same at all
// elements of group consecutive examples of a step's batch.
func (b *Builder) Draw(choices, group int, stream uint32, shape ...Dim) *Value {
	return b.Emit(Draw, Attr{Rows: choices, Group: group, Stream: stream, Shape: shape})
}

// Subset is I32 of shape [T] or [T, 1]: the first T of size of the numbers
// 0 … choices-1, in ascending order, drawn for group consecutive examples of a step's
// batch, which must hold those of a launch; 0 … T-1 where T exceeds size. So what a row
// is given does not hang on how many rows a launch has. Ruoss et al. 2023,
// arXiv:2305.16843, section 3.
func (b *Builder) Subset(choices, size, group int, stream uint32, shape ...Dim) *Value {
	return b.Emit(Subset, Attr{Rows: choices, Size: size, Group: group, Stream: stream, Shape: shape})
}

// Noise is F32 [B, T, D] from the standard normal distribution, or [1, T, D], the
// noise of the launch's first example. Row P+t of an example has the same bits
// whatever other rows a launch computes.
func (b *Builder) Noise(stream uint32, shape ...Dim) *Value {
	return b.Emit(Noise, Attr{Stream: stream, Shape: shape})
}

// Normal is a standard normal number from two random words, by the method of Box
// and Muller 1958 ("A note on the generation of random normal deviates"). The
// first uniform number is in (0, 1], so that its logarithm is finite.
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

// Rotary turns the first fraction of each head of x [B, T, H*dh] by angles that
// are proportional to positions (Su et al. 2021, arXiv:2104.09864, section 3.2.2):
// with r = dh*fraction/2, elements n and r+n are turned by position * base^(-n/r),
// as in GPT-NeoX's half-split layout. position is I32 over row d0, P, and args
// [T, 1] as x0, x1, ….
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

// Rotate turns pairs of elements of each head of x [B, T, H*dh]: with cos and sin
// [T, r] elements n and r+n, n < r, become x[n] cos - x[r+n] sin and
// x[r+n] cos + x[n] sin. Others stay.
func (b *Builder) Rotate(x, cos, sin *Value, heads int) *Value {
	return b.Emit(Rotate, Attr{Attn: &AttnAttr{Heads: heads}}, x, cos, sin)
}

// RMSNorm is x / sqrt(mean(x²) + eps) * gamma over the last axis of x [.., D]
// (Zhang and Sennrich 2019, arXiv:1910.07467).
func (b *Builder) RMSNorm(x, gamma *Value, eps float64) *Value {
	return b.Emit(RMSNorm, Attr{Eps: eps}, x, gamma)
}
