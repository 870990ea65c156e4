package cpu

import (
	"slices"

	"github.com/dave/jennifer/jen"

	"github.com/arithlang/mlc/codegen/cpu/vector"
	"github.com/arithlang/mlc/codegen/gocode"
	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/kernel"
)

// vectorCall prints a switch over the instruction set. Each case calls the vector kernel's
// function; the default runs the nodes in Go.
func (p *printer) vectorCall(c *call, nodes []kernel.Stmt) jen.Code {
	var cases, plain []jen.Code
	for _, isa := range vector.InstructionSets() {
		p.scope(func() { cases = append(cases, jen.Case(gocode.CPU.Qual(isa)).Block(p.calls(c, isa))) })
	}
	p.scope(func() {
		for _, n := range nodes {
			plain = append(plain, p.node(n)...)
		}
	})
	return jen.Switch(jen.Id(p.isa)).Block(append(cases, jen.Default().Block(plain...))...)
}

// calls prints the call of a vector kernel's function, in a loop if c.over divides the work.
func (p *printer) calls(c *call, isa string) jen.Code {
	if c.over == nil {
		return p.invoke(c, isa)
	}
	size := p.scalar(c.over.Hi)
	from, to := bounds(c.over)
	i, end, step := jen.Id(p.bind(from.Name)), jen.Id(p.bind(to.Name)), jen.Lit(int(c.step))
	return jen.For(jen.Add(i).Op(":=").Lit(0), jen.Add(i).Op("<").Add(size), jen.Add(i).Op("+=").Add(step)).Block(
		jen.Add(end).Op(":=").Min(jen.Add(i).Op("+").Add(step), size),
		p.invoke(c, isa),
	)
}

func (p *printer) invoke(c *call, isa string) jen.Code {
	args := []jen.Code{worker("Frame")}
	for _, a := range c.args {
		from := jen.Id(p.id(a.slice))
		if a.off != nil {
			from = p.part(a.slice, a.off, expr.Int(a.length))
		}
		args = append(args, jen.Op("&").Add(from.Index(jen.Lit(0))))
	}
	for _, v := range c.code.Values {
		args = append(args, p.scalar(expr.NewVar(v.Name, v.Type)))
	}
	return jen.Id(c.code.Name + isa).Call(args...)
}

// prepare prints the checks that vector kernels need. Assembly checks no index, so every slice
// that it gets must be as long as the kernel says. It takes pointers to first elements, so a
// kernel with an empty slice runs in Go.
func (p *printer) prepare(k *kernel.Kernel, c *cutter) []jen.Code {
	whole := map[string]bool{}
	for _, call := range c.calls {
		for _, a := range call.args {
			whole[a.slice] = whole[a.slice] || a.off == nil
		}
	}
	var names, checked []jen.Code
	var dims []*expr.Expr
	for _, b := range buffers(k) {
		if whole[b.Name] {
			size := kernel.Elements(b.Shape)
			names = append(names, jen.Id(p.id(b.Name)))
			checked = append(checked, p.part(b.Name, expr.Int(0), size))
			dims = append(dims, factors(size)...)
		}
	}
	for _, t := range k.Tiles() {
		if whole[t.Name] {
			dims = append(dims, factors(c.sizes[t.Name])...)
		}
	}
	out := []jen.Code{jen.Id(p.isa).Op(":=").Add(worker("ISA"))}
	if len(names) > 0 {
		out = append(out, jen.List(names...).Op("=").List(checked...))
	}
	if dims = distinct(dims); len(dims) > 0 {
		none := dims[0]
		for _, d := range dims[1:] {
			none = expr.New(expr.Mul, none, d)
		}
		empty := expr.New(expr.Eq, none, expr.Int(0))
		out = append(out, jen.If(p.scalar(empty)).Block(jen.Id(p.isa).Op("=").Add(gocode.CPU.Qual("Go"))))
	}
	return out
}

// factors returns the factors of a size that may be 0.
func factors(size *expr.Expr) []*expr.Expr {
	switch {
	case size.Op == expr.Const && size.I > 0:
		return nil
	case size.Op == expr.Mul:
		return append(factors(size.Args[0]), factors(size.Args[1])...)
	}
	return []*expr.Expr{size}
}

func distinct(es []*expr.Expr) []*expr.Expr {
	var out []*expr.Expr
	for _, e := range es {
		if !slices.ContainsFunc(out, func(x *expr.Expr) bool { return expr.Equal(x, e) }) {
			out = append(out, e)
		}
	}
	return out
}
