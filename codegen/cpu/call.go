package cpu

import (
	"fmt"
	"slices"
	"strings"

	"github.com/arithlang/mlc/codegen/cpu/vector"
	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/kernel"
)

// vectorCall prints a vector kernel's function on each instruction set, and the Go that does the
// same elsewhere.
func (p *printer) vectorCall(c *call, nodes []kernel.Stmt) string {
	on := func(isa string) (code string) {
		p.scope(func() { code = p.calls(c, isa) })
		return "case cpu." + isa + ":\n" + code + "\n"
	}
	vectors := ""
	for _, isa := range vector.InstructionSets() {
		vectors += on(isa)
	}
	var plain []string
	p.scope(func() {
		for _, n := range nodes {
			plain = append(plain, p.node(n)...)
		}
	})
	return "switch " + p.isa + " {\n" + vectors + "default:\n" + strings.Join(plain, "\n") + "\n}"
}

// calls prints the call of a vector kernel's function, in a loop where it takes several.
func (p *printer) calls(c *call, isa string) string {
	if c.over == nil {
		return p.invoke(c, isa)
	}
	size := p.scalar(c.over.Hi)
	from, to := bounds(c.over)
	i, end := p.bind(from.Name), p.bind(to.Name)
	return fmt.Sprintf("for %[1]s := 0; %[1]s < %[2]s; %[1]s += %[3]d {\n%[4]s := min(%[1]s + %[3]d, %[2]s)\n%[5]s\n}", i, size, c.step, end, p.invoke(c, isa))
}

func (p *printer) invoke(c *call, isa string) string {
	args := []string{"worker.Frame()"}
	for _, a := range c.args {
		from := p.id(a.slice)
		if a.off != nil {
			from = fmt.Sprintf("%s[:%d]", p.tail(a.slice, a.off), a.length)
		}
		args = append(args, "&"+from+"[0]")
	}
	for _, v := range c.code.Values {
		args = append(args, p.scalar(expr.NewVar(v.Name, v.Type)))
	}
	return c.code.Name + isa + "(" + strings.Join(args, ", ") + ")"
}

// prepare prints what a kernel with vector kernels begins with: assembly checks no index,
// so that every slice that it gets must be as long as the kernel says; and it gets
// pointers to first elements, so that there must be one.
func (p *printer) prepare(k *kernel.Kernel, c *cutter) []string {
	whole := map[string]bool{}
	for _, call := range c.calls {
		for _, a := range call.args {
			whole[a.slice] = whole[a.slice] || a.off == nil
		}
	}
	var names, checked []string
	var dims []*expr.Expr
	for _, b := range buffers(k) {
		if whole[b.Name] {
			size := kernel.Elements(b.Shape)
			names = append(names, p.id(b.Name))
			checked = append(checked, p.id(b.Name)+"[:"+p.scalar(size)+"]")
			dims = append(dims, factors(size)...)
		}
	}
	for _, t := range k.Tiles() {
		if whole[t.Name] {
			dims = append(dims, factors(c.sizes[t.Name])...)
		}
	}
	out := []string{p.isa + " := worker.ISA()"}
	if len(names) > 0 {
		out = append(out, strings.Join(names, ", ")+" = "+strings.Join(checked, ", "))
	}
	if dims = distinct(dims); len(dims) > 0 {
		none := dims[0]
		for _, d := range dims[1:] {
			none = expr.New(expr.Mul, none, d)
		}
		empty := expr.New(expr.Eq, none, expr.Int(0))
		out = append(out, "if "+p.scalar(empty)+" {\n"+p.isa+" = cpu.Go\n}")
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
