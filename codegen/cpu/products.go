package cpu

import (
	"fmt"

	"github.com/dave/jennifer/jen"

	"github.com/arithlang/mlc/codegen/flat"
	"github.com/arithlang/mlc/codegen/gocode"
	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/kernel"
	"github.com/arithlang/mlc/compiler/kernel/depend"
)

// A pack is a right operand that is packed before the loop over its users.
type pack struct {
	name string
	dot  flat.Product // a product with the operand
	rows *expr.Expr   // rows that the loop multiplies with it
}

// products finds the Dots of a kernel whose right operand is the same matrix of
// weights in every iteration of a loop.
type products struct {
	packed map[*kernel.Dot]string  // the name of the packed operand
	before map[kernel.Stmt][]pack  // operands that are packed before a loop
	inputs map[string]kernel.Param // buffers that the kernel does not write
	names  map[string]string       // names of packed operands, by loop and operand
	loops  []*kernel.For           // around the current nodes
}

func newProducts(k *kernel.Kernel) *products {
	p := &products{map[*kernel.Dot]string{}, map[kernel.Stmt][]pack{}, map[string]kernel.Param{}, map[string]string{}, nil}
	for _, b := range buffers(k) {
		if b.Mode == kernel.In {
			p.inputs[b.Name] = b
		}
	}
	return p
}

func (p *products) find(nodes []kernel.Stmt) {
	for _, n := range nodes {
		switch n := n.(type) {
		case *kernel.Dot:
			p.dot(n)
		case *kernel.For:
			p.loops = append(p.loops, n)
			p.find(n.Body)
			p.loops = p.loops[:len(p.loops)-1]
		case *kernel.If:
			outer := p.loops
			p.loops = nil // a body that may not run needs no packing
			p.find(n.Body)
			p.loops = outer
		}
	}
}

// dot decides whether the right operand of a Dot is packed. It is packed before the outermost
// loop that does not change it. The operand must have a constant size, and the left one must
// be rows of a buffer.
func (p *products) dot(n *kernel.Dot) {
	d := flat.ProductOf(n)
	left, isBuffer := p.inputs[d.A.Slice]
	_, weights := p.inputs[d.B.Slice]
	if n.Split || !weights || !isBuffer || d.M == nil || expr.IsInt(d.M, 1) || d.K.Op != expr.Const || d.N.Op != expr.Const {
		return
	}
	rows := left.Shape[:max(len(left.Shape)-1, 0)]
	for _, l := range p.loops {
		changes := depend.Changes(l)
		if expr.DependsOnAny(d.B.Off, changes) || expr.DependsOnAny(d.B.RS, changes) || expr.DependsOnAny(d.B.CS, changes) {
			continue
		}
		key := fmt.Sprintf("%p %s %s %s %s %s %s", l, d.B.Slice, expr.Key(d.B.Off), expr.Key(d.B.RS), expr.Key(d.B.CS), expr.Key(d.K), expr.Key(d.N))
		if p.names[key] == "" {
			p.names[key] = fmt.Sprintf("%s.packed%d", d.B.Slice, len(p.names))
			p.before[l] = append(p.before[l], pack{p.names[key], d, kernel.Elements(rows)})
		}
		p.packed[n] = p.names[key]
		return
	}
}

// packs prints the packing of the operands that a loop uses.
func (p *printer) packs(n kernel.Stmt) []jen.Code {
	var out []jen.Code
	for _, k := range p.products.before[n] {
		b := k.dot.B
		pack := multiplied(k.dot.Dot, "Pack", p.scalar(k.rows), p.scalar(k.dot.K), p.scalar(k.dot.N), p.operand(b))
		out = append(out, p.define(k.name, b.Slice+"_packed", pack))
	}
	return out
}

// operand prints a strided matrix as arguments.
func (p *printer) operand(o flat.Operand) jen.Code {
	return jen.List(p.tail(o.Slice, o.Off), p.scalar(o.RS), p.scalar(o.CS))
}

// dot prints a product.
func (p *printer) dot(n *kernel.Dot) jen.Code {
	d := flat.ProductOf(n)
	if d.M == nil {
		c := jen.Id(p.id(d.C.Slice))
		return c.Clone().Op("=").Add(multiplied(n, "DotVec", p.scalar(d.K),
			p.tail(d.A.Slice, d.A.Off), p.scalar(d.A.CS), p.tail(d.B.Slice, d.B.Off), p.scalar(d.B.RS), c))
	}
	name := "Dot"
	if d.Zero {
		name = "Product"
	}
	c := jen.List(p.tail(d.C.Slice, d.C.Off), p.scalar(d.C.RS))
	if packed, ok := p.products.packed[n]; ok {
		return multiplied(n, name+"Packed", p.scalar(d.M), p.operand(d.A), jen.Id(p.id(packed)), c)
	}
	return multiplied(n, name, p.scalar(d.M), p.scalar(d.N), p.scalar(d.K), p.operand(d.A), p.operand(d.B), c)
}

// worker prints a call of a method of the worker.
func worker(method string, args ...jen.Code) *jen.Statement {
	return jen.Id("worker").Dot(method).Call(args...)
}

// multiplied prints a call of a product: of a method of the worker, or of a function of the
// package for factors of another kind.
func multiplied(n *kernel.Dot, name string, args ...jen.Code) *jen.Statement {
	pkg := gocode.BF16
	switch {
	case n.Split:
		pkg = gocode.Split
	case n.A.Type != expr.BF16:
		return worker(name, args...)
	}
	return pkg.Qual(name).Call(append([]jen.Code{jen.Id("worker")}, args...)...)
}
