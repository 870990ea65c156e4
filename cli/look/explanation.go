package look

import (
	"path/filepath"

	"github.com/arithlang/mlc/cli/project"
	"github.com/arithlang/mlc/cli/shell"
	"github.com/arithlang/mlc/compiler"
	"github.com/arithlang/mlc/serve"
)

// Explain compiles the spec of a run. It returns each line with its kernels, and the page
// of all stages.
func Explain(sh *shell.Shell, run string) (*serve.Explanation, error) {
	rec, err := project.RecordOf(run)
	if err != nil {
		return nil, err
	}
	t, err := project.OfRun(sh, run, rec.Name)
	if err != nil {
		return nil, err
	}
	p, err := project.Compile(sh, t)
	if err != nil {
		return nil, err
	}
	if len(p.Stages) > 0 { // the last trained stage represents the run
		trained, _ := rec.Trained(run)
		if p, err = Only(p, filepath.Base(trained)); err != nil {
			return nil, err
		}
	}
	return shell.Await(sh, func() (*serve.Explanation, error) { return explain(p, t) })
}

// explain returns a compiled spec with the kernels of each line.
func explain(p *compiler.Program, of project.Training) (*serve.Explanation, error) {
	t, err := newTraceOf(p, of)
	if err != nil {
		return nil, err
	}
	e := &serve.Explanation{}
	if e.Page, err = t.page(of.Name, "mlc "+shell.Version); err != nil {
		return nil, err
	}
	kernels := map[place][]int{}
	for _, s := range t.sections("kernel") {
		for _, from := range s.from {
			kernels[from] = append(kernels[from], len(e.Kernels))
		}
		k := serve.Kernel{Name: s.head, Values: len(s.lines)}
		for _, l := range s.lines {
			k.Text += l.text + "\n"
		}
		e.Kernels = append(e.Kernels, k)
	}
	for _, s := range t.sections("spec") {
		for _, l := range s.lines {
			e.Lines = append(e.Lines, serve.SpecLine{Text: l.text, Kernels: kernels[l.from[0]]})
		}
	}
	return e, nil
}

// sections returns the sections of a column.
func (t *trace) sections(name string) []section {
	for _, c := range t.columns {
		if c.name == name {
			return c.sections
		}
	}
	panic("BUG: a trace has no column " + name)
}
