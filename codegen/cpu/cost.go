package cpu

import (
	"bytes"
	"fmt"

	"github.com/dave/jennifer/jen"

	"github.com/arithlang/mlc/codegen/cost"
	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/kernel"
)

// costName is the name that the cost of a kernel has beside the kernel's own.
func costName(k *kernel.Kernel) string { return k.Name + ".cost" }

// costs prints costs.go: for each kernel a function of the launch that counts what
// it has to do. The trainer's benchmark holds its timings against that.
func costs(ks []*kernel.Kernel, funcs *names, pkg, header string) ([]byte, error) {
	f := jen.NewFile(pkg)
	f.ImportName(runtimePath, "cpu")
	f.ImportName(devicePath, "device")
	if header != "" {
		f.HeaderComment(header)
	}
	for _, k := range ks {
		f.Add(costFunction(k, funcs.id(costName(k))))
		f.Line()
	}
	var buf bytes.Buffer
	if err := f.Render(&buf); err != nil {
		return nil, fmt.Errorf("BUG: printing costs: %w", err)
	}
	return buf.Bytes(), nil
}

func costFunction(k *kernel.Kernel, name string) jen.Code {
	p := newPrinter()
	for _, s := range k.Params {
		if s.Mode == kernel.Scalar {
			p.bind(s.Name)
		}
	}
	t := cost.Operations(k)
	flops, body := p.scalar(expr.Simplify(t.Count)), p.tallies(t.Loops)
	if len(body) > 0 {
		body = append([]jen.Code{jen.Id("flops").Op(":=").Add(flops)}, body...)
		flops = jen.Id("flops")
	}
	body = append(body, jen.Return(jen.Qual(runtimePath, "Cost").Values(jen.Dict{
		jen.Id("Flops"): jen.Float64().Call(flops),
		jen.Id("Bytes"): jen.Float64().Call(p.scalar(expr.Simplify(cost.Bytes(k)))),
	})))
	env, bound := "_", p.bindScalars()
	if len(bound) > 0 {
		env = "env"
	}
	return jen.Func().Id(name).Params(jen.Id(env).Op("*").Qual(devicePath, "Env")).Qual(runtimePath, "Cost").Block(append(bound, body...)...)
}

// tallies prints the loops of a tally, which add to flops.
func (p *printer) tallies(ts []cost.Loop) []jen.Code {
	var out []jen.Code
	for _, t := range ts {
		out = append(out, p.tally(t))
	}
	return out
}

func (p *printer) tally(t cost.Loop) jen.Code {
	body := func() []jen.Code {
		var out []jen.Code
		if n := expr.Simplify(t.Count); !n.IsConst() || n.I != 0 {
			out = append(out, jen.Id("flops").Op("+=").Add(p.scalar(n)))
		}
		return append(out, p.tallies(t.Loops)...)
	}
	if t.Cond != nil {
		return jen.If(p.scalar(expr.Simplify(t.Cond))).Block(body()...)
	}
	hi := expr.Simplify(t.Hi)
	if expr.IsInt(t.Lo, 0) {
		return p.rangeOver(kernel.Axis{Var: t.Name, Size: hi}, body)
	}
	lo := p.scalar(expr.Simplify(t.Lo))
	var loop jen.Code
	p.scope(func() {
		i := jen.Id(p.bind(t.Name))
		loop = jen.For(i.Clone().Op(":=").Add(lo), i.Clone().Op("<").Add(p.scalar(hi)), i.Clone().Op("++")).Block(body()...)
	})
	return loop
}
