package flat

import (
	"fmt"
	"maps"
	"strings"

	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/kernel"
	"github.com/arithlang/mlc/compiler/kernel/lines"
	"github.com/arithlang/mlc/compiler/kernel/memory"
)

// Parse reads kernels as Format writes them. Blank lines, indentation and lines
// that begin with // do not matter. An error names the line. Whether what a text
// means is a valid kernel is for Verify to say.
func Parse(text string) ([]Kernel, error) {
	p := &parser{Reader: lines.NewReader(text)}
	var ks []Kernel
	for p.Next() {
		k, err := p.kernel()
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", p.At, err)
		}
		ks = append(ks, k)
	}
	return ks, nil
}

// parser reads one line at a time.
type parser struct {
	*lines.Reader
	types map[string]expr.Type // of the names in scope: variables, and elements of slices
}

func (p *parser) kernel() (Kernel, error) {
	head, err := kernel.ParseHeader(p.Reader, "flat")
	if err != nil {
		return Kernel{}, err
	}
	k := Kernel{Head: head}
	p.types = map[string]expr.Type{}
	for _, b := range head.Params {
		p.types[b.Name] = b.Type
	}
	if k.Pre, err = p.until("cells"); err != nil {
		return k, err
	}
	for _, a := range head.Grid {
		p.types[a.Var] = expr.I32
	}
	p.Next()
	k.Body, err = p.until("end")
	return k, err
}

// until reads nodes up to the line with a keyword.
func (p *parser) until(keyword string) ([]Node, error) {
	var body []Node
	for ; p.Keyword != keyword; p.Next() {
		n, err := p.node()
		if err != nil {
			return nil, err
		}
		body = append(body, n)
	}
	return body, nil
}

// body reads the nodes that another holds. What they name is forgotten after them.
func (p *parser) body() ([]Node, error) {
	outer := maps.Clone(p.types)
	defer func() { p.types = outer }()
	p.Next()
	return p.until("end")
}

// node reads the node on the current line, and the lines of the body that it holds.
func (p *parser) node() (Node, error) {
	switch p.Keyword {
	case "let":
		return p.let()
	case "tile":
		return p.tile()
	case "var":
		return p.variable()
	case "set":
		return p.set()
	case "fill":
		return p.fill()
	case "random":
		return p.random()
	case "dot":
		return p.dot()
	case "reduce":
		return p.reduce()
	case "for":
		return p.loop()
	case "if":
		cond, err := p.expr(p.Rest)
		if err != nil {
			return nil, err
		}
		body, err := p.body()
		return &Branch{Cond: cond, Body: body}, err
	case "":
		return nil, fmt.Errorf("the kernel has no end")
	}
	return nil, fmt.Errorf("%q begins no statement", p.Keyword)
}

// expr reads an expression over the names in scope.
func (p *parser) expr(text string) (*expr.Expr, error) {
	return expr.Parse(text, func(name string) (expr.Type, bool) {
		t, ok := p.types[name]
		return t, ok
	})
}

// exprs reads a list of n expressions.
func (p *parser) exprs(text string, n int) ([]*expr.Expr, error) {
	items := lines.Split(text)
	if len(items) != n {
		return nil, fmt.Errorf("%q has %d expressions, not %d", text, len(items), n)
	}
	out := make([]*expr.Expr, n)
	for i, item := range items {
		var err error
		if out[i], err = p.expr(item); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// sides cuts the line into target = value.
func (p *parser) sides(text string) (target, value string, err error) {
	target, value, ok := lines.Cut(text, '=')
	if !ok {
		err = fmt.Errorf("%s wants the form target = value", p.Keyword)
	}
	return target, value, err
}

// axes reads the axes behind for, which come into scope.
func (p *parser) axes(text string) ([]kernel.Axis, error) {
	var axes []kernel.Axis
	for _, item := range lines.Split(text) {
		name, bound, ok := lines.Cut(item, '<')
		if !ok {
			return nil, fmt.Errorf("%q is no axis: it wants the form name < size", item)
		}
		size, err := p.expr(bound)
		if err != nil {
			return nil, err
		}
		axes = append(axes, kernel.Axis{Var: name, Size: size})
	}
	for _, a := range axes {
		p.types[a.Var] = expr.I32
	}
	return axes, nil
}

func (p *parser) let() (Node, error) {
	name, value, err := p.sides(p.Rest)
	if err != nil {
		return nil, err
	}
	n := &Let{Name: name}
	if n.Value, err = p.expr(value); err == nil {
		p.types[name] = n.Value.Type
	}
	return n, err
}

// tile reads name type[size].
func (p *parser) tile() (Node, error) {
	name, decl, _ := strings.Cut(p.Rest, " ")
	typeName, size, ok := strings.Cut(strings.TrimSpace(decl), "[")
	t, known := expr.TypeByName(typeName)
	size, closed := strings.CutSuffix(size, "]")
	if !ok || !known || !closed {
		return nil, fmt.Errorf("tile wants the form name type[size]")
	}
	n := &Alloc{Name: name, Type: t}
	var err error
	n.Size, err = p.expr(size)
	p.types[name] = t
	return n, err
}

// variable reads name type, or name type = value.
func (p *parser) variable() (Node, error) {
	decl, value, set := lines.Cut(p.Rest, '=')
	words := strings.Fields(decl)
	if len(words) != 2 {
		return nil, fmt.Errorf("var wants a name and a type")
	}
	t, known := expr.TypeByName(words[1])
	if !known {
		return nil, fmt.Errorf("no type is called %q", words[1])
	}
	n := &Alloc{Name: words[0], Type: t}
	var err error
	if set {
		n.Value, err = p.expr(value)
	}
	p.types[n.Name] = t
	return n, err
}

func (p *parser) set() (Node, error) {
	outer := maps.Clone(p.types)
	defer func() { p.types = outer }()
	sides, clause, _ := strings.Cut(p.Rest, " for ")
	dst, value, err := p.sides(sides)
	if err != nil {
		return nil, err
	}
	n := &Assign{}
	if n.Axes, err = p.axes(clause); err != nil {
		return nil, err
	}
	if n.Dst, err = p.expr(dst); err != nil {
		return nil, err
	}
	n.Value, err = p.expr(value)
	return n, err
}

// sized reads a tile with the number of its elements, or a variable.
func (p *parser) sized(text string) (name string, size *expr.Expr, err error) {
	name, inside, ok := strings.Cut(text, "[")
	if !ok {
		return text, nil, nil
	}
	inside, closed := strings.CutSuffix(inside, "]")
	if !closed {
		return "", nil, fmt.Errorf("%q wants the form name[size]", text)
	}
	size, err = p.expr(inside)
	return name, size, err
}

func (p *parser) fill() (Node, error) {
	dst, value, err := p.sides(p.Rest)
	if err != nil {
		return nil, err
	}
	n := &Fill{}
	if n.Dst, n.Size, err = p.sized(dst); err != nil {
		return nil, err
	}
	n.Value, err = p.expr(value)
	return n, err
}

// random reads name[size] = stream of example from base.
func (p *parser) random() (Node, error) {
	dst, words, err := p.sides(p.Rest)
	if err != nil {
		return nil, err
	}
	n := &Random{}
	if n.Dst, n.Size, err = p.sized(dst); err != nil {
		return nil, err
	}
	var example, base string
	if n.Stream, example, base, err = lines.Random(words); err != nil {
		return nil, err
	}
	if n.Example, err = p.expr(example); err != nil {
		return nil, err
	}
	n.Base, err = p.expr(base)
	return n, err
}

// dot reads c += a * b for m, n, k, or for k where c is one value.
func (p *parser) dot() (Node, error) {
	product, clause, _ := strings.Cut(p.Rest, " for ")
	c, factors, err := p.sides(product)
	if err != nil {
		return nil, err
	}
	c, more := strings.CutSuffix(c, "+")
	n := &Dot{Zero: !more}
	a, b, ok := lines.Cut(factors, '*')
	if !ok {
		return nil, fmt.Errorf("dot wants a product, not %q", factors)
	}
	if err := p.sizes(n, clause); err != nil {
		return nil, err
	}
	if n.A, err = p.operand(a); err != nil {
		return nil, err
	}
	if n.B, err = p.operand(b); err != nil {
		return nil, err
	}
	if c = strings.TrimSpace(c); n.M == nil {
		n.C = one(c)
		return n, nil
	}
	n.C, err = p.operand(c)
	return n, err
}

// one is the operand of one value.
func one(name string) Operand { return Operand{name, expr.Int(0), expr.Int(0), expr.Int(0)} }

// sizes reads those of a product, and their bounds.
func (p *parser) sizes(n *Dot, clause string) error {
	text, most, bounded := lines.Cut(clause, ';')
	count := 3
	if len(lines.Split(text)) == 1 {
		count = 1
	}
	sizes, err := p.exprs(text, count)
	if err != nil {
		return err
	}
	if n.K = sizes[count-1]; count > 1 {
		n.M, n.N = sizes[0], sizes[1]
	}
	if bounded {
		if _, err := fmt.Sscanf(most, "most %d, %d", &n.MostM, &n.MostN); err != nil {
			return fmt.Errorf("%q wants the form most m, n", most)
		}
	}
	return nil
}

// operand reads name[offset; row stride, column stride].
func (p *parser) operand(text string) (Operand, error) {
	name, inside, ok1 := strings.Cut(text, "[")
	inside, ok2 := strings.CutSuffix(inside, "]")
	off, strides, ok3 := lines.Cut(inside, ';')
	if !ok1 || !ok2 || !ok3 {
		return Operand{}, fmt.Errorf("%q wants the form name[offset; row stride, column stride]", text)
	}
	o := Operand{Slice: name}
	var err error
	if o.Off, err = p.expr(off); err != nil {
		return o, err
	}
	es, err := p.exprs(strides, 2)
	if err == nil {
		o.RS, o.CS = es[0], es[1]
	}
	return o, err
}

func (p *parser) reduce() (Node, error) {
	sides, clause, _ := strings.Cut(p.Rest, " for ")
	name, value, err := p.sides(sides)
	if err != nil {
		return nil, err
	}
	op, inside, _ := strings.Cut(value, "(")
	inside, closed := strings.CutSuffix(inside, ")")
	r := memory.NamedReduction(op)
	if r == nil || !closed {
		return nil, fmt.Errorf("%q is no reduction: it wants sum(…), max(…) or min(…)", value)
	}
	outer := maps.Clone(p.types)
	axes, err := p.axes(clause)
	if err != nil {
		return nil, err
	}
	if len(axes) != 1 {
		return nil, fmt.Errorf("a reduction runs over one axis, not %d", len(axes))
	}
	n := &Reduce{Name: name, Op: r.Op, Axis: axes[0]}
	n.Value, err = p.expr(inside)
	p.types = outer
	p.types[name] = expr.F32
	return n, err
}

func (p *parser) loop() (Node, error) {
	text, clause, apart := lines.Cut(p.Rest, ';')
	name, bounds, err := p.sides(text)
	if err != nil {
		return nil, err
	}
	lo, hi, ok := strings.Cut(bounds, " until ")
	if !ok {
		return nil, fmt.Errorf("for wants the form name = first until end")
	}
	n := &Loop{Name: name, Apart: apart}
	if n.Lo, err = p.expr(lo); err != nil {
		return nil, err
	}
	if n.Hi, err = p.expr(hi); err != nil {
		return nil, err
	}
	if apart {
		own, ok := strings.CutPrefix(clause, "apart")
		own, with := strings.CutPrefix(own, " with ")
		if n.Own = map[string]bool{}; !ok || !with && own != "" {
			return nil, fmt.Errorf("%q wants the form apart with tiles", clause)
		}
		for _, tile := range lines.Split(own) {
			n.Own[tile] = true
		}
	}
	outer := maps.Clone(p.types)
	p.types[name] = expr.I32
	n.Body, err = p.body()
	p.types = outer
	return n, err
}
