package kernel

import (
	"fmt"
	"slices"
	"strings"

	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/kernel/lines"
	"github.com/arithlang/mlc/compiler/kernel/memory"
)

// statement reads the statement on the current line, and the lines of the body
// that it holds.
func (p *parser) statement() (Stmt, error) {
	switch p.Keyword {
	case "let":
		return p.let()
	case "load":
		return p.load()
	case "store":
		return p.store()
	case "fill":
		return p.fill()
	case "map":
		return p.mapping()
	case "dot":
		return p.dot()
	case "reduce":
		return p.reduce()
	case "for":
		return p.loop()
	case "if":
		return p.branch()
	case "":
		return nil, fmt.Errorf("kernel %s has no end", p.k.Name)
	}
	return nil, fmt.Errorf("%q begins no statement", p.Keyword)
}

// assignment is what let, load, store, map and reduce have in common: target =
// value for axes.
type assignment struct {
	target, value string
	axes          []Axis
	spelt         bool     // the axes stand in the text
	free          []string // variables of its expressions that are not in scope
}

func (p *parser) assignment() (*assignment, error) {
	text, clause, spelt := strings.Cut(p.Rest, " for ")
	target, value, ok := lines.Cut(text, '=')
	if !ok {
		return nil, fmt.Errorf("%s wants the form target = value", p.Keyword)
	}
	a := &assignment{target: target, value: value, spelt: spelt}
	var err error
	if spelt {
		a.axes, err = p.axes(clause, p.expr)
	}
	return a, err
}

// read reads one expression of an assignment.
func (p *parser) read(a *assignment, text string) (*expr.Expr, error) {
	e, free, err := p.open(text)
	a.free = append(a.free, free...)
	return e, err
}

// element reads name[index, …].
func (p *parser) element(a *assignment, text string) (*expr.Expr, error) {
	e, err := p.read(a, text)
	if err == nil && e.Op != expr.Elem {
		err = fmt.Errorf("%q wants the form name[index, …]", text)
	}
	return e, err
}

// settle returns the axes of an assignment, of which s is all the rest: those
// that the text spells out, or else those that s implies. Every free variable
// must be one of them.
func (p *parser) settle(a *assignment, s Stmt) ([]Axis, error) {
	axes := a.axes
	if !a.spelt {
		axes = p.k.impliedAxes(s, func(name string) bool {
			_, bound := p.vars[name]
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
	for _, name := range a.free {
		if !known[name] {
			return nil, fmt.Errorf("%s is not known here", name)
		}
	}
	return axes, nil
}

func (p *parser) let() (Stmt, error) {
	a, err := p.assignment()
	if err != nil {
		return nil, err
	}
	if a.spelt {
		return nil, fmt.Errorf("a let has no axes")
	}
	value, err := p.expr(a.value)
	if err != nil {
		return nil, err
	}
	p.vars[a.target] = value.Type
	return &Let{Name: a.target, Value: value}, nil
}

func (p *parser) load() (Stmt, error) {
	a, err := p.assignment()
	if err != nil {
		return nil, err
	}
	dst, err := p.element(a, a.target)
	if err != nil {
		return nil, err
	}
	src, err := p.element(a, a.value)
	if err != nil {
		return nil, err
	}
	s := &Load{Dst: dst.Name, Buf: src.Name, Index: src.Args}
	for _, v := range dst.Args {
		if v.Op != expr.Var {
			return nil, fmt.Errorf("%s is loaded at %s: only an index variable may stand there", dst.Name, v)
		}
		s.Axes = append(s.Axes, Axis{Var: v.Name})
	}
	axes, err := p.settle(a, s)
	if err != nil {
		return nil, err
	}
	if !slices.EqualFunc(axes, s.Axes, func(a, b Axis) bool { return a.Var == b.Var }) {
		return nil, fmt.Errorf("the index variables of %s are not its axes", dst)
	}
	s.Axes = axes
	return s, nil
}

// write reads what store and map have in common.
func (p *parser) write() (a *assignment, dst, value *expr.Expr, err error) {
	if a, err = p.assignment(); err != nil {
		return nil, nil, nil, err
	}
	if dst, err = p.element(a, a.target); err != nil {
		return nil, nil, nil, err
	}
	value, err = p.read(a, a.value)
	return a, dst, value, err
}

func (p *parser) store() (Stmt, error) {
	a, dst, value, err := p.write()
	if err != nil {
		return nil, err
	}
	s := &Store{Buf: dst.Name, Index: dst.Args, Value: value}
	s.Axes, err = p.settle(a, s)
	return s, err
}

func (p *parser) mapping() (Stmt, error) {
	a, dst, value, err := p.write()
	if err != nil {
		return nil, err
	}
	s := &Map{Dst: dst.Name, At: dst.Args, Value: value}
	s.Axes, err = p.settle(a, s)
	return s, err
}

func (p *parser) reduce() (Stmt, error) {
	a, err := p.assignment()
	if err != nil {
		return nil, err
	}
	name, text, _ := strings.Cut(a.value, "(")
	text, closed := strings.CutSuffix(text, ")")
	r := memory.NamedReduction(name)
	if r == nil || !closed {
		return nil, fmt.Errorf("%q is no reduction: it wants sum(…), max(…) or min(…)", a.value)
	}
	value, err := p.read(a, text)
	if err != nil {
		return nil, err
	}
	s := &Reduce{Name: a.target, Op: r.Op, Value: value}
	axes, err := p.settle(a, s)
	if err != nil {
		return nil, err
	}
	if len(axes) != 1 {
		return nil, fmt.Errorf("a reduction runs over one axis, not %d", len(axes))
	}
	s.Axis = axes[0]
	p.vars[s.Name] = expr.F32
	return s, nil
}

func (p *parser) fill() (Stmt, error) {
	dst, value, ok := lines.Cut(p.Rest, '=')
	if !ok {
		return nil, fmt.Errorf("fill wants the form tile = value")
	}
	s := &Fill{Dst: dst}
	var err error
	if words, random := strings.CutPrefix(value, "random "); random {
		s.Rand, err = p.random(words)
	} else {
		s.Value, err = p.expr(value)
	}
	return s, err
}

// random reads stream of example from base.
func (p *parser) random(text string) (*Rand, error) {
	stream, example, base, err := lines.Random(text)
	if err != nil {
		return nil, err
	}
	r := &Rand{Stream: stream}
	if r.Example, err = p.expr(example); err != nil {
		return nil, err
	}
	r.Base, err = p.expr(base)
	return r, err
}

func (p *parser) dot() (Stmt, error) {
	dst, product, ok1 := strings.Cut(p.Rest, " += ")
	a, b, ok2 := strings.Cut(product, " * ")
	if !ok1 || !ok2 {
		return nil, fmt.Errorf("dot wants the form tile += tile * tile")
	}
	a, trans := strings.CutSuffix(strings.TrimSpace(a), "'")
	return &Dot{Dst: strings.TrimSpace(dst), A: a, B: strings.TrimSpace(b), TransA: trans}, nil
}

func (p *parser) loop() (Stmt, error) {
	name, bounds, ok1 := lines.Cut(p.Rest, '=')
	lo, hi, ok2 := strings.Cut(bounds, " until ")
	if !ok1 || !ok2 {
		return nil, fmt.Errorf("for wants the form name = first until end")
	}
	s := &For{Var: name}
	var err error
	if s.Lo, err = p.expr(lo); err != nil {
		return nil, err
	}
	if s.Hi, err = p.expr(hi); err != nil {
		return nil, err
	}
	p.Next()
	p.vars[s.Var] = expr.I32
	s.Body, err = p.body()
	delete(p.vars, s.Var)
	return s, err
}

func (p *parser) branch() (Stmt, error) {
	cond, err := p.expr(p.Rest)
	if err != nil {
		return nil, err
	}
	p.Next()
	then, err := p.body()
	return &If{Cond: cond, Then: then}, err
}
