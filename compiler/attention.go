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
	Source string         // the path of the spec, as given
}

// CompileAttention resolves a spec of attention alone and compiles it. The list holds findings in
// the spec. An error is a bug in the compiler.
func CompileAttention(opts check.Options) (*Attention, diag.List, error) {
	spec, found := check.ResolveAttention(opts)
	if found.HasErrors() {
		return nil, found, nil
	}
	a := &Attention{Spec: spec, Source: opts.Path}
	var err error
	if a.F32, err = alone(spec, expr.F32); err != nil {
		return nil, found, err
	}
	a.BF16, err = alone(spec, expr.BF16)
	return a, found, err
}

// alone lowers an attention for elements of a type.
func alone(spec *check.Attention, elem expr.Type) (*lower.Program, error) {
	p, err := model.Alone(spec, elem)
	if err != nil {
		return nil, fmt.Errorf("model: %w", err)
	}
	for _, prog := range p.Programs {
		for _, c := range prog.Calls() {
			c.Func = opt.DCE(opt.CSE(opt.Simplify(c.Func)))
			if err := ir.Verify(c.Func); err != nil {
				return nil, err
			}
		}
	}
	return lower.Lower(p)
}
