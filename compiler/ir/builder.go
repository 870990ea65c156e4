package ir

import (
	"fmt"
	"slices"

	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/dsl/diag"
)

// A Builder makes a Func value by value. Func returns the first mistake. After a mistake
// all methods return an empty Value.
type Builder struct {
	f   *Func
	pos diag.Pos
	err error
}

// NewBuilder starts a function. pos is its place in the spec.
func NewBuilder(name string, pos diag.Pos) *Builder {
	return &Builder{f: &Func{Name: name, Pos: pos}, pos: pos}
}

// Pos sets the position of the values that follow.
func (b *Builder) Pos(pos diag.Pos) { b.pos = pos }

// Func returns the verified function, with parameters first and values numbered from 0,
// or the first mistake.
func (b *Builder) Func() (*Func, error) {
	if b.err != nil {
		return nil, fmt.Errorf("%s: %w", b.f.Name, b.err)
	}
	f := b.f
	slices.SortStableFunc(f.Values, func(a, b *Value) int {
		return rank(a) - rank(b)
	})
	for i, v := range f.Values {
		v.ID = i
	}
	return f, Verify(f)
}

// rank puts parameters before other values.
func rank(v *Value) int {
	if v.Op == Param {
		return 0
	}
	return 1
}

// Emit adds a value of any op except Param.
func (b *Builder) Emit(op Op, attr Attr, args ...*Value) *Value {
	v := &Value{ID: len(b.f.Values), Op: op, Args: args, Attr: attr, Pos: b.pos}
	if b.err == nil {
		t, err := infer(v)
		v.Type = t
		b.fail(err)
	}
	if b.err == nil {
		b.f.Values = append(b.f.Values, v)
	}
	return v
}

// fail records the first mistake.
func (b *Builder) fail(err error) {
	if b.err == nil {
		b.err = err
	}
}

// Clone adds v with other arguments, at the position of v.
func (b *Builder) Clone(v *Value, args ...*Value) *Value {
	b.pos = v.Pos
	return b.Emit(v.Op, v.Attr, args...)
}

// Label names v, and so the kernel that computes it.
func (b *Builder) Label(v *Value, name string) *Value {
	v.Attr.Name = name
	return v
}

// Param adds a parameter.
func (b *Builder) Param(name string, t Type, role Role) *Value {
	v := &Value{ID: len(b.f.Values), Op: Param, Type: t, Attr: Attr{Name: name}, Pos: b.pos}
	b.f.Values = append(b.f.Values, v)
	b.f.Params = append(b.f.Params, v)
	b.f.Roles = append(b.f.Roles, role)
	return v
}

// Result makes v an output. The value of an accumulated result is added to its buffer.
func (b *Builder) Result(name string, v *Value, accumulate bool) {
	b.f.Results = append(b.f.Results, Result{name, v, accumulate})
}

// Map computes e for every element. In e, X(k, t) is the element of args[k] broadcast
// from the right, and D(k) is an index of the result.
func (b *Builder) Map(e *expr.Expr, args ...*Value) *Value {
	return b.Emit(Map, Attr{Expr: e}, args...)
}

// MapShape is Map with the given result shape, to which args are broadcast.
func (b *Builder) MapShape(e *expr.Expr, shape []Dim, args ...*Value) *Value {
	return b.Emit(Map, Attr{Expr: e, Shape: shape}, args...)
}

// Dropout zeroes elements of x [B, ..] with probability rate and scales the rest
// by 1/(1-rate).
func (b *Builder) Dropout(x *Value, rate float64, stream uint32) *Value {
	return b.Emit(Dropout, Attr{Rate: rate, Stream: stream}, x)
}

// MatMul returns x [.., M, K] times y [K, N] or [.., K, N]. ta and tb first transpose the
// last two axes of an operand.
func (b *Builder) MatMul(x, y *Value, ta, tb bool) *Value {
	return b.Emit(MatMul, Attr{TransA: ta, TransB: tb}, x, y)
}

// Outer returns the sum over the leading axes of the outer products of x [.., K] and y
// [.., N]: [K, N].
func (b *Builder) Outer(x, y *Value) *Value { return b.Emit(Outer, Attr{}, x, y) }

// Sum adds over axes (ascending) and removes them.
func (b *Builder) Sum(x *Value, axes ...int) *Value { return b.Emit(Sum, Attr{Axes: axes}, x) }

// SegmentSum sums each Segment of a flat arena [N].
func (b *Builder) SegmentSum(x *Value) *Value { return b.Emit(SegmentSum, Attr{}, x) }

// Max returns the largest element over axes (ascending), which it removes.
func (b *Builder) Max(x *Value, axes ...int) *Value { return b.Emit(Max, Attr{Axes: axes}, x) }

// Reshape returns the elements in the same order with another shape.
func (b *Builder) Reshape(x *Value, shape ...Dim) *Value {
	return b.Emit(Reshape, Attr{Shape: shape}, x)
}

// Transpose permutes axes: axis k of the result is axis perm[k] of x.
func (b *Builder) Transpose(x *Value, perm ...int) *Value {
	return b.Emit(Transpose, Attr{Axes: perm}, x)
}

// Gather returns row ids[..] of table [V, D]: [.., D].
func (b *Builder) Gather(table, ids *Value) *Value { return b.Emit(Gather, Attr{}, table, ids) }

// Scatter adds row dy[..] [D] to row ids[..] of a zero [rows, D].
func (b *Builder) Scatter(ids, dy *Value, rows int) *Value {
	return b.Emit(Scatter, Attr{Rows: rows}, ids, dy)
}

// Append writes row [B, T, ..] into rows P … P+T-1 of cache [B, C, ..], in place.
func (b *Builder) Append(cache, row *Value) *Value { return b.Emit(Append, Attr{}, cache, row) }

// LayerNorm normalises x [.., D] over its last axis (Ba, Kiros and Hinton,
// arXiv:1607.06450), with the biased variance.
func (b *Builder) LayerNorm(x, gamma, beta *Value, eps float64) *Value {
	return b.Emit(LayerNorm, Attr{Eps: eps}, x, gamma, beta)
}

// Relative returns the relative scores [B, T, H*(2c+1)] of an attention
// (AttnAttr.Relative = c): q_i · table[clip(j-i, -c, c) + c] for queries q [B, T, H*dh]
// and table [2c+1, dh], which has one vector for each distance from -c to c. Shaw,
// Uszkoreit and Vaswani 2018 (arXiv:1803.02155), equations 4 and 5.
func (b *Builder) Relative(q, table *Value, heads int) *Value {
	return b.HeadProduct(q, table, true, heads)
}

// HeadProduct multiplies each head of x [.., H*K] by w [K, N], or by its transpose: [..,
// H*N].
func (b *Builder) HeadProduct(x, w *Value, transposed bool, heads int) *Value {
	return b.Emit(HeadProduct, Attr{TransB: transposed, Attn: &AttnAttr{Heads: heads}}, x, w)
}

// HeadOuter returns the sum over rows and heads of the outer products of x [.., H*K] and
// y [.., H*N]: [K, N].
func (b *Builder) HeadOuter(x, y *Value, heads int) *Value {
	return b.Emit(HeadOuter, Attr{Attn: &AttnAttr{Heads: heads}}, x, y)
}

// Attention returns softmax(scale q·k + bias) v over the open cells of each head, for q
// [B, T, H*dh] and k, v [B, J, H*dh]. params has relative scores and a bias table, if a
// has them, and then a tensor for each of a.Params.
func (b *Builder) Attention(q, k, v *Value, a AttnAttr, rate float64, stream uint32, params ...*Value) *Value {
	return b.Emit(Attention, Attr{Attn: &a, Rate: rate, Stream: stream}, append([]*Value{q, k, v}, params...)...)
}

// AttentionWeights returns the output of the softmax in an attention of q [B, T, H*dh]
// and k [B, J, H*dh] or, with logits, its input: [B, H, T, J]. Closed cells are 0, or
// -Inf. It has no gradient.
func (b *Builder) AttentionWeights(q, k *Value, a AttnAttr, logits bool, params ...*Value) *Value {
	result := "weights"
	if logits {
		result = "logits"
	}
	return b.Emit(AttentionWeights, Attr{Attn: &a, Result: result}, append([]*Value{q, k}, params...)...)
}

// BiasTable returns the bias of an attention site at all cells, [H, rows, keys]. params
// are a.Params.
func (b *Builder) BiasTable(a AttnAttr, rows, keys Dim, params ...*Value) *Value {
	return b.Emit(BiasTable, Attr{Attn: &a, Shape: []Dim{N(a.Heads), rows, keys}}, params...)
}

// Table returns the bias of a, an expression over h and j, at all heads and the given
// columns: [H, columns].
func (b *Builder) Table(a AttnAttr, columns Dim, params ...*Value) *Value {
	return b.Emit(BiasTable, Attr{Attn: &a, Shape: []Dim{N(a.Heads), columns}}, params...)
}

// TableRows returns the rows of a BiasTable or of its gradient: 1 if it has no such axis.
func TableRows(t Type) Dim {
	if t.Rank() == 2 {
		return N(1)
	}
	return t.Shape[1]
}

// CrossEntropy returns -log softmax(logits)[label] in nats, for logits [.., V] and labels
// [..] in -1 … V-1. It is 0 if the label is -1. Smoothing is the share of a label that all V share.
func (b *Builder) CrossEntropy(logits, labels *Value, smoothing float64) *Value {
	return b.Emit(CrossEntropy, Attr{Rate: smoothing}, logits, labels)
}

// ScaleGrad returns x. Its gradient is multiplied by factor, an F32 over the scalars of a launch.
func (b *Builder) ScaleGrad(x *Value, factor *expr.Expr) *Value {
	return b.Emit(ScaleGrad, Attr{Expr: factor}, x)
}

// ArgMax returns the first index of the largest logit.
func (b *Builder) ArgMax(logits *Value) *Value { return b.Emit(ArgMax, Attr{}, logits) }
