package ir

import (
	"slices"

	"github.com/arithlang/mlc/compiler/expr"
)

// expansions define composite ops by primitive ones. The interpreter runs them. args
// replace v.Args.
var expansions = map[Op]func(b *Builder, v *Value, args []*Value) *Value{
	ScaleGrad:        func(_ *Builder, _ *Value, args []*Value) *Value { return args[0] },
	LayerNorm:        expandNorm,
	LayerNormGrad:    expandNormGrad,
	RMSNorm:          expandNorm,
	RMSNormGrad:      expandNormGrad,
	HeadProduct:      expandHeadProduct,
	HeadOuter:        expandHeadOuter,
	Attention:        expandAttention,
	AttentionGrad:    expandAttentionGrad,
	AttentionWeights: expandAttentionWeights,
	BiasTable:        expandBiasTable,
	BiasTableGrad:    expandBiasTableGrad,
	CrossEntropy:     expandCrossEntropy,
	CrossEntropyGrad: expandCrossEntropyGrad,
	ArgMax:           expandArgMax,
}

// Decompose replaces composite ops by their expansions. It returns f itself if it has no
// composite ops.
func Decompose(f *Func) (*Func, error) {
	if !slices.ContainsFunc(f.Values, func(v *Value) bool { return v.Op.Composite() }) {
		return f, nil
	}
	return Rewrite(f, func(b *Builder, v *Value, args []*Value) *Value {
		if expand := expansions[v.Op]; expand != nil {
			b.Pos(v.Pos)
			return expand(b, v, args)
		}
		return b.Clone(v, args...)
	})
}

// Rewrite copies f and replaces every value except the parameters by the result of each.
// args are the replacements of v.Args.
func Rewrite(f *Func, each func(b *Builder, v *Value, args []*Value) *Value) (*Func, error) {
	b := NewBuilder(f.Name, f.Pos)
	now := map[*Value]*Value{}
	for i, p := range f.Params {
		b.Pos(p.Pos)
		now[p] = b.Param(p.Attr.Name, p.Type, f.Roles[i])
	}
	for _, v := range f.Values[len(f.Params):] {
		args := make([]*Value, len(v.Args))
		for i, a := range v.Args {
			args[i] = now[a]
		}
		now[v] = each(b, v, args)
	}
	for _, r := range f.Results {
		b.Result(r.Name, now[r.Value], r.Accumulate)
	}
	return b.Func()
}

// bin returns a binary operation.
func bin(op expr.Op, x, y *expr.Expr) *expr.Expr { return expr.New(op, x, y) }

// last returns the index of v's last axis.
func last(v *Value) int { return v.Type.Rank() - 1 }

// sumLast returns the sum over the last axis, kept with extent 1.
func sumLast(b *Builder, x *Value) *Value { return b.Keep(b.Sum(x, last(x)), x, last(x)) }

// meanLast returns the mean over the last axis, kept with extent 1.
func meanLast(b *Builder, x *Value) *Value {
	n := expr.New(expr.ToF32, x.Type.Shape[last(x)].Expr())
	return b.Map(bin(expr.Div, x0, n), sumLast(b, x))
}

// maxLast returns the maximum over the last axis, kept with extent 1.
func maxLast(b *Builder, x *Value) *Value { return b.Keep(b.Max(x, last(x)), x, last(x)) }

// softmax returns the softmax over the last axis.
func softmax(b *Builder, x *Value) *Value {
	e := b.Map(expr.New(expr.Exp, bin(expr.Sub, x0, x1)), x, maxLast(b, x))
	return b.Map(bin(expr.Div, x0, x1), e, sumLast(b, e))
}

// centred reports whether a norm subtracts the mean.
func centred(v *Value) bool { return v.Op == LayerNorm || v.Op == LayerNormGrad }

// normalise returns x / sqrt(mean(x²) + eps) and 1 / sqrt(mean(x²) + eps). A centred norm
// first subtracts the mean from x.
func normalise(b *Builder, v, x *Value) (norm, inv *Value) {
	if centred(v) {
		x = b.Map(bin(expr.Sub, x0, x1), x, meanLast(b, x))
	}
	root := expr.New(expr.Sqrt, bin(expr.Add, x0, expr.F(v.Attr.Eps)))
	inv = b.Map(bin(expr.Div, expr.F(1), root), meanLast(b, b.Mul(x, x)))
	return b.Mul(x, inv), inv
}

func expandNorm(b *Builder, v *Value, args []*Value) *Value {
	norm, _ := normalise(b, v, args[0])
	y := b.Mul(norm, args[1])
	if centred(v) {
		y = b.Add(y, args[2])
	}
	return y
}

func expandNormGrad(b *Builder, v *Value, args []*Value) *Value {
	x, gamma, dy := args[0], args[1], args[2]
	if v.Attr.Result == "mean" {
		return meanLast(b, x)
	}
	norm, inv := normalise(b, v, x)
	if v.Attr.Result == "rstd" {
		return inv
	}
	g := b.Mul(dy, gamma)
	along := b.Mul(norm, meanLast(b, b.Mul(g, norm)))
	if centred(v) {
		g = b.Map(bin(expr.Sub, x0, x1), g, meanLast(b, g))
	}
	return b.Mul(b.Map(bin(expr.Sub, x0, x1), g, along), inv)
}

// labelled returns two conditions, for logits [.., V] and labels [.., 1] as x1: whether
// an element is the labelled one, and whether its row counts.
func labelled(rank int) (hit, counts *expr.Expr) {
	label := X(1, expr.I32)
	return bin(expr.Eq, label, D(rank-1)), bin(expr.Le, expr.Int(0), label)
}

func expandCrossEntropy(b *Builder, v *Value, args []*Value) *Value {
	x, labels := args[0], args[1]
	n := last(x)
	m := maxLast(b, x)
	e := b.Map(expr.New(expr.Exp, bin(expr.Sub, x0, x1)), x, m)
	norm := b.Map(bin(expr.Add, expr.New(expr.Log, x0), x1), sumLast(b, e), m)
	column := b.Reshape(labels, slices.Concat(labels.Type.Shape, []Dim{N(1)})...)
	hit, counts := labelled(n + 1)
	picked := b.Sum(b.Map(expr.New(expr.Where, hit, bin(expr.Sub, x2, x0), expr.F(0)), x, column, norm), n)
	if rate := v.Attr.Rate; rate > 0 {
		all := b.Sum(b.Map(bin(expr.Sub, x1, x0), x, norm), n)
		share := expr.F(rate / float64(x.Type.Shape[n].N))
		picked = b.Map(bin(expr.Add, bin(expr.Mul, expr.F(1-rate), x0), bin(expr.Mul, share, x1)), picked, all)
	}
	return b.Map(expr.New(expr.Where, counts, x0, expr.F(0)), picked, labels)
}

func expandCrossEntropyGrad(b *Builder, v *Value, args []*Value) *Value {
	x, labels, dloss := args[0], args[1], args[2]
	tall := slices.Concat(labels.Type.Shape, []Dim{N(1)})
	hit, counts := labelled(x.Type.Rank())
	share := v.Attr.Rate / float64(x.Type.Shape[last(x)].N)
	diff := bin(expr.Sub, x0, expr.New(expr.Where, hit, expr.F(1-v.Attr.Rate+share), expr.F(share)))
	e := expr.New(expr.Where, counts, bin(expr.Mul, diff, x2), expr.F(0))
	return b.Map(e, softmax(b, x), b.Reshape(labels, tall...), b.Reshape(dloss, tall...))
}

// splitHeads separates the heads of x [.., H*K]: [.., H, K].
func splitHeads(b *Builder, x *Value, heads int) *Value {
	s := x.Type.Shape
	n := len(s) - 1
	return b.Reshape(x, slices.Concat(s[:n], []Dim{N(heads), N(s[n].N / heads)})...)
}

func expandHeadProduct(b *Builder, v *Value, args []*Value) *Value {
	y := b.MatMul(splitHeads(b, args[0], v.Attr.Attn.Heads), args[1], false, v.Attr.TransB)
	return b.Reshape(y, v.Type.Shape...)
}

func expandHeadOuter(b *Builder, v *Value, args []*Value) *Value {
	heads := v.Attr.Attn.Heads
	return b.Outer(splitHeads(b, args[0], heads), splitHeads(b, args[1], heads))
}

// expandArgMax returns the smallest index of the maximum.
func expandArgMax(b *Builder, _ *Value, args []*Value) *Value {
	x := args[0]
	n := last(x)
	away := expr.New(expr.Neg, x.Type.Shape[n].Expr())
	index := expr.New(expr.Where, bin(expr.Eq, x0, x1), expr.New(expr.Neg, D(n)), away)
	return b.Map(expr.New(expr.Neg, X(0, expr.I32)), b.Max(b.Map(index, x, maxLast(b, x)), n))
}
