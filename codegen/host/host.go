// Package host prints the parts of a generated trainer except the kernels: the launch plan as
// straight Go, the model table, main and the kernels' test. It comes after package lower.
// Package codegen assembles the files. Generated code is only printed here. Of the runtime,
// this package uses the configurations that it prints.
package host

import (
	"strings"

	"github.com/arithlang/mlc/codegen/gocode"
	"github.com/arithlang/mlc/compiler/lower"
)

// join joins names to one Go name.
func join(parts ...string) string { return gocode.Name(strings.Join(parts, "_")) }

// Reserved lists the names that plan.go and model.go declare at package level. The kernels'
// functions must not use them.
func Reserved(p *lower.Program) []string {
	names := []string{"plan", "model", "Model", "specText", "tableText", "kernelText", "gpu", "ptxText", "laneText", "lanes"}
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
		names = append(names, gocode.Name(e.Name), join("layout", e.Memory.Name), join(e.Memory.Name, "memory"), join("new", e.Memory.Name, "memory"))
		for _, s := range e.Steps {
			names = append(names, join(e.Name, s.Routine.Name))
		}
	}
	return names
}
