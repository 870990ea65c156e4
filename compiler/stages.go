package compiler

import (
	"slices"

	"github.com/arithlang/mlc/compiler/check"
	"github.com/arithlang/mlc/compiler/plan"
	"github.com/arithlang/mlc/dsl/diag"
)

// Vet checks a spec, in all trainings of a sweep, without compiling it. It returns the
// findings of package check, and weights that do not fit from one stage to the next. An
// error is a bug in the compiler.
func Vet(opts check.Options) (diag.List, error) {
	if check.IsAttention(opts) {
		_, found := check.ResolveAttention(opts)
		return found, nil
	}
	all, found := check.ResolveAll(opts)
	seen := map[diag.Range]bool{}
	for _, t := range all {
		misfits, err := misfits(opts.Path, t.Spec)
		if err != nil {
			return found, err
		}
		for _, d := range misfits {
			if seen[d.Range] {
				continue
			}
			seen[d.Range] = true
			if t.Point.Name != "" {
				d.WithNote(diag.Pos{}, "in the training %s", t.Point.Name)
			}
			found = append(found, d)
		}
	}
	return found.Sort(), nil
}

// misfits lists the weights that do not fit between the stages of a spec. It builds
// models only if a stage begins with another's weights. Compile reports specs that cannot
// be lowered.
func misfits(source string, spec *check.Spec) (diag.List, error) {
	p := newProgram(source, spec)
	begins := func(s check.Stage) bool { return s.From != "" && p.stage(s.Name) != nil }
	if !slices.ContainsFunc(spec.Stages, begins) || len(check.Lowerable(spec)) > 0 {
		return nil, nil
	}
	if err := p.run(passes[:1]); err != nil {
		return nil, err
	}
	return p.checkWeights(), nil
}

// checkWeights reports stages that cannot begin with the weights of the stage that they
// name. A parameter that both have must have one shape.
func (p *Program) checkWeights() (found diag.List) {
	for _, s := range p.Spec.Stages {
		from, to := p.stage(s.From), p.stage(s.Name)
		if from == nil || to == nil {
			continue
		}
		for _, g := range to.Plan.Groups {
			old, now := differing(from.Plan.Group(g.Name), g)
			if now == nil {
				continue
			}
			found = append(found, diag.New("E0314", p.Spec.At("stage."+s.Name+".from"),
				"%s cannot begin with the weights of %s: their %s.%s has the shape %v, and here it is %v", s.Name, s.From, g.Name, now.Name, old.Shape, now.Shape).
				WithHelp("give both stages the same width, tokens and tables, or write from = none"))
			break
		}
	}
	return found
}

// stage returns the training of a stage, or nil.
func (p *Program) stage(name string) *Program {
	i := slices.IndexFunc(p.Stages, func(s *Program) bool { return s.Stage == name })
	if i < 0 {
		return nil
	}
	return p.Stages[i]
}

// differing returns a parameter whose shape differs between two groups, or nil.
func differing(from, to *plan.Group) (old, now *plan.Param) {
	if from == nil {
		return nil, nil
	}
	for n := range to.Params {
		now := &to.Params[n]
		i := slices.IndexFunc(from.Params, func(q plan.Param) bool { return q.Name == now.Name })
		if i >= 0 && now.Init.Kind != "given" && !slices.Equal(from.Params[i].Shape, now.Shape) {
			return &from.Params[i], now
		}
	}
	return nil, nil
}
