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

// ModelName is the name of a spec's model, or of that of one of its stages.
func ModelName(spec *check.Spec, stage string) string {
	if stage == "" {
		return spec.Name
	}
	return spec.Name + "/" + stage
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
	f.ImportName(runtimePath, "runtime")
	f.ImportName(devicePath, "device")
	f.ImportName(taskPath, "task")
	f.ImportName(tokensPath, "tokens")
	f.ImportName(trainPath, "train")
	f.ImportName(evalPath, "eval")
	f.ImportName(configPath, "config")
	f.Anon("embed")
	f.Comment("//go:embed spec.arith")
	f.Var().Id("specText").String()
	tables := t.tables(f)
	problems := t.taskConfig(f)
	variable := "model"
	if t.Stage != "" {
		variable = "Model"
		f.PackageComment(fmt.Sprintf("Package %s is the stage %s of %s.", Package(t.Stage), t.Stage, t.Spec.Name))
		f.Comment("Model is the model of the stage " + t.Stage + ".")
	}
	d := jen.Dict{
		jen.Id("Name"):     jen.Lit(ModelName(t.Spec, t.Stage)),
		jen.Id("Spec"):     jen.Id("specText"),
		jen.Id("SpecHash"): jen.Lit(t.Spec.Hash),
		jen.Id("Version"):  jen.Lit(t.Version),
		jen.Id("Task"):     problems,
		jen.Id("Train"):    literal(reflect.ValueOf(TrainConfig(t.Spec, t.Cost))),
		jen.Id("Eval"):     literal(reflect.ValueOf(EvalConfig(t.Spec))),
		jen.Id("Params"):   jen.Qual(devicePath, "Flat").CallFunc(func(g *jen.Group) { groupRefs(g, t.Groups) }),
		jen.Id("Plan"):     jen.Id("plan"),
		jen.Id("CPU"):      jen.Id("kernels"),
		jen.Id("GPU"):      jen.Id("gpu"),
	}
	if len(t.Spec.Axes) > 0 && t.Stage == "" {
		d[jen.Id("Axes")] = literal(reflect.ValueOf(t.Spec.Axes))
	}
	if tables != nil {
		d[jen.Id("Given")] = tables
	}
	f.Var().Id(variable).Op("=").Qual(runtimePath, "Model").Values(d)
	f.Comment("Parameters, in the order of the flat arena.")
	f.Var().DefsFunc(func(g *jen.Group) {
		for _, gr := range t.Groups {
			g.Id(join(gr.Name, "group")).Op("=").Add(literal(reflect.ValueOf(device.Group(*gr))))
		}
	})
}

func groupRefs(g *jen.Group, groups []*plan.Group) {
	for _, gr := range groups {
		g.Op("&").Id(join(gr.Name, "group"))
	}
}
