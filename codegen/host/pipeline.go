package host

import (
	"fmt"
	"go/token"
	"slices"
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/arithlang/mlc/compiler/check"
)

// Package is the name of the package and the folder of a stage: its own, where Go
// has no other use for it.
func Package(stage string) string {
	taken := token.IsKeyword(stage) || strings.HasPrefix(stage, "_") || strings.HasSuffix(stage, "_test") ||
		slices.Contains([]string{"main", "internal", "vendor", "testdata"}, stage)
	if taken {
		return "stage" + stage + "_"
	}
	return stage
}

// A Pipeline is what main.go of a spec with stages describes. Path is the import
// path of its folder, in which the stages have theirs.
type Pipeline struct {
	Spec    *check.Spec
	Version string
	Path    string
}

// Stages prints main.go: the stages in order, each with its model or with what a
// calibration keeps.
func Stages(f *jen.File, p Pipeline) {
	f.PackageComment(fmt.Sprintf("Command %s does the stages of spec.arith: it trains models, calibrates biases between, and tests the last.", p.Spec.Name))
	f.Func().Id("main").Params().Block(jen.Qual(runtimePath, "MainStages").Call(jen.Id("pipeline")))
	d := origin(f, p.Spec, "", p.Version)
	d[jen.Id("Stages")] = jen.Index().Qual(runtimePath, "Stage").ValuesFunc(func(g *jen.Group) {
		for _, s := range p.Spec.Stages {
			g.Line().Add(p.stage(f, s))
		}
		g.Line()
	})
	f.Var().Id("pipeline").Op("=").Qual(runtimePath, "Pipeline").Values(d)
}

func (p Pipeline) stage(f *jen.File, s check.Stage) *jen.Statement {
	d := jen.Dict{jen.Id("Name"): jen.Lit(s.Name)}
	if s.From != "" {
		d[jen.Id("From")] = jen.Lit(s.From)
	}
	if s.Calibration != nil {
		d[jen.Id("Calibration")] = jen.Op("&").Add(calibration(s.Calibration))
		return jen.Values(d)
	}
	path := p.Path + "/" + Package(s.Name)
	f.ImportName(path, Package(s.Name))
	d[jen.Id("Model")] = jen.Op("&").Qual(path, "Model")
	var given []jen.Code
	for _, param := range s.Spec.Given() {
		if param.Init.Kind == "stage" {
			given = append(given, jen.Line().Values(jen.Dict{
				jen.Id("Param"): jen.Lit(fixedName(param)), jen.Id("Stage"): jen.Lit(param.From), jen.Id("Tensor"): jen.Lit(param.Tensor),
			}))
		}
	}
	if given != nil {
		d[jen.Id("Given")] = jen.Index().Qual(runtimePath, "Given").Values(append(given, jen.Line())...)
	}
	return jen.Values(d)
}

func calibration(k *check.Calibration) *jen.Statement {
	d := jen.Dict{
		jen.Id("Samples"): jen.Lit(k.Samples),
		jen.Id("Heads"):   jen.Lit(k.Heads),
		jen.Id("Layer"):   jen.Lit(k.Layer),
		jen.Id("Self"):    linesOf(k.Self),
		jen.Id("Cross"):   linesOf(k.Cross),
	}
	for field, set := range map[string]bool{"Logits": k.Logits, "Mean": k.Mean} {
		if set {
			d[jen.Id(field)] = jen.True()
		}
	}
	return jen.Qual(calibPath, "Config").Values(d)
}

func linesOf(l check.Lines) *jen.Statement {
	d := jen.Dict{
		jen.Id("Directions"): jen.Index().Index(jen.Lit(2)).Int().ValuesFunc(func(g *jen.Group) {
			for _, d := range l.Directions {
				g.Values(jen.Lit(d[0]), jen.Lit(d[1]))
			}
		}),
		jen.Id("Rows"): jen.Lit(l.Rows),
		jen.Id("M"):    jen.Lit(l.Queries),
		jen.Id("N"):    jen.Lit(l.Keys),
		jen.Id("Keep"): jen.Func().Params(jen.List(jen.Id("value"), jen.Id("mean"), jen.Id("std")).Float64()).Bool().
			Block(jen.Return(statistic(l.Keep))),
	}
	if l.Paired {
		d[jen.Id("Paired")] = jen.True()
	}
	return jen.Qual(calibPath, "Lines").Values(d)
}
