package kernel

import (
	"slices"

	"github.com/arithlang/mlc/compiler/expr"
)

// A Gemm is a kernel that computes only a matrix product, so that a library can run it. It is
// Out[M, N] = Left[M, K] Right[K, N] + Plus[M, N]. All are whole buffers.
type Gemm struct {
	Size             [3]*expr.Expr // M, N and K, over scalars
	Left, Right, Out Operand
	Plus             int // an F32 buffer, which may be Out; -1: nothing is added
}

// An Operand is a buffer as a matrix, row by row.
type Operand struct {
	Buffer int  // its number
	Trans  bool // it lies column by column
	Narrow bool // it is BF16, else F32
}

// Gemm returns the kernel as a Gemm, false if it is not exactly one. Factors are F32 or both
// BF16. Sums are F32. The result is F32, or BF16 if the factors are BF16 and nothing is added.
func (k *Kernel) Gemm() (Gemm, bool) {
	o := &k.Op
	if !o.Product() {
		return Gemm{}, false
	}
	left, right := o.Arg("left"), o.Arg("right")
	out, plus, ok := k.plain()
	if !ok {
		return Gemm{}, false
	}
	g := Gemm{Size: [3]*expr.Expr{o.Size("r"), o.Size("e"), o.Size("k")}, Plus: k.index(plus)}
	for _, x := range []struct {
		to *Operand
		Argument
	}{{&g.Left, left}, {&g.Right, right}, {&g.Out, Argument{Name: out}}} {
		b := k.buffer(x.Name)
		if b == nil || b.Type != expr.F32 && b.Type != expr.BF16 {
			return Gemm{}, false
		}
		*x.to = Operand{k.index(x.Name), x.Trans, b.Type == expr.BF16}
	}
	types := g.Left.Narrow == g.Right.Narrow && (!g.Out.Narrow || g.Left.Narrow && plus == "")
	if plus == "" || plus == out {
		return g, types
	}
	added := &k.Params[g.Plus]
	return g, types && added.Type == expr.F32 && slices.EqualFunc(added.Shape, g.Size[:2], expr.Equal)
}

// index returns the index of a buffer among the parameters, or -1.
func (k *Kernel) index(name string) int {
	return slices.IndexFunc(k.Params, func(p Param) bool { return p.Name == name && p.Mode != Scalar })
}

// plain returns the result of a product and the buffer added to it, "" for none. It is ok only if
// the steps are at most a rounding or an addition.
func (k *Kernel) plain() (out, plus string, ok bool) {
	y, steps := k.Op.Result("y"), k.Op.Steps
	out = y.Name
	if y.Add {
		plus = out
	}
	if len(steps) == 0 {
		return out, plus, true
	}
	if len(steps) > 1 || steps[0].Op != "map" || k.buffer(y.Name) != nil {
		return "", "", false
	}
	s := &steps[0]
	is := func(e *expr.Expr) bool { return e.Op == expr.Var && e.Name == y.Name }
	out, v := s.Name, s.Value
	if s.Add {
		return out, out, is(v)
	}
	switch v.Op {
	case expr.ToBF16:
		return out, "", is(v.Args[0])
	case expr.Add:
		a, b := v.Args[0], v.Args[1]
		if is(a) {
			a, b = b, a
		}
		return out, a.Name, is(b) && ofOutput(a)
	}
	return "", "", false
}

// ofOutput reports whether an expression is element [r, e] of a buffer.
func ofOutput(e *expr.Expr) bool {
	axis := func(i int, name string) bool { return e.Args[i].Op == expr.Var && e.Args[i].Name == name }
	return e.Op == expr.Elem && len(e.Args) == 2 && axis(0, "r") && axis(1, "e")
}
