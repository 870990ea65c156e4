package kernel

import (
	"fmt"
	"strings"

	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/kernel/memory"
)

// statement reads the statement on the current line, and the lines of the body
// that it holds.
func (p *parser) statement() (Stmt, error) {
	switch p.keyword {
	case "let":
		return p.let()
	case "tile":
		name, t, shape, err := p.array(p.expr)
		return &Tile{name, t, shape}, err
	case "var":
		return p.variable()
	case "set":
		return p.set()
	case "random":
		return p.random()
	case "dot":
		return p.dot()
	case "reduce":
		return p.reduce()
	case "for":
		return p.loop()
	case "if":
		cond, err := p.expr(p.rest)
		if err != nil {
			return nil, err
		}
		body, err := p.body("")
		return &If{cond, body}, err
	case "":
		return nil, fmt.Errorf("kernel %s has no end", p.k.Name)
	}
	return nil, fmt.Errorf("%q begins no statement", p.keyword)
}

// sides cuts a text into target = value.
func (p *parser) sides(text string) (target, value string, err error) {
	target, value, ok := cutOutside(text, '=')
	if !ok {
		err = fmt.Errorf("%s wants the form target = value", p.keyword)
	}
	return target, value, err
}

func (p *parser) let() (Stmt, error) {
	name, text, err := p.sides(p.rest)
	if err != nil {
		return nil, err
	}
	value, err := p.expr(text)
	if err == nil {
		p.types[name] = value.Type
	}
	return &Let{name, value}, err
}

// variable reads name type, or name type = value.
func (p *parser) variable() (Stmt, error) {
	decl, value, set := cutOutside(p.rest, '=')
	words := strings.Fields(decl)
	if len(words) != 2 {
		return nil, fmt.Errorf("var wants a name and a type")
	}
	t, known := expr.TypeByName(words[1])
	if !known {
		return nil, fmt.Errorf("no type is called %q", words[1])
	}
	s := &Var{Name: words[0], Type: t}
	var err error
	if set {
		s.Value, err = p.expr(value)
	}
	p.types[s.Name] = t
	return s, err
}

// over is what a statement evaluates for all values of axes.
type over struct {
	axes  []Axis
	spelt bool     // the axes stand in the text
	free  []string // variables of its expressions that are not in scope
}

// over cuts off the axes that a text may end with.
func (p *parser) over(text string) (rest string, o *over, err error) {
	rest, clause, spelt := strings.Cut(text, " for ")
	o = &over{spelt: spelt}
	if spelt {
		o.axes, err = p.axes(clause, p.expr)
	}
	return rest, o, err
}

// read reads one expression over axes.
func (p *parser) read(o *over, text string) (*expr.Expr, error) {
	e, free, err := p.open(text)
	o.free = append(o.free, free...)
	return e, err
}

// place reads a variable or an element.
func (p *parser) place(o *over, text string) (*expr.Expr, error) {
	e, err := p.read(o, text)
	if err == nil && e.Op != expr.Elem && e.Op != expr.Var {
		err = fmt.Errorf("%q wants the form name or name[index, …]", text)
	}
	return e, err
}

// settle returns the axes of a statement, which has them not yet: those that the
// text spells out, or else those that the rest of the statement implies. Every free
// variable must be one of them.
func (p *parser) settle(o *over, s Stmt) ([]Axis, error) {
	axes := o.axes
	if !o.spelt {
		axes = p.k.impliedAxes(p.shapes, s, func(name string) bool {
			_, bound := p.types[name]
			return !bound
		})
	}
	known := map[string]bool{}
	for _, x := range axes {
		if x.Size == nil {
			return nil, fmt.Errorf("%s is not known here, and no subscript tells how far it would run", x.Var)
		}
		known[x.Var] = true
	}
	for _, name := range o.free {
		if !known[name] {
			return nil, fmt.Errorf("%s is not known here", name)
		}
	}
	return axes, nil
}

func (p *parser) set() (Stmt, error) {
	rest, o, err := p.over(p.rest)
	if err != nil {
		return nil, err
	}
	dst, value, err := p.sides(rest)
	if err != nil {
		return nil, err
	}
	s := &Set{}
	if s.Dst, err = p.place(o, dst); err != nil {
		return nil, err
	}
	if s.Value, err = p.read(o, value); err != nil {
		return nil, err
	}
	s.Axes, err = p.settle(o, s)
	return s, err
}

func (p *parser) reduce() (Stmt, error) {
	rest, o, err := p.over(p.rest)
	if err != nil {
		return nil, err
	}
	name, value, err := p.sides(rest)
	if err != nil {
		return nil, err
	}
	op, text, _ := strings.Cut(value, "(")
	text, closed := strings.CutSuffix(text, ")")
	r := memory.NamedReduction(op)
	if r == nil || !closed {
		return nil, fmt.Errorf("%q is no reduction: it wants sum(…), max(…) or min(…)", value)
	}
	s := &Reduce{Name: name, Op: r.Op}
	if s.Value, err = p.read(o, text); err != nil {
		return nil, err
	}
	axes, err := p.settle(o, s)
	if err != nil {
		return nil, err
	}
	if len(axes) != 1 {
		return nil, fmt.Errorf("a reduction runs over one axis, not %d", len(axes))
	}
	s.Axis = axes[0]
	p.types[s.Name] = expr.F32
	return s, nil
}

// random reads name[size] = stream of example from base.
func (p *parser) random() (Stmt, error) {
	dst, words, err := p.sides(p.rest)
	if err != nil {
		return nil, err
	}
	name, size, ok := strings.Cut(dst, "[")
	size, closed := strings.CutSuffix(size, "]")
	if !ok || !closed {
		return nil, fmt.Errorf("%q wants the form name[size]", dst)
	}
	stream, example, base, err := cutRandom(words)
	if err != nil {
		return nil, err
	}
	s := &Random{Dst: name, Stream: stream}
	for _, part := range []struct {
		text string
		to   **expr.Expr
	}{{size, &s.Size}, {example, &s.Example}, {base, &s.Base}} {
		if *part.to, err = p.expr(part.text); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// dot reads dst += a * b, its axes, and the bounds of rows and columns.
func (p *parser) dot() (Stmt, error) {
	text, most, bounded := cutOutside(p.rest, ';')
	rest, o, err := p.over(text)
	if err != nil {
		return nil, err
	}
	dst, product, err := p.sides(rest)
	if err != nil {
		return nil, err
	}
	dst, more := strings.CutSuffix(dst, "+")
	a, b, ok := cutOutside(product, '*')
	if !ok {
		return nil, fmt.Errorf("dot wants a product, not %q", product)
	}
	s := &Dot{Zero: !more}
	for _, side := range []struct {
		text string
		to   **expr.Expr
	}{{strings.TrimSpace(dst), &s.Dst}, {a, &s.A}, {b, &s.B}} {
		if *side.to, err = p.place(o, side.text); err != nil {
			return nil, err
		}
	}
	if s.Axes, err = p.settle(o, s); err != nil {
		return nil, err
	}
	if bounded {
		if _, err := fmt.Sscanf(most, "most %d, %d", &s.MostRows, &s.MostCols); err != nil {
			return nil, fmt.Errorf("%q wants the form most rows, columns", most)
		}
	}
	return s, nil
}

func (p *parser) loop() (Stmt, error) {
	text, clause, apart := cutOutside(p.rest, ';')
	name, bounds, err := p.sides(text)
	if err != nil {
		return nil, err
	}
	lo, hi, ok := strings.Cut(bounds, " until ")
	if !ok {
		return nil, fmt.Errorf("for wants the form name = first until end")
	}
	s := &For{Var: name, Apart: apart}
	if s.Lo, err = p.expr(lo); err != nil {
		return nil, err
	}
	if s.Hi, err = p.expr(hi); err != nil {
		return nil, err
	}
	if apart {
		own, ok := strings.CutPrefix(clause, "apart")
		own, with := strings.CutPrefix(own, " with ")
		if s.Own = map[string]bool{}; !ok || !with && own != "" {
			return nil, fmt.Errorf("%q wants the form apart with tiles", clause)
		}
		for _, tile := range splitList(own) {
			s.Own[tile] = true
		}
	}
	s.Body, err = p.body(name)
	return s, err
}
