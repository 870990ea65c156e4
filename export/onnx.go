package export

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/ir"
	"github.com/arithlang/mlc/compiler/model"
	"github.com/arithlang/mlc/runtime/config"
)

// The written versions of ONNX's operators and of its file format.
const (
	opset     = 18
	irVersion = 8
)

// mostONNX is the largest file, in bytes: protocol buffers allow no more than 2 GB.
const mostONNX = 1<<31 - 1<<20

// A tensor is the name of a tensor in a graph.
type tensor string

// A graph collects the nodes of a model. Nodes that depend only on sizes, constants and
// parameters are early: they come before all others, without duplicates, so that no loop
// repeats them.
type graph struct {
	m      *Model
	early  body
	body   *body             // receives the other nodes
	shared map[string]tensor // early nodes and constants, by content
	known  map[tensor]bool   // early tensors
	inits  []message         // initializers
	sizes  map[string]tensor // B, T, S: scalars
	vars   map[string]tensor // variables of the program
	layer  tensor            // the layer's number, a scalar
	place  string            // prefix of the names of nodes
	count  int
	err    error
}

// A body holds the nodes of a graph or of a loop's body.
type body struct{ nodes []message }

// ONNX writes the model as one ONNX file. Its inputs are tokens, I64 [B, T], for an
// encoder-decoder also [B, S], and for a loop the scalar times, which may be left out. Its
// output is the logits, F32 [B, T, vocabulary]. ONNX returns an error if the file would be
// larger than 2 GB.
func (m *Model) ONNX() ([]byte, error) {
	if 4*m.Parameters() > mostONNX {
		return nil, fmt.Errorf("%d parameters exceed the 2 GB of an ONNX file: export to hf or python", m.Parameters())
	}
	g := &graph{m: m, shared: map[string]tensor{}, known: map[tensor]bool{}, sizes: map[string]tensor{}, vars: map[string]tensor{}}
	for _, t := range m.tensors {
		g.inits = append(g.inits, floatTensor(t.Name, t.Shape, t.Data))
		g.known[tensor(t.Name)] = true
	}
	main := &body{}
	g.body = main
	var inputs []message
	ids := func(name string, rows string) {
		inputs = append(inputs, valueInfo(name, onnxInt64, "B", rows))
		g.vars[name] = tensor(name)
	}
	if m.program.memory != "" {
		ids(model.SourceTokens, "S")
		g.size("S", model.SourceTokens, 1)
	}
	ids(model.TargetTokens, "T")
	g.size("B", model.TargetTokens, 0)
	g.size("T", model.TargetTokens, 1)
	if m.runs > 0 {
		inputs = append(inputs, valueInfo("times", onnxInt64))
		g.inits = append(g.inits, intTensor("times", nil, []int64{int64(m.runs)}))
	}
	for _, s := range slices.Concat(m.program.encode, m.program.decode) {
		g.step(s)
	}
	g.named("Identity", logits, g.vars[m.program.out])
	if g.err != nil {
		return nil, g.err
	}
	return g.encode(append(g.early.nodes, main.nodes...), inputs), nil
}

// encode returns the ModelProto.
func (g *graph) encode(nodes, inputs []message) []byte {
	m := g.m
	var graph message
	for _, n := range nodes {
		graph = graph.Bytes(1, n)
	}
	graph = graph.Text(2, m.Name)
	for _, t := range g.inits {
		graph = graph.Bytes(5, t)
	}
	for _, in := range inputs {
		graph = graph.Bytes(11, in)
	}
	graph = graph.Bytes(12, valueInfo(logits, onnxFloat, "B", "T", m.said()))
	whole := message{}.Int(1, irVersion).Text(2, "mlc").Bytes(7, graph)
	whole = whole.Bytes(8, message{}.Text(1, "").Int(2, opset))
	vocabulary, err := json.Marshal(m.task.Vocabulary())
	if err != nil {
		panic("BUG: " + err.Error())
	}
	for _, e := range [][2]string{{"command", m.Command}, {"vocabulary", string(vocabulary)}, {"end", fmt.Sprint(m.task.EOS())}, {"spec", m.Text}} {
		whole = whole.Bytes(14, message{}.Text(1, e[0]).Text(2, e[1]))
	}
	return whole
}

// size defines the extent of an input along an axis.
func (g *graph) size(name, of string, axis int) {
	g.known[tensor(of)] = true // its shape is known
	shape := g.op("Shape", []tensor{tensor(of)})
	delete(g.known, tensor(of))
	g.sizes[name] = g.op("Gather", []tensor{shape, g.int(int64(axis))}, attribute{"axis", 0})
}

// step adds the nodes of a step. Layers are unrolled. A Loop runs them as often as the
// input times says.
func (g *graph) step(s *step) {
	switch {
	case s.times:
		g.loop(s)
	case s.n == 0:
		g.calls(s, 0, g.int(0))
	default:
		for l := range s.n {
			g.calls(s, l, g.int(int64(l)))
		}
	}
}

func (g *graph) calls(s *step, l int, layer tensor) {
	for _, c := range s.calls {
		g.place = c.fn.Name
		if s.n > 0 {
			g.place += fmt.Sprintf(".%d", l)
		}
		g.layer = layer
		g.vars[c.result] = g.call(c, l)
	}
}

// call adds the nodes of a function for layer l.
func (g *graph) call(c *call, l int) tensor {
	n := 0
	out, err := walk(c.fn, func(p *ir.Value, role ir.Role) tensor {
		if role == ir.Input {
			n++
			return g.vars[c.args[n-1]]
		}
		return g.param(c, l, p.Attr.Name)
	}, func(v *ir.Value, args []tensor) (tensor, error) {
		row, ok := rows()[v.Op]
		if !ok {
			return "", errNoRow(v.Op.String())
		}
		place := g.place
		if v.Attr.Name != "" {
			g.place += "/" + v.Attr.Name
		}
		t := row.onnx(g, v, args)
		g.place = place
		return t, g.err
	})
	if err != nil && g.err == nil {
		g.err = err
	}
	return out
}

// param returns the initializer of a call's parameter: from the call's groups, or shared by
// all layers.
func (g *graph) param(c *call, l int, name string) tensor {
	var places []string
	for _, of := range c.groups {
		if of.Stack {
			places = append(places, fmt.Sprintf("%s.%d.", of.Name, (*config.Group)(of).Instance(l)))
		} else {
			places = append(places, of.Name+".")
		}
	}
	for _, place := range append(places, "shared.", "fixed.") {
		if t := tensor(place + name); g.known[t] {
			return t
		}
	}
	g.err = fmt.Errorf("BUG: %s has no parameter %s", c.fn.Name, name)
	return ""
}

// loop adds a Loop over the runs. Its body has all layers.
func (g *graph) loop(s *step) {
	outer, carried := g.body, []string{}
	for _, c := range s.calls {
		carried = append(carried, c.result)
	}
	inner := &body{}
	g.body = inner
	var begin []tensor
	ins := []message{valueInfo("run", onnxInt64), valueInfo("go_on", onnxBool)}
	width := g.m.Spec.Model.Width
	for _, v := range carried {
		begin = append(begin, g.vars[v])
		g.vars[v] = tensor("run." + v)
		ins = append(ins, valueInfo("run."+v, onnxFloat, "B", "T", width))
	}
	for l := range s.n {
		g.place = "run"
		g.calls(s, l, g.op("Add", []tensor{g.op("Mul", []tensor{"run", g.int(int64(s.n))}), g.int(int64(l))}))
	}
	g.named("Identity", "goes_on", "go_on")
	outs := []message{valueInfo("goes_on", onnxBool)}
	for _, v := range carried {
		g.named("Identity", tensor("next."+v), g.vars[v])
		outs = append(outs, valueInfo("next."+v, onnxFloat, "B", "T", width))
	}
	var graph message
	for _, n := range inner.nodes {
		graph = graph.Bytes(1, n)
	}
	graph = graph.Text(2, "run")
	for _, in := range ins {
		graph = graph.Bytes(11, in)
	}
	for _, out := range outs {
		graph = graph.Bytes(12, out)
	}
	g.body = outer
	var results []string
	for _, v := range carried {
		g.vars[v] = tensor("last." + v)
		results = append(results, "last."+v)
	}
	g.node(g.body, "Loop", results, append([]tensor{"times", ""}, begin...), attribute{"body", graph})
}

// op adds a node with one result. Equal early nodes become one.
func (g *graph) op(kind string, inputs []tensor, attrs ...attribute) tensor {
	early := !slices.ContainsFunc(inputs, func(t tensor) bool { return !g.known[t] })
	key := fmt.Sprint(kind, inputs, attrs)
	if t, ok := g.shared[key]; ok && early {
		return t
	}
	g.count++
	where, place := g.body, g.place
	if early {
		where, place = &g.early, "early"
	}
	t := tensor(fmt.Sprintf("%s/%s_%d", place, kind, g.count))
	g.write(where, kind, t, inputs, attrs...)
	if early {
		g.shared[key], g.known[t] = t, true
	}
	return t
}

// named adds a node whose result has the given name.
func (g *graph) named(kind string, name tensor, inputs ...tensor) {
	g.write(g.body, kind, name, inputs)
}

func (g *graph) write(where *body, kind string, name tensor, inputs []tensor, attrs ...attribute) {
	g.node(where, kind, []string{string(name)}, inputs, attrs...)
}

func (g *graph) node(where *body, kind string, results []string, inputs []tensor, attrs ...attribute) {
	var n message
	for _, in := range inputs {
		n = n.Text(1, string(in))
	}
	for _, out := range results {
		n = n.Text(2, out)
	}
	n = n.Text(3, results[0]).Text(4, kind)
	for _, a := range attrs {
		n = n.Bytes(5, a.encode())
	}
	where.nodes = append(where.nodes, n)
}

// constant adds an initializer, unless it has one with this key.
func (g *graph) constant(key string, made func(name string) message) tensor {
	if t, ok := g.shared[key]; ok {
		return t
	}
	t := tensor("const " + key)
	g.shared[key], g.known[t] = t, true
	g.inits = append(g.inits, made(string(t)))
	return t
}

func (g *graph) int(n int64) tensor {
	return g.constant(fmt.Sprint(n), func(name string) message { return intTensor(name, nil, []int64{n}) })
}

// ints returns a row of integers.
func (g *graph) ints(ns ...int) tensor {
	wide := make([]int64, len(ns))
	for i, n := range ns {
		wide[i] = int64(n)
	}
	return g.constant(fmt.Sprint(ns), func(name string) message { return intTensor(name, []int{len(ns)}, wide) })
}

func (g *graph) float(x float64) tensor {
	return g.constant(fmt.Sprintf("%gf", float32(x)), func(name string) message { return floatTensor(name, nil, []float32{float32(x)}) })
}

// dim returns an extent as a scalar.
func (g *graph) dim(d ir.Dim) tensor {
	if d.Sym == "" {
		return g.int(int64(d.N))
	}
	return g.launch(d.Sym)
}

// launch returns a variable of the launch.
func (g *graph) launch(name string) tensor {
	if name == "layer" {
		return g.layer
	}
	t, ok := g.sizes[name]
	if !ok && g.err == nil {
		g.err = errNoRow("launch variable " + name)
	}
	return t
}

// index returns 0, 1, … along an axis that is at place fromRight from the right, from 1.
// The axes after it have extent 1.
func (g *graph) index(d ir.Dim, fromRight int) tensor {
	t := g.op("Range", []tensor{g.int(0), g.dim(d), g.int(1)})
	if fromRight == 1 {
		return t
	}
	shape := slices.Repeat([]int{1}, fromRight)
	shape[0] = -1
	return g.op("Reshape", []tensor{t, g.ints(shape...)})
}

// shape returns the extents of a result as a row of integers.
func (g *graph) shape(dims []ir.Dim) tensor {
	var parts []tensor
	for _, d := range dims {
		parts = append(parts, g.op("Reshape", []tensor{g.dim(d), g.ints(1)}))
	}
	return g.op("Concat", parts, attribute{"axis", 0})
}

// An onnxExpr adds the nodes of one expression.
type onnxExpr struct {
	g     *graph
	args  []tensor
	of    []*ir.Value // the values of args
	index []tensor
	made  map[*expr.Expr]tensor
}

// expr adds the nodes of an expression. args are the tensors of the values in of.
func (g *graph) expr(e *expr.Expr, args []tensor, of []*ir.Value, index []tensor) tensor {
	if bad := printable(e); bad != nil && g.err == nil {
		g.err = errNoRow(bad.Op.String())
	}
	return (&onnxExpr{g, args, of, index, map[*expr.Expr]tensor{}}).node(e)
}

func (x *onnxExpr) node(e *expr.Expr) tensor {
	t, ok := x.made[e]
	if !ok {
		t = x.plain(e)
		x.made[e] = t
	}
	return t
}

func (x *onnxExpr) plain(e *expr.Expr) tensor {
	g := x.g
	switch e.Op {
	case expr.Const:
		return g.value(e)
	case expr.Var:
		if k, ok := numbered(e.Name, 'x'); ok {
			return x.args[k]
		} else if k, ok := numbered(e.Name, 'd'); ok {
			return x.index[k]
		}
		return g.launch(e.Name)
	case expr.Elem:
		return x.element(e)
	}
	args := make([]tensor, len(e.Args))
	for i, a := range e.Args {
		args[i] = x.node(a)
	}
	kind := scalars[e.Op].onnx
	switch e.Op {
	case expr.Ne:
		return g.op("Not", []tensor{g.op(kind, args)})
	case expr.ToF32:
		return g.op(kind, args, attribute{"to", onnxFloat})
	case expr.ToI32:
		return g.op(kind, args, attribute{"to", onnxInt64})
	case expr.Mod:
		if !natural(e.Args[0]) || !natural(e.Args[1]) {
			return g.op(kind, args, attribute{"fmod", 1})
		}
	case expr.Where:
		if e.Type == expr.Bool {
			other := g.op("And", []tensor{g.op("Not", args[:1]), args[2]})
			return g.op("Or", []tensor{g.op("And", args[:2]), other})
		}
	}
	return g.op(kind, args)
}

// value returns a constant of an expression.
func (g *graph) value(e *expr.Expr) tensor {
	switch e.Type {
	case expr.F32:
		return g.float(e.F)
	case expr.Bool:
		return g.op("Equal", []tensor{g.int(e.I), g.int(1)})
	}
	return g.int(e.I)
}

// element returns an element of a parameter at its indices. It gathers from the parameter
// as a row.
func (x *onnxExpr) element(e *expr.Expr) tensor {
	k, _ := numbered(e.Name, 'x')
	if len(e.Args) == 0 {
		return x.args[k]
	}
	at := expr.Int(0)
	for axis, d := range x.of[k].Type.Shape {
		at = expr.New(expr.Add, expr.New(expr.Mul, at, d.Expr()), e.Args[axis])
	}
	row := x.g.op("Reshape", []tensor{x.args[k], x.g.ints(-1)})
	return x.g.op("Gather", []tensor{row, x.node(expr.Simplify(at))}, attribute{"axis", 0})
}
