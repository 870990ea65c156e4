package cpu

import (
	"slices"

	"github.com/dave/jennifer/jen"

	"github.com/arithlang/mlc/codegen/cost"
	"github.com/arithlang/mlc/codegen/cpu/vector"
	"github.com/arithlang/mlc/codegen/gocode"
	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/kernel"
	"github.com/arithlang/mlc/runtime/abi"
)

// A printer prints one kernel. Its methods return code.
type printer struct {
	*names
	gocode.Dialect
	vars     map[string]bool       // variables that may change
	sizes    map[string]*expr.Expr // elements of tiles
	rows     map[string]string     // names of rows, by slice, offset and length
	products *products
	vectors  map[kernel.Stmt]*call // calls by the first node that a vector kernel replaces
	isa      string                // the variable with the instruction set
}

func newPrinter() *printer {
	n := newNames("worker", "env", "cpu", "bf16", "split", "device", "math")
	return &printer{names: n, Dialect: gocode.Float32(n.id), sizes: map[string]*expr.Expr{}, rows: map[string]string{}}
}

// scalar prints an expression.
func (p *printer) scalar(e *expr.Expr) *jen.Statement { return gocode.Expr(e, p.Dialect) }

// field prints a scalar of the launch's environment.
func field(s abi.Scalar) jen.Code {
	at := jen.Id("env").Dot(s.Field)
	switch s.Half {
	case abi.Low:
		return jen.Uint32().Call(at)
	case abi.High:
		return jen.Uint32().Call(at.Op(">>").Lit(32))
	}
	return at
}

// function prints the function of a kernel, which loops over all cells. It adds the vector
// kernels that it calls to asm and counts their instructions. r is the kernel in flat form.
func function(k, r *kernel.Kernel, name string, asm *vector.Assembly) (code jen.Code, counts map[string]cost.Tally) {
	p := newPrinter()
	params := p.params(k)
	p.vars = r.Vars()
	nodes := append(r.Once, overGrid(r.Grid, r.Body)...)
	p.products = newProducts(k)
	p.products.find(nodes)
	c := newCutter(name, k, nodes, asm)
	nodes = c.cut(nodes, true)
	p.vectors = c.calls
	var prepare []jen.Code
	if len(c.calls) > 0 {
		p.isa = p.fresh("isa")
		prepare = p.prepare(r, c)
	}
	body := append(prepare, p.nodes(nodes)...)
	return jen.Func().Id(name).Params(params...).Block(append(p.bindScalars(), body...)...), instructions(nodes, c.calls)
}

// launched returns the parameters that all kernel functions have.
func launched() []jen.Code {
	return []jen.Code{jen.Id("worker").Op("*").Add(gocode.CPU.Qual("Worker")), jen.Id("env").Op("*").Add(gocode.Device.Qual("Env"))}
}

// params prints the parameters of a kernel's function. It names the scalars that the kernel
// and its random words may use.
func (p *printer) params(k *kernel.Kernel) []jen.Code {
	params, bufs := launched(), buffers(k)
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

// overGrid puts the loops over the cells around the body of a cell.
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

// releasing prints a loop. If the body takes scratch, every iteration ends by giving it back.
func (p *printer) releasing(body []kernel.Stmt, loop func(end ...jen.Code) jen.Code) []jen.Code {
	if !slices.ContainsFunc(body, p.takesScratch) {
		return []jen.Code{loop()}
	}
	mark := p.fresh("mark")
	return []jen.Code{jen.Id(mark).Op(":=").Add(worker("Mark")), loop(worker("Release", jen.Id(mark)))}
}

// takesScratch reports whether a node takes scratch that it does not give back.
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
	over := jen.Range().Add(p.scalar(a.Size))
	var stmts []jen.Code
	p.scope(func() {
		id := p.bind(a.Var)
		stmts = body()
		if p.used[id] {
			over = jen.Id(id).Op(":=").Add(over)
		}
	})
	return jen.For(over).Block(stmts...)
}

func (p *printer) nodes(ns []kernel.Stmt) []jen.Code {
	var out []jen.Code
	for i := 0; i < len(ns); i++ {
		if c := p.vectors[ns[i]]; c != nil {
			part := ns[i:][:c.nodes]
			out = append(out, p.vectorCall(c, part))
			i += c.nodes - 1
			continue
		}
		out = append(out, p.node(ns[i])...)
	}
	return out
}

func (p *printer) node(n kernel.Stmt) []jen.Code {
	switch n := n.(type) {
	case *kernel.Let:
		out, es := p.share(n.Value)
		return append(out, p.define(n.Name, n.Name, p.Typed(es[0])))
	case *kernel.Tile:
		p.sizes[n.Name] = n.Shape[0]
		return []jen.Code{p.define(n.Name, n.Name, worker(takers[n.Type], p.scalar(n.Shape[0])))}
	case *kernel.Var:
		if n.Value != nil {
			return []jen.Code{p.define(n.Name, n.Name, p.Typed(n.Value))}
		}
		return []jen.Code{jen.Var().Id(p.bind(n.Name)).Id(gocode.Type(n.Type))}
	case *kernel.Set:
		return p.assign(n)
	case *kernel.Random:
		return []jen.Code{worker("RandFill", p.filled(n.Dst, n.Size), jen.Id("env"), jen.Lit(int(n.Stream)), p.scalar(n.Example), p.scalar(n.Base))}
	case *kernel.Dot:
		return []jen.Code{p.dot(n)}
	case *kernel.Reduce:
		return p.reduce(n)
	case *kernel.For:
		packs := p.packs(n)
		return append(packs, p.releasing(n.Body, func(end ...jen.Code) jen.Code {
			return p.loop(n.Var, n.Lo, n.Hi, func() []jen.Code { return append(p.nodes(n.Body), end...) })
		})...)
	case *kernel.If:
		out, es := p.share(n.Cond)
		cond, body := p.scalar(es[0]), []jen.Code{}
		p.scope(func() { body = p.nodes(n.Body) })
		return append(out, jen.If(cond).Block(body...))
	}
	panic("BUG: unknown node")
}

// takers are the Worker's methods for scratch.
var takers = map[expr.Type]string{
	expr.F32: "Tile", expr.I32: "TileI32", expr.U32: "TileU32", expr.BF16: "TileU16", expr.F16: "TileU16",
}

// filled prints the first size elements of a tile.
func (p *printer) filled(tile string, size *expr.Expr) jen.Code {
	if p.sizes[tile] != nil && expr.Equal(size, p.sizes[tile]) {
		return jen.Id(p.id(tile))
	}
	return p.part(tile, expr.Int(0), size)
}

// part prints size elements of a slice from an offset on.
func (p *printer) part(slice string, off, size *expr.Expr) *jen.Statement {
	return p.tail(slice, off).Index(jen.Empty(), p.scalar(size))
}

// tail prints a slice from an offset on.
func (p *printer) tail(slice string, off *expr.Expr) *jen.Statement {
	s := jen.Id(p.id(slice))
	if expr.IsInt(off, 0) {
		return s
	}
	return s.Index(p.scalar(off), jen.Empty())
}

// mutable reports whether an expression reads memory or a variable that may change.
func (p *printer) mutable(e *expr.Expr) bool {
	return len(expr.Elems(e)) > 0 || expr.DependsOnAny(e, p.vars)
}

// loop prints a loop over an integer. Its bounds are computed before it.
func (p *printer) loop(name string, lo, hi *expr.Expr, body func() []jen.Code) (loop jen.Code) {
	if expr.IsInt(lo, 0) {
		return p.rangeOver(kernel.Axis{Var: name, Size: hi}, body)
	}
	from, to := p.scalar(lo), p.scalar(hi)
	p.scope(func() {
		i := p.bind(name)
		first := jen.Id(i).Op(":=").Add(from)
		if p.mutable(hi) {
			end := p.fresh("end")
			first, to = jen.List(jen.Id(i), jen.Id(end)).Op(":=").List(from, to), jen.Id(end)
		}
		loop = jen.For(first, jen.Id(i).Op("<").Add(to), jen.Id(i).Op("++")).Block(body()...)
	})
	return loop
}

// elemType returns the element type of a Go slice for a buffer or tile.
func elemType(t expr.Type) string {
	if t == expr.I32 {
		return "int32"
	}
	return gocode.Type(t)
}
