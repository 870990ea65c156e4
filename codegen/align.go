package codegen

import (
	"github.com/arithlang/mlc/codegen/ptx"
	"github.com/arithlang/mlc/compiler/kernel"
	"github.com/arithlang/mlc/compiler/lower"
)

// Module prints the kernels of a program for the GPU, with what its launches tell
// about where buffers are.
func Module(p *lower.Program, header string) (ptx.Output, error) {
	at := alignments(p)
	return ptx.Module(p.Kernels, ptx.Options{
		Header:  header,
		Aligned: func(k *kernel.Kernel, buffer int) bool { return at[k][buffer] },
	})
}

// alignments says of each kernel's buffers whether all launches bind them to
// multiples of 16 bytes.
func alignments(p *lower.Program) map[*kernel.Kernel][]bool {
	all := map[*kernel.Kernel][]bool{}
	for _, e := range p.Entries {
		for _, s := range e.Steps {
			for _, l := range s.Routine.Launches {
				if all[l.Kernel] == nil {
					all[l.Kernel] = make([]bool, len(l.Args))
					for i := range l.Args {
						all[l.Kernel][i] = true
					}
				}
				for i, a := range l.Args {
					all[l.Kernel][i] = all[l.Kernel][i] && isAligned(a)
				}
			}
		}
	}
	return all
}

// isAligned says whether an argument is at a multiple of 16 bytes, given that spaces
// and the buffers in them are.
func isAligned(a lower.Arg) bool {
	const elements = 4
	switch a.Space {
	case lower.InBuffer:
		return true
	case lower.InParams, lower.InGrads:
		g := a.Group
		return (g.Off+a.Off)%elements == 0 && (g.Layers == 1 || g.Stride()%elements == 0)
	}
	return false // any part of a flat arena
}
