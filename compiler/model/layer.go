package model

import (
	"strings"

	"github.com/arithlang/mlc/compiler/check"
	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/ir"
)

var (
	x0 = ir.X(0, expr.F32)
	x1 = ir.X(1, expr.F32)
)

// Random streams, one a place where bits are drawn; layers are kept apart by
// the launch's layer number.
const (
	streamSource = 1 + iota
	streamTarget
	streamEncoder
	streamDecoder = streamEncoder + 8
)

// A layer is a function of one stack under construction.
type layer struct {
	*builder
	b        *ir.Builder
	md       mode
	stream   uint32               // the next random stream
	declared map[string]*ir.Value // learned leaves by name
}

func (m *builder) newLayer(name string, s check.Stack, stream uint32, md mode) *layer {
	return &layer{builder: m, b: ir.NewBuilder(name, s.Pos), md: md, stream: stream, declared: map[string]*ir.Value{}}
}

// encoderLayer builds source [B, S, D] -> x [B, S, D].
func (m *builder) encoderLayer(md mode) (*ir.Func, error) {
	s := m.spec.Model.Encoder
	l := m.newLayer("encoder_layer", s, streamEncoder, md)
	x := l.b.Param("x", m.rows("S"), ir.Input)
	x = l.attend("self", s.Self, x, l.linear(x, "self.k"), l.linear(x, "self.v"), true)
	x = l.feedForward(x)
	l.b.Result("y", x, false)
	return l.b.Func()
}

// decoderLayer builds x [B, T, D], source [B, S, D] -> y [B, T, D]. When
// decoding, the keys and values of self attention are caches [B, C, D] to which
// the rows are appended, and those of cross attention come from crossCache.
func (m *builder) decoderLayer(md mode) (*ir.Func, error) {
	s := m.spec.Model.Decoder
	name := map[mode]string{training: "decoder_layer", teacher: "decoder_layer", decoding: "decoder_step"}[md]
	l := m.newLayer(name, s, streamDecoder, md)
	x := l.b.Param("x", m.rows("T"), ir.Input)
	if md == decoding {
		keys := l.cached("self_keys", "C", l.linear(x, "self.k"))
		values := l.cached("self_values", "C", l.linear(x, "self.v"))
		x = l.attend("self", s.Self, x, keys, values, true)
		x = l.attend("cross", s.Cross, x, l.b.Param("cross_keys", m.rows("S"), ir.Input), l.b.Param("cross_values", m.rows("S"), ir.Input), false)
	} else {
		source := l.b.Param("source", m.rows("S"), ir.Input)
		x = l.attend("self", s.Self, x, l.linear(x, "self.k"), l.linear(x, "self.v"), true)
		x = l.attend("cross", s.Cross, x, l.linear(source, "cross.k"), l.linear(source, "cross.v"), false)
	}
	x = l.feedForward(x)
	l.b.Result("y", x, false)
	return l.b.Func()
}

// cached appends rows to a cache and makes it a result, so that later calls see it.
func (l *layer) cached(name, length string, rows *ir.Value) *ir.Value {
	cache := l.b.Append(l.b.Param(name, l.rows(length), ir.Input), rows)
	l.b.Result(name, cache, false)
	return cache
}

// crossCache builds source [B, S, D] -> the keys and values [B, S, D] that every
// decoded row attends to.
func (m *builder) crossCache() (*ir.Func, error) {
	l := m.newLayer("cross_cache", m.spec.Model.Decoder, streamDecoder, decoding)
	source := l.b.Param("source", m.rows("S"), ir.Input)
	l.b.Result("cross_keys", l.linear(source, "cross.k"), false)
	l.b.Result("cross_values", l.linear(source, "cross.v"), false)
	return l.b.Func()
}

// attend builds LN(x + dropout(Attention(x, keys, values) Wo)), one residual
// sub-layer in post-norm order (arXiv:2310.11984's code, torch.nn.Transformer).
func (l *layer) attend(name string, s *check.Site, x, keys, values *ir.Value, self bool) *ir.Value {
	l.b.Pos(s.Pos)
	query := l.linear(x, name+".q")
	leaves := make([]*ir.Value, len(s.Leaves))
	names := make([]string, len(s.Leaves))
	for i, leaf := range s.Leaves {
		names[i] = leaf.Name
		dims := make([]ir.Dim, len(leaf.Shape))
		for k, n := range leaf.Shape {
			dims[k] = ir.N(n)
		}
		leaves[i] = l.leaf(leafParam(leaf, name).Name, ir.T(dims...))
	}
	attr := ir.AttnAttr{
		Heads: l.spec.Model.Heads, Self: self, Mask: l.placed(s.Mask), Bias: l.placed(s.Bias), Leaves: names,
	}
	if tabled(attr.Bias) {
		table := l.b.BiasTable(attr, x.Type.Shape[1], keys.Type.Shape[1], leaves...)
		leaves = []*ir.Value{l.b.Label(table, name+".bias")}
		attr.Bias, attr.Leaves, attr.Table = nil, nil, true
	}
	attr.Scale = s.Scale
	y := l.b.Attention(query, keys, values, attr, l.rate(s.Dropout), l.next(), leaves...)
	y = l.b.Label(y, name+".attention")
	return l.residual(x, l.linear(y, name+".o"), name+".norm")
}

// tabled says whether a bias is worth a table [H, T, J], made once a launch,
// rather than an evaluation for every example: whether it has learned leaves,
// whose gradients then are sums over the table too, or costly functions.
func tabled(bias *expr.Expr) bool {
	if bias == nil {
		return false
	}
	costly := false
	expr.Walk(bias, func(e *expr.Expr) {
		costly = costly || e.Op == expr.Elem || e.Op.Transcendental()
	})
	return costly
}

// leaf declares the parameter of a learned leaf; sites may share it.
func (l *layer) leaf(name string, t ir.Type) *ir.Value {
	if l.declared[name] == nil {
		l.declared[name] = l.b.Param(name, t, ir.Weight)
	}
	return l.declared[name]
}

// feedForward builds LN(x + dropout(dropout(act(x W1)) W2)). A relu comes after
// its dropout, which makes no difference to the result: then the result is all
// that its gradient needs.
func (l *layer) feedForward(x *ir.Value) *ir.Value {
	l.b.Pos(l.spec.Model.Pos)
	h, stream := l.linear(x, "ffn.in"), l.next()
	activate := func() { h = l.b.Label(l.b.Map(activations[l.spec.Model.Act], h), "ffn.hidden") }
	if l.spec.Model.Act == "relu" {
		h = l.dropout(l.b, h, stream, l.md)
		activate()
	} else {
		activate()
		h = l.dropout(l.b, h, stream, l.md)
	}
	return l.residual(x, l.linear(h, "ffn.out"), "ffn.norm")
}

// activations are functions of x0.
var activations = map[string]*expr.Expr{
	"relu": expr.New(expr.Max, x0, expr.F(0)),
	"gelu": gelu(),
}

// gelu is x Φ(x), with the normal distribution function Φ through erf.
// Hendrycks and Gimpel 2016, section 2.
func gelu() *expr.Expr {
	phi := expr.New(expr.Add, expr.F(1), expr.New(expr.Erf, expr.New(expr.Mul, x0, expr.F(0.7071067811865476))))
	return expr.New(expr.Mul, expr.New(expr.Mul, x0, expr.F(0.5)), phi)
}

func (l *layer) residual(x, y *ir.Value, norm string) *ir.Value {
	y = l.dropout(l.b, y, l.next(), l.md)
	sum := l.b.Label(l.b.Add(x, y), strings.TrimSuffix(norm, "norm")+"sum")
	return l.norm(l.b, sum, norm)
}

// linear builds x W + b for the parameters name.w and name.b.
func (l *layer) linear(x *ir.Value, name string) *ir.Value {
	return l.project(l.b, x, name)
}

func (l *layer) next() uint32 {
	l.stream++
	return l.stream - 1
}

func (l *layer) rate(p float64) float64 {
	if l.md != training {
		return 0
	}
	return p
}

// placed replaces the positions pi and pj by what the position scheme gives.
func (m *builder) placed(e *expr.Expr) *expr.Expr {
	if e == nil {
		return nil
	}
	return expr.Subst(e, map[string]*expr.Expr{
		"pi": m.position(expr.NewVar("i", expr.I32)),
		"pj": m.position(expr.NewVar("j", expr.I32)),
	})
}

// rows is the type [B, L, D].
func (m *builder) rows(length string) ir.Type {
	return ir.T(ir.Sym("B"), ir.Sym(length), ir.N(m.spec.Model.Width))
}

func (m *builder) dropout(b *ir.Builder, x *ir.Value, stream uint32, md mode) *ir.Value {
	if md != training || m.spec.Model.Dropout == 0 {
		return x
	}
	return b.Dropout(x, m.spec.Model.Dropout, stream)
}

func (m *builder) norm(b *ir.Builder, x *ir.Value, name string) *ir.Value {
	d := ir.T(ir.N(m.spec.Model.Width))
	y := b.LayerNorm(x, b.Param(name+".gamma", d, ir.Weight), b.Param(name+".beta", d, ir.Weight), m.spec.Model.NormEps)
	return b.Label(y, name)
}

// project builds x W + b, where the widths come from the parameter's group.
func (m *builder) project(b *ir.Builder, x *ir.Value, name string) *ir.Value {
	w := m.shape(name + ".w")
	y := b.MatMul(x, b.Param(name+".w", ir.T(ir.N(w[0]), ir.N(w[1])), ir.Weight), false, false)
	if m.spec.Model.Bias {
		y = b.Add(y, b.Param(name+".b", ir.T(ir.N(w[1])), ir.Weight))
	}
	return b.Label(y, name)
}

// shape is that of a matrix in any group; the same name has the same shape in all.
func (m *builder) shape(name string) []int {
	for _, g := range m.plan.Groups {
		for _, p := range g.Params {
			if p.Name == name {
				return p.Shape
			}
		}
	}
	panic("BUG: no parameter " + name)
}
