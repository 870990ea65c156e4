package host

import (
	"fmt"
	"math"

	"github.com/dave/jennifer/jen"

	"github.com/arithlang/mlc/compiler/check"
	"github.com/arithlang/mlc/compiler/lower"
	"github.com/arithlang/mlc/compiler/plan"
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
	f.ImportName(runtimePath, "runtime")
	f.ImportName(devicePath, "device")
	f.ImportName(taskPath, "task")
	f.ImportName(tokensPath, "tokens")
	f.ImportName(trainPath, "train")
	f.ImportName(evalPath, "eval")
	f.Anon("embed")
	f.Comment("//go:embed spec.arith")
	f.Var().Id("specText").String()
	tables := t.tables(f)
	problems := t.taskConfig(f)
	variable, name := "model", t.Spec.Name
	if t.Stage != "" {
		variable, name = "Model", name+"/"+t.Stage
		f.PackageComment(fmt.Sprintf("Package %s is the stage %s of %s.", Package(t.Stage), t.Stage, t.Spec.Name))
		f.Comment("Model is the model of the stage " + t.Stage + ".")
	}
	d := jen.Dict{
		jen.Id("Name"):     jen.Lit(name),
		jen.Id("Spec"):     jen.Id("specText"),
		jen.Id("SpecHash"): jen.Lit(t.Spec.Hash),
		jen.Id("Version"):  jen.Lit(t.Version),
		jen.Id("Task"):     problems,
		jen.Id("Train"):    trainConfig(t.Spec, t.Cost),
		jen.Id("Eval"):     evalConfig(t.Spec),
		jen.Id("Params"):   jen.Qual(devicePath, "Flat").CallFunc(func(g *jen.Group) { groupRefs(g, t.Groups) }),
		jen.Id("Plan"):     jen.Id("plan"),
		jen.Id("CPU"):      jen.Id("kernels"),
		jen.Id("GPU"):      jen.Id("gpu"),
	}
	if tables != nil {
		d[jen.Id("Given")] = tables
	}
	f.Var().Id(variable).Op("=").Qual(runtimePath, "Model").Values(d)
	f.Comment("Parameters, in the order of the flat arena.")
	f.Var().DefsFunc(func(g *jen.Group) {
		for _, gr := range t.Groups {
			group(g, gr)
		}
	})
}

func groupRefs(g *jen.Group, groups []*plan.Group) {
	for _, gr := range groups {
		g.Op("&").Id(join(gr.Name, "group"))
	}
}

func group(g *jen.Group, gr *plan.Group) {
	d := jen.Dict{
		jen.Id("Name"):   jen.Lit(gr.Name),
		jen.Id("Off"):    jen.Lit(gr.Off),
		jen.Id("Layers"): jen.Lit(gr.Layers),
		jen.Id("Stride"): jen.Lit(gr.Stride()),
		jen.Id("Params"): jen.Index().Qual(devicePath, "Param").ValuesFunc(func(g *jen.Group) {
			for _, p := range gr.Params {
				g.Line().Add(param(p))
			}
			g.Line()
		}),
	}
	if gr.Stack {
		d[jen.Id("Stack")] = jen.True()
	}
	g.Id(join(gr.Name, "group")).Op("=").Qual(devicePath, "Group").Values(d)
}

func param(p plan.Param) *jen.Statement {
	init := jen.Dict{jen.Id("Kind"): jen.Lit(p.Init.Kind)}
	if p.Init.A != 0 {
		init[jen.Id("A")] = jen.Lit(p.Init.A)
	}
	if p.Init.B != 0 {
		init[jen.Id("B")] = jen.Lit(p.Init.B)
	}
	d := jen.Dict{
		jen.Id("Name"): jen.Lit(p.Name),
		jen.Id("Init"): jen.Qual(devicePath, "Init").Values(init),
	}
	if len(p.Shape) > 0 {
		d[jen.Id("Shape")] = ints(p.Shape)
	}
	if p.Decay {
		d[jen.Id("Decay")] = jen.True()
	}
	if p.Fixed {
		d[jen.Id("Fixed")] = jen.True()
	}
	if p.Min != nil {
		d[jen.Id("Min")] = jen.Id("new").Call(jen.Float32().Call(jen.Lit(*p.Min)))
	}
	return jen.Values(d)
}

func ints(ns []int) *jen.Statement {
	return jen.Index().Int().ValuesFunc(func(g *jen.Group) {
		for _, n := range ns {
			g.Lit(n)
		}
	})
}

func pad(p check.Pad) *jen.Statement {
	d := jen.Dict{jen.Id("To"): jen.Lit(p.To), jen.Id("Step"): jen.Lit(p.Step)}
	if p.Less != 0 {
		d[jen.Id("Less")] = jen.Lit(p.Less)
	}
	return jen.Qual(taskPath, "Pad").Values(d)
}

// trainGlance is the number of problems of a report that is not said: train.Glance.
const trainGlance = 64

func trainConfig(spec *check.Spec, cost Cost) *jen.Statement {
	t := spec.Train
	_, rows := spec.TrainedShape()
	d := jen.Dict{
		jen.Id("Times"):      jen.Lit(spec.Model.Times()),
		jen.Id("Backprop"):   jen.Lit(t.Backprop),
		jen.Id("Optimizer"):  jen.Lit(t.Optimizer),
		jen.Id("LR"):         jen.Lit(t.LR),
		jen.Id("Beta1"):      jen.Lit(t.Beta1),
		jen.Id("Beta2"):      jen.Lit(t.Beta2),
		jen.Id("Eps"):        jen.Lit(t.Eps),
		jen.Id("Decay"):      jen.Lit(t.Decay),
		jen.Id("Schedule"):   jen.Lit(t.Schedule),
		jen.Id("Warmup"):     jen.Lit(t.Warmup),
		jen.Id("Cooldown"):   jen.Lit(t.Cooldown),
		jen.Id("Clip"):       jen.Lit(t.Clip),
		jen.Id("Batch"):      jen.Lit(t.Batch),
		jen.Id("Ramp"):       jen.Lit(t.Ramp),
		jen.Id("MicroBatch"): jen.Lit(cost.Micro),
		jen.Id("Chunk"):      jen.Lit(cost.Chunk),
		jen.Id("Group"):      jen.Lit(cost.Group),
		jen.Id("Rows"):       jen.Lit(rows),
		jen.Id("RowFLOP"):    jen.Lit(math.Round(cost.RowFLOP)),
		jen.Id("Budget"):     budget(t),
		jen.Id("Seed"):       jen.Lit(int(t.Seed)),
	}
	for field, set := range map[string]bool{"Progressive": t.Progressive, "SumLoss": t.SumLoss, "Throttle": t.Throttle} {
		if set {
			d[jen.Id(field)] = jen.True()
		}
	}
	if t.RampFrom > 0 {
		d[jen.Id("RampFrom")] = jen.Lit(t.RampFrom)
	}
	if t.Progressive {
		d[jen.Id("Alpha")] = jen.Lit(t.Alpha)
	}
	if r := t.Report; r != (check.Report{Problems: trainGlance}) {
		fields := jen.Dict{jen.Id("Problems"): jen.Lit(r.Problems)}
		if r.Every > 0 {
			fields[jen.Id("Every")] = jen.Lit(r.Every)
		}
		if r.Full {
			fields[jen.Id("Full")] = jen.True()
		}
		d[jen.Id("Report")] = jen.Qual(trainPath, "Report").Values(fields)
	}
	if s := t.Stop; s != nil {
		d[jen.Id("Stop")] = jen.Op("&").Qual(trainPath, "Stop").Values(jen.Dict{
			jen.Id("AtLeast"): jen.Lit(s.AtLeast), jen.Id("HeldOut"): jen.Lit(s.HeldOut),
		})
	}
	return jen.Qual(trainPath, "Config").Values(d)
}

func budget(t check.Train) *jen.Statement {
	d := jen.Dict{}
	switch {
	case t.Steps > 0:
		d[jen.Id("Steps")] = jen.Lit(t.Steps)
	case t.Examples > 0:
		d[jen.Id("Examples")] = jen.Lit(int(t.Examples))
	case t.FLOP > 0:
		d[jen.Id("FLOP")] = jen.Lit(t.FLOP)
	default:
		d[jen.Id("Time")] = jen.Lit(int(t.Time))
	}
	return jen.Qual(trainPath, "Budget").Values(d)
}

func evalConfig(spec *check.Spec) *jen.Statement {
	e := &spec.Eval
	d := jen.Dict{
		jen.Id("Samples"): jen.Lit(e.Samples),
		jen.Id("Pad"):     pad(e.Pad),
		jen.Id("Greedy"):  jen.Lit(e.Greedy),
	}
	if g := e.Grid; g != nil {
		d[jen.Id("Grid")] = jen.Qual(evalPath, "Grid").Values(jen.Dict{
			jen.Id("First"):  span(g.FirstLo, g.FirstHi),
			jen.Id("Second"): span(g.SecondLo, g.SecondHi),
		})
	}
	if e.DiagonalHi > 0 {
		d[jen.Id("Diagonal")] = span(e.DiagonalLo, e.DiagonalHi)
	}
	if len(e.Digits) > 0 {
		d[jen.Id("Digits")] = ints(e.Digits)
	}
	if e.FirstToken {
		d[jen.Id("FirstToken")] = jen.True()
	}
	if spec.Model.Loop != nil {
		d[jen.Id("Loop")] = jen.Lit(spec.Model.Loop.Times)
	}
	if len(e.Times) > 0 {
		d[jen.Id("Times")] = ints(e.Times)
	}
	if e.Settle > 0 {
		d[jen.Id("Settle")] = jen.Lit(e.Settle)
	}
	if r := reach(&spec.Model); len(r) > 0 {
		d[jen.Id("Reach")] = jen.Qual(evalPath, "Reach").Values(r)
	}
	return jen.Qual(evalPath, "Config").Values(d)
}

// reach is the rows of the tables of positions that tests read, and the sizes of
// calibrated biases.
func reach(m *check.Model) jen.Dict {
	d := jen.Dict{}
	switch p := &m.Position; {
	case p.Kind == "learned", p.Kind == "random" && p.Inner == "learned":
		d[jen.Id("Tokens")] = jen.Lit(p.Max)
	case p.Kind == "abacus":
		d[jen.Id("Places")] = jen.Lit(p.Table)
	}
	rows, keys := m.Decoder.Self.Calibrated()
	across, source := m.Decoder.Cross.Calibrated()
	if rows = least(least(rows, keys), across); rows > 0 {
		d[jen.Id("Rows")] = jen.Lit(rows)
	}
	if source > 0 {
		d[jen.Id("Source")] = jen.Lit(source)
	}
	return d
}

// least is the smaller of two sizes, of which 0 is none.
func least(a, b int) int {
	if a == 0 || b == 0 {
		return a + b
	}
	return min(a, b)
}

func span(lo, hi int) *jen.Statement {
	return jen.Qual(evalPath, "Span").Values(jen.Dict{jen.Id("Lo"): jen.Lit(lo), jen.Id("Hi"): jen.Lit(hi)})
}
