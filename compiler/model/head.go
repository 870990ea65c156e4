package model

import (
	"github.com/arithlang/mlc/compiler/check"
	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/ir"
)

// head builds x [B, T, D] -> pred [B, T] and, if rows are scored, loss [B, T]; of a text also
// logits [B, T, tokens].
func (m *builder) head(md mode) (*ir.Func, error) {
	s := m.spec.Model
	l := m.newLayer("head", "head", s.Pos, streamHead, md)
	x := m.throttled(l.b, md, l.b.Param("x", m.rows("T"), ir.Input), expr.New(expr.Div, expr.F(1), runs))
	if s.Head > 0 {
		x = l.ffn(x, s.HeadAct, check.FFNTies{})
	}
	x = l.norm(x, "norm")
	if s.Adapter {
		x = l.linear(x, "adapter")
	}
	logits := l.b.Label(l.logits(x), "logits")
	if m.scored(md) {
		labels := l.b.Param("labels", ir.Ints(ir.Sym("B"), ir.Sym("T")), ir.Input)
		l.b.Pos(m.spec.Train.Pos)
		smoothing := 0.0 // tests and reports show the loss of the right tokens
		if md == training {
			smoothing = m.spec.Train.Smoothing
		}
		l.b.Result("loss", l.b.CrossEntropy(logits, labels, smoothing), false)
	}
	l.b.Result("pred", l.b.ArgMax(logits), false)
	if m.sampled(md) {
		l.b.Result(Logits, logits, false)
	}
	return l.b.Func()
}

// logits multiplies x by the output matrix, or by the transposed token table.
func (l *layer) logits(x *ir.Value) *ir.Value {
	s := l.spec.Model
	switch {
	case s.Tied && s.Token == nil:
		return l.offset(l.product(x, l.weight("token"), true), "out")
	case s.Tied || s.Output != nil:
		return l.offset(l.product(x, l.table("head", "output", l.said()), true), "out")
	}
	return l.linear(x, "out")
}
