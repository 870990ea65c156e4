// Package look shows the compilation of a spec: sizes, each stage as text, the origin of
// each line, and whether kernels compute correct results.
package look

import (
	"fmt"
	"slices"
	"strings"

	"github.com/arithlang/mlc/cli/shell"
	"github.com/arithlang/mlc/compiler"
	"github.com/arithlang/mlc/compiler/ir"
	"github.com/arithlang/mlc/compiler/kernel"
	"github.com/arithlang/mlc/compiler/lower"
	"github.com/arithlang/mlc/compiler/model"
	"github.com/arithlang/mlc/compiler/plan"
	"github.com/arithlang/mlc/dsl/diag"
)

// A stage is a form of a spec on its way to Go, as text. If only is not empty, the text has
// only the functions of that name and their gradients.
type stage struct {
	name string
	doc  string
	text func(p *compiler.Program, only string) (string, error)
}

// stages lists the stages in order. Launches are counted on the given hardware.
func stages(on OnCard) []stage {
	return []stage{
		{"resolved", "the spec with every default written out", resolvedText},
		{"data", "the positions of the model, and problems as text and tokens, with places, Abacus rows and labels", dataText},
		{"ir", "tensor IR of the programs without gradients, as package model builds it", irText},
		{"grad", "tensor IR of a training step with its backward functions, simplified", gradText},
		{"fused", "groups of each function's values, and the kernel that computes each group", fusedText},
		{"kernel", "kernel IR", kernelText},
		{"flat", "kernels after the processor's passes, as back ends print them; also after the GPU's where they differ", flatText},
		{"schedule", "how each kernel is distributed over a GPU, and why other schedules do not fit", scheduleText},
		{"plan", "programs with their buffers, calls and launches", planText},
		{"go", "the generated plan.go and kernels.go", goText},
		{"ptx", "the generated kernels.ptx, below a table of each kernel's needs", ptxText},
		{trafficStage, "memory traffic and instructions of each kernel for a GPU, counted on the simulator", trafficText},
		{launchesStage, "demands of a training step on a GPU (--card, --sms): launches, graphs, copies, memory, and their minimal time", on.text},
	}
}

// StageDocs lists the stages, one a line.
func StageDocs() string {
	var b strings.Builder
	for _, s := range stages(OnCard{}) {
		fmt.Fprintf(&b, "  %-9s %s\n", s.name, s.doc)
	}
	return b.String()
}

// StageNames returns the names of the stages.
func StageNames() []string {
	var names []string
	for _, s := range stages(OnCard{}) {
		names = append(names, s.name)
	}
	return names
}

// CheckStage returns a shell.UsageError if there is no stage of that name. The name may be
// "".
func CheckStage(name string) error {
	names := StageNames()
	if name == "" || slices.Contains(names, name) {
		return nil
	}
	return shell.Usagef("there is no stage %q: %s", name, diag.DidYouMean(name, names, "stages are"))
}

// stageText returns a program at a stage.
func stageText(p *compiler.Program, name, only string, on OnCard) (string, error) {
	for _, s := range stages(on) {
		if s.name == name {
			return s.text(p, only)
		}
	}
	return "", CheckStage(name)
}

// concerns reports whether a function is the requested one or its gradient.
func concerns(function, only string) bool {
	return only == "" || function == only || function == only+"_back"
}

func resolvedText(p *compiler.Program, _ string) (string, error) { return p.Spec.Resolved, nil }

// irText builds the model again, since the passes have changed p's functions.
func irText(p *compiler.Program, only string) (string, error) {
	pl, err := model.Build(p.Spec)
	if err != nil {
		return "", err
	}
	return functions(pl, only, func(program string) bool { return !trains(program) }), nil
}

// trainingProgram is the program with gradients.
const trainingProgram = "gradients"

// trains reports whether a program is part of a training step: the one with gradients, or
// one that runs before or after it.
func trains(program string) bool {
	return program == trainingProgram || program == plan.Prepare || program == plan.Finish
}

func gradText(p *compiler.Program, only string) (string, error) {
	text := functions(p.Plan, only, trains)
	if only == "" {
		text += "\n// optimizer\n"
		for _, f := range p.Plan.Optimizer {
			text += "\n" + f.String()
		}
	}
	return text, nil
}

// functions prints the functions of the programs that ask accepts. Equal functions are
// printed once.
func functions(pl *plan.Plan, only string, ask func(program string) bool) string {
	var parts []string
	seen := map[string]bool{}
	for _, prog := range pl.Programs {
		if !ask(prog.Name) {
			continue
		}
		title := "// " + prog.Name + "\n"
		for _, c := range prog.Calls() {
			if text := c.Func.String(); concerns(c.Func.Name, only) && !seen[text] {
				seen[text] = true
				if title != "" {
					parts = append(parts, title)
				}
				parts, title = append(parts, text), ""
			}
		}
	}
	return strings.Join(parts, "\n")
}

// routines calls f with each requested routine and its entry.
func routines(p *compiler.Program, only string, f func(e *lower.Entry, s lower.Step)) {
	for _, e := range p.Lowered.Entries {
		for _, s := range e.Steps {
			if concerns(s.Routine.Name, only) {
				f(e, s)
			}
		}
	}
}

func fusedText(p *compiler.Program, only string) (string, error) {
	var b strings.Builder
	routines(p, only, func(e *lower.Entry, s lower.Step) {
		fmt.Fprintf(&b, "%s %s\n", e.Name, s.Routine.Name)
		for i, g := range s.Routine.Groups {
			fmt.Fprintf(&b, "  %s (%s)\n", s.Routine.Launches[i].Kernel.Name, s.Routine.Launches[i].Kernel.Family())
			for _, v := range inOrder(s.Routine.Func, g.Anchors, g.Members) {
				fmt.Fprintf(&b, "    %s\n", v)
			}
		}
		b.WriteByte('\n')
	})
	return strings.TrimSuffix(b.String(), "\n"), nil
}

// inOrder merges lists of a function's values in the order of their definition.
func inOrder(f *ir.Func, lists ...[]*ir.Value) []*ir.Value {
	in := map[*ir.Value]bool{}
	for _, l := range lists {
		for _, v := range l {
			in[v] = true
		}
	}
	var out []*ir.Value
	for _, v := range f.Values {
		if in[v] {
			out = append(out, v)
		}
	}
	return out
}

func kernelText(p *compiler.Program, only string) (string, error) {
	return kernel.Format(launched(p, only)), nil
}

// launched lists the kernels of the requested routines.
func launched(p *compiler.Program, only string) []*kernel.Kernel {
	in := map[*kernel.Kernel]bool{}
	routines(p, only, func(_ *lower.Entry, s lower.Step) {
		for _, l := range s.Routine.Launches {
			in[l.Kernel] = true
		}
	})
	var ks []*kernel.Kernel
	for _, k := range p.Lowered.Kernels {
		if in[k] {
			ks = append(ks, k)
		}
	}
	return ks
}

// planText prints the plan before and after lowering: calls, then launches. Programs that
// call a requested function are printed whole.
func planText(p *compiler.Program, only string) (string, error) {
	var b strings.Builder
	for _, prog := range p.Plan.Programs {
		if slices.ContainsFunc(prog.Calls(), func(c *plan.Call) bool { return concerns(c.Func.Name, only) }) {
			fmt.Fprintf(&b, "%s\n", prog)
		}
	}
	routines(p, only, func(e *lower.Entry, s lower.Step) {
		fmt.Fprintf(&b, "launches of %s %s%s\n", e.Name, s.Routine.Name, loopText(s))
		for _, l := range s.Routine.Launches {
			fmt.Fprintf(&b, "  %s\n", launchText(l))
		}
		b.WriteByte('\n')
	})
	return strings.TrimSuffix(b.String(), "\n"), nil
}

func loopText(s lower.Step) string {
	switch {
	case s.N == 0:
		return ""
	case s.Down:
		return " for l < " + s.Runs.Count(s.N) + " down"
	}
	return " for l < " + s.Runs.Count(s.N)
}

func launchText(l lower.Launch) string {
	args := make([]string, len(l.Args))
	for i, a := range l.Args {
		args[i] = l.Kernel.Params[i].Name + "=" + argText(a)
	}
	text := fmt.Sprintf("%s(%s)", l.Kernel.Name, strings.Join(args, ", "))
	if l.Joins {
		text = "+ " + text
	}
	if l.Note != "" {
		text += " // " + l.Note
	}
	return text
}

func argText(a lower.Arg) string {
	switch a.Space {
	case lower.InBuffer:
		return a.Ref.String()
	case lower.InParams:
		return a.Group.Name + "." + a.Param
	case lower.InRounded:
		return "rounded." + a.Group.Name + "." + a.Param
	case lower.InGrads:
		return "d." + a.Group.Name + "." + a.Param
	case lower.InUses:
		if a.Stride > 0 {
			return fmt.Sprintf("d.uses[%d+%d*l]", a.Off, a.Stride)
		}
		return fmt.Sprintf("d.uses[%d]", a.Off)
	case lower.FlatParams:
		return "params"
	case lower.FlatRounded:
		return "rounded"
	case lower.FlatGrads:
		return "grads"
	}
	return a.Param
}
