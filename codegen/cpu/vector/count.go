package vector

import (
	"github.com/arithlang/mlc/codegen/cost"
	"github.com/arithlang/mlc/compiler/expr"
)

// A meter counts the instructions that a call of a function executes. It leaves out rare
// paths.
type meter struct {
	tally   cost.Tally // tally of the current body
	known   cost.Scope // known values of integers
	written int        // instructions since the last flush
}

func newMeter() meter { return meter{tally: cost.None(), known: cost.Scope{}} }

// wrote counts an instruction.
func (m *meter) wrote() { m.written++ }

// flush adds the instructions since the last flush to the tally, multiplied by times.
func (m *meter) flush(times *expr.Expr) {
	if m.written > 0 {
		m.tally.Add(expr.New(expr.Mul, times, expr.Int(int64(m.written))))
	}
	m.written = 0
}

// total returns the tally of the whole function.
func (m *meter) total() cost.Tally {
	m.flush(expr.Int(1))
	return m.tally
}

// times counts code that runs n times and has no loops.
func (m *meter) times(n *expr.Expr, write func()) {
	m.flush(expr.Int(1))
	write()
	m.flush(m.known.Size(n))
}

// rarely writes code that is not counted.
func (m *meter) rarely(write func()) {
	before := m.written
	write()
	m.written = before
}

// within counts a body. becomes turns the tally of one run into the tally of all runs.
func (m *meter) within(write func(), becomes func(t cost.Tally) cost.Tally) {
	m.flush(expr.Int(1))
	outer := m.tally
	m.tally = cost.None()
	write()
	m.flush(expr.Int(1))
	outer.Join(becomes(m.tally))
	m.tally = outer
}

// ratio is n / by, rounded down.
func ratio(n *expr.Expr, by int) *expr.Expr { return expr.New(expr.Div, n, expr.Int(int64(by))) }

// ratioUp is n / by, rounded up.
func ratioUp(n *expr.Expr, by int) *expr.Expr {
	return ratio(expr.New(expr.Add, n, expr.Int(int64(by-1))), by)
}

// left is the number of elements after the last whole group.
func left(n *expr.Expr, group int) *expr.Expr { return expr.New(expr.Mod, n, expr.Int(int64(group))) }
