package export

import (
	"fmt"
	"strings"

	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/ir"
)

// A python prints functions of the tensor IR. They call the preludes (prelude_torch.py,
// prelude_numpy.py).
type python struct {
	out      strings.Builder
	prelude  map[string]bool // names that functions must not define
	err      error           // the first error
	function                 // the function being printed
}

// newPython returns a printer of functions that call a prelude.
func newPython(prelude []definition) *python {
	p := &python{prelude: map[string]bool{}}
	for _, d := range prelude {
		for _, name := range d.names {
			p.prelude[name] = true
		}
	}
	return p
}

// A function is the state of printing one function.
type function struct {
	lines   []string
	local   map[string]bool   // names in use
	uses    map[*ir.Value]int // of values
	cells   map[string]string // current meaning of attention's index variables
	dims    map[string]bool   // sizes that it reads
	layer   bool              // it reads the number of the layer
	weights bool              // it reads parameters
	temps   int
}

func errNoRow(what string) error {
	return fmt.Errorf("BUG: %s is in a forward pass, and has no row in the tables of exports", what)
}

// A pyFunc lists the parameters of a printed function, besides its variables.
type pyFunc struct {
	weights bool     // parameters of the model
	layer   bool     // the number of the layer
	dims    []string // sizes that none of its variables has
}

// print prints a function.
func (p *python) print(f *ir.Func) pyFunc {
	p.function = function{local: map[string]bool{"p": true, "layer": true}, uses: map[*ir.Value]int{}, cells: map[string]string{}, dims: map[string]bool{}}
	for _, v := range f.Values {
		for _, a := range v.Args {
			p.uses[a]++
		}
	}
	var inputs []*ir.Value
	result, err := walk(f, func(v *ir.Value, role ir.Role) text {
		name := v.Attr.Name
		if role != ir.Input {
			p.weights = true
			return atom(fmt.Sprintf("p[%q]", name))
		}
		inputs = append(inputs, v)
		p.local[name] = true
		return atom(name)
	}, p.value)
	if err != nil && p.err == nil {
		p.err = err
	}
	sig := pyFunc{weights: p.weights, layer: p.layer}
	var params []string
	if p.weights {
		params = append(params, "p")
	}
	var sizes []string
	for _, v := range inputs {
		params = append(params, v.Attr.Name)
		sizes = append(sizes, p.unpack(v)...)
	}
	for _, d := range []string{"B", "T", "S"} {
		if p.dims[d] {
			sig.dims = append(sig.dims, d)
			params = append(params, d)
		}
	}
	if p.layer {
		params = append(params, "layer")
	}
	fmt.Fprintf(&p.out, "\n\ndef %s(%s):\n    \"\"\"%s\"\"\"\n", f.Name, strings.Join(params, ", "), about(inputs, f.Results[0]))
	for _, line := range append(sizes, p.lines...) {
		p.out.WriteString(wrapped("    " + line))
	}
	p.out.WriteString(wrapped("    return " + result.code))
	return sig
}

// about writes the docstring of a function: its inputs and its result.
func about(inputs []*ir.Value, r ir.Result) string {
	var all []string
	for _, v := range inputs {
		all = append(all, v.Attr.Name+" "+shapeText(v.Type.Shape))
	}
	return strings.TrimPrefix(fmt.Sprintf("%s -> %s %s", strings.Join(all, ", "), r.Name, shapeText(r.Value.Type.Shape)), " ")
}

func shapeText(shape []ir.Dim) string {
	all := make([]string, len(shape))
	for i, d := range shape {
		all[i] = d.String()
	}
	return "[" + strings.Join(all, ", ") + "]"
}

// unpack takes the sizes that are read and not yet known from a variable's shape.
func (p *python) unpack(v *ir.Value) []string {
	names := make([]string, len(v.Type.Shape))
	some := false
	for i, d := range v.Type.Shape {
		names[i] = "_"
		if p.dims[d.Sym] {
			names[i], some = d.Sym, true
			delete(p.dims, d.Sym)
		}
	}
	if !some {
		return nil
	}
	return []string{strings.Join(names, ", ") + " = " + v.Attr.Name + ".shape"}
}

// wrapped breaks a long line within brackets.
func wrapped(line string) string {
	const most = 112
	if len(line) <= most {
		return line + "\n"
	}
	indent := line[:len(line)-len(strings.TrimLeft(line, " "))] + "    "
	head, body := "", line
	for _, mark := range []string{" = ", "return "} {
		if at := strings.Index(line, mark); at >= 0 && !strings.ContainsAny(line[:at], "([") {
			head, body = line[:at+len(mark)], line[at+len(mark):]
			break
		}
	}
	if open := strings.IndexByte(body, '('); open < 0 || strings.Contains(body[:open], " ") || closes(body, open) < len(body)-1 {
		body = "(" + body + ")"
	}
	var b strings.Builder
	b.WriteString(head)
	width, depth := len(head), 0
	for i, word := range strings.SplitAfter(body, " ") {
		if i > 0 && depth > 0 && width+len(word) > most {
			b.WriteString("\n" + indent)
			width = len(indent)
		}
		b.WriteString(word)
		width += len(word)
		depth += strings.Count(word, "(") + strings.Count(word, "[") - strings.Count(word, ")") - strings.Count(word, "]")
	}
	lines := strings.Split(b.String(), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.Join(lines, "\n") + "\n"
}

// closes returns the index of the bracket that closes the one at open.
func closes(s string, open int) int {
	depth := 0
	for i := open; i < len(s); i++ {
		switch s[i] {
		case '(', '[':
			depth++
		case ')', ']':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return len(s)
}

// value prints a value. A value with a name, or one that is used several times, becomes a
// variable; any other is printed where it is used.
func (p *python) value(v *ir.Value, args []text) (text, error) {
	row, ok := rows()[v.Op]
	if !ok {
		return text{}, errNoRow(v.Op.String())
	}
	t := row.python(p, v, args)
	switch {
	case v.Attr.Name != "" && p.uses[v] > 0:
		return p.assign(p.free(strings.NewReplacer(".", "_", " ", "_", "-", "_").Replace(v.Attr.Name)), t), p.err
	case p.uses[v] > 1 && t.binds < bindsAtom || p.uses[v] > 1 && strings.HasSuffix(t.code, ")"):
		return p.assign(p.temp(), t), p.err
	}
	return t, p.err
}

// assign assigns a text to a variable.
func (p *python) assign(name string, t text) text {
	p.local[name] = true
	p.lines = append(p.lines, name+" = "+t.code)
	return atom(name)
}

// temp returns a new name.
func (p *python) temp() string {
	p.temps++
	return p.free(fmt.Sprintf("t%d", p.temps))
}

// free returns a name that is not in use.
func (p *python) free(name string) string {
	for p.local[name] || p.prelude[name] || pythonWords[name] {
		name += "_"
	}
	return name
}

// pythonWords are names that no variable may have.
var pythonWords = words(`False None True and as assert async await break class continue def del elif else except
	finally for from global if import in is lambda nonlocal not or pass raise return try while with yield
	sum range len p h i j m B T S float int`)

func words(list string) map[string]bool {
	all := map[string]bool{}
	for _, w := range strings.Fields(list) {
		all[w] = true
	}
	return all
}

// launch returns the name of a variable of the launch, and records that it is read.
func (p *python) launch(name string) string {
	switch {
	case p.local[name] && name != "layer":
		return name
	case name == "layer":
		p.layer = true
	case name == "B" || name == "T" || name == "S":
		p.dims[name] = true
	default:
		p.err = errNoRow("launch variable " + name)
	}
	return name
}

// size prints an extent.
func (p *python) size(d ir.Dim) string {
	if d.Sym != "" {
		return p.launch(d.Sym)
	}
	return d.String()
}

// mapped prints a Map.
func (p *python) mapped(v *ir.Value, args []text) text {
	e := expr.Simplify(v.Attr.Expr)
	shape := v.Type.Shape
	index := make([]string, len(shape))
	for axis := range shape {
		if expr.Depends(e, ir.D(axis).Name) {
			index[axis] = p.index(shape[axis], len(shape)-axis)
		}
	}
	t := p.expr(e, args, index)
	if whole(covered(e, shape, v.Args)) {
		return t
	}
	sizes := make([]string, len(shape))
	for i, d := range shape {
		sizes[i] = p.size(d)
	}
	return atom("broadcast(" + t.code + ", (" + strings.Join(sizes, ", ") + ",))")
}

// index prints 0, 1, … along an axis that is at place fromRight from the right, from 1.
func (p *python) index(d ir.Dim, fromRight int) string {
	if fromRight == 1 {
		return "index(" + p.size(d) + ")"
	}
	return fmt.Sprintf("index(%s, %d)", p.size(d), fromRight)
}

func (p *python) matmul(v *ir.Value, args []text) text {
	right := args[1].inside(bindsMul + 1)
	if v.Attr.TransB {
		right = call_("transposed", args[1]).code
	}
	if v.Attr.TransA {
		p.err = errNoRow("a product with a transposed left factor")
	}
	return text{args[0].inside(bindsMul) + " @ " + right, bindsMul}
}

func (p *python) gather(_ *ir.Value, args []text) text {
	return atom(args[0].inside(bindsAtom) + "[" + args[1].code + "]")
}

// float prints a number of an attribute.
func float(x float64) text { return constant(expr.F(x)) }

func number(n int) text { return atom(fmt.Sprint(n)) }

func (p *python) layernorm(v *ir.Value, args []text) text {
	return call_("layernorm", args[0], args[1], args[2], float(v.Attr.Eps))
}

func (p *python) rmsnorm(v *ir.Value, args []text) text {
	return call_("rmsnorm", args[0], args[1], float(v.Attr.Eps))
}

func (p *python) rotate(v *ir.Value, args []text) text {
	return call_("rotate", args[0], args[1], args[2], number(v.Attr.Attn.Heads))
}

func (p *python) repeatHeads(v *ir.Value, args []text) text {
	heads, group := v.Attr.Attn.Heads, v.Attr.Group
	return call_("repeat_heads", args[0], number(heads/group), number(group))
}

func (p *python) headProduct(v *ir.Value, args []text) text {
	w := args[1]
	if v.Attr.TransB {
		w = call_("transposed", w)
	}
	return call_("head_product", args[0], w, number(v.Attr.Attn.Heads))
}

// cell names the index variables of a site, and defines the ones that expressions read.
func (p *python) cell(s site, es ...*expr.Expr) []string {
	names := []string{"b", "h", "i", "j"}
	var vars, values []string
	for axis := range 4 {
		read := false
		for _, e := range es {
			read = read || e != nil && expr.Depends(e, ir.D(axis).Name)
		}
		if value := p.index(s.shape[axis], s.axes(axis)); read && p.cells[names[axis]] != value {
			p.cells[names[axis]] = value
			vars, values = append(vars, names[axis]), append(values, value)
		}
	}
	if len(vars) > 0 {
		p.lines = append(p.lines, strings.Join(vars, ", ")+" = "+strings.Join(values, ", "))
	}
	return names
}

func (p *python) biasTable(v *ir.Value, args []text) text {
	s := siteOf(v)
	t := p.expr(s.bias, args, p.cell(s, s.bias))
	if s.flat && !(expr.Depends(s.bias, ir.D(1).Name) && expr.Depends(s.bias, ir.D(3).Name)) {
		return atom(fmt.Sprintf("broadcast(%s, (%d, %d))", t.code, v.Type.Shape[0].N, v.Type.Shape[1].N))
	}
	return t
}

// attention prints the mask and bias of the cells, and the attention.
func (p *python) attention(v *ir.Value, args []text) text {
	s, a := siteOf(v), v.Attr.Attn
	var distance *expr.Expr
	if a.Relative > 0 {
		distance = s.over(a, a.Distance())
	}
	index := p.cell(s, s.mask, s.bias, distance)
	all := []text{args[0], args[1], args[2], number(a.Heads), float(a.Scale)}
	rest := args[3:]
	var bias []text
	if distance != nil {
		at := p.expr(distance, nil, index).code
		p.cells["h"] = "" // the meaning of h is not known here
		scores := fmt.Sprintf("split(%s, %d)[index(%s, 4), index(%d, 3), index(%s, 2), %s]",
			rest[0].code, a.Heads, p.launch("B"), a.Heads, p.size(s.shape[2]), at)
		bias, rest = append(bias, infix("*", bindsMul, float(a.Scale), atom(scores))), rest[1:]
	}
	if a.Table {
		bias, rest = append(bias, rest[0]), rest[1:]
	}
	if s.bias != nil {
		bias = append(bias, p.expr(s.bias, rest, index))
	}
	if s.mask != nil {
		all = append(all, atom("mask="+p.expr(s.mask, rest, index).code))
	}
	if len(bias) > 0 {
		sum := bias[0]
		for _, b := range bias[1:] {
			sum = infix("+", bindsAdd, sum, b)
		}
		all = append(all, atom("bias="+sum.code))
	}
	return call_("attention", all...)
}

// runs prints the number of each token in its run.
func (p *python) runs(v *ir.Value, args []text) text {
	if v.Attr.Total {
		return call_("total", p.expr(expr.Simplify(v.Attr.Expr), args, nil))
	}
	return call_("runs", p.expr(expr.Simplify(v.Attr.Expr), args, nil))
}

// noise prints the initial noise, which is the same for all examples.
func (p *python) noise(v *ir.Value, _ []text) text {
	return call_("noise", number(int(v.Attr.Stream)), atom(p.size(v.Type.Shape[1])), atom(p.size(v.Type.Shape[2])))
}
