package ptx

import (
	"slices"

	"github.com/arithlang/mlc/codegen/flat"
	"github.com/arithlang/mlc/codegen/ptx/emit"
	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/kernel"
)

// A Gemm is a kernel that computes only a matrix product, which a library can compute too:
// Out[M, N] = Left[M, K] Right[K, N] + Plus[M, N]. All operands are whole buffers.
type Gemm struct {
	Size             [3]*expr.Expr // M, N and K, over scalars
	Left, Right, Out Operand
	Plus             int // a buffer of F32, possibly Out; -1: none
}

// An Operand is a buffer as a matrix.
type Operand struct {
	Buffer int  // its number
	Trans  bool // it lies column by column, not row by row
	Narrow bool // it is BF16, else F32
}

// gemmOf returns a kernel, after the passes of its schedule, as a Gemm. It returns nil unless the
// kernel is one product, possibly rounded to BF16 or added to a matrix. Factors are F32 or both
// BF16. The result is F32, or BF16 if the factors are BF16 and nothing is added.
func gemmOf(k *kernel.Kernel) *Gemm {
	if len(k.Grid) > 0 || len(k.Body) == 0 || len(k.Body) > 2 {
		return nil
	}
	d, ok := k.Body[0].(*kernel.Dot)
	if !ok || len(d.Axes) != 3 {
		return nil
	}
	dst, added, tile := d.Dst, (*expr.Expr)(nil), !emit.Arrays(k)[d.Dst.Name]
	row, col := d.Axes[0].Var, d.Axes[1].Var
	switch {
	case len(k.Body) == 1:
		if !d.Zero {
			added = dst
		}
	case d.Zero && tile:
		s := flat.AsSet(k.Body[1])
		if dst, added = finished(s, d); dst == nil {
			return nil
		}
		row, col = s.Axes[0].Var, s.Axes[1].Var
	default:
		return nil
	}
	p := flat.ProductOf(d)
	left, right, out := matrixOf(k, &p.A, p.M, p.K), matrixOf(k, &p.B, p.K, p.N), elementOf(k, dst, row, col, p)
	if left == nil || right == nil || out == nil || out.Trans || left.Narrow != right.Narrow || out.Narrow && (!left.Narrow || added != nil) {
		return nil
	}
	g := &Gemm{[3]*expr.Expr{p.M, p.N, p.K}, *left, *right, *out, -1}
	if added != nil {
		plus := elementOf(k, added, row, col, p)
		if plus == nil || plus.Trans || plus.Narrow {
			return nil
		}
		g.Plus = plus.Buffer
	}
	return g
}

// finished returns what a statement sets for each output of a product, and what it adds to the
// output, or nil for nothing. It returns no destination if the statement does more than add or
// round.
func finished(s *kernel.Set, d *kernel.Dot) (dst, added *expr.Expr) {
	if s == nil || len(s.Axes) != 2 || !expr.Equal(s.Axes[0].Size, d.Axes[0].Size) || !expr.Equal(s.Axes[1].Size, d.Axes[1].Size) {
		return nil, nil
	}
	place := emit.At(d.Dst, map[string]string{d.Axes[0].Var: s.Axes[0].Var, d.Axes[1].Var: s.Axes[1].Var})
	is := func(e *expr.Expr) bool {
		return e.Op == expr.Elem && e.Name == d.Dst.Name && expr.Equal(expr.Simplify(e.Args[0]), place)
	}
	switch v := s.Value; {
	case is(v), v.Op == expr.ToBF16 && is(v.Args[0]):
		return s.Dst, nil
	case v.Op == expr.Add && is(v.Args[0]):
		return s.Dst, v.Args[1]
	case v.Op == expr.Add && is(v.Args[1]):
		return s.Dst, v.Args[0]
	}
	return nil, nil
}

// elementOf returns the matrix with the element e for each output of a product, or nil.
func elementOf(k *kernel.Kernel, e *expr.Expr, row, col string, p flat.Product) *Operand {
	if e.Op != expr.Elem {
		return nil
	}
	o, ok := flat.OperandOf(e, row, col)
	if !ok {
		return nil
	}
	return matrixOf(k, &o, p.M, p.N)
}

// matrixOf returns an operand as a whole buffer of F32 or BF16, or nil.
func matrixOf(k *kernel.Kernel, o *flat.Operand, rows, cols *expr.Expr) *Operand {
	i := slices.IndexFunc(k.Params, func(p kernel.Param) bool { return p.Name == o.Slice && p.Mode != kernel.Scalar })
	if i < 0 || !expr.IsInt(o.Off, 0) {
		return nil
	}
	b, one := &k.Params[i], expr.Int(1)
	plain := expr.Equal(o.RS, cols) && expr.Equal(o.CS, one)
	trans := expr.Equal(o.RS, one) && expr.Equal(o.CS, rows)
	whole := expr.Equal(kernel.Elements(b.Shape), kernel.Elements([]*expr.Expr{rows, cols}))
	if !(plain || trans) || !whole || b.Type != expr.F32 && b.Type != expr.BF16 {
		return nil
	}
	return &Operand{i, !plain, b.Type == expr.BF16}
}
