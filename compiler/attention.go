package compiler

import (
	"fmt"

	"github.com/arithlang/mlc/compiler/check"
	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/ir"
	"github.com/arithlang/mlc/compiler/lower"
	"github.com/arithlang/mlc/compiler/model"
	"github.com/arithlang/mlc/compiler/opt"
	"github.com/arithlang/mlc/dsl/diag"
)

// An Attention is a compiled spec of attention alone.
type Attention struct {
	Spec   *check.Attention
	F32    *lower.Program // the kernels for queries, keys and values of F32
	BF16   *lower.Program // the kernels for BF16
	Stages *Program       // the same as two stages without specs, named as PyTorch names the types
	Source string         // the path of the spec, as given
}

// CompileAttention resolves a spec of attention alone and compiles it. The list holds findings in
// the spec. An error is a bug in the compiler.
func CompileAttention(opts check.Options) (*Attention, diag.List, error) {
	spec, found := check.ResolveAttention(opts)
	if found.HasErrors() {
		return nil, found, nil
	}
	a := &Attention{Spec: spec, Source: opts.Path, Stages: &Program{Source: opts.Path}}
	for _, t := range []struct {
		name    string
		elem    expr.Type
		lowered **lower.Program
	}{{"float32", expr.F32, &a.F32}, {"bfloat16", expr.BF16, &a.BF16}} {
		p, err := alone(spec, t.elem)
		if err != nil {
			return nil, found, err
		}
		p.Source, p.Stage = opts.Path, t.name
		a.Stages.Stages, *t.lowered = append(a.Stages.Stages, p), p.Lowered
	}
	return a, found, nil
}

// alone lowers an attention for elements of a type.
func alone(spec *check.Attention, elem expr.Type) (*Program, error) {
	built, err := model.Alone(spec, elem)
	if err != nil {
		return nil, fmt.Errorf("model: %w", err)
	}
	for _, prog := range built.Programs {
		for _, c := range prog.Calls() {
			c.Func = opt.DCE(opt.CSE(opt.Simplify(c.Func)))
			if err := ir.Verify(c.Func); err != nil {
				return nil, err
			}
		}
	}
	lowered, err := lower.Lower(built)
	return &Program{Plan: built, Lowered: lowered}, err
}
