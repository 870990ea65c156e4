package cpu

import (
	"fmt"
	"strings"

	"github.com/arithlang/mlc/codegen/cost"
	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/kernel"
)

// costName is the name that the cost of a kernel has beside the kernel's own.
func costName(k *kernel.Kernel) string { return k.Name + ".cost" }

// costs prints costs.go: for each kernel a function of the launch that counts what
// it has to do. The trainer's benchmark holds its timings against that.
func costs(ks []*kernel.Kernel, funcs *names) string {
	var b strings.Builder
	for _, k := range ks {
		b.WriteString(costFunction(k, funcs.id(costName(k))) + "\n\n")
	}
	return b.String()
}

func costFunction(k *kernel.Kernel, name string) string {
	p := newPrinter()
	for _, s := range k.Params {
		if s.Mode == kernel.Scalar {
			p.bind(s.Name)
		}
	}
	t := cost.Operations(k)
	flops, body := p.scalar(expr.Simplify(t.Count)), p.tallies(t.Loops)
	if len(body) > 0 {
		body = append([]string{"flops := " + flops}, body...)
		flops = "flops"
	}
	bytes := p.scalar(expr.Simplify(cost.Bytes(k)))
	body = append(body, fmt.Sprintf("return cpu.Cost{\nBytes: float64(%s),\nFlops: float64(%s),\n}", bytes, flops))
	return "func " + name + p.ofEnv("cpu.Cost", body)
}

// tallies prints the loops of a tally, which add to flops.
func (p *printer) tallies(ts []cost.Loop) []string {
	var out []string
	for _, t := range ts {
		out = append(out, p.tally(t))
	}
	return out
}

func (p *printer) tally(t cost.Loop) string {
	body := func() []string {
		var out []string
		if n := expr.Simplify(t.Count); !n.IsConst() || n.I != 0 {
			out = append(out, "flops += "+p.scalar(n))
		}
		return append(out, p.tallies(t.Loops)...)
	}
	if t.Cond != nil {
		return "if " + p.scalar(expr.Simplify(t.Cond)) + block(body())
	}
	return p.loop(t.Name, expr.Simplify(t.Lo), expr.Simplify(t.Hi), body)
}
