package vector

import (
	"github.com/arithlang/mlc/codegen/cost"
	"github.com/arithlang/mlc/compiler/expr"
)

// A meter counts the instructions of a function as it is written: those that a call executes,
// the rare ways through it left out.
type meter struct {
	tally   cost.Tally // of the body at hand
	known   cost.Scope // what integers stand for
	written int        // instructions since the tally was added to
}

func newMeter() meter { return meter{tally: cost.None(), known: cost.Scope{}} }

// wrote counts an instruction.
func (m *meter) wrote() { m.written++ }

// flush adds what was written to the tally, so many times.
func (m *meter) flush(times *expr.Expr) {
	if m.written > 0 {
		m.tally.Add(expr.New(expr.Mul, times, expr.Int(int64(m.written))))
	}
	m.written = 0
}

// total is the tally of all.
func (m *meter) total() cost.Tally {
	m.flush(expr.Int(1))
	return m.tally
}

// times is for code that is run so many times and has no loops.
func (m *meter) times(n *expr.Expr, write func()) {
	m.flush(expr.Int(1))
	write()
	m.flush(m.known.Size(n))
}

// rarely is for code that is not counted.
func (m *meter) rarely(write func()) {
	before := m.written
	write()
	m.written = before
}

// within is for a body, whose tally becomes another one.
func (m *meter) within(write func(), becomes func(t cost.Tally) cost.Tally) {
	m.flush(expr.Int(1))
	outer := m.tally
	m.tally = cost.None()
	write()
	m.flush(expr.Int(1))
	outer.Join(becomes(m.tally))
	m.tally = outer
}

// ratio is n elements by so many, down.
func ratio(n *expr.Expr, by int) *expr.Expr { return expr.New(expr.Div, n, expr.Int(int64(by))) }

// ratioUp is n elements by so many, up.
func ratioUp(n *expr.Expr, by int) *expr.Expr {
	return ratio(expr.New(expr.Add, n, expr.Int(int64(by-1))), by)
}

// left are the elements that groups of so many leave.
func left(n *expr.Expr, group int) *expr.Expr { return expr.New(expr.Mod, n, expr.Int(int64(group))) }
