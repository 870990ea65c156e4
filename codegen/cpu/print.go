package cpu

import (
	"fmt"
	"slices"
	"strings"

	"github.com/arithlang/mlc/codegen/cost"
	"github.com/arithlang/mlc/codegen/cpu/vector"
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
	vectors  map[kernel.Stmt]*call // by the first node that a vector kernel stands for
	isa      string                // the variable that says which instructions to use
	runtime  string                // what stands before names of the runtime
}

func newPrinter() *printer {
	return &printer{
		names: newNames("worker", "env", "cpu", "device", "math"), runtime: "cpu.",
		sizes: map[string]*expr.Expr{}, rows: map[string]string{},
	}
}

// field prints where the environment of a launch has a scalar.
func field(s abi.Scalar) string {
	switch s.Half {
	case abi.Low:
		return "uint32(env." + s.Field + ")"
	case abi.High:
		return "uint32(env." + s.Field + " >> 32)"
	}
	return "env." + s.Field
}

// block prints statements in braces.
func block(stmts []string) string { return " {\n" + strings.Join(stmts, "\n") + "\n}" }

// function prints the function of a kernel, which loops over all cells, and adds the
// vector kernels that it calls, whose instructions it counts. r is the kernel in flat form.
func function(k, r *kernel.Kernel, name string, asm *vector.Assembly) (code string, counts map[string]cost.Tally) {
	p := newPrinter()
	params := p.params(k)
	p.vars = r.Vars()
	nodes := append(r.Once, overGrid(r.Grid, r.Body)...)
	p.products = newProducts(k)
	p.products.find(nodes)
	c := newCutter(name, k, nodes, asm)
	nodes = c.cut(nodes, true)
	p.vectors = c.calls
	var prepare []string
	if len(c.calls) > 0 {
		p.isa = p.fresh("isa")
		prepare = p.prepare(r, c)
	}
	body := append(prepare, p.nodes(nodes)...)
	return "func " + name + "(" + params + ")" + block(append(p.bindScalars(), body...)), instructions(nodes, c.calls)
}

// params prints the parameters of a kernel's function, and names the scalars that
// the kernel and its random words may use.
func (p *printer) params(k *kernel.Kernel) string {
	params := "worker *cpu.Worker, env *device.Env"
	bufs := buffers(k)
	for i, b := range bufs {
		params += ", " + p.bind(b.Name)
		if i+1 == len(bufs) || elemType(bufs[i+1].Type) != elemType(b.Type) {
			params += " []" + elemType(b.Type)
		}
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
func (p *printer) bindScalars() []string {
	var ids, values []string
	for _, s := range abi.Scalars() {
		if id, ok := p.ids[s.Name]; ok && p.used[id] {
			ids, values = append(ids, id), append(values, field(s))
		}
	}
	if len(ids) == 0 {
		return nil
	}
	return []string{strings.Join(ids, ", ") + " := " + strings.Join(values, ", ")}
}

// releasing prints a loop that gives back, in what it is told to end its body
// with, the scratch that the body takes.
func (p *printer) releasing(body []kernel.Stmt, loop func(end ...string) string) []string {
	if !slices.ContainsFunc(body, p.takesScratch) {
		return []string{loop()}
	}
	mark := p.fresh("mark")
	return []string{mark + " := worker.Mark()", loop("worker.Release(" + mark + ")")}
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
func (p *printer) rangeOver(a kernel.Axis, body func() []string) string {
	over := "range " + p.scalar(a.Size)
	var stmts []string
	p.scope(func() {
		id := p.bind(a.Var)
		stmts = body()
		if p.used[id] {
			over = id + " := " + over
		}
	})
	return "for " + over + block(stmts)
}

func (p *printer) nodes(ns []kernel.Stmt) []string {
	var out []string
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

func (p *printer) node(n kernel.Stmt) []string {
	switch n := n.(type) {
	case *kernel.Let:
		out, es := p.share(n.Value)
		return append(out, p.define(n.Name, n.Name, p.typed(es[0])))
	case *kernel.Tile:
		p.sizes[n.Name] = n.Shape[0]
		return []string{p.define(n.Name, n.Name, "worker."+takers[n.Type]+"("+p.scalar(n.Shape[0])+")")}
	case *kernel.Var:
		if n.Value != nil {
			return []string{p.define(n.Name, n.Name, p.typed(n.Value))}
		}
		return []string{"var " + p.bind(n.Name) + " " + goType(n.Type)}
	case *kernel.Set:
		return p.assign(n)
	case *kernel.Random:
		return []string{fmt.Sprintf("worker.RandFill(%s, env, %d, %s, %s)",
			p.filled(n.Dst, n.Size), n.Stream, p.scalar(n.Example), p.scalar(n.Base))}
	case *kernel.Dot:
		return []string{p.dot(n)}
	case *kernel.Reduce:
		return p.reduce(n)
	case *kernel.For:
		packs := p.packs(n)
		return append(packs, p.releasing(n.Body, func(end ...string) string {
			return p.loop(n.Var, n.Lo, n.Hi, func() []string { return append(p.nodes(n.Body), end...) })
		})...)
	case *kernel.If:
		out, es := p.share(n.Cond)
		cond, body := p.scalar(es[0]), []string{}
		p.scope(func() { body = p.nodes(n.Body) })
		return append(out, "if "+cond+block(body))
	}
	panic("BUG: unknown node")
}

// takers are the Worker's methods for scratch.
var takers = map[expr.Type]string{
	expr.F32: "Tile", expr.I32: "TileI32", expr.U32: "TileU32", expr.BF16: "TileU16", expr.F16: "TileU16",
}

// filled prints a tile as long as it is at the moment.
func (p *printer) filled(tile string, size *expr.Expr) string {
	if p.sizes[tile] != nil && expr.Equal(size, p.sizes[tile]) {
		return p.id(tile)
	}
	return p.id(tile) + "[:" + p.scalar(size) + "]"
}

// tail prints a slice from an offset on.
func (p *printer) tail(slice string, off *expr.Expr) string {
	if expr.IsInt(off, 0) {
		return p.id(slice)
	}
	return p.id(slice) + "[" + p.scalar(off) + ":]"
}

// mutable says whether the value of an expression can change while its variables
// do not.
func (p *printer) mutable(e *expr.Expr) bool {
	return len(expr.Elems(e)) > 0 || expr.DependsOnAny(e, p.vars)
}

// loop prints a loop over an integer, whose bounds are computed before it.
func (p *printer) loop(name string, lo, hi *expr.Expr, body func() []string) (loop string) {
	if expr.IsInt(lo, 0) {
		return p.rangeOver(kernel.Axis{Var: name, Size: hi}, body)
	}
	from, to := p.scalar(lo), p.scalar(hi)
	p.scope(func() {
		i := p.bind(name)
		first := i + " := " + from
		if p.mutable(hi) {
			end := p.fresh("end")
			first, to = i+", "+end+" := "+from+", "+to, end
		}
		loop = "for " + first + "; " + i + " < " + to + "; " + i + "++" + block(body())
	})
	return loop
}
