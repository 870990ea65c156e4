package torch

import (
	"fmt"
	"slices"
	"strings"

	"github.com/arithlang/mlc/codegen"
	"github.com/arithlang/mlc/codegen/ptx"
	"github.com/arithlang/mlc/compiler"
	"github.com/arithlang/mlc/compiler/kernel"
	"github.com/arithlang/mlc/compiler/lower"
)

// aligned reports whether an argument of a kernel is at a multiple of 16 bytes in each replica: in
// all its launches, it has rows of so many bytes. Python copies other tensors.
func aligned(p *lower.Program) func(k *kernel.Kernel, arg int) bool {
	rows := map[*kernel.Kernel][]bool{}
	for _, e := range p.Entries {
		for _, s := range e.Steps {
			for _, l := range s.Routine.Launches {
				if rows[l.Kernel] == nil {
					rows[l.Kernel] = slices.Repeat([]bool{true}, len(l.Args))
				}
				for i, a := range l.Args {
					b := e.Memory.Buffer(a.Ref.Buffer)
					whole := a.Space == lower.InBuffer && b.Type.Rank() == 3 && b.Type.Shape[2].N*kernel.Bytes(b.Type.Elem)%16 == 0 && b.Type.Shape[2].Sym == ""
					rows[l.Kernel][i] = rows[l.Kernel][i] && whole && (b.Heads == 0 || b.Unit() > 1)
				}
			}
		}
	}
	return func(k *kernel.Kernel, arg int) bool { return rows[k][arg] }
}

// Package returns the files of the Python package for an attention. The command writes the
// package. The reference is the module that computes the attention in PyTorch operations.
func Package(a *compiler.Attention, command string, reference []byte) ([]codegen.File, error) {
	t, err := NewTable(a.Spec, command)
	if err != nil {
		return nil, err
	}
	files := []codegen.File{{Path: "_reference.py", Data: reference}}
	for _, m := range []struct {
		precision string
		lowered   *lower.Program
	}{{"float32", a.F32}, {"bfloat16", a.BF16}} {
		o := ptx.Options{Aligned: aligned(m.lowered), Header: fmt.Sprintf("Kernels of %s for %s.", a.Source, m.precision)}
		module, err := ptx.Module(m.lowered.Kernels, o)
		if err != nil {
			return nil, err
		}
		if err := t.Add(m.precision, m.lowered, module.Kernels); err != nil {
			return nil, err
		}
		files = append(files, codegen.File{Path: m.precision + ".ptx", Data: module.Text})
	}
	text, err := t.JSON()
	if err != nil {
		return nil, err
	}
	files = append(files, codegen.File{Path: "kernels.json", Data: text})
	entries, err := static.ReadDir("python")
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		text, err := static.ReadFile("python/" + e.Name())
		if err != nil {
			return nil, err
		}
		files = append(files, codegen.File{Path: e.Name(), Data: text})
	}
	slices.SortFunc(files, func(a, b codegen.File) int { return strings.Compare(a.Path, b.Path) })
	return files, nil
}
