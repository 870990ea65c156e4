// Package host prints the parts of a generated trainer that are not kernels: the
// launch plan as straight Go, the model table, main and the kernels' test. It
// comes after package lower; package codegen assembles the files.
package host

import (
	"path"
	"reflect"
	"strings"
	"unicode"

	"github.com/dave/jennifer/jen"

	"github.com/arithlang/mlc/compiler/check"
	"github.com/arithlang/mlc/compiler/lower"
)

// Import paths of the runtime that generated code uses. Generated code is only text
// here: the compiler imports the runtime's configuration, whose values it prints, and
// nothing else of it.
const (
	runtimePath = "github.com/arithlang/mlc/runtime"
	devicePath  = runtimePath + "/device"
	taskPath    = runtimePath + "/task"
	tokensPath  = runtimePath + "/tokens"
	trainPath   = runtimePath + "/train"
	evalPath    = runtimePath + "/eval"
	configPath  = runtimePath + "/config"
	calibPath   = runtimePath + "/calibrate"
)

// ModelName is the name of a spec's model, or of that of one of its stages.
func ModelName(spec *check.Spec, stage string) string {
	if stage == "" {
		return spec.Name
	}
	return spec.Name + "/" + stage
}

// origin begins a file that says what a program does, and lists the fields that say
// which spec it is of.
func origin(f *jen.File, spec *check.Spec, stage, version string) jen.Dict {
	for _, p := range []string{runtimePath, devicePath, taskPath, tokensPath, trainPath, evalPath, configPath, calibPath} {
		f.ImportName(p, path.Base(p))
	}
	fields := jen.Dict{
		jen.Id("Name"):     jen.Lit(ModelName(spec, stage)),
		jen.Id("Spec"):     embed(f, "specText", "spec.arith"),
		jen.Id("SpecHash"): jen.Lit(spec.Hash),
		jen.Id("Version"):  jen.Lit(version),
	}
	if len(spec.Axes) > 0 && stage == "" {
		fields[jen.Id("Axes")] = literal(reflect.ValueOf(spec.Axes))
	}
	return fields
}

// embed prints a variable with the text of a file.
func embed(f *jen.File, variable, file string) *jen.Statement {
	f.Anon("embed")
	f.Comment("//go:embed " + file)
	f.Var().Id(variable).String()
	return jen.Id(variable)
}

// Name is the Go name of a dotted or underscored name: self.q.w is selfQW.
func Name(s string) string {
	var b strings.Builder
	upper := false
	for _, r := range s {
		switch {
		case r == '.' || r == '_' || r == '-':
			upper = b.Len() > 0
		case upper:
			b.WriteRune(unicode.ToUpper(r))
			upper = false
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// join makes one Go name of several.
func join(parts ...string) string { return Name(strings.Join(parts, "_")) }

// Reserved lists the names that plan.go and model.go declare at package level,
// which the kernels' functions must not take.
func Reserved(p *lower.Program) []string {
	names := []string{"plan", "model", "Model", "specText", "tableText", "kernelText", "gpu", "ptxText"}
	for _, g := range p.Groups {
		names = append(names, join(g.Name, "group"))
		for _, param := range g.Params {
			names = append(names, paramConst(g, param.Name))
		}
	}
	for _, k := range p.Kernels {
		names = append(names, join("k", k.Name))
	}
	for _, e := range p.Entries {
		names = append(names, Name(e.Name), join("layout", e.Memory.Name), join(e.Memory.Name, "memory"), join("new", e.Memory.Name, "memory"))
		for _, s := range e.Steps {
			names = append(names, join(e.Name, s.Routine.Name))
		}
	}
	return names
}
