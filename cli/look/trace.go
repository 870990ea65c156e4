package look

import (
	"slices"
	"strings"

	"github.com/arithlang/mlc/codegen/flat"
	"github.com/arithlang/mlc/compiler"
	"github.com/arithlang/mlc/compiler/check"
	"github.com/arithlang/mlc/compiler/ir"
	"github.com/arithlang/mlc/compiler/kernel"
	"github.com/arithlang/mlc/compiler/lower"
	"github.com/arithlang/mlc/compiler/model"
	"github.com/arithlang/mlc/compiler/plan"
	"github.com/arithlang/mlc/dsl"
)

// A place is a line of a spec or of an included file.
type place struct {
	File string `json:"file"`
	Line int    `json:"line"`
}

// A trace is a program at every stage. Its lines know the places that they come from.
type trace struct{ columns []column }

// A column is one stage.
type column struct {
	name, doc string
	sections  []section
}

// A section of a stage is a function, a kernel or a file. A kernel is a unit: its text as a
// whole comes from the places of the section. head is its title.
type section struct {
	head  string
	whole bool
	from  []place // if whole is set
	lines []line
}

type line struct {
	text string
	from []place
}

// newTrace follows a compiled spec. files are the files that it was read from.
func newTrace(p *compiler.Program, doc *check.Document, files []specFile) (*trace, error) {
	o := newOrigins(p.Spec, p.Stage, doc)
	t := &trace{}
	add := func(name, doc string, sections []section) {
		t.columns = append(t.columns, column{name, doc, sections})
	}
	add("spec", "what is written", specSections(files))
	add("resolved", "with every default", []section{{lines: o.resolved(p.Spec.Resolved)}})
	built, err := model.Build(p.Spec) // the passes have changed p's functions
	if err != nil {
		return nil, err
	}
	add("ir", "tensor functions", o.functions(built, false))
	add("grad", "with gradients, simplified", o.functions(p.Plan, true))
	launches := o.launches(p)
	kernels := kernelPlaces(p, launches)
	text := func(k *kernel.Kernel) string { return k.String() }
	add("kernel", "kernel IR", kernelSections(p.Lowered.Kernels, kernels, text))
	text = func(k *kernel.Kernel) string { return flat.Of(k, flat.Processor()).String() }
	add("flat", "after the passes of the processor", kernelSections(p.Lowered.Kernels, kernels, text))
	add("plan", "launches", planSections(p, launches))
	code, err := goSections(p, launches, kernels)
	if err != nil {
		return nil, err
	}
	add("go", "generated Go", code)
	return t, nil
}

// A specFile is a file that a spec is read from.
type specFile struct {
	name string
	text []byte
}

func specSections(files []specFile) []section {
	var out []section
	for _, f := range files {
		s := section{head: f.name}
		for i, text := range textLines(string(f.text)) {
			s.lines = append(s.lines, line{text, []place{{f.name, i + 1}}})
		}
		out = append(out, s)
	}
	return out
}

func textLines(text string) []string { return strings.Split(strings.TrimSuffix(text, "\n"), "\n") }

// resolved returns the lines of the resolved spec with the places that set them.
func (o *origins) resolved(text string) []line {
	var out []line
	for _, l := range textLines(text) {
		out = append(out, line{text: l})
	}
	tree, _ := dsl.Parse("resolved", []byte(text))
	if tree == nil {
		return out
	}
	var walk func(path string, entries []*dsl.Entry)
	walk = func(path string, entries []*dsl.Entry) {
		for _, e := range entries {
			at := path
			for _, id := range e.Path {
				at = strings.TrimPrefix(at+"."+id.Name, ".")
			}
			if e.Block == nil {
				for n := e.Range.Start.Line; n <= min(e.Range.End.Line, len(out)); n++ {
					out[n-1].from = o.set[at]
				}
				continue
			}
			if e.Block.Label != nil && (check.Defines(at) || at == "stage") {
				at += "." + e.Block.Label.Name
			}
			walk(at, e.Block.Entries)
		}
	}
	walk("", tree.Entries)
	return out
}

// functions returns the functions of the training programs and the optimizer, or of the
// other programs. Equal functions appear once.
func (o *origins) functions(pl *plan.Plan, gradients bool) []section {
	var out []section
	seen := map[string]bool{}
	add := func(f *ir.Func) {
		text := f.String()
		if seen[text] {
			return
		}
		seen[text] = true
		out = append(out, section{head: f.Name, lines: o.function(f, textLines(text))})
	}
	for _, prog := range pl.Programs {
		if trains(prog.Name) == gradients {
			for _, c := range prog.Calls() {
				add(c.Func)
			}
		}
	}
	if gradients {
		for _, f := range pl.Optimizer {
			add(f)
		}
	}
	return out
}

// function returns the lines of a function with their places. The text has one line for the
// function, one a value, one a result, and an end.
func (o *origins) function(f *ir.Func, text []string) []line {
	out := make([]line, len(text))
	for i, t := range text {
		out[i].text = t
		switch n := i - 1; {
		case n >= 0 && n < len(f.Values):
			out[i].from = o.of(f, f.Values[n])
		case n >= len(f.Values) && n < len(f.Values)+len(f.Results):
			out[i].from = o.of(f, f.Results[n-len(f.Values)].Value)
		}
	}
	return out
}

// launchKey names a launch: launch n of a routine of an entry.
type launchKey struct {
	entry, routine string
	n              int
}

// launches returns the places of the values that each launch computes.
func (o *origins) launches(p *compiler.Program) map[launchKey][]place {
	out := map[launchKey][]place{}
	routines(p, "", func(e *lower.Entry, s lower.Step) {
		for i, g := range s.Routine.Groups {
			var from []place
			for _, v := range slices.Concat(g.Anchors, g.Members) {
				from = union(from, o.of(s.Routine.Func, v))
			}
			out[launchKey{e.Name, s.Routine.Name, i}] = from
		}
	})
	return out
}

// kernelPlaces joins the places of all launches of each kernel.
func kernelPlaces(p *compiler.Program, launches map[launchKey][]place) map[*kernel.Kernel][]place {
	out := map[*kernel.Kernel][]place{}
	routines(p, "", func(e *lower.Entry, s lower.Step) {
		for i, l := range s.Routine.Launches {
			out[l.Kernel] = union(out[l.Kernel], launches[launchKey{e.Name, s.Routine.Name, i}])
		}
	})
	return out
}

func kernelSections(ks []*kernel.Kernel, from map[*kernel.Kernel][]place, print func(*kernel.Kernel) string) []section {
	var out []section
	for _, k := range ks {
		s := section{head: k.Name + " (" + k.Family() + ")", whole: true, from: from[k]}
		for _, text := range textLines(print(k)) {
			s.lines = append(s.lines, line{text: text})
		}
		out = append(out, s)
	}
	return out
}

func planSections(p *compiler.Program, launches map[launchKey][]place) []section {
	var out []section
	routines(p, "", func(e *lower.Entry, s lower.Step) {
		part := section{head: e.Name + " " + s.Routine.Name}
		for i, l := range s.Routine.Launches {
			part.lines = append(part.lines, line{launchText(l), launches[launchKey{e.Name, s.Routine.Name, i}]})
		}
		out = append(out, part)
	})
	return out
}

// union appends the places of b that a does not have.
func union(a, b []place) []place {
	for _, p := range b {
		if !slices.Contains(a, p) {
			a = append(a[:len(a):len(a)], p)
		}
	}
	return a
}
