package host

import (
	"fmt"
	"go/token"
	"slices"
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/arithlang/mlc/codegen/gocode"
	"github.com/arithlang/mlc/compiler/check"
)

// Package returns the name of a stage's package and folder. It is the stage's name, unless Go
// reserves the name.
func Package(stage string) string {
	taken := token.IsKeyword(stage) || strings.HasPrefix(stage, "_") || strings.HasSuffix(stage, "_test") ||
		slices.Contains([]string{"main", "internal", "vendor", "testdata"}, stage)
	if taken {
		return "stage" + stage + "_"
	}
	return stage
}

// A Pipeline describes main.go of a spec with stages. Path is the import path of its folder,
// which contains the stages' folders.
type Pipeline struct {
	Spec    *check.Spec
	Version string
	Path    string
}

// Stages is main.go. It lists the stages in order, each with its model or its calibration.
func Stages(p Pipeline) *gocode.File {
	f := &gocode.File{Doc: fmt.Sprintf("Command %s does the stages of spec.arith: it trains models, calibrates biases between, and tests the last.", p.Spec.Name)}
	f.Add(mainFunc(gocode.Runtime.Qual("MainStages"), jen.Op("&").Id("pipeline"), gocode.Stages.Qual("Train")))
	fields := origin(f, p.Spec, "", p.Version)
	var stages []jen.Code
	for _, s := range p.Spec.Stages {
		stages = append(stages, p.stage(s).Code())
	}
	fields["Stages"] = gocode.Slice(gocode.Stages.Qual("Stage"), stages)
	f.Add(jen.Var().Id("pipeline").Op("=").Add(gocode.Stages.Qual("Pipeline"), fields.Code()))
	return f
}

func (p Pipeline) stage(s check.Stage) gocode.Fields {
	fields := gocode.Fields{"Name": s.Name, "From": s.From}
	if s.Calibration != nil {
		fields["Calibration"] = jen.Add(gocode.Calibration.Qual("Stage"), calibration(s.Calibration).Code())
		return fields
	}
	fields["Model"] = jen.Op("&").Add(gocode.Package(p.Path + "/" + Package(s.Name)).Qual("Model"))
	var given []jen.Code
	for _, param := range s.Spec.Given() {
		if param.Init.Kind == "stage" {
			given = append(given, gocode.Fields{"Param": FixedName(param), "Stage": param.From, "Tensor": param.Tensor}.Code())
		}
	}
	fields["Given"] = gocode.Slice(gocode.Stages.Qual("Given"), given)
	return fields
}

func calibration(k *check.Calibration) gocode.Fields {
	lines := gocode.Calibrate.Qual("Lines")
	return gocode.Fields{
		"Logits": k.Logits, "Mean": k.Mean, "Less": k.Less, "Open": k.Open, "Samples": jen.Lit(k.Samples), "Heads": jen.Lit(k.Heads), "Layer": jen.Lit(k.Layer),
		"Self": jen.Add(lines, linesOf(k.Self).Code()), "Cross": jen.Add(lines, linesOf(k.Cross).Code()),
	}
}

func linesOf(l check.Lines) gocode.Fields {
	statistics := jen.List(jen.Id("value"), jen.Id("mean"), jen.Id("std")).Float64()
	return gocode.Fields{
		"Paired": l.Paired, "Directions": gocode.Value(l.Directions), "Rows": jen.Lit(l.Rows), "M": jen.Lit(l.Queries), "N": jen.Lit(l.Keys),
		"Keep": jen.Func().Params(statistics).Bool().Block(jen.Return(gocode.Expr(l.Keep, gocode.Float64))),
	}
}
