package cpu

import (
	"slices"

	"github.com/dave/jennifer/jen"

	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/kernel"
)

// leafCall prints a leaf's function on each instruction set, and the Go that does the
// same elsewhere.
func (p *printer) leafCall(c *call, nodes []kernel.Stmt) jen.Code {
	on := func(isa string) jen.Code {
		var stmts []jen.Code
		p.scope(func() { stmts = []jen.Code{p.calls(c, isa)} })
		return jen.Case(jen.Qual(runtimePath, isa)).Block(stmts...)
	}
	var plain []jen.Code
	p.scope(func() {
		for _, n := range nodes {
			plain = append(plain, p.node(n)...)
		}
	})
	return jen.Switch(jen.Id(p.isa)).Block(on("AVX512"), on("AVX2"), jen.Default().Block(plain...))
}

// calls prints the call of a leaf's function, in a loop where it takes several.
func (p *printer) calls(c *call, isa string) jen.Code {
	if c.over == nil {
		return p.invoke(c, isa)
	}
	size, step := p.scalar(c.over.Hi), jen.Lit(int(c.step))
	from, to := bounds(c.over)
	i, end := jen.Id(p.bind(from.Name)), jen.Id(p.bind(to.Name))
	return jen.For(jen.Add(i).Op(":=").Lit(0), jen.Add(i).Op("<").Add(size), jen.Add(i).Op("+=").Add(step)).Block(
		jen.Add(end).Op(":=").Id("min").Call(jen.Add(i).Op("+").Add(step), size),
		p.invoke(c, isa),
	)
}

func (p *printer) invoke(c *call, isa string) jen.Code {
	args := []jen.Code{jen.Id("worker").Dot("Frame").Call()}
	for _, a := range c.args {
		from := jen.Id(p.id(a.slice))
		if a.off != nil {
			from = p.tail(a.slice, a.off).Index(jen.Empty(), jen.Lit(int(a.length)))
		}
		args = append(args, jen.Op("&").Add(from).Index(jen.Lit(0)))
	}
	for _, v := range c.leaf.Values {
		args = append(args, p.scalar(expr.NewVar(v.Name, v.Type)))
	}
	return jen.Id(c.leaf.Name + isa).Call(args...)
}

// prepare prints what a kernel with leaves begins with: assembly checks no index,
// so that every slice that it gets must be as long as the kernel says; and it gets
// pointers to first elements, so that there must be one.
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
			checked = append(checked, jen.Id(p.id(b.Name)).Index(jen.Empty(), p.scalar(size)))
			dims = append(dims, factors(size)...)
		}
	}
	for _, t := range k.Tiles() {
		if whole[t.Name] {
			dims = append(dims, factors(c.sizes[t.Name])...)
		}
	}
	out := []jen.Code{jen.Id(p.isa).Op(":=").Id("worker").Dot("ISA").Call()}
	if len(names) > 0 {
		out = append(out, jen.List(names...).Op("=").List(checked...))
	}
	if dims = distinct(dims); len(dims) > 0 {
		none := dims[0]
		for _, d := range dims[1:] {
			none = expr.New(expr.Mul, none, d)
		}
		empty := expr.New(expr.Eq, none, expr.Int(0))
		out = append(out, jen.If(p.scalar(empty)).Block(jen.Id(p.isa).Op("=").Qual(runtimePath, "Go")))
	}
	return out
}

// factors are the factors of a size that may be 0.
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
