package cpu

import "github.com/arithlang/mlc/compiler/expr"

// OfEnv prints an I32 expression over the scalars of a launch as a function of
// the launch's environment.
func OfEnv(e *expr.Expr) string {
	p := newPrinter()
	for _, v := range expr.Vars(e) {
		p.bind(v.Name)
	}
	return "func" + p.ofEnv("int", []string{"return " + p.scalar(e)})
}

// ofEnv prints the rest of a function of a launch's environment: its parameter, its
// result, and its body behind the scalars that this uses.
func (p *printer) ofEnv(result string, body []string) string {
	name, bound := "_", p.bindScalars()
	if len(bound) > 0 {
		name = "env"
	}
	return "(" + name + " *device.Env) " + result + block(append(bound, body...))
}
