package look

import (
	"strings"

	"github.com/arithlang/mlc/cli/shell"
	"github.com/arithlang/mlc/codegen"
	"github.com/arithlang/mlc/codegen/gocode"
	"github.com/arithlang/mlc/compiler"
	"github.com/arithlang/mlc/compiler/kernel"
	"github.com/arithlang/mlc/compiler/lower"
)

// goText prints the generated plan and kernels: whole files, or the requested functions.
func goText(p *compiler.Program, only string) (string, error) {
	files, err := codegen.Processor(p, codegen.Options{Version: shell.Version})
	if err != nil {
		return "", err
	}
	var parts []string
	for _, path := range []string{"plan.go", "kernels.go"} {
		g, err := parseGo(files, path)
		if err != nil {
			return "", err
		}
		text := strings.Join(g.text, "\n") + "\n"
		if only != "" {
			text = g.functionsOf(p, only)
		}
		parts = append(parts, "// file "+path+"\n\n"+text)
	}
	return strings.Join(parts, "\n"), nil
}

// functionsOf returns the functions of the requested routines and of the kernels that they
// launch, in the order of the file.
func (g *goFile) functionsOf(p *compiler.Program, only string) string {
	want := map[string]bool{}
	routines(p, only, func(e *lower.Entry, s lower.Step) {
		want[goRoutine(e, s.Routine)] = true
		for _, l := range s.Routine.Launches {
			want[g.kernels[l.Kernel.Name]] = true
		}
	})
	var parts []string
	for _, name := range g.order {
		if want[name] {
			parts = append(parts, g.function(name))
		}
	}
	return strings.Join(parts, "\n")
}

// goRoutine returns the name of a routine's Go function.
func goRoutine(e *lower.Entry, r *lower.Routine) string {
	if e.Optimizer() {
		return gocode.Name(e.Name)
	}
	return gocode.Name(e.Name + "_" + r.Name)
}

// goSections returns the generated functions of routines, launch by launch, and of kernels.
func goSections(p *compiler.Program, launches map[launchKey][]place, kernels map[*kernel.Kernel][]place) ([]section, error) {
	files, err := codegen.Processor(p, codegen.Options{Version: shell.Version})
	if err != nil {
		return nil, err
	}
	plan, err := parseGo(files, "plan.go")
	if err != nil {
		return nil, err
	}
	code, err := parseGo(files, "kernels.go")
	if err != nil {
		return nil, err
	}
	var out []section
	routines(p, "", func(e *lower.Entry, s lower.Step) {
		name := goRoutine(e, s.Routine)
		part := plan.section(name)
		for i, at := range plan.launches(name) {
			part.lines[at].from = launches[launchKey{e.Name, s.Routine.Name, i}]
		}
		out = append(out, part)
	})
	for _, k := range p.Lowered.Kernels {
		s := code.section(code.kernels[k.Name])
		s.whole, s.from = true, kernels[k]
		out = append(out, s)
	}
	return out, nil
}
