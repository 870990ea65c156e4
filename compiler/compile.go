// Package compiler takes a spec through all stages: check, model, gradients,
// simplification, lowering. Package codegen prints the resulting Program.
package compiler

import (
	"fmt"

	"github.com/arithlang/mlc/compiler/check"
	"github.com/arithlang/mlc/compiler/ir"
	"github.com/arithlang/mlc/compiler/kernel"
	"github.com/arithlang/mlc/compiler/lower"
	"github.com/arithlang/mlc/compiler/model"
	"github.com/arithlang/mlc/compiler/opt"
	"github.com/arithlang/mlc/compiler/plan"
	"github.com/arithlang/mlc/dsl/diag"
)

// A Program is a compiled spec with the result of every pass. If the spec has stages,
// Stages holds one Program for each stage that trains, and the other results are empty.
type Program struct {
	Source  string // the path of the spec, as given
	Spec    *check.Spec
	Stage   string     // the stage that is trained; "" in a spec without stages
	Plan    *plan.Plan // functions with their gradients, optimized
	Lowered *lower.Program
	Batches lower.Batches // how the spec's batch is cut
	// Lanes are the kernels that train Spec.Train.Lanes models at once, in the order of
	// Lowered.Kernels. Kernels that do not train are nil.
	Lanes  []*kernel.Kernel
	Stages []*Program
}

// Trainings returns the programs to train in order: the stages, or p itself.
func (p *Program) Trainings() []*Program {
	if len(p.Stages) > 0 {
		return p.Stages
	}
	return []*Program{p}
}

// A pass is one step of the compiler on a Program.
type pass struct {
	name string
	run  func(p *Program) error
}

// passes run in this order after package check has resolved the spec.
var passes = []pass{
	{"model", func(p *Program) (err error) {
		p.Plan, err = model.Build(p.Spec)
		return err
	}},
	{"verify", eachFunc(func(f *ir.Func) (*ir.Func, error) { return f, ir.Verify(f) })},
	{"simplify", eachFunc(pure(opt.Simplify))},
	{"cse", eachFunc(pure(opt.CSE))},
	{"dce", eachFunc(pure(opt.DCE))},
	{"verify-optimized", eachFunc(func(f *ir.Func) (*ir.Func, error) { return f, ir.Verify(f) })},
	{"lower", func(p *Program) (err error) {
		p.Lowered, err = lower.Lower(p.Plan)
		return err
	}},
	{"batches", func(p *Program) (err error) {
		want := lower.Batches{Micro: p.Spec.Train.MicroBatch, Chunk: p.Spec.Train.Chunk}
		if group := p.Spec.DrawGroup(); group > 0 {
			want.Micro, want.Group = 0, group
		}
		source, target := p.Spec.TrainedShape()
		if p.Batches, err = lower.Cut(p.Lowered.Entry("gradients"), p.Spec.Train.Batch, want, source, target); err != nil {
			return err
		}
		if p.Lowered.Packed {
			target = p.Spec.MeanRows()
		}
		p.Lowered.Geometry = p.Batches.Geometry(p.Spec.Train.Batch, target, p.Lowered.AnyLaunch)
		return nil
	}},
	{"lanes", inLanes},
}

// Compile resolves the spec at opts.Path and compiles it. The list holds findings in the
// spec. An error is a bug in the compiler.
func Compile(opts check.Options) (*Program, diag.List, error) {
	spec, found := check.Resolve(opts)
	if found.HasErrors() {
		return nil, found, nil
	}
	if limits := check.Lowerable(spec); len(limits) > 0 {
		return nil, append(found, limits...).Sort(), nil
	}
	p := newProgram(opts.Path, spec)
	if err := p.run(passes); err != nil {
		return nil, found, err
	}
	if misfits := p.checkWeights(); len(misfits) > 0 {
		return nil, append(found, misfits...).Sort(), nil
	}
	return p, found, nil
}

// newProgram returns a spec before any pass.
func newProgram(source string, spec *check.Spec) *Program {
	p := &Program{Source: source, Spec: spec}
	for _, s := range spec.Stages {
		if s.Spec != nil {
			p.Stages = append(p.Stages, &Program{Source: source, Spec: s.Spec, Stage: s.Name})
		}
	}
	return p
}

// run takes each training through the given passes.
func (p *Program) run(passes []pass) error {
	for _, t := range p.Trainings() {
		for _, pass := range passes {
			if err := pass.run(t); err != nil {
				return fmt.Errorf("pass %s: %w", pass.name, err)
			}
		}
	}
	return nil
}

func pure(f func(*ir.Func) *ir.Func) func(*ir.Func) (*ir.Func, error) {
	return func(g *ir.Func) (*ir.Func, error) { return f(g), nil }
}

// eachFunc returns a pass that rewrites every function of the plan.
func eachFunc(rewrite func(*ir.Func) (*ir.Func, error)) func(*Program) error {
	return func(p *Program) error {
		for _, prog := range p.Plan.Programs {
			for _, c := range prog.Calls() {
				f, err := rewrite(c.Func)
				if err != nil {
					return fmt.Errorf("%s: %w", c.Func.Name, err)
				}
				c.Func = f
			}
		}
		for i, f := range p.Plan.Optimizer {
			f, err := rewrite(f)
			if err != nil {
				return fmt.Errorf("%s: %w", f.Name, err)
			}
			p.Plan.Optimizer[i] = f
		}
		return nil
	}
}
