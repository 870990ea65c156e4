package model

import (
	"slices"
	"strings"

	"github.com/arithlang/mlc/compiler/check"
	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/ir"
	"github.com/arithlang/mlc/dsl/diag"
)

var (
	x0 = ir.X(0, expr.F32)
	x1 = ir.X(1, expr.F32)
)

// Random streams, one for each place that draws bits. The launch's layer number tells
// layers apart.
const (
	streamSource = 1 + iota
	streamTarget
	streamEncoder
	streamDecoder = streamEncoder + 8 // for the loop, too
	streamState   = streamDecoder + 8
	streamHead    = streamState + 1
)

// A layer is a function of one stack under construction.
type layer struct {
	*builder
	b        *ir.Builder
	group    string // of its parameters
	md       mode
	stream   uint32                  // the next random stream
	declared map[string]*ir.Value    // parameters by name
	captured *check.Capture          // which attention to store; nil: none
	tables   refs                    // bias tables that it gets as arguments
	uses     int                     // further uses of parameters so far
	rounded  map[*ir.Value]*ir.Value // rounded factors of products, by their source
}

func (m *builder) newLayer(name, group string, pos diag.Pos, stream uint32, md mode) *layer {
	return &layer{builder: m, b: ir.NewBuilder(name, pos), group: group, md: md, stream: stream,
		declared: map[string]*ir.Value{}, rounded: map[*ir.Value]*ir.Value{}}
}

// rounds reports whether factors of products are rounded to BF16.
func (m *builder) rounds() bool { return m.spec.Train.Precision == "bf16" }

// factor returns x in the precision of products. Products that share a factor share its
// rounding.
func (l *layer) factor(x *ir.Value) *ir.Value {
	if !l.rounds() {
		return x
	}
	if l.rounded[x] == nil {
		l.rounded[x] = l.b.Label(l.b.Round(x), x.Attr.Name)
	}
	return l.rounded[x]
}

// product returns x times y, or times y transposed, in the spec's precision.
func (l *layer) product(x, y *ir.Value, transposed bool) *ir.Value {
	split := l.spec.Train.Precision == "tf32x3"
	return l.b.Emit(ir.MatMul, ir.Attr{TransB: transposed, Split: split}, l.factor(x), l.factor(y))
}

// encoderLayer builds source [B, S, D] -> x [B, S, D]. tables are bias tables that
// launches share.
func (m *builder) encoderLayer(md mode, tables refs) (*ir.Func, error) {
	s := m.spec.Model.Encoder
	l := m.newLayer("encoder_layer", "encoder", s.Pos, streamEncoder, md)
	l.tables = tables
	x := l.b.Param("x", m.rows("S"), ir.Input)
	x = l.attend("self", s.Self, x, l.itself(s.Self), true)
	x = l.feedForward(x)
	l.b.Result("y", x, false)
	return l.b.Func()
}

// decoderLayer builds x [B, T, D], source [B, S, D] -> y [B, T, D]. In decoding, the keys
// and values of self attention are caches [B, C, D] to which the rows are appended, and
// crossCache provides those for cross attention. The mode capturing adds the results self
// [B, H, T, T] and cross [B, H, T, S].
func (m *builder) decoderLayer(md mode, tables refs) (*ir.Func, error) {
	s := m.spec.Model.Decoder
	name := map[mode]string{training: "decoder_layer", teacher: "decoder_layer", capturing: "decoder_attention", decoding: "decoder_step"}[md]
	l := m.newLayer(name, "decoder", s.Pos, streamDecoder, md)
	l.tables = tables
	if md == capturing {
		l.captured = m.spec.Capture
	}
	x := l.b.Param("x", m.rows("T"), ir.Input)
	cross := l.cached
	if md != decoding {
		source := l.b.Param("source", m.rows("S"), ir.Input)
		cross = func(*ir.Value) (keys, values *ir.Value) { return l.memory("cross", s.Cross, source) }
	}
	x = l.attend("self", s.Self, x, l.itself(s.Self), true)
	x = l.attend("cross", s.Cross, x, cross, false)
	x = l.feedForward(x)
	l.b.Result("y", x, false)
	return l.b.Func()
}

// A reader returns the keys and values that rows x attend to.
type reader func(x *ir.Value) (keys, values *ir.Value)

// itself reads the rows themselves and, in decoding, the rows before them.
func (l *layer) itself(s *check.Site) reader {
	return func(x *ir.Value) (keys, values *ir.Value) {
		keys, values = l.memory("self", s, x)
		if l.md == decoding {
			keys, values = l.append("self_keys", keys, s), l.append("self_values", values, s)
		}
		return keys, values
	}
}

// cached reads the source's keys and values from crossCache.
func (l *layer) cached(*ir.Value) (keys, values *ir.Value) {
	t := l.factors("S", l.spec.Model.Decoder.Cross)
	return l.b.Param("cross_keys", t, ir.Input), l.b.Param("cross_values", t, ir.Input)
}

// memory returns the keys and values of rows [B, L, D].
func (l *layer) memory(name string, s *check.Site, rows *ir.Value) (keys, values *ir.Value) {
	return l.factor(l.projected(rows, name, "k", s)), l.factor(l.projection(rows, name, "v", s))
}

// append appends rows to a cache, which is also a result so that later calls see it.
func (l *layer) append(name string, rows *ir.Value, s *check.Site) *ir.Value {
	cache := l.b.Append(l.b.Param(name, l.factors("C", s), ir.Input), rows)
	l.b.Result(name, cache, false)
	return cache
}

// crossCache builds source [B, S, D] -> the keys and values [B, S, D] for every decoded
// row.
func (m *builder) crossCache() (*ir.Func, error) {
	s := m.spec.Model.Decoder
	l := m.newLayer("cross_cache", "decoder", s.Pos, streamDecoder, decoding)
	keys, values := l.memory("cross", s.Cross, l.b.Param("source", m.rows("S"), ir.Input))
	l.b.Result("cross_keys", keys, false)
	l.b.Result("cross_values", values, false)
	return l.b.Func()
}

// attend builds a residual sub-layer Attention(x, keys, values) Wo, as in
// torch.nn.Transformer.
func (l *layer) attend(name string, s *check.Site, x *ir.Value, read reader, self bool) *ir.Value {
	l.b.Pos(s.Pos)
	in := l.before(x, name+".norm")
	keys, values := read(in)
	keys, values = l.forQueries(keys, s, name+".keys"), l.forQueries(values, s, name+".values")
	query := l.projected(in, name, "q", s)
	attr, params := l.biased(name, s, self, x.Type.Shape[1], keys.Type.Shape[1])
	attr.Scale = s.Scale
	if l.spec.Model.Loop != nil && l.rate(s.Dropout) > 0 {
		// The dropout of an example must not depend on the lengths of its launch.
		attr.Words = []int{l.longest(x.Type.Shape[1]).N, l.longest(keys.Type.Shape[1]).N}
	}
	if s.Shaw > 0 {
		attr.Relative = s.Shaw
		params = append([]*ir.Value{l.b.Relative(query, l.weight(name+".relative"), attr.Heads)}, params...)
	}
	if l.captured != nil {
		l.b.Result(name, l.b.AttentionWeights(l.factor(query), keys, attr, l.captured.Logits, params...), false)
	}
	y := l.b.Attention(l.factor(query), keys, values, attr, l.rate(s.Dropout), l.next(), params...)
	y = l.b.Label(y, name+".attention")
	return l.after(x, l.projection(y, name, "o", s), name+".norm")
}

// forQueries repeats heads of keys or values, one for each head of queries. Caches hold
// each head once.
func (l *layer) forQueries(x *ir.Value, s *check.Site, name string) *ir.Value {
	group := l.spec.Model.KeyGroup(s)
	if group == 1 {
		return x
	}
	return l.b.Label(l.b.RepeatHeads(x, l.spec.Model.Heads, group), name)
}

// biased returns the mask and bias of a site for the given rows and keys, and the
// parameters of the bias or the table that replaces it.
func (l *layer) biased(name string, s *check.Site, self bool, rows, keys ir.Dim) (ir.AttnAttr, []*ir.Value) {
	if _, given := l.tables[table(name)]; given {
		t := l.b.Param(table(name), l.tableType(rows.Sym, keys.Sym), ir.Input)
		return ir.AttnAttr{Heads: l.spec.Model.Heads, Self: self, Mask: l.placed(s.Mask), Table: true}, []*ir.Value{t}
	}
	attr, params := l.bias(name, s, self, rows, keys)
	if attr.Fixed = lined(attr.Bias, s.Params); !attr.Fixed && tabled(attr.Bias) && !readsCounts(s) {
		params = []*ir.Value{l.b.Label(l.b.BiasTable(attr, rows, keys, params...), table(name))}
		attr.Bias, attr.Params, attr.Table = nil, nil, true
	}
	return attr, params
}

// bias returns the mask and bias of a site, and the parameters.
func (l *layer) bias(name string, s *check.Site, self bool, rows, keys ir.Dim) (ir.AttnAttr, []*ir.Value) {
	params := make([]*ir.Value, len(s.Params))
	names := make([]string, len(s.Params))
	for i, param := range s.Params {
		names[i] = param.Name
		dims := make([]ir.Dim, len(param.Shape))
		for k, n := range param.Shape {
			dims[k] = ir.N(n)
		}
		params[i] = l.param(param, name, ir.T(dims...))
	}
	attr := ir.AttnAttr{
		Heads: l.spec.Model.Heads, Self: self, Mask: l.placed(s.Mask), Bias: l.placed(s.Bias), Params: names,
	}
	params = l.drawnPositions(s.Bias, &attr, rows, keys, params)
	return attr, l.countParams(s, self, rows, keys, &attr, params)
}

// longest returns the length of the longest training problems in dimension d.
func (m *builder) longest(d ir.Dim) ir.Dim {
	source, target := m.spec.TrainedShape()
	switch d.Sym {
	case "S":
		return ir.N(source)
	case "T":
		return ir.N(target)
	}
	panic("BUG: " + d.String() + " is no extent of a problem")
}

// tabled reports whether a bias is worth a table [H, T, J], computed once per launch
// instead of once per example. It is if the bias has learned parameters, whose gradients
// then sum over the table, or costly functions.
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

// lined reports whether a bias only sums calibrated lines. A cell then reads one element
// per direction, at an index that moves with the key, which is less memory than a table.
func lined(bias *expr.Expr, params []check.BiasParam) bool {
	if bias == nil {
		return false
	}
	lines, other := false, false
	expr.Walk(bias, func(e *expr.Expr) {
		line := e.Op == expr.Elem && slices.ContainsFunc(params, func(l check.BiasParam) bool { return l.Name == e.Name && l.Init.Kind == "stage" })
		lines = lines || line
		other = other || e.Op.Transcendental() || e.Op == expr.Elem && !line
	})
	return lines && !other
}

// param declares a parameter of a bias. Sites may share it.
func (l *layer) param(param check.BiasParam, site string, t ir.Type) *ir.Value {
	name, role := biasParamName(param, site), ir.Weight
	if param.Fixed() {
		role = ir.Fixed
	}
	if l.declared[name] == nil {
		l.declared[name] = l.b.Param(name, t, role)
	}
	return l.declared[name]
}

// feedForward builds the residual sub-layer of ffn.
func (l *layer) feedForward(x *ir.Value) *ir.Value {
	l.b.Pos(l.spec.Model.Pos)
	return l.after(x, l.ffn(l.before(x, "ffn.norm"), l.spec.Model.Act, l.spec.Model.FFNTies), "ffn.norm")
}

// ffn builds dropout(act(x W1)) W2, or gated dropout((x U) act(x G)) W2. An activation
// that scales is applied after its dropout. The result is the same, and it is all that a
// relu's gradient reads.
func (l *layer) ffn(x *ir.Value, name string, ties check.FFNTies) *ir.Value {
	var h *ir.Value
	switch act := check.Activations[name]; {
	case act.Gated:
		u, gate := l.linear(x, "ffn.in.u"), "ffn.in.g"
		if ties.Gate {
			gate = "ffn.in.u"
		}
		g := l.offset(l.times(x, gate, false), "ffn.in.g")
		h = l.dropped(l.b.Map(expr.New(expr.Mul, x0, act.Of(x1)), u, g))
	case act.Scales:
		h = l.b.Map(act.Of(x0), l.dropped(l.linear(x, "ffn.in")))
	default:
		h = l.dropped(l.b.Map(act.Of(x0), l.linear(x, "ffn.in")))
	}
	h = l.b.Label(h, "ffn.hidden")
	if ties.Out == "" {
		return l.linear(h, "ffn.out")
	}
	in := map[string]string{"in": "ffn.in", "value": "ffn.in.u", "gate": "ffn.in.g"}[ties.Out]
	if ties.Gate {
		in = "ffn.in.u"
	}
	return l.offset(l.times(h, in, true), "ffn.out")
}

// before returns the input of a residual sub-layer, and after adds its result y to x.
// Post-norm order is LN(x + dropout(y)). Pre-norm order is x + dropout(y), where y comes
// from a normed x.
func (l *layer) before(x *ir.Value, norm string) *ir.Value {
	if l.spec.Model.NormPost {
		return x
	}
	return l.norm(x, norm)
}

func (l *layer) after(x, y *ir.Value, norm string) *ir.Value {
	sum := l.b.Label(l.b.Add(x, l.dropped(y)), strings.TrimSuffix(norm, "norm")+"sum")
	if !l.spec.Model.NormPost {
		return sum
	}
	return l.norm(sum, norm)
}

// dropped applies dropout with the next stream.
func (l *layer) dropped(x *ir.Value) *ir.Value { return l.dropout(l.b, x, l.next(), l.md) }

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

// placed replaces the positions pi and pj by their values in the position scheme, the layer by
// its number, and counts by elements of their arrays.
func (l *layer) placed(e *expr.Expr) *expr.Expr {
	if e == nil {
		return nil
	}
	e = expr.Subst(e, map[string]*expr.Expr{
		"pi":    l.position(expr.NewVar("i", expr.I32)),
		"pj":    l.position(expr.NewVar("j", expr.I32)),
		"layer": l.number(),
	})
	at := map[string]*expr.Expr{}
	for _, n := range counts {
		at[n.query] = expr.NewElem(n.query, expr.I32, expr.NewVar("i", expr.I32))
		at[n.key] = expr.NewElem(n.key, expr.I32, expr.NewVar("j", expr.I32))
	}
	return expr.Subst(e, at)
}

// number returns the layer's number in its stack, from 1. A stack that runs several times begins
// again; the launch counts through all runs, from 0.
func (l *layer) number() *expr.Expr {
	m := &l.spec.Model
	layers := map[string]int{"encoder": m.Encoder.Layers, "decoder": m.Decoder.Layers}[l.group]
	if m.Loop != nil {
		layers = m.Loop.Layers
	}
	run := expr.New(expr.Mod, expr.NewVar("layer", expr.I32), expr.Int(int64(max(layers, 1))))
	return expr.Simplify(expr.New(expr.Add, run, expr.Int(1)))
}

// rows returns the type [B, L, D].
func (m *builder) rows(length string) ir.Type {
	return ir.T(ir.Sym("B"), ir.Sym(length), ir.N(m.spec.Model.Width))
}

// factors returns the type [B, L, H*dh] of an attention's keys and values, as caches hold
// them.
func (m *builder) factors(length string, s *check.Site) ir.Type {
	t := ir.T(ir.Sym("B"), ir.Sym(length), ir.N(m.spec.Model.KeyInner(s)))
	if m.rounds() {
		t.Elem = expr.BF16
	}
	return t
}

func (m *builder) dropout(b *ir.Builder, x *ir.Value, stream uint32, md mode) *ir.Value {
	if md != training || m.spec.Model.Dropout == 0 {
		return x
	}
	return b.Dropout(x, m.spec.Model.Dropout, stream)
}
