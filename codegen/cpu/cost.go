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
func (t *table) costs(ks []*kernel.Kernel) string {
	var b strings.Builder
	for _, k := range ks {
		b.WriteString(costFunction(k, t.funcs.id(costName(k)), t.instructions[k]) + "\n\n")
	}
	return b.String()
}

func costFunction(k *kernel.Kernel, name string, instructions map[string]cost.Tally) string {
	p := newPrinter()
	for _, s := range k.Params {
		if s.Mode == kernel.Scalar {
			p.bind(s.Name)
		}
	}
	flops, body := p.total("flops", cost.Operations(k))
	bytes := p.scalar(expr.Simplify(cost.Bytes(k)))
	fields := fmt.Sprintf("Bytes: float64(%s),\nFlops: float64(%s),\n", bytes, flops)
	for _, of := range []struct {
		field, variable string
		cost.Tally
	}{
		{"Products", "products", cost.Products(k)}, {"Narrow", "narrow", cost.Narrow(k)}, {"Split", "split", cost.Split(k)},
		{"Others", "others", cost.Others(k)},
	} {
		if n, loops := p.total(of.variable, of.Tally); n != "0" {
			body = append(body, loops...)
			fields += fmt.Sprintf("%s: float64(%s),\n", of.field, n)
		}
	}
	field, loops := p.instructionFields(instructions)
	fields += field
	body = append(append(body, loops...), "return cpu.Cost{\n"+fields+"}")
	return "func " + name + p.ofEnv("cpu.Cost", body)
}

// total is a tally as an expression, behind statements that a variable is for.
func (p *printer) total(variable string, t cost.Tally) (value string, body []string) {
	value, body = p.scalar(expr.Simplify(t.Count)), p.tallies(variable, t.Loops)
	if len(body) == 0 {
		return value, nil
	}
	return variable, append([]string{variable + " := " + value}, body...)
}

// tallies prints the loops of a tally, which add to a variable.
func (p *printer) tallies(variable string, ts []cost.Loop) []string {
	var out []string
	for _, t := range ts {
		out = append(out, p.tally(variable, t))
	}
	return out
}

func (p *printer) tally(variable string, t cost.Loop) string {
	body := func() []string {
		var out []string
		if n := expr.Simplify(t.Count); !n.IsConst() || n.I != 0 {
			out = append(out, variable+" += "+p.scalar(n))
		}
		return append(out, p.tallies(variable, t.Loops)...)
	}
	if t.Cond != nil {
		return "if " + p.scalar(expr.Simplify(t.Cond)) + block(body())
	}
	return p.loop(t.Name, expr.Simplify(t.Lo), expr.Simplify(t.Hi), body)
}
