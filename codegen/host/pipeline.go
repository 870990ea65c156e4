package host

import (
	"fmt"
	"go/token"
	"slices"
	"strconv"
	"strings"

	"github.com/arithlang/mlc/codegen/gotext"
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

// Stages is main.go: the stages in order, each with its model or with what a
// calibration keeps.
func Stages(p Pipeline) gotext.File {
	f := &gotext.Text{}
	f.Line("func main() {\nruntime.MainStages(pipeline)\n}")
	fields := origin(f, p.Spec, "", p.Version)
	var stages, imports []string
	for _, s := range p.Spec.Stages {
		stages = append(stages, p.stage(s).String())
		if s.Calibration == nil {
			imports = append(imports, p.path(s))
		}
	}
	fields["Stages"] = "[]runtime.Stage" + gotext.Lines(stages)
	f.Line("var pipeline = runtime.Pipeline%s", fields)
	doc := fmt.Sprintf("Command %s does the stages of spec.arith: it trains models, calibrates biases between, and tests the last.", p.Spec.Name)
	return gotext.File{Doc: doc, Decls: f.String(), Imports: imports}
}

// path is the import path of a stage.
func (p Pipeline) path(s check.Stage) string { return p.Path + "/" + Package(s.Name) }

func (p Pipeline) stage(s check.Stage) gotext.Fields {
	fields := gotext.Fields{"Name": strconv.Quote(s.Name)}
	if s.From != "" {
		fields["From"] = strconv.Quote(s.From)
	}
	if s.Calibration != nil {
		fields["Calibration"] = "&calibrate.Config" + calibration(s.Calibration).String()
		return fields
	}
	fields["Model"] = "&" + Package(s.Name) + ".Model"
	var given []string
	for _, param := range s.Spec.Given() {
		if param.Init.Kind == "stage" {
			given = append(given, gotext.Fields{
				"Param": strconv.Quote(fixedName(param)), "Stage": strconv.Quote(param.From), "Tensor": strconv.Quote(param.Tensor),
			}.String())
		}
	}
	if given != nil {
		fields["Given"] = "[]runtime.Given" + gotext.Lines(given)
	}
	return fields
}

func calibration(k *check.Calibration) gotext.Fields {
	fields := gotext.FieldsOf(struct{ Logits, Mean bool }{k.Logits, k.Mean})
	fields["Samples"], fields["Heads"], fields["Layer"] = strconv.Itoa(k.Samples), strconv.Itoa(k.Heads), strconv.Itoa(k.Layer)
	fields["Self"], fields["Cross"] = "calibrate.Lines"+linesOf(k.Self).String(), "calibrate.Lines"+linesOf(k.Cross).String()
	return fields
}

func linesOf(l check.Lines) gotext.Fields {
	fields := gotext.FieldsOf(struct{ Paired bool }{l.Paired})
	fields["Directions"] = gotext.Literal(l.Directions)
	fields["Rows"], fields["M"], fields["N"] = strconv.Itoa(l.Rows), strconv.Itoa(l.Queries), strconv.Itoa(l.Keys)
	fields["Keep"] = "func(value, mean, std float64) bool {\nreturn " + statistic(l.Keep) + "\n}"
	return fields
}
