package cpu

import (
	"fmt"
	"strings"

	"github.com/arithlang/mlc/compiler/expr"
)

// OfEnv prints an I32 expression over the scalars of a launch as a function of
// the launch's environment.
func OfEnv(e *expr.Expr) string {
	p := newPrinter()
	p.bindAll(e)
	return "func" + p.ofEnv("int", []string{"return " + p.scalar(e)})
}

// SizeOfEnv prints several as one function.
func SizeOfEnv(es ...*expr.Expr) string {
	p := newPrinter()
	p.bindAll(es...)
	var values []string
	for _, e := range es {
		values = append(values, p.scalar(e))
	}
	result := fmt.Sprintf("[%d]int", len(es))
	return "func" + p.ofEnv(result, []string{"return " + result + "{" + strings.Join(values, ", ") + "}"})
}

// bindAll binds the scalars of expressions.
func (p *printer) bindAll(es ...*expr.Expr) {
	for _, v := range expr.Vars(es...) {
		p.bind(v.Name)
	}
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
