package cpu

import (
	"github.com/dave/jennifer/jen"

	"github.com/arithlang/mlc/codegen/gocode"
	"github.com/arithlang/mlc/compiler/expr"
)

// OfEnv prints an I32 expression over the scalars of a launch as a function of the launch's
// environment.
func OfEnv(e *expr.Expr) *jen.Statement {
	p := newPrinter()
	p.bindAll(e)
	return jen.Func().Add(p.ofEnv(jen.Int(), []jen.Code{jen.Return(p.scalar(e))}))
}

// SizeOfEnv prints several expressions as one function.
func SizeOfEnv(es ...*expr.Expr) *jen.Statement {
	p := newPrinter()
	p.bindAll(es...)
	var values []jen.Code
	for _, e := range es {
		values = append(values, p.scalar(e))
	}
	result := jen.Index(jen.Lit(len(es))).Int()
	return jen.Func().Add(p.ofEnv(result, []jen.Code{jen.Return(result.Clone().Values(values...))}))
}

// bindAll binds the scalars of expressions.
func (p *printer) bindAll(es ...*expr.Expr) {
	for _, v := range expr.Vars(es...) {
		p.bind(v.Name)
	}
}

// ofEnv prints a function of a launch's environment without its name: the parameter, the
// result, and the body after the scalars that it uses.
func (p *printer) ofEnv(result jen.Code, body []jen.Code) *jen.Statement {
	name, bound := "_", p.bindScalars()
	if len(bound) > 0 {
		name = "env"
	}
	return jen.Params(jen.Id(name).Op("*").Add(gocode.Device.Qual("Env"))).Add(result).Block(append(bound, body...)...)
}
