package model

import (
	"fmt"

	"github.com/arithlang/mlc/compiler/check"
	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/ir"
	"github.com/arithlang/mlc/compiler/plan"
)

// linear builds x W + b for the matrix and biases of the given name.
func (l *layer) linear(x *ir.Value, name string) *ir.Value {
	return l.offset(l.times(x, name, false), name)
}

// times multiplies x by the named matrix or its transpose. The matrix may be a product of
// two narrow ones.
func (l *layer) times(x *ir.Value, name string, transposed bool) *ir.Value {
	if g, _, _ := l.plan.Find(l.group, name+".w"); g != nil {
		return l.product(x, l.weight(name+".w"), transposed)
	}
	first, second := l.weight(name+".down.w"), l.weight(name+".up.w")
	if transposed {
		first, second = second, first
	}
	return l.product(l.b.Label(l.product(x, first, transposed), name+".low"), second, transposed)
}

// offset adds the biases of a linear layer, if the model has any.
func (l *layer) offset(y *ir.Value, name string) *ir.Value {
	if l.spec.Model.Bias {
		y = l.b.Add(y, l.weight(name+".b"))
	}
	return l.b.Label(y, name)
}

// projection applies a projection of an attention site: q, k, v or o.
func (l *layer) projection(x *ir.Value, site, part string, s *check.Site) *ir.Value {
	name := site + "." + part
	switch w := s.Weights.Of(part); {
	case w.None:
		return x
	case w.Scalar:
		return l.offset(l.b.Mul(x, l.weight(name+".scalar")), name)
	case w.Of != "":
		return l.offset(l.times(x, w.Of, w.Transposed), name)
	}
	return l.linear(x, name)
}

// projected returns the queries or keys of rows x [B, L, D], with norms of heads and
// rotary positions applied to the input or to each head. Without a projection they are 0,
// so that scores are only mask and bias.
func (l *layer) projected(x *ir.Value, site, part string, s *check.Site) *ir.Value {
	heads := l.spec.Model.Heads
	if part == "k" {
		heads /= l.spec.Model.KeyGroup(s)
	}
	if s.Weights.Of(part).None {
		return l.b.Zeros(x.Type.Shape[0], x.Type.Shape[1], ir.N(heads*l.spec.Model.HeadUnits()))
	}
	if r := s.Rotary; r != nil && r.Input {
		x = l.rotated(x, 1, r)
	}
	y := l.projection(x, site, part, s)
	if s.QKNorm != nil {
		y = l.headNorm(y, site, part, heads, s.QKNorm)
	}
	if r := s.Rotary; r != nil && !r.Input {
		y = l.rotated(y, heads, r)
	}
	return y
}

// headNorm norms each head of rows [B, L, H*dh], with gains [H*dh]. It follows Henry et
// al. 2020 (arXiv:2010.04245), but divides by the root mean square instead of the length.
// For several heads, a product with blocks of 1/dh computes the mean squares.
func (l *layer) headNorm(x *ir.Value, site, part string, heads int, n *check.QKNorm) *ir.Value {
	if n.Gain == "shared" {
		part = "qk"
	}
	inner, head := x.Type.Shape[2], int64(l.spec.Model.HeadUnits())
	gamma := l.gain(site+"."+part+".norm.gamma", n.Gain != "none", inner, 1)
	if heads == 1 {
		return l.b.Label(l.b.RMSNorm(x, gamma, n.Eps), site+"."+part+".norm")
	}
	of := func(axis int) *expr.Expr { return expr.New(expr.Div, ir.D(axis), expr.Int(head)) }
	same := expr.New(expr.Eq, of(0), of(1))
	blocks := l.b.MapShape(expr.New(expr.Where, same, expr.F(1/float64(head)), expr.F(0)), []ir.Dim{inner, inner})
	squares := l.b.MatMul(l.b.Mul(x, x), blocks, false, false)
	root := expr.New(expr.Sqrt, expr.New(expr.Add, x1, expr.F(n.Eps)))
	return l.b.Label(l.b.Mul(l.b.Map(expr.New(expr.Div, x0, root), x, squares), gamma), site+"."+part+".norm")
}

// norm applies a norm of the model, with its own gains, shared ones, or none. It returns
// x if the part has no norm.
func (l *layer) norm(x *ir.Value, name string) *ir.Value {
	s := l.spec.Model
	if !s.Normed(normedPart(name)) {
		return x
	}
	from, width := name, ir.N(s.Width)
	if s.Gain == "shared" {
		from = sharedNorm
	}
	gamma := l.gain(from+".gamma", s.Gain != "none", width, 1)
	if s.Norm == rmsnorm {
		return l.b.Label(l.b.RMSNorm(x, gamma, s.NormEps), name)
	}
	return l.b.Label(l.b.LayerNorm(x, gamma, l.gain(from+".beta", s.Gain != "none", width, 0), s.NormEps), name)
}

const rmsnorm = "rmsnorm"

// gain returns a learned vector, or a constant one.
func (l *layer) gain(name string, learned bool, width ir.Dim, otherwise float64) *ir.Value {
	if learned {
		return l.weight(name)
	}
	return l.b.MapShape(expr.F(otherwise), []ir.Dim{width})
}

// weight returns the parameter with the given name in the layer's functions. In training,
// each further use gets its own name.
func (l *layer) weight(name string) *ir.Value {
	known := l.declared[name]
	if known != nil && l.md != training {
		return known
	}
	g, p, _ := l.plan.Find(l.group, name)
	if g == nil {
		panic("BUG: no parameter " + name + " in " + l.group)
	}
	if known != nil {
		l.uses++
		again := fmt.Sprintf("%s.use%d", name, l.uses+1)
		if l.plan.Ties == nil {
			l.plan.Ties = map[plan.Tie]string{}
		}
		l.plan.Ties[plan.Tie{Group: l.group, Name: again}] = name
		name = again
	}
	dims := make([]ir.Dim, len(p.Shape))
	for k, n := range p.Shape {
		dims[k] = ir.N(n)
	}
	l.declared[name] = l.b.Param(name, ir.T(dims...), ir.Weight)
	return l.declared[name]
}
