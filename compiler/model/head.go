package model

import "github.com/arithlang/mlc/compiler/ir"

// head builds x [B, T, D] -> pred [B, T] and, where rows are scored, loss [B, T].
func (m *builder) head(md mode) (*ir.Func, error) {
	s := m.spec.Model
	l := m.newLayer("head", "head", s.Pos, streamHead, md)
	x := l.b.Param("x", m.rows("T"), ir.Input)
	if s.Head > 0 {
		x = l.ffn(x, s.HeadAct)
	}
	x = l.norm(l.b, x, "norm")
	if s.Adapter {
		x = l.linear(x, "adapter")
	}
	logits := l.b.Label(l.logits(x), "logits")
	if m.scored(md) {
		labels := l.b.Param("labels", ir.Ints(ir.Sym("B"), ir.Sym("T")), ir.Input)
		l.b.Pos(m.spec.Train.Pos)
		l.b.Result("loss", l.b.CrossEntropy(logits, labels), false)
	}
	l.b.Result("pred", l.b.ArgMax(logits), false)
	return l.b.Func()
}

// logits are x times the output matrix, or times the transposed token table.
func (l *layer) logits(x *ir.Value) *ir.Value {
	if !l.spec.Model.Tied {
		return l.linear(x, "out")
	}
	vocab := ir.N(l.spec.Task.Vocab())
	y := l.product(x, l.b.Param("token", ir.T(vocab, ir.N(l.spec.Model.Width)), ir.Weight), true)
	if l.spec.Model.Bias {
		y = l.b.Add(y, l.b.Param("out.b", ir.T(vocab), ir.Weight))
	}
	return y
}
