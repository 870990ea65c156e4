package host

import (
	"fmt"
	"reflect"

	"github.com/dave/jennifer/jen"

	"github.com/arithlang/mlc/compiler/check"
	"github.com/arithlang/mlc/compiler/lower"
	"github.com/arithlang/mlc/compiler/plan"
	"github.com/arithlang/mlc/runtime/device"
)

// Main prints main.go.
func Main(f *jen.File, spec *check.Spec) {
	f.PackageComment(fmt.Sprintf("Command %s trains and tests the model of spec.arith.", spec.Name))
	f.Func().Id("main").Params().Block(jen.Qual(runtimePath, "Main").Call(jen.Id("model")))
}

// A Cost is what the compiler knows of a step of training.
type Cost struct {
	lower.Batches
	RowFLOP float64 // floating-point operations of a target row
}

// A Trainer is what model.go describes.
type Trainer struct {
	Spec    *check.Spec
	Stage   string // of the spec; "" if it has none. A stage's model is exported.
	Groups  []*plan.Group
	Cost    Cost
	Version string
}

// Model prints model.go: the settings of the spec and the table of parameters.
func Model(f *jen.File, t Trainer) {
	d := origin(f, t.Spec, t.Stage, t.Version)
	if tables := t.tables(f); tables != nil {
		d[jen.Id("Given")] = tables
	}
	d[jen.Id("Task")] = t.taskConfig(f)
	d[jen.Id("Train")] = literal(reflect.ValueOf(TrainConfig(t.Spec, t.Cost)))
	d[jen.Id("Eval")] = literal(reflect.ValueOf(EvalConfig(t.Spec)))
	d[jen.Id("Params")] = jen.Qual(devicePath, "Flat").CallFunc(func(g *jen.Group) {
		for _, gr := range t.Groups {
			g.Op("&").Id(join(gr.Name, "group"))
		}
	})
	for field, variable := range map[string]string{"Plan": "plan", "CPU": "kernels", "GPU": "gpu"} {
		d[jen.Id(field)] = jen.Id(variable)
	}
	variable := "model"
	if t.Stage != "" {
		variable = "Model"
		f.PackageComment(fmt.Sprintf("Package %s is the stage %s of %s.", Package(t.Stage), t.Stage, t.Spec.Name))
		f.Comment("Model is the model of the stage " + t.Stage + ".")
	}
	f.Var().Id(variable).Op("=").Qual(runtimePath, "Model").Values(d)
	f.Comment("Parameters, in the order of the flat arena.")
	f.Var().DefsFunc(func(g *jen.Group) {
		for _, gr := range t.Groups {
			g.Id(join(gr.Name, "group")).Op("=").Add(literal(reflect.ValueOf(device.Group(*gr))))
		}
	})
}
