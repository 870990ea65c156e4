package cpu

import (
	"slices"

	"github.com/dave/jennifer/jen"

	"github.com/arithlang/mlc/codegen/cpu/vector"
	"github.com/arithlang/mlc/codegen/flat"
	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/kernel"
	"github.com/arithlang/mlc/runtime/abi"
)

// A printer prints one kernel.
type printer struct {
	*names
	vars     map[string]bool       // that may change
	sizes    map[string]*expr.Expr // elements of the other tiles
	rows     map[string]string     // names of rows, by slice, offset and length
	products *products
	leaves   map[kernel.Stmt]*call // by the first node that a leaf stands for
	isa      string                // the variable that says which instructions to use
}

func newPrinter() *printer {
	return &printer{
		names: newNames("worker", "env", "cpu", "device", "math"),
		sizes: map[string]*expr.Expr{}, rows: map[string]string{},
	}
}

// field prints where the environment of a launch has a scalar.
func field(s abi.Scalar) *jen.Statement {
	whole := jen.Id("env").Dot(s.Field)
	switch s.Half {
	case abi.Low:
		return jen.Uint32().Call(whole)
	case abi.High:
		return jen.Uint32().Call(whole.Op(">>").Lit(32))
	}
	return whole
}

// function prints the function of a kernel, which loops over all cells, and adds the
// leaves that it calls.
func function(k *kernel.Kernel, name string, leaves *vector.Assembly) jen.Code {
	p := newPrinter()
	params := p.params(k)
	r := flat.Of(k, flat.Processor())
	p.vars = r.Vars()
	nodes := append(r.Once, overGrid(k.Grid, r.Body)...)
	p.products = newProducts(k)
	p.products.find(nodes)
	c := newCutter(name, k, nodes, leaves)
	nodes = c.cut(nodes, true)
	p.leaves = c.calls
	var prepare []jen.Code
	if len(c.calls) > 0 {
		p.isa = p.fresh("isa")
		prepare = p.prepare(r, c)
	}
	body := append(prepare, p.nodes(nodes)...)
	return jen.Func().Id(name).Params(params...).Block(append(p.bindScalars(), body...)...)
}

// params prints the parameters of a kernel's function, and names the scalars that
// the kernel and its random words may use.
func (p *printer) params(k *kernel.Kernel) []jen.Code {
	params := []jen.Code{
		jen.Id("worker").Op("*").Qual(runtimePath, "Worker"),
		jen.Id("env").Op("*").Qual(devicePath, "Env"),
	}
	bufs := buffers(k)
	for i, b := range bufs {
		param := jen.Id(p.bind(b.Name))
		if i+1 == len(bufs) || elemType(bufs[i+1].Type) != elemType(b.Type) {
			param.Index().Id(elemType(b.Type))
		}
		params = append(params, param)
	}
	for _, s := range k.Params {
		if s.Mode == kernel.Scalar {
			p.bind(s.Name)
		}
	}
	for _, s := range randomScalars {
		if _, ok := p.ids[s.Name]; !ok {
			p.bind(s.Name)
		}
	}
	return params
}

// overGrid puts the loops over the cells around what is done for each.
func overGrid(grid []kernel.Axis, cell []kernel.Stmt) []kernel.Stmt {
	for _, a := range slices.Backward(grid) {
		cell = []kernel.Stmt{&kernel.For{Var: a.Var, Lo: expr.Int(0), Hi: a.Size, Body: cell}}
	}
	return cell
}

// bindScalars prints the definition of the scalars that the kernel uses.
func (p *printer) bindScalars() []jen.Code {
	var ids, values []jen.Code
	for _, s := range abi.Scalars() {
		if id, ok := p.ids[s.Name]; ok && p.used[id] {
			ids, values = append(ids, jen.Id(id)), append(values, field(s))
		}
	}
	if len(ids) == 0 {
		return nil
	}
	return []jen.Code{jen.List(ids...).Op(":=").List(values...)}
}

// releasing prints a loop that gives back, in what it is told to end its body
// with, the scratch that the body takes.
func (p *printer) releasing(body []kernel.Stmt, loop func(end []jen.Code) jen.Code) []jen.Code {
	if !slices.ContainsFunc(body, p.takesScratch) {
		return []jen.Code{loop(nil)}
	}
	mark := jen.Id(p.fresh("mark"))
	return []jen.Code{
		jen.Add(mark).Op(":=").Id("worker").Dot("Mark").Call(),
		loop([]jen.Code{jen.Id("worker").Dot("Release").Call(mark)}),
	}
}

// takesScratch says whether a node takes scratch that it does not give back.
func (p *printer) takesScratch(n kernel.Stmt) bool {
	switch n := n.(type) {
	case *kernel.Tile:
		return true
	case *kernel.For:
		return len(p.products.before[n]) > 0
	case *kernel.If:
		return slices.ContainsFunc(n.Body, p.takesScratch)
	}
	return false
}

// rangeOver prints a loop over an axis.
func (p *printer) rangeOver(a kernel.Axis, body func() []jen.Code) jen.Code {
	size := p.scalar(a.Size)
	var loop *jen.Statement
	p.scope(func() {
		id := p.bind(a.Var)
		stmts := body()
		if p.used[id] {
			loop = jen.For(jen.Id(id).Op(":=").Range().Add(size)).Block(stmts...)
		} else {
			loop = jen.For(jen.Range().Add(size)).Block(stmts...)
		}
	})
	return loop
}

func (p *printer) nodes(ns []kernel.Stmt) []jen.Code {
	var out []jen.Code
	for i := 0; i < len(ns); i++ {
		if c := p.leaves[ns[i]]; c != nil {
			part := ns[i:][:c.nodes]
			out = append(out, p.leafCall(c, part))
			i += c.nodes - 1
			continue
		}
		out = append(out, p.node(ns[i])...)
	}
	return out
}

// block prints nodes whose names nobody after them sees.
func (p *printer) block(ns []kernel.Stmt) (out []jen.Code) {
	p.scope(func() { out = p.nodes(ns) })
	return out
}

func (p *printer) node(n kernel.Stmt) []jen.Code {
	switch n := n.(type) {
	case *kernel.Let:
		out, es := p.share(n.Value)
		return append(out, jen.Id(p.bind(n.Name)).Op(":=").Add(p.typed(es[0])))
	case *kernel.Tile:
		p.sizes[n.Name] = n.Shape[0]
		size := p.scalar(n.Shape[0])
		return []jen.Code{jen.Id(p.bind(n.Name)).Op(":=").Id("worker").Dot(takers[n.Type]).Call(size)}
	case *kernel.Var:
		if n.Value != nil {
			value := p.typed(n.Value)
			return []jen.Code{jen.Id(p.bind(n.Name)).Op(":=").Add(value)}
		}
		return []jen.Code{jen.Var().Id(p.bind(n.Name)).Id(goType(n.Type))}
	case *kernel.Set:
		return p.assign(n)
	case *kernel.Random:
		return []jen.Code{jen.Id("worker").Dot("RandFill").Call(
			p.filled(n.Dst, n.Size), jen.Id("env"), jen.Lit(int(n.Stream)), p.scalar(n.Example), p.scalar(n.Base))}
	case *kernel.Dot:
		return []jen.Code{p.dot(n)}
	case *kernel.Reduce:
		return p.reduce(n)
	case *kernel.For:
		packs := p.packs(n)
		return append(packs, p.releasing(n.Body, func(end []jen.Code) jen.Code { return p.loop(n, end) })...)
	case *kernel.If:
		out, es := p.share(n.Cond)
		return append(out, jen.If(p.scalar(es[0])).Block(p.block(n.Body)...))
	}
	panic("BUG: unknown node")
}

// takers are the Worker's methods for scratch.
var takers = map[expr.Type]string{
	expr.F32: "Tile", expr.I32: "TileI32", expr.U32: "TileU32", expr.BF16: "TileU16", expr.F16: "TileU16",
}

// filled prints a tile as long as it is at the moment.
func (p *printer) filled(tile string, size *expr.Expr) *jen.Statement {
	s := jen.Id(p.id(tile))
	if p.sizes[tile] != nil && expr.Equal(size, p.sizes[tile]) {
		return s
	}
	return s.Index(jen.Empty(), p.scalar(size))
}

// tail prints a slice from an offset on.
func (p *printer) tail(slice string, off *expr.Expr) *jen.Statement {
	s := jen.Id(p.id(slice))
	if expr.IsInt(off, 0) {
		return s
	}
	return s.Index(p.scalar(off), jen.Empty())
}

// mutable says whether the value of an expression can change while its variables
// do not.
func (p *printer) mutable(e *expr.Expr) bool {
	return len(expr.Elems(e)) > 0 || expr.DependsOnAny(e, p.vars)
}

// loop prints a For.
func (p *printer) loop(l *kernel.For, end []jen.Code) jen.Code {
	if expr.IsInt(l.Lo, 0) {
		return p.rangeOver(kernel.Axis{Var: l.Var, Size: l.Hi}, func() []jen.Code { return append(p.nodes(l.Body), end...) })
	}
	lo, hi := p.scalar(l.Lo), p.scalar(l.Hi)
	var out jen.Code
	p.scope(func() {
		i := jen.Id(p.bind(l.Var))
		from, to := jen.Add(i).Op(":=").Add(lo), hi
		if p.mutable(l.Hi) {
			to = jen.Id(p.fresh("end"))
			from = jen.List(i, to).Op(":=").List(lo, hi)
		}
		out = jen.For(from, jen.Add(i).Op("<").Add(to), jen.Add(i).Op("++")).Block(append(p.nodes(l.Body), end...)...)
	})
	return out
}
