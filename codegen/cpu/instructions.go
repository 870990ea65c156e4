package cpu

import (
	"maps"

	"github.com/dave/jennifer/jen"

	"github.com/arithlang/mlc/codegen/cost"
	"github.com/arithlang/mlc/codegen/cpu/vector"
	"github.com/arithlang/mlc/codegen/gocode"
	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/kernel"
)

// instructions counts the instructions of a kernel's vector kernels in a launch, by
// instruction set. Apart from matrix products and copies, a launch executes little else.
func instructions(nodes []kernel.Stmt, calls map[kernel.Stmt]*call) map[string]cost.Tally {
	if len(calls) == 0 {
		return nil
	}
	all := map[string]cost.Tally{}
	for _, isa := range vector.InstructionSets() {
		w := &meter{calls, isa, cost.Scope{}}
		all[isa] = w.nodes(nodes)
	}
	return all
}

// A meter adds up the instructions of vector kernels.
type meter struct {
	calls map[kernel.Stmt]*call
	isa   string
	known cost.Scope
}

func (m *meter) nodes(nodes []kernel.Stmt) cost.Tally {
	t := cost.None()
	for i := 0; i < len(nodes); i++ {
		n := nodes[i]
		if c := m.calls[n]; c != nil {
			t.Join(m.call(c))
			i += c.nodes - 1
			continue
		}
		m.known.Enter(n)
		switch n := n.(type) {
		case *kernel.For:
			lo, hi := m.known.Bounds(n.Lo, n.Hi)
			t.Join(m.nodes(n.Body).Over(n.Var, lo, hi))
		case *kernel.If:
			t.Join(m.known.Whether(n.Cond, m.nodes(n.Body)))
		}
	}
	return t
}

// call returns the tally of a call, or of all calls that share a loop.
func (m *meter) call(c *call) cost.Tally {
	known := maps.Clone(m.known)
	if c.over != nil {
		from, to := bounds(c.over)
		known[from.Name], known[to.Name] = m.known.Bounds(expr.Int(0), c.over.Hi)
	}
	return known.Of(c.code.Instructions[m.isa])
}

// instructionFields prints the counts as a field of a cost. body computes what the field uses.
func (p *printer) instructionFields(all map[string]cost.Tally) (field jen.Code, body []jen.Code) {
	var fields []jen.Code
	for _, isa := range vector.InstructionSets() {
		if t, ok := all[isa]; ok && !empty(t) {
			n, loops := p.total("on"+isa, t)
			fields, body = append(fields, count(isa, n)), append(body, loops...)
		}
	}
	if fields == nil {
		return nil, nil
	}
	return gocode.Field("Instructions", gocode.CPU.Qual("Instructions").Add(gocode.Lines(fields...))), body
}
