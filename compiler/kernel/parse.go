package kernel

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/arithlang/mlc/compiler/expr"
)

// Parse reads kernels as Format writes them. Blank lines, indentation and lines
// that begin with // do not matter. An error names the line. Parse finds what a
// text means; whether that is a valid kernel is for Verify to say.
func Parse(text string) ([]*Kernel, error) {
	p := &parser{lineReader: newLineReader(text)}
	var ks []*Kernel
	for p.next() {
		k, err := p.kernel()
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", p.at, err)
		}
		ks = append(ks, k)
	}
	return ks, nil
}

// parser reads one line at a time.
type parser struct {
	*lineReader

	k      *Kernel
	types  map[string]expr.Type // of the names in scope: variables, and elements of arrays
	shapes shapes               // of the arrays so far
}

func (p *parser) kernel() (*Kernel, error) {
	if err := p.header(); err != nil {
		return nil, err
	}
	for p.next() {
		declare, ok := declarations[p.keyword]
		if !ok {
			break
		}
		if err := declare(p); err != nil {
			return nil, err
		}
	}
	var err error
	if p.keyword == "once" {
		p.next()
		if p.k.Once, err = p.statements(); err != nil {
			return nil, err
		}
		p.next()
	}
	p.k.Body, err = p.statements()
	return p.k, err
}

// header reads the line that begins a kernel.
func (p *parser) header() error {
	if p.keyword != "kernel" {
		return fmt.Errorf("%q stands where a kernel should begin", p.keyword)
	}
	head, pos, placed := strings.Cut(p.rest, "//")
	words := strings.Fields(head)
	if len(words) != 2 {
		return fmt.Errorf("kernel wants a name and a kind")
	}
	p.k = &Kernel{Name: words[0], Op: Operation{Kind: words[1]}}
	p.types, p.shapes = map[string]expr.Type{}, shapes{}
	var err error
	if placed {
		p.k.Pos, err = parsePos(strings.TrimSpace(pos))
	}
	return err
}

// declarations has the lines that may stand before the body of a kernel.
var declarations = map[string]func(*parser) error{
	"in":     func(p *parser) error { return p.param(In) },
	"out":    func(p *parser) error { return p.param(Out) },
	"inout":  func(p *parser) error { return p.param(InOut) },
	"scalar": (*parser).scalars,
	"grid":   (*parser).grid,
	"op":     (*parser).operation,
	"scale":  (*parser).scale,
	"mask":   func(p *parser) (err error) { p.k.Op.Mask, err = p.term(p.rest); return err },
	"bias":   func(p *parser) (err error) { p.k.Op.Bias, err = p.term(p.rest); return err },
	"window": (*parser).window,
	"drop":   (*parser).drop,
	"with":   (*parser).step,
}

func (p *parser) param(mode Mode) error {
	name, t, shape, err := p.array(p.extent)
	p.k.Params = append(p.k.Params, Param{Name: name, Type: t, Mode: mode, Shape: shape})
	return err
}

// array reads a declaration such as x f32[B*T, 64].
func (p *parser) array(extent func(string) (*expr.Expr, error)) (name string, t expr.Type, shape []*expr.Expr, err error) {
	name, text, _ := strings.Cut(p.rest, " ")
	typeName, extents, ok := strings.Cut(strings.TrimSpace(text), "[")
	t, known := expr.TypeByName(typeName)
	extents, closed := strings.CutSuffix(extents, "]")
	if !ok || !known || !closed {
		return name, t, nil, fmt.Errorf("%s wants a type and extents in brackets, has %q", name, strings.TrimSpace(text))
	}
	for _, text := range splitList(extents) {
		e, err := extent(text)
		if err != nil {
			return name, t, nil, err
		}
		shape = append(shape, e)
	}
	p.types[name], p.shapes[name] = t, shape
	return name, t, shape, nil
}

func (p *parser) scalars() error {
	for _, name := range splitList(p.rest) {
		t, ok := ScalarType(name)
		if !ok {
			return fmt.Errorf("no scalar is called %q; there are %s", name, strings.Join(ScalarNames(), ", "))
		}
		p.k.Params = append(p.k.Params, Param{Name: name, Type: t, Mode: Scalar})
		p.types[name] = t
	}
	return nil
}

func (p *parser) grid() error {
	axes, err := p.axes(p.rest, p.extent)
	for _, a := range axes {
		p.types[a.Var] = expr.I32
	}
	p.k.Grid = axes
	return err
}

// statements reads statements up to the end of their block.
func (p *parser) statements() ([]Stmt, error) {
	var body []Stmt
	for ; p.keyword != "end"; p.next() {
		s, err := p.statement()
		if err != nil {
			return nil, err
		}
		body = append(body, s)
	}
	return body, nil
}

// body reads the statements that another holds, with a name of its own unless that is
// "". What they name is forgotten after them.
func (p *parser) body(name string) ([]Stmt, error) {
	outer := maps.Clone(p.types)
	defer func() { p.types = outer }()
	if name != "" {
		p.types[name] = expr.I32
	}
	p.next()
	return p.statements()
}

// axes reads a list such as r < 64, n < 192.
func (p *parser) axes(text string, size func(string) (*expr.Expr, error)) ([]Axis, error) {
	var axes []Axis
	for _, item := range splitList(text) {
		name, bound, ok := cutOutside(item, '<')
		if !ok {
			return nil, fmt.Errorf("%q is no axis: it wants the form name < size", item)
		}
		e, err := size(bound)
		if err != nil {
			return nil, err
		}
		axes = append(axes, Axis{Var: name, Size: e})
	}
	return axes, nil
}

// expr reads an expression over the names in scope.
func (p *parser) expr(text string) (*expr.Expr, error) {
	e, free, err := p.open(text)
	if err == nil && len(free) > 0 {
		err = fmt.Errorf("%s is not known here", free[0])
	}
	return e, err
}

// extent reads an extent of a buffer or of the grid, which may use scalars that
// stand after it.
func (p *parser) extent(text string) (*expr.Expr, error) {
	return expr.Parse(text, func(name string) (expr.Type, bool) {
		if t, ok := ScalarType(name); ok {
			return t, true
		}
		return expr.I32, true
	})
}

// open reads an expression and tells which of its variables are not in scope;
// they are taken for index variables.
func (p *parser) open(text string) (e *expr.Expr, free []string, err error) {
	e, err = expr.Parse(text, func(name string) (expr.Type, bool) {
		if t, ok := p.types[name]; ok {
			return t, true
		}
		if !slices.Contains(free, name) {
			free = append(free, name)
		}
		return expr.I32, true
	})
	if err != nil {
		return nil, nil, err
	}
	for _, x := range expr.Elems(e) {
		if slices.Contains(free, x.Name) {
			return nil, nil, fmt.Errorf("no tile or buffer is called %s", x.Name)
		}
	}
	return e, free, nil
}
