package kernel

import (
	"fmt"
	"slices"
	"strings"

	"github.com/arithlang/mlc/compiler/expr"
)

// statement reads the statement on the current line, and its body.
func (p *parser) statement() Stmt {
	switch p.keyword {
	case "let":
		name, value := p.sides(p.rest)
		s := &Let{name, p.expr(value)}
		p.types[name] = s.Value.Type
		return s
	case "tile":
		name, t, shape := p.array(p.expr)
		return &Tile{name, t, shape}
	case "var":
		return p.variable()
	case "set":
		text, axes := p.over(p.rest)
		dst, value := p.sides(text)
		s := &Set{Dst: p.place(dst), Value: p.open(value)}
		s.Axes = p.settle(s, axes)
		return s
	case "random":
		return p.random()
	case "dot":
		return p.dot()
	case "reduce":
		return p.reduce()
	case "for":
		return p.loop()
	case "if":
		s := &If{Cond: p.expr(p.rest)}
		s.Body = p.body("")
		return s
	case "":
		p.fail("kernel %s has no end", p.k.Name)
	}
	p.fail("%q begins no statement", p.keyword)
	return nil
}

// sides cuts a text into target = value.
func (p *parser) sides(text string) (target, value string) {
	return p.cut(text, "=", "target = value")
}

// variable reads name type, or name type = value.
func (p *parser) variable() Stmt {
	decl, value, set := cutOutside(p.rest, "=")
	words := strings.Fields(decl)
	if len(words) != 2 {
		p.fail("var wants a name and a type")
		return nil
	}
	t, known := expr.TypeByName(words[1])
	if !known {
		p.fail("no type is called %q", words[1])
	}
	s := &Var{Name: words[0], Type: t}
	if set {
		s.Value = p.expr(value)
	}
	p.types[s.Name] = t
	return s
}

// over cuts off the axes that a text may end with. They are nil if missing.
func (p *parser) over(text string) (rest string, axes []Axis) {
	rest, clause, _ := strings.Cut(text, " for ")
	return rest, p.axes(clause, p.expr)
}

// place reads a variable or an element.
func (p *parser) place(text string) *expr.Expr {
	e := p.open(text)
	if e.Op != expr.Elem && e.Op != expr.Var {
		p.fail("%q wants the form name or name[index, …]", text)
	}
	return e
}

// settle returns the axes of a statement: the given ones, or if nil the implied ones (see
// impliedAxes). Every free variable must be one of them.
func (p *parser) settle(s Stmt, axes []Axis) []Axis {
	if axes == nil {
		axes = p.k.impliedAxes(p.shapes, s, func(name string) bool { return slices.Contains(p.free, name) })
	}
	for _, a := range axes {
		if a.Size == nil {
			p.fail("%s is not known here, and no subscript tells how far it would run", a.Var)
		}
	}
	for _, name := range p.free {
		if !slices.ContainsFunc(axes, func(a Axis) bool { return a.Var == name }) {
			p.fail("%s is not known here", name)
		}
	}
	return axes
}

// reduce reads name = op(value) and its axis.
func (p *parser) reduce() Stmt {
	text, axes := p.over(p.rest)
	name, value := p.sides(text)
	op, text, ok := bracketed(value, "(", ")")
	i := slices.IndexFunc(reductions, func(r reduction) bool { return r.name == op })
	if i < 0 || !ok {
		p.fail("%q is no reduction: it wants sum(…), max(…) or min(…)", value)
		return nil
	}
	s := &Reduce{Name: name, Op: reductions[i].op, Value: p.open(text)}
	if axes = p.settle(s, axes); len(axes) != 1 {
		p.fail("a reduction runs over one axis, not %d", len(axes))
		return nil
	}
	s.Axis = axes[0]
	p.types[s.Name] = expr.F32
	return s
}

// random reads name[size] = stream of example from base.
func (p *parser) random() Stmt {
	dst, words := p.sides(p.rest)
	name, size, ok := bracketed(dst, "[", "]")
	if !ok {
		p.fail("%q wants the form name[size]", dst)
	}
	const form = "stream of example from base"
	words, base := p.cut(words, " from ", form)
	stream, example := p.cut(words, " of ", form)
	return &Random{Dst: name, Size: p.expr(size), Base: p.expr(base), Example: p.expr(example), Stream: p.uint(stream)}
}

// dot reads dst += a * b, its axes, the bounds of rows and columns, and whether it is split.
func (p *parser) dot() Stmt {
	text, clauses, more := cutOutside(p.rest, ";")
	text, axes := p.over(text)
	dst, product := p.sides(text)
	dst, adds := strings.CutSuffix(dst, "+")
	a, b := p.cut(product, "*", "a * b")
	s := &Dot{Dst: p.place(strings.TrimSpace(dst)), A: p.place(a), B: p.place(b), Zero: !adds}
	s.Axes = p.settle(s, axes)
	for more {
		var clause string
		clause, clauses, more = cutOutside(clauses, ";")
		if clause == "split" {
			s.Split = true
		} else if _, err := fmt.Sscanf(clause, "most %d, %d", &s.MostRows, &s.MostCols); err != nil {
			p.fail("%q wants the form most rows, columns; or split", clause)
		}
	}
	return s
}

// loop reads name = first until end, and the tiles and variables of each iteration.
func (p *parser) loop() Stmt {
	text, clause, independent := cutOutside(p.rest, ";")
	name, bounds := p.sides(text)
	lo, hi := p.cut(bounds, " until ", "first until end")
	s := &For{Var: name, Lo: p.expr(lo), Hi: p.expr(hi), Independent: independent}
	if independent {
		own, ok := strings.CutPrefix(clause, "independent")
		own, with := strings.CutPrefix(own, " with ")
		if !ok || !with && own != "" {
			p.fail("%q wants the form independent with tiles", clause)
		}
		s.Own = map[string]bool{}
		for _, tile := range splitList(own) {
			s.Own[tile] = true
		}
	}
	s.Body = p.body(name)
	return s
}
