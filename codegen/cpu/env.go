package cpu

import (
	"github.com/dave/jennifer/jen"

	"github.com/arithlang/mlc/compiler/expr"
)

// OfEnv prints an I32 expression over the scalars of a launch as a function of
// the launch's environment.
func OfEnv(e *expr.Expr) jen.Code {
	p := newPrinter()
	for _, v := range expr.Vars(e) {
		p.bind(v.Name)
	}
	value := p.scalar(e)
	name, bound := "_", p.bindScalars()
	if len(bound) > 0 {
		name = "env"
	}
	return jen.Func().Params(jen.Id(name).Op("*").Qual(devicePath, "Env")).Int().Block(append(bound, jen.Return(value))...)
}
