package model

import (
	"github.com/arithlang/mlc/compiler/check"
	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/ir"
	"github.com/arithlang/mlc/compiler/plan"
)

// A tableUse is a use of a table that an expression computes. In training each use has
// its own gradient, which is a sum over the rows of a chunk. The gradients of the
// parameters come from these sums.
type tableUse struct {
	part, name string // part is where the model reads it: source, target or head. name is the table's name there.
	table      *check.Table
	rows       []int // the value of n in each row
}

// tableUses lists the uses of tables that expressions compute.
func (m *builder) tableUses() (all []tableUse) {
	s := m.spec.Model
	add := func(part, name string, t *check.Table, rows []int) {
		if t != nil {
			all = append(all, tableUse{part, name, t, rows})
		}
	}
	parts := []string{"source", "target"}
	if s.Loop != nil {
		parts = parts[1:]
	}
	tokens := m.spec.Task.TableRows()
	for _, part := range parts {
		add(part, "token", s.Token, tokens)
		add(part, "position", s.Position.Value, counted(s.Position.Rows()))
	}
	output := s.Output
	if s.Tied {
		output = s.Token
	}
	add("head", "output", output, tokens[:m.said()])
	return all
}

// counted returns 0 … n-1.
func counted(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}

// use returns the use of a table in a part of the model, or nil if the table is learned.
func (m *builder) use(part, name string) *tableUse {
	for _, u := range m.tableUses() {
		if u.part == part && u.name == name {
			return &u
		}
	}
	return nil
}

func (m *builder) tableShape(rows int) ir.Type { return ir.T(ir.N(rows), ir.N(m.spec.Model.Width)) }

// table returns a table [rows, D] in a function of a part of the model. A learned table
// is a parameter of the group. A table that an expression computes is an argument in
// training, and otherwise computed here.
func (l *layer) table(part, name string, rows int) *ir.Value {
	u := l.use(part, name)
	switch {
	case u == nil:
		return l.weight(name)
	case l.md == training:
		return l.b.Param(name, l.tableShape(rows), ir.Input)
	}
	return l.computed(u)
}

// computed evaluates a table's expression. It uses a bias table of one query, whose heads
// are the rows and whose keys are the columns.
func (l *layer) computed(u *tableUse) *ir.Value {
	attr := ir.AttnAttr{Heads: len(u.rows), Bias: expr.Subst(u.table.Value, map[string]*expr.Expr{
		"n": rowOf(u.rows, expr.NewVar("h", expr.I32)),
		"c": expr.NewVar("j", expr.I32),
	})}
	var params []*ir.Value
	for _, p := range u.table.Params {
		attr.Params = append(attr.Params, p.Name)
		params = append(params, l.weight(p.Name))
	}
	return l.b.Label(l.b.Table(attr, ir.N(l.spec.Model.Width), params...), u.part+"."+u.name)
}

// rowOf returns list[index] as an expression. Adjacent elements with the same difference
// to their index share a case.
func rowOf(list []int, index *expr.Expr) *expr.Expr {
	shifted := func(by int) *expr.Expr { return expr.New(expr.Add, index, expr.Int(int64(by))) }
	last := len(list) - 1
	x := shifted(list[last] - last)
	for i := last; i > 0; i-- {
		if before, here := list[i-1]-(i-1), list[i]-i; before != here {
			x = expr.New(expr.Where, expr.New(expr.Lt, index, expr.Int(int64(i))), shifted(before), x)
		}
	}
	return expr.Simplify(x)
}

// derive runs a function that computes the tables of expressions first in the program. It
// returns each part's references to its tables.
func (c *caller) derive() map[string]refs {
	parts := map[string]refs{"source": {}, "target": {}, "head": {}}
	uses := c.tableUses()
	if len(uses) == 0 {
		return parts
	}
	results := refs{}
	f := c.built(func() (*ir.Func, error) {
		l := c.newLayer("tables", plan.Shared, c.spec.Model.Pos, 0, teacher)
		for _, u := range uses {
			l.b.Result(u.part+"."+u.name, l.computed(&u), false)
		}
		return l.b.Func()
	})
	if f == nil {
		return parts
	}
	for _, u := range uses {
		name := u.part + "." + u.name
		c.p.Buffers = append(c.p.Buffers, &plan.Buffer{Name: name, Type: c.tableShape(len(u.rows)), Count: 1, Kept: true})
		results[name] = plan.At(name, 0)
		parts[u.part][u.name] = results[name]
	}
	c.plan.Source, c.plan.Target = c.spec.TrainedShape()
	c.p.Body = append(c.p.Body, &plan.Call{Func: f, Group: plan.Shared, Results: results})
	return parts
}
