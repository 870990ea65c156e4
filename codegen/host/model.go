package host

import (
	"fmt"
	"slices"

	"github.com/dave/jennifer/jen"

	"github.com/arithlang/mlc/codegen/gocode"
	"github.com/arithlang/mlc/compiler/check"
	"github.com/arithlang/mlc/compiler/lower"
	"github.com/arithlang/mlc/compiler/plan"
	"github.com/arithlang/mlc/runtime/device"
	"github.com/arithlang/mlc/runtime/task"
)

// Main is main.go.
func Main(spec *check.Spec) *gocode.File {
	f := &gocode.File{Doc: fmt.Sprintf("Command %s trains and tests the model of spec.arith.", spec.Name)}
	if spec.Train.Lanes > 0 {
		f.Add(mainFunc(gocode.Runtime.Qual("MainLanes"), jen.Id("model"), gocode.Several.Qual("Train")))
		return f
	}
	f.Add(mainFunc(gocode.Runtime.Qual("Main"), jen.Id("model")))
	return f
}

// Forecast is main.go of a program that predicts a step's time on more cores.
func Forecast(spec *check.Spec) *gocode.File {
	f := &gocode.File{Doc: fmt.Sprintf("Command %s times a step of the model of spec.arith, and says what it takes on more cores.", spec.Name)}
	f.Add(mainFunc(gocode.Cores.Qual("Main"), jen.Id("model")))
	return f
}

// Server is main.go of a program that runs kernels for another process.
func Server() *gocode.File {
	f := &gocode.File{}
	f.Add(mainFunc(gocode.CPUTest.Qual("Serve"), jen.Id("kernels")))
	return f
}

// mainFunc is a function main that calls run.
func mainFunc(run *jen.Statement, args ...jen.Code) jen.Code {
	return jen.Func().Id("main").Params().Block(run.Call(args...))
}

// Test is kernels_test.go. It compares every kernel with the kernel IR in kernels.kir on every
// instruction set of the processor. With lanes, it also compares kernels of several models with
// lanes.kir.
func Test(lanes bool) *gocode.File {
	f := &gocode.File{}
	compare := func(test, text, file, table string) {
		f.Embed(text, file)
		t := jen.Id("t").Op("*").Qual("testing", "T")
		f.Add(jen.Func().Id(test).Params(t).Block(gocode.CPUTest.Qual("Compare").Call(jen.Id("t"), jen.Id(text), jen.Id(table))))
	}
	compare("TestKernels", "kernelText", "kernels.kir", "kernels")
	if lanes {
		compare("TestLanes", "laneText", "lanes.kir", "lanes")
	}
	return f
}

// ModelName is the name of a spec's model, or of a stage's model.
func ModelName(spec *check.Spec, stage string) string {
	if stage == "" {
		return spec.Name
	}
	return spec.Name + "/" + stage
}

// origin embeds the spec and returns the fields of a model that identify it.
func origin(f *gocode.File, spec *check.Spec, stage, version string) gocode.Fields {
	f.Embed("specText", "spec.arith")
	fields := gocode.Fields{"Name": ModelName(spec, stage), "Spec": jen.Id("specText"), "SpecHash": spec.Hash, "Version": version}
	if stage == "" {
		fields["Axes"] = spec.Axes
	}
	return fields
}

// A Cost is the size of a training step.
type Cost struct {
	lower.Batches
	RowFLOP float64 // floating-point operations of a target row
}

// A Trainer is the content of model.go.
type Trainer struct {
	Spec    *check.Spec
	Stage   string // a stage of the spec, or "" without stages; a stage's model is exported
	Groups  []*plan.Group
	Cost    Cost
	Version string
}

// Model is model.go: the settings of the spec and the table of parameters.
func Model(t Trainer) *gocode.File {
	f := &gocode.File{}
	fields := origin(f, t.Spec, t.Stage, t.Version)
	t.tables(f, fields)
	t.files(fields)
	fields["Task"] = t.taskConfig(f)
	if kit := kit(&t.Spec.Task); len(kit) > 0 {
		fields["Kit"] = gocode.Task.Qual("Kit").Values(kit...)
	}
	fields["Train"] = gocode.Value(TrainConfig(t.Spec, t.Cost))
	asked := EvalConfig(t.Spec)
	fields["Eval"] = gocode.Value(asked) // even if empty
	if asked.Loop > 0 {
		fields["Think"] = gocode.Thinking.Qual("Think")
	}
	if t.Spec.Task.Kind == "text" {
		fields["Reader"] = gocode.Continuing.Qual("Reader").Values()
	}
	fields["Plan"], fields["CPU"], fields["GPU"] = jen.Id("plan"), jen.Id("kernels"), jen.Id("gpu")
	if n := t.Spec.Train.Lanes; n > 0 {
		fields["Lanes"] = gocode.Program.Qual("Lanes").Values(gocode.Field("N", n), gocode.Field("CPU", jen.Id("lanes")))
	}
	var groups, tables []jen.Code
	for _, g := range t.Groups {
		name := join(g.Name, "group")
		groups = append(groups, jen.Op("&").Id(name))
		tables = append(tables, jen.Id(name).Op("=").Add(gocode.Value(device.Group(*g))))
	}
	fields["Params"] = gocode.Device.Qual("Flat").Call(groups...)
	variable := "model"
	if t.Stage != "" {
		variable, f.Doc = "Model", fmt.Sprintf("Package %s is the stage %s of %s.", Package(t.Stage), t.Stage, t.Spec.Name)
		f.Add(jen.Commentf("Model is the model of the stage %s.", t.Stage))
	}
	f.Add(jen.Var().Id(variable).Op("=").Add(gocode.Program.Qual("Model"), fields.Code()))
	f.Add(jen.Comment("Parameters, in the order of the flat arena."), jen.Var().Defs(tables...))
	return f
}

// taskConfig is the task's configuration without zero fields. Problems end the embedded text.
func (t Trainer) taskConfig(f *gocode.File) jen.Code {
	cfg := task.Config(t.Spec.Task.Task)
	fields := gocode.FieldsOf(cfg)
	for _, e := range []struct{ text, file, variable, name string }{
		{cfg.Problems, ProblemFile, "problemText", "Problems"}, {cfg.Tests, TestFile, "testText", "Tests"},
	} {
		if e.text != "" {
			f.Embed(e.variable, e.file)
			fields[e.name] = problemsIn(e.variable, e.text)
		}
	}
	return gocode.Task.Qual("Config").Add(fields.Code())
}

// kit lists the parts that only some tasks link.
func kit(t *check.Task) (fields []jen.Code) {
	var kinds []jen.Code
	for _, k := range []struct{ name, pkg string }{{"or", "vectors"}, {"sum", "sums"}, {"sort", "arrays"}, {"file", "lines"}, {"text", "windows"}} {
		if t.Kind == k.name || slices.Contains(t.Of, k.name) {
			kinds = append(kinds, (gocode.Task + "/" + gocode.Package(k.pkg)).Qual("Kind").Call())
		}
	}
	if len(kinds) > 0 {
		fields = append(fields, gocode.Field("Kinds", jen.Index().Add(gocode.Task.Qual("Kind")).Values(kinds...)))
	}
	if t.Sequence {
		fields = append(fields, gocode.Field("Sequences", gocode.Sequence.Qual("New")))
	}
	if t.Curriculum.Carries > 0 {
		fields = append(fields, gocode.Field("Carrying", (gocode.Task+"/carries").Qual("Draw")))
	}
	return fields
}
