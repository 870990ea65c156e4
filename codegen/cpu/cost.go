package cpu

import (
	"github.com/dave/jennifer/jen"

	"github.com/arithlang/mlc/codegen/cost"
	"github.com/arithlang/mlc/codegen/gocode"
	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/kernel"
)

// costName names the cost function of a kernel.
func costName(k *kernel.Kernel) string { return k.Name + ".cost" }

// costs prints costs.go: for each kernel a function that counts the work of a launch. The
// trainer's benchmark compares its timings with these counts.
func (t *table) costs(ks []*kernel.Kernel) *gocode.File {
	f := t.file()
	for _, k := range ks {
		f.Add(jen.Line(), costFunction(k, t.funcs.id(costName(k)), t.instructions[k]))
	}
	return f
}

func costFunction(k *kernel.Kernel, name string, instructions map[string]cost.Tally) jen.Code {
	p := newPrinter()
	for _, s := range k.Params {
		if s.Mode == kernel.Scalar {
			p.bind(s.Name)
		}
	}
	flops, body := p.total("flops", cost.Operations(k))
	fields := []jen.Code{count("Bytes", p.scalar(expr.Simplify(cost.Bytes(k)))), count("Flops", flops)}
	for _, of := range []struct {
		field, variable string
		cost.Tally
	}{
		{"Products", "products", cost.Products(k)}, {"Narrow", "narrow", cost.Narrow(k)}, {"Split", "split", cost.Split(k)},
		{"Others", "others", cost.Others(k)},
	} {
		if !empty(of.Tally) {
			n, loops := p.total(of.variable, of.Tally)
			fields, body = append(fields, count(of.field, n)), append(body, loops...)
		}
	}
	on, loops := p.instructionFields(instructions)
	fields, body = append(fields, on), append(body, loops...)
	body = append(body, jen.Return(gocode.CPU.Qual("Cost").Add(gocode.Lines(fields...))))
	return jen.Func().Id(name).Add(p.ofEnv(gocode.CPU.Qual("Cost"), body))
}

// count sets a field of a cost to a number.
func count(field string, n jen.Code) jen.Code { return gocode.Field(field, jen.Float64().Call(n)) }

// empty reports whether a tally counts nothing.
func empty(t cost.Tally) bool { return len(t.Loops) == 0 && expr.IsInt(expr.Simplify(t.Count), 0) }

// total prints a tally as an expression. A tally with loops is a variable that body computes.
func (p *printer) total(variable string, t cost.Tally) (value jen.Code, body []jen.Code) {
	n, loops := p.scalar(expr.Simplify(t.Count)), p.tallies(variable, t.Loops)
	if len(loops) == 0 {
		return n, nil
	}
	return jen.Id(variable), append([]jen.Code{jen.Id(variable).Op(":=").Add(n)}, loops...)
}

// tallies prints the loops of a tally. They add to a variable.
func (p *printer) tallies(variable string, ts []cost.Loop) []jen.Code {
	var out []jen.Code
	for _, t := range ts {
		out = append(out, p.tally(variable, t))
	}
	return out
}

func (p *printer) tally(variable string, t cost.Loop) jen.Code {
	body := func() []jen.Code {
		var out []jen.Code
		if n := expr.Simplify(t.Count); !expr.IsInt(n, 0) {
			out = append(out, jen.Id(variable).Op("+=").Add(p.scalar(n)))
		}
		return append(out, p.tallies(variable, t.Loops)...)
	}
	if t.Cond != nil {
		return jen.If(p.scalar(expr.Simplify(t.Cond))).Block(body()...)
	}
	return p.loop(t.Name, expr.Simplify(t.Lo), expr.Simplify(t.Hi), body)
}
