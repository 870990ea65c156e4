package kernel

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/dsl/diag"
)

// Parse reads kernels as Format writes them. It skips indentation, blank lines and lines that
// begin with //. An error names the line. Verify checks whether the kernels are valid.
func Parse(text string) ([]*Kernel, error) {
	p := &parser{lines: strings.Split(text, "\n")}
	var ks []*Kernel
	for p.next() {
		ks = append(ks, p.kernel())
	}
	if p.err != nil {
		return nil, p.err
	}
	return ks, nil
}

// A parser reads one line at a time: keyword and rest belong to line number at. After an error
// every method returns a placeholder, and the first error stays.
type parser struct {
	lines         []string
	at            int
	keyword, rest string
	err           error

	k      *Kernel
	types  map[string]expr.Type // each name in scope: a variable, or an array's elements
	shapes shapes               // all arrays so far
	free   []string             // names on this line that are not in scope
}

func (p *parser) fail(format string, args ...any) {
	if p.err == nil {
		p.err = fmt.Errorf("line %d: %w", p.at, fmt.Errorf(format, args...))
	}
}

// next moves to the next line that is neither blank nor begins with //. There is no keyword at
// the end of the text and after an error.
func (p *parser) next() bool {
	p.keyword, p.rest, p.free = "", "", nil
	for p.err == nil && p.at < len(p.lines) {
		line := strings.TrimSpace(p.lines[p.at])
		p.at++
		if line != "" && !strings.HasPrefix(line, "//") {
			p.keyword = strings.Fields(line)[0]
			p.rest = strings.TrimSpace(line[len(p.keyword):])
			return true
		}
	}
	return false
}

func (p *parser) kernel() *Kernel {
	p.header()
	for p.next() && declarations[p.keyword] != nil {
		declarations[p.keyword](p)
	}
	if p.keyword == "once" {
		p.next()
		p.k.Once = p.statements()
		p.next()
	}
	p.k.Body = p.statements()
	return p.k
}

// header reads the line that begins a kernel.
func (p *parser) header() {
	p.k, p.types, p.shapes = &Kernel{}, map[string]expr.Type{}, shapes{}
	if p.keyword != "kernel" {
		p.fail("%q stands where a kernel should begin", p.keyword)
	}
	head, pos, placed := strings.Cut(p.rest, "//")
	words := strings.Fields(head)
	if len(words) != 2 {
		p.fail("kernel wants a name and a kind")
		return
	}
	p.k.Name, p.k.Kind = words[0], words[1]
	if placed {
		var err error
		if p.k.Pos, err = diag.ParsePos(strings.TrimSpace(pos), ""); err != nil {
			p.fail("%w", err)
		}
	}
}

// declarations reads the lines before the body of a kernel, by keyword.
var declarations = map[string]func(*parser){
	"in":     func(p *parser) { p.param(In) },
	"out":    func(p *parser) { p.param(Out) },
	"inout":  func(p *parser) { p.param(InOut) },
	"scalar": (*parser).scalars,
	"grid":   (*parser).grid,
	"span":   (*parser).span,
}

func (p *parser) param(mode Mode) {
	name, t, shape := p.array(p.extent)
	p.k.Params = append(p.k.Params, Param{Name: name, Type: t, Mode: mode, Shape: shape})
}

// array reads a declaration such as x f32[B*T, 64].
func (p *parser) array(extent func(string) *expr.Expr) (name string, t expr.Type, shape []*expr.Expr) {
	name, text, _ := strings.Cut(p.rest, " ")
	text = strings.TrimSpace(text)
	typeName, extents, ok := bracketed(text, "[", "]")
	t, known := expr.TypeByName(typeName)
	if !ok || !known {
		p.fail("%s wants a type and extents in brackets, has %q", name, text)
	}
	for _, text := range splitList(extents) {
		shape = append(shape, extent(text))
	}
	p.types[name], p.shapes[name] = t, shape
	return name, t, shape
}

func (p *parser) scalars() {
	for _, item := range splitList(p.rest) {
		name, most, bounded := cutOutside(item, "<=")
		t, ok := ScalarType(name)
		if !ok {
			p.fail("no scalar is called %q; there are %s", name, strings.Join(ScalarNames(), ", "))
		}
		p.k.Params = append(p.k.Params, Param{Name: name, Type: t, Mode: Scalar})
		p.types[name] = t
		if bounded {
			p.k.AtMost(name, int64(p.uint(most)))
		}
	}
}

func (p *parser) grid() {
	p.k.Grid = p.axes(p.rest, p.extent)
	for _, a := range p.k.Grid {
		p.types[a.Var] = expr.I32
	}
}

func (p *parser) span() {
	names, rows := p.cut(p.rest, " of ", "first, height of rows")
	first, height := p.cut(names, ",", "first, height of rows")
	p.k.Span = &Span{First: first, Height: height, Rows: p.extent(rows)}
	p.types[first], p.types[height] = expr.I32, expr.I32
}

// statements reads statements up to the end of their block.
func (p *parser) statements() []Stmt {
	var body []Stmt
	for ; p.keyword != "end" && p.err == nil; p.next() {
		body = append(body, p.statement())
	}
	return body
}

// body reads the body of a statement, which sees name unless that is "". Names bound in it go out
// of scope at its end.
func (p *parser) body(name string) []Stmt {
	outer := maps.Clone(p.types)
	defer func() { p.types = outer }()
	if name != "" {
		p.types[name] = expr.I32
	}
	p.next()
	return p.statements()
}

// axes reads a list such as r < 64, n < 192.
func (p *parser) axes(text string, size func(string) *expr.Expr) []Axis {
	var axes []Axis
	for _, item := range splitList(text) {
		name, bound := p.cut(item, "<", "name < size")
		axes = append(axes, Axis{Var: name, Size: size(bound)})
	}
	return axes
}

// expr reads an expression over the names in scope.
func (p *parser) expr(text string) *expr.Expr {
	known := len(p.free)
	e := p.open(text)
	if len(p.free) > known {
		p.fail("%s is not known here", p.free[known])
	}
	return e
}

// extent reads an extent of a buffer or of the grid. It may use scalars declared later.
func (p *parser) extent(text string) *expr.Expr {
	return p.parse(text, func(name string) (expr.Type, bool) {
		t, _ := ScalarType(name)
		return t, true
	})
}

// open reads an expression and notes which of its variables are not in scope. They are treated as
// index variables.
func (p *parser) open(text string) *expr.Expr {
	e := p.parse(text, func(name string) (expr.Type, bool) {
		t, ok := p.types[name]
		if !ok {
			p.free = append(p.free, name)
			t = expr.I32
		}
		return t, true
	})
	for _, x := range expr.Elems(e) {
		if slices.Contains(p.free, x.Name) {
			p.fail("no tile or buffer is called %s", x.Name)
		}
	}
	return e
}

func (p *parser) parse(text string, types func(name string) (expr.Type, bool)) *expr.Expr {
	e, err := expr.Parse(text, types)
	if err != nil {
		p.fail("%w", err)
		return expr.Int(0)
	}
	return e
}

func (p *parser) uint(text string) uint32 {
	n, err := strconv.ParseUint(text, 10, 32)
	if err != nil {
		p.fail("%q is no whole number", text)
	}
	return uint32(n)
}

// cut cuts a text of some form around the sign, or word, in the middle of it.
func (p *parser) cut(text, sign, form string) (before, after string) {
	before, after, ok := cutOutside(text, sign)
	if !ok {
		p.fail("%q wants the form %s", strings.TrimSpace(text), form)
	}
	return before, after
}

// cutOutside cuts a text around the first sep outside of brackets, and trims both parts.
func cutOutside(text, sep string) (before, after string, found bool) {
	depth := 0
	for i := range len(text) {
		switch c := text[i]; {
		case c == '(' || c == '[':
			depth++
		case c == ')' || c == ']':
			depth--
		case depth == 0 && strings.HasPrefix(text[i:], sep):
			return strings.TrimSpace(text[:i]), strings.TrimSpace(text[i+len(sep):]), true
		}
	}
	return strings.TrimSpace(text), "", false
}

// splitList splits a text at its commas outside of brackets; an empty text has no
// items.
func splitList(text string) []string {
	var items []string
	for text = strings.TrimSpace(text); text != ""; {
		item, rest, more := cutOutside(text, ",")
		items = append(items, item)
		if text = rest; more && text == "" {
			items = append(items, "")
		}
	}
	return items
}

// bracketed cuts a text such as sum(a[i]) into the parts before and in its brackets.
func bracketed(text, open, shut string) (name, inside string, ok bool) {
	name, inside, ok = strings.Cut(text, open)
	inside, closed := strings.CutSuffix(inside, shut)
	return name, inside, ok && closed
}
