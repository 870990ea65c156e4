package model

import (
	"maps"
	"slices"

	"github.com/arithlang/mlc/compiler/check"
	"github.com/arithlang/mlc/compiler/ir"
	"github.com/arithlang/mlc/compiler/plan"
	"github.com/arithlang/mlc/dsl/diag"
)

// A place is an attention site of a stack, with the lengths of rows and keys.
type place struct {
	name       string
	site       *check.Site
	self       bool
	rows, keys string
}

// table returns the name of a site's bias table in functions.
func table(site string) string { return site + ".bias" }

// keeps reports whether training launches share the bias table of a site, computed for
// the longest problems. They do if it is learned and its values do not depend on a
// launch's lengths. Its gradient is then a sum over examples.
func (m *builder) keeps(s *check.Site) bool {
	learned := slices.ContainsFunc(s.Params, func(p check.BiasParam) bool { return !p.Fixed() })
	source, target := m.spec.TrainedShape()
	attr := ir.AttnAttr{Mask: s.Mask, Bias: s.Bias}
	lengths := attr.ReadsLength() ||
		m.spec.Model.Position.Kind == "random" && max(source, target) > m.spec.DrawnPositions()
	return tabled(s.Bias) && learned && !lengths
}

// tableType returns the type of a table for the longest problems.
func (m *builder) tableType(rows, keys string) ir.Type {
	return ir.T(ir.N(m.spec.Model.Heads), m.longest(ir.Sym(rows)), m.longest(ir.Sym(keys)))
}

// tables adds a function, first in the program, that computes the bias tables which
// launches share, with the lengths of the longest problems. It returns references for the
// stack's layers.
func (c *caller) tables(loop plan.Loop, group string, pos diag.Pos, places ...place) refs {
	at := refs{}
	places = slices.DeleteFunc(places, func(p place) bool { return loop.N == 0 || !c.keeps(p.site) })
	if len(places) == 0 {
		return at
	}
	f := c.built(func() (*ir.Func, error) {
		l := c.newLayer(group+"_tables", group, pos, 0, training)
		for _, p := range places {
			l.b.Pos(p.site.Pos)
			rows, keys := ir.Sym(p.rows), ir.Sym(p.keys)
			attr, params := l.bias(p.name, p.site, p.self, rows, keys)
			l.b.Result(table(p.name), l.b.Label(l.b.BiasTable(attr, rows, keys, params...), table(p.name)), false)
		}
		return l.b.Func()
	})
	if f == nil {
		return at
	}
	for _, p := range places {
		name := group + "." + table(p.name)
		c.p.Buffers = append(c.p.Buffers, &plan.Buffer{Name: name, Type: c.tableType(p.rows, p.keys), Count: loop.N * max(loop.Most, 1), Kept: true})
		at[table(p.name)] = plan.AtLayer(name, 0)
	}
	c.plan.Source, c.plan.Target = c.spec.TrainedShape()
	loop.Body = []*plan.Call{{Func: f, Group: group, Results: at}}
	c.p.Body = append(c.p.Body, &loop)
	return at
}

// with adds the references more to r.
func with(more, r refs) refs {
	maps.Copy(r, more)
	return r
}
