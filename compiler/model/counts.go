package model

import (
	"slices"

	"github.com/arithlang/mlc/compiler/check"
	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/ir"
	"github.com/arithlang/mlc/compiler/plan"
)

// A count is a number per token, I32 [B, L], that depends on the tokens before it. Masks
// and biases read it by two variables, one for the query and one for the key. In
// decoding, the counts of the target are a cache.
type count struct {
	query, key string            // the variables
	name       map[string]string // of buffers and parameters, by the part of the model
	of         func(l *layer, tokens *ir.Value, rows ir.Dim) *ir.Value
}

// counts has two rows: the place of a digit in its number, from 1, or 0 for other tokens;
// and the number of tokens up to this one that are not digits.
var counts = []count{
	{"di", "dj", map[string]string{"target": "places", "source": "source_places"},
		func(l *layer, tokens *ir.Value, rows ir.Dim) *ir.Value {
			return l.b.Runs(tokens, isDigit(l.spec.Task), rows)
		}},
	{"ni", "nj", map[string]string{"target": "numbers", "source": "source_numbers"},
		func(l *layer, tokens *ir.Value, rows ir.Dim) *ir.Value {
			return l.b.Total(tokens, expr.New(expr.Not, isDigit(l.spec.Task)), rows)
		}},
}

// readsCounts reports whether the mask or bias of a site reads a count.
func readsCounts(s *check.Site) bool {
	return slices.ContainsFunc(counts, func(n count) bool { return reads(s, n.query, n.key) })
}

// reads reports whether the mask or bias of a site reads one of the variables.
func reads(s *check.Site, names ...string) bool {
	return s != nil && slices.ContainsFunc([]*expr.Expr{s.Mask, s.Bias}, func(x *expr.Expr) bool {
		return x != nil && slices.ContainsFunc(names, func(v string) bool { return expr.Depends(x, v) })
	})
}

// has reports whether a site reads this count of the given part, "source" or "target".
func (m *builder) has(n count, part string) bool {
	s := m.spec.Model
	if s.Loop != nil {
		return part == "target" && reads(s.Loop.Self, n.query, n.key)
	}
	if part == "source" {
		return depth(s.Encoder) > 0 && reads(s.Encoder.Self, n.query, n.key) || reads(s.Decoder.Cross, n.key)
	}
	return reads(s.Decoder.Self, n.query, n.key) || reads(s.Decoder.Cross, n.query)
}

// countType returns the type of a count of rows with the given length.
func countType(length string) ir.Type { return ir.Ints(ir.Sym("B"), ir.Sym(length)) }

// known returns the tokens to count. In decoding it appends them to the earlier target
// tokens.
func (l *layer) known(tokens *ir.Value) *ir.Value {
	if l.md != decoding {
		return tokens
	}
	all := l.b.Append(l.b.Param(history, countType("C"), ir.Input), tokens)
	l.b.Result(history, all, false)
	return all
}

// countParams adds the counts that the mask and bias of a site read to the site's
// parameters.
func (l *layer) countParams(s *check.Site, self bool, rows, keys ir.Dim, attr *ir.AttnAttr, params []*ir.Value) []*ir.Value {
	target, source := "target", "source"
	switch {
	case rows.Sym == "S":
		target = "source"
	case self:
		source = "target"
	}
	if l.md == decoding { // the target's cache has C rows
		rows = ir.Sym("C")
	}
	for _, n := range counts {
		for _, side := range []struct {
			variable, part string
			rows           ir.Dim
		}{{n.query, target, rows}, {n.key, source, keys}} {
			if !reads(s, side.variable) {
				continue
			}
			name := n.name[side.part]
			if l.declared[name] == nil {
				l.declared[name] = l.b.Param(name, countType(side.rows.Sym), ir.Input)
			}
			attr.Params, params = append(attr.Params, side.variable), append(params, l.declared[name])
		}
	}
	return params
}

// counts computes the counts of a part's tokens that sites read.
func (c *caller) counts(part string, md mode) {
	tokens, length := SourceTokens, "S"
	if part == "target" {
		tokens, length = TargetTokens, "T"
	}
	for _, n := range counts {
		if !c.has(n, part) {
			continue
		}
		name := n.name[part]
		args, results := refs{tokens: plan.At(tokens, 0)}, refs{name: plan.At(name, 0)}
		if md == decoding {
			args[history], results[history] = plan.At(history, 0), plan.At(history, 0)
			args[name] = plan.At(name, 0)
		}
		if c.p.Buffer(name) == nil {
			c.buffer(name, countType(length), 1)
		}
		c.call("embed", func() (*ir.Func, error) {
			l := c.newLayer("count_"+name, "embed", c.spec.Model.Pos, 0, md)
			param := l.b.Param(tokens, countType(length), ir.Input)
			y := n.of(l, l.known(param), param.Type.Shape[1])
			if md == decoding {
				y = l.b.Append(l.b.Param(name, countType("C"), ir.Input), y)
			}
			l.b.Result(name, l.b.Label(y, name), false)
			return l.b.Func()
		}, args, results)
	}
}

// history declares the buffers that decoding keeps: the target tokens so far, and counts.
func (c *caller) history() {
	if c.hasHistory() {
		c.buffer(history, ir.Ints(ir.Sym("B"), ir.Sym("C")), 1)
	}
	for _, n := range counts {
		for _, side := range []struct{ part, rows string }{{"source", "S"}, {"target", "C"}} {
			if c.has(n, side.part) {
				c.buffer(n.name[side.part], countType(side.rows), 1)
			}
		}
	}
}

// countsFor returns the counts of the given parts that sites read.
func (c *caller) countsFor(parts ...string) refs {
	all := refs{}
	for _, n := range counts {
		for _, part := range parts {
			if c.has(n, part) {
				all[n.name[part]] = plan.At(n.name[part], 0)
			}
		}
	}
	return all
}
