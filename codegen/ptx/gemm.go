package ptx

import (
	"slices"

	"github.com/arithlang/mlc/codegen/flat"
	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/kernel"
)

// A Gemm is a kernel that leaves a matrix product and nothing else, so that a library can
// compute it: Out[M, N] = Left[M, K] Right[K, N] + Plus[M, N]. All are whole buffers.
type Gemm struct {
	Size             [3]*expr.Expr // M, N and K, over scalars
	Left, Right, Out Operand
	Plus             int // a buffer of F32, which may be that of Out; -1: nothing is added
}

// An Operand is a buffer as a matrix, row by row.
type Operand struct {
	Buffer int  // its number
	Trans  bool // it lies column by column
	Narrow bool // it is BF16, else F32
}

// gemmOf returns a kernel after the passes of a schedule as a Gemm, nil if it is none: one
// product, perhaps rounded to BF16 or added to a matrix. Factors are F32 or both BF16, sums are
// F32, and the result is F32, or BF16 of BF16 factors if nothing is added.
func gemmOf(k *kernel.Kernel) *Gemm {
	if len(k.Grid) > 0 || len(k.Body) == 0 || len(k.Body) > 2 {
		return nil
	}
	d, ok := k.Body[0].(*kernel.Dot)
	if !ok || len(d.Axes) != 3 {
		return nil
	}
	p, b := flat.ProductOf(d), buffers{k}
	out, plus := &p.C, (*flat.Operand)(nil)
	if !d.Zero {
		plus = out
	}
	if len(k.Body) == 2 {
		if plus != nil || arrays(k)[d.Dst.Name] {
			return nil
		}
		if out, plus = finished(flat.AsSet(k.Body[1]), d); out == nil {
			return nil
		}
	}
	g := &Gemm{Size: [3]*expr.Expr{p.M, p.N, p.K}, Plus: -1}
	ok = b.matrix(&g.Left, p.A, p.M, p.K) && b.matrix(&g.Right, p.B, p.K, p.N) && b.matrix(&g.Out, *out, p.M, p.N)
	if !ok || g.Out.Trans || g.Left.Narrow != g.Right.Narrow || g.Out.Narrow && !(g.Left.Narrow && plus == nil) {
		return nil
	}
	if plus != nil {
		var added Operand
		if !b.matrix(&added, *plus, p.M, p.N) || added.Trans || added.Narrow {
			return nil
		}
		g.Plus = added.Buffer
	}
	return g
}

// finished returns the element that a statement makes of each output of a product, and the one that
// it adds to the output; nil if it does more than add or round.
func finished(s *kernel.Set, d *kernel.Dot) (out, plus *flat.Operand) {
	if s == nil || len(s.Axes) != 2 || !expr.Equal(s.Axes[0].Size, d.Axes[0].Size) || !expr.Equal(s.Axes[1].Size, d.Axes[1].Size) {
		return nil, nil
	}
	row, col := s.Axes[0].Var, s.Axes[1].Var
	sum := expr.NewElem(d.Dst.Name, d.Dst.Type, at(d.Dst, map[string]string{d.Axes[0].Var: row, d.Axes[1].Var: col}))
	is := func(e *expr.Expr) bool { return expr.Equal(expr.Simplify(e), sum) }
	element := func(e *expr.Expr) *flat.Operand {
		if e.Op != expr.Elem {
			return nil
		}
		o, ok := flat.OperandOf(e, row, col)
		if !ok {
			return nil
		}
		return &o
	}
	v := s.Value
	switch {
	case is(v), v.Op == expr.ToBF16 && is(v.Args[0]):
		return element(s.Dst), nil
	case v.Op == expr.Add:
		a, b := v.Args[0], v.Args[1]
		if is(a) {
			a, b = b, a
		}
		if added := element(a); is(b) && added != nil {
			return element(s.Dst), added
		}
	}
	return nil, nil
}

// buffers are those of a kernel.
type buffers struct{ *kernel.Kernel }

// matrix sets what an operand is as a whole buffer of so many rows and columns, and reports whether
// it is one of F32 or BF16.
func (b buffers) matrix(to *Operand, o flat.Operand, rows, cols *expr.Expr) bool {
	i := slices.IndexFunc(b.Params, func(p kernel.Param) bool { return p.Name == o.Slice && p.Mode != kernel.Scalar })
	if i < 0 {
		return false
	}
	p := &b.Params[i]
	along := func(rs, cs *expr.Expr) bool { return expr.Equal(o.RS, rs) && expr.Equal(o.CS, cs) }
	one := expr.Int(1)
	*to = Operand{Buffer: i, Trans: !along(cols, one), Narrow: p.Type == expr.BF16}
	whole := expr.IsInt(o.Off, 0) && expr.Equal(kernel.Elements(p.Shape), kernel.Elements([]*expr.Expr{rows, cols}))
	return whole && (!to.Trans || along(one, rows)) && (p.Type == expr.F32 || p.Type == expr.BF16)
}
