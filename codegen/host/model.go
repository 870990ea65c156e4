package host

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/arithlang/mlc/codegen/gotext"
	"github.com/arithlang/mlc/compiler/check"
	"github.com/arithlang/mlc/compiler/lower"
	"github.com/arithlang/mlc/compiler/plan"
	"github.com/arithlang/mlc/runtime/device"
	"github.com/arithlang/mlc/runtime/task"
)

// Main is main.go.
func Main(spec *check.Spec) gotext.File {
	return gotext.File{
		Doc:   fmt.Sprintf("Command %s trains and tests the model of spec.arith.", spec.Name),
		Decls: "import runtime \"github.com/arithlang/mlc/runtime\"\nfunc main() {\nruntime.Main(model)\n}",
	}
}

// Test is kernels_test.go, which holds every kernel to the kernel IR of kernels.kir on
// every instruction set that the processor has, and those of several models, where there
// are such, to that of lanes.kir.
func Test(lanes bool) gotext.File {
	f := &gotext.Text{}
	f.Embed("kernelText", "kernels.kir")
	f.Line("func TestKernels(t *testing.T) {\ncputest.Compare(t, kernelText, kernels)\n}")
	if lanes {
		f.Embed("laneText", "lanes.kir")
		f.Line("func TestLanes(t *testing.T) {\ncputest.Compare(t, laneText, lanes)\n}")
	}
	return gotext.File{Decls: f.String()}
}

// ModelName is the name of a spec's model, or of that of one of its stages.
func ModelName(spec *check.Spec, stage string) string {
	if stage == "" {
		return spec.Name
	}
	return spec.Name + "/" + stage
}

// origin begins a file that says what a program does, and lists the fields that say
// which spec it is of.
func origin(f *gotext.Text, spec *check.Spec, stage, version string) gotext.Fields {
	f.Embed("specText", "spec.arith")
	fields := gotext.Fields{
		"Name":     strconv.Quote(ModelName(spec, stage)),
		"Spec":     "specText",
		"SpecHash": strconv.Quote(spec.Hash),
		"Version":  strconv.Quote(version),
	}
	if len(spec.Axes) > 0 && stage == "" {
		fields["Axes"] = gotext.Literal(spec.Axes)
	}
	return fields
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

// Model is model.go: the settings of the spec and the table of parameters.
func Model(t Trainer) gotext.File {
	f := &gotext.Text{}
	fields := origin(f, t.Spec, t.Stage, t.Version)
	t.tables(f, fields)
	t.files(fields)
	fields["Task"] = t.taskConfig(f)
	fields["Train"] = gotext.Literal(TrainConfig(t.Spec, t.Cost))
	fields["Eval"] = gotext.Literal(EvalConfig(t.Spec))
	fields["Plan"], fields["CPU"], fields["GPU"] = "plan", "kernels", "gpu"
	if n := t.Spec.Train.Lanes; n > 0 {
		fields["Lanes"] = fmt.Sprintf("runtime.Lanes{N: %d, CPU: lanes}", n)
	}
	var groups []string
	for _, g := range t.Groups {
		groups = append(groups, "&"+join(g.Name, "group"))
	}
	fields["Params"] = "device.Flat(" + strings.Join(groups, ", ") + ")"
	variable, doc := "model", ""
	if t.Stage != "" {
		variable, doc = "Model", fmt.Sprintf("Package %s is the stage %s of %s.", Package(t.Stage), t.Stage, t.Spec.Name)
		f.Line("// Model is the model of the stage %s.", t.Stage)
	}
	f.Line("var %s = runtime.Model%s", variable, fields)
	f.Line("// Parameters, in the order of the flat arena.\nvar (")
	for _, g := range t.Groups {
		f.Line("%s = %s", join(g.Name, "group"), gotext.Literal(device.Group(*g)))
	}
	f.Line(")")
	return gotext.File{Doc: doc, Decls: f.String()}
}

// taskConfig prints the task, without fields that are zero. Problems are the end of what is
// embedded.
func (t Trainer) taskConfig(f *gotext.Text) string {
	cfg := task.Config(t.Spec.Task.Task)
	fields := gotext.FieldsOf(cfg)
	for _, e := range []struct{ text, file, variable, name string }{
		{cfg.Problems, ProblemFile, "problemText", "Problems"}, {cfg.Tests, TestFile, "testText", "Tests"},
	} {
		if e.text != "" {
			f.Embed(e.variable, e.file)
			fields[e.name] = problemsIn(e.variable, e.text)
		}
	}
	return "task.Config" + fields.String()
}
