// Package host prints the parts of a generated trainer that are not kernels: the
// launch plan as straight Go, the model table, main and the kernels' test. It
// comes after package lower; package codegen assembles the files.
package host

import (
	"strings"
	"unicode"

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
