package model

import (
	"math"
	"slices"

	"github.com/arithlang/mlc/compiler/check"
	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/ir"
)

// streamPosition is the random stream of drawn positions. Source, target and all sites
// draw the same positions. The offsets of shifted positions differ between source and
// target, which add their own stream to it.
const streamPosition = 64

// position returns the position of the token with the given index.
func (m *builder) position(index *expr.Expr) *expr.Expr {
	if p := m.spec.Model.Position; p.Kind == "cyclic" {
		return expr.New(expr.Mod, index, expr.Int(int64(p.Period)))
	}
	return index
}

// hasHistory reports whether the position or a count of a token depends on earlier
// tokens, so that decoding must keep them.
func (m *builder) hasHistory() bool {
	return m.coupled() || slices.ContainsFunc(counts, func(n count) bool { return m.has(n, "target") })
}

// coupled reports whether positions are places in numbers. The decoding form of embed
// then has a parameter and a result history, I32 [B, C].
func (m *builder) coupled() bool { return m.spec.Model.Position.Kind == "abacus" }

// An embedding is a function of rows of tokens under construction.
type embedding struct {
	*layer
	part   string     // source or target
	tokens *ir.Value  // I32 [B, L]
	rows   ir.Dim     // L
	first  *expr.Expr // index of the first row
	text   uint32     // the random stream of its part
}

// embed builds tokens [B, L] -> x [B, L, D]: the token embedding times its scale, plus
// the position, then the embedding's norm and dropout. Token l has index first + l.
func (m *builder) embed(name, tokens, length string, first *expr.Expr, stream uint32, md mode) (*ir.Func, error) {
	s := m.spec.Model
	l := m.newLayer(name, "embed", s.Pos, stream, md)
	b := l.b
	ids := b.Param(tokens, ir.Ints(ir.Sym("B"), ir.Sym(length)), ir.Input)
	e := &embedding{layer: l, part: "target", tokens: ids, rows: ir.Sym(length), first: first, text: stream}
	if stream == streamSource {
		e.part = "source"
	}
	table := l.table(e.part, "token", m.spec.Task.Vocab())
	b.Pos(s.Position.Pos)
	pos := e.positions()
	b.Pos(s.Pos)
	x := b.Gather(table, ids)
	scaled := expr.New(expr.Mul, x0, expr.F(s.TokenScale))
	if pos != nil {
		x = b.Map(expr.New(expr.Add, scaled, x1), x, pos)
	} else {
		x = b.Map(scaled, x)
	}
	x = m.dropout(b, e.normed(x), stream, md)
	b.Result("x", x, false)
	return b.Func()
}

// normed applies the embedding's norm, with parameters norm.gamma and, for a layer norm,
// norm.beta.
func (e *embedding) normed(x *ir.Value) *ir.Value {
	s := e.spec.Model
	switch s.EmbedNorm {
	case "layernorm":
		x = e.b.LayerNorm(x, e.weight("norm.gamma"), e.weight("norm.beta"), s.EmbedEps)
	case rmsnorm:
		x = e.b.RMSNorm(x, e.weight("norm.gamma"), s.EmbedEps)
	default:
		return x
	}
	return e.b.Label(x, "norm")
}

// positions returns the tensor to add to the tokens, [L, D] or [B, L, D], or nil.
func (e *embedding) positions() *ir.Value {
	p, width := e.spec.Model.Position, e.spec.Model.Width
	if p.Kind == "none" || p.Inner == "none" {
		return nil
	}
	switch {
	case p.Kind == "abacus":
		return e.look(e.abacus())
	case p.Kind == "shifted" && e.md == training:
		return e.shifted()
	}
	table := p.Rows()
	if p.Kind == "random" && e.md == training {
		if table > 0 {
			return e.look(e.b.Subset(p.Max, e.spec.DrawnPositions(), e.spec.DrawGroup(), streamPosition, e.rows))
		}
		drawn := e.b.Subset(p.Max, e.spec.DrawnPositions(), e.spec.DrawGroup(), streamPosition, e.rows, ir.N(1))
		return e.b.MapShape(sinusoid(ir.X(0, expr.I32), width), []ir.Dim{e.rows, ir.N(width)}, drawn)
	}
	index := e.position(expr.New(expr.Add, e.first, ir.D(0)))
	if table == 0 {
		return e.b.MapShape(sinusoid(index, width), []ir.Dim{e.rows, ir.N(width)})
	}
	if p.Kind == "random" {
		index = expr.New(expr.Min, index, expr.Int(int64(table-1)))
	}
	return e.look(e.b.MapShape(index, []ir.Dim{e.rows}))
}

// shifted adds an offset to the positions, drawn per example: Kiyono et al. 2021
// (arXiv:2109.05644), section 3. As in the released code, sources draw their own offsets,
// the largest offset is excluded, and tests start at it.
func (e *embedding) shifted() *ir.Value {
	p, width := e.spec.Model.Position, e.spec.Model.Width
	offset := e.b.Draw(p.MaxOffset+1, 1, streamPosition+e.text, ir.Sym("B"), e.rows)
	ids := e.b.Map(expr.New(expr.Add, ir.X(0, expr.I32), ir.D(1)), offset)
	if p.Rows() > 0 {
		return e.look(ids)
	}
	return e.b.Gather(e.b.MapShape(sinusoid(ir.D(0), width), []ir.Dim{ir.N(p.Max), ir.N(width)}), ids)
}

// look reads rows of the position table. Positions that all examples share are copied to
// each example in training, so that gradients are sums over examples, independent of a
// launch's size.
func (e *embedding) look(ids *ir.Value) *ir.Value {
	p := &e.spec.Model.Position
	if p.Fixed {
		return e.b.Gather(e.b.Param("position", e.tableShape(p.Rows()), ir.Fixed), ids)
	}
	if e.md == training && ids.Type.Rank() == 1 {
		ids = e.b.MapShape(ir.X(0, expr.I32), []ir.Dim{ir.Sym("B"), e.rows}, ids)
	}
	return e.b.Gather(e.table(e.part, "position", p.Rows()), ids)
}

// abacus returns each token's row of the position table: for a digit its place in its
// number, from 1, and 0 for other tokens. Training adds a random offset, one per draw
// group, to digits, so that rows beyond the longest number are trained (McLeish et al.
// 2024, arXiv:2405.17399, section 3.1). Coupled positions add one offset per example to
// all its tokens (Cho et al. 2024, arXiv:2405.20671). Digits beyond the table's length
// use its last row.
func (e *embedding) abacus() *ir.Value {
	p := e.spec.Model.Position
	place, args := ir.X(0, expr.I32), []*ir.Value{e.b.Runs(e.known(e.tokens), isDigit(e.spec.Task), e.rows)}
	row := place
	if e.md == training && p.MaxOffset > 0 {
		group := e.spec.DrawGroup()
		if p.Coupled {
			group = 1
		}
		args = append(args, e.b.Draw(p.MaxOffset+1, group, streamPosition, ir.Sym("B"), e.rows))
		row = expr.New(expr.Add, place, ir.X(1, expr.I32))
		if !p.Coupled {
			row = expr.New(expr.Where, expr.New(expr.Lt, expr.Int(0), place), row, expr.Int(0))
		}
	}
	return e.b.Map(expr.New(expr.Min, row, expr.Int(int64(p.Table-1))), args...)
}

// isDigit returns an expression that tells whether token x0 is a digit. Package
// runtime/task defines the ids.
func isDigit(t check.Task) *expr.Expr {
	token := ir.X(0, expr.I32)
	between := func(lo, hi int) *expr.Expr {
		return expr.New(expr.And, expr.New(expr.Le, expr.Int(int64(lo)), token), expr.New(expr.Le, token, expr.Int(int64(hi))))
	}
	is := between(t.Digits())
	if !t.Sequence && !t.Used && t.Base > 10 {
		is = expr.New(expr.Or, is, between(17, 17+t.Base-11))
	}
	return is
}

// rotated rotates the heads of rows x [B, L, D] by their positions. In training, random
// positions are drawn.
func (l *layer) rotated(x *ir.Value, heads int, r *check.Rotary) *ir.Value {
	if p := l.spec.Model.Position; p.Kind == "random" && l.md == training {
		drawn := l.b.Subset(p.Max, l.spec.DrawnPositions(), l.spec.DrawGroup(), streamPosition, x.Type.Shape[1], ir.N(1))
		return l.b.Rotary(x, ir.X(0, expr.I32), heads, r.Base, r.Fraction, drawn)
	}
	index := l.position(expr.New(expr.Add, expr.NewVar("P", expr.I32), ir.D(0)))
	return l.b.Rotary(x, index, heads, r.Base, r.Fraction)
}

// drawnPositions makes a bias read the positions that training draws for random
// positions. They become further parameters, after the given ones.
func (l *layer) drawnPositions(bias *expr.Expr, attr *ir.AttnAttr, rows, keys ir.Dim, params []*ir.Value) []*ir.Value {
	p := l.spec.Model.Position
	if bias == nil || p.Kind != "random" || l.md != training {
		return params
	}
	drawn := map[string]*expr.Expr{}
	for _, side := range []struct {
		position, index string
		rows            ir.Dim
	}{{"pi", "i", rows}, {"pj", "j", keys}} {
		used := slices.ContainsFunc(expr.Vars(bias), func(v *expr.Expr) bool { return v.Name == side.position })
		if !used {
			continue
		}
		drawn[side.position] = expr.NewElem(side.position, expr.I32, expr.NewVar(side.index, expr.I32))
		attr.Params = append(attr.Params, side.position)
		params = append(params, l.b.Subset(p.Max, l.spec.DrawnPositions(), l.spec.DrawGroup(), streamPosition, side.rows))
	}
	attr.Bias = l.placed(expr.Subst(bias, drawn))
	return params
}

// sinusoid returns feature d1 of position p: sin(p w_k) at d1 = 2k and cos(p w_k) at 2k+1
// with w_k = 10000^(-2k/D). Vaswani et al. 2017, section 3.5.
func sinusoid(p *expr.Expr, width int) *expr.Expr {
	d1 := expr.NewVar("d1", expr.I32)
	odd := expr.New(expr.Mod, d1, expr.Int(2))
	even := expr.New(expr.Sub, d1, odd)
	rate := expr.New(expr.Exp, expr.New(expr.Mul, expr.New(expr.ToF32, even), expr.F(-math.Log(10000)/float64(width))))
	angle := expr.New(expr.Mul, expr.New(expr.ToF32, p), rate)
	return expr.New(expr.Where, expr.New(expr.Eq, odd, expr.Int(0)), expr.New(expr.Sin, angle), expr.New(expr.Cos, angle))
}
