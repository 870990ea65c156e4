package kernel

import (
	"slices"

	"github.com/arithlang/mlc/compiler/expr"
)

// A Gemm is a kernel that leaves a matrix product and nothing else, so that a library can
// compute it: Out[M, N] = Left[M, K] Right[K, N] + Plus[M, N]. All are whole buffers.
type Gemm struct {
	M, N, K               *expr.Expr // over scalars
	Left, Right           int        // buffers
	TransLeft, TransRight bool       // Left lies as [K, M], Right as [N, K]
	Plus                  int        // a buffer of F32, which may be Out; -1: nothing is added
	Out                   int
}

// Gemm finds what the kernel is as a Gemm, false if it is more or less than one. Factors
// are F32 or both BF16, sums are in F32, and what is left is F32, or BF16 where nothing is
// added.
func (k *Kernel) Gemm() (Gemm, bool) {
	o := &k.Op
	if !o.Product() {
		return Gemm{}, false
	}
	left, right := o.Arg("left"), o.Arg("right")
	out, plus, ok := k.plain()
	g := Gemm{
		M: o.Size("r"), N: o.Size("e"), K: o.Size("k"), TransLeft: left.Trans, TransRight: right.Trans,
		Left: k.index(left.Name), Right: k.index(right.Name), Plus: -1, Out: k.index(out),
	}
	if !ok || g.Left < 0 || g.Right < 0 || g.Out < 0 {
		return Gemm{}, false
	}
	factors, result := k.Params[g.Left].Type, k.Params[g.Out].Type
	if k.Params[g.Right].Type != factors || factors != expr.F32 && factors != expr.BF16 {
		return Gemm{}, false
	}
	if plus != "" {
		g.Plus = k.index(plus)
		whole := []*expr.Expr{g.M, g.N}
		if result != expr.F32 || k.Params[g.Plus].Type != expr.F32 || plus != out && !slices.EqualFunc(k.Params[g.Plus].Shape, whole, expr.Equal) {
			return Gemm{}, false
		}
	}
	return g, result == expr.F32 || result == expr.BF16
}

// index is where a buffer is among the parameters, -1 if there is none of that name.
func (k *Kernel) index(name string) int {
	return slices.IndexFunc(k.Params, func(p Param) bool { return p.Name == name && p.Mode != Scalar })
}

// plain says where a product goes whose steps are no more than a rounding or an addition,
// and what is added to it, "" for nothing.
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

// ofOutput says whether an expression is the element of a buffer that an output has.
func ofOutput(e *expr.Expr) bool {
	axis := func(i int, name string) bool { return e.Args[i].Op == expr.Var && e.Args[i].Name == name }
	return e.Op == expr.Elem && len(e.Args) == 2 && axis(0, "r") && axis(1, "e")
}
