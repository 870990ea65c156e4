package codegen

import (
	"iter"
	"slices"

	"github.com/arithlang/mlc/codegen/ptx"
	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/kernel"
	"github.com/arithlang/mlc/compiler/lower"
)

// Module prints the kernels of a program for the GPU.
func Module(p *lower.Program, header string) (ptx.Output, error) {
	o := ModuleOptions(p)
	o.Header = header
	return ptx.Module(p.Kernels, o)
}

// ModuleOptions are what the launches of a program ask of its kernels.
func ModuleOptions(p *lower.Program) ptx.Options {
	return ptx.Options{Aligned: Aligned(p), Sets: sets(p), Geometry: geometry(p), Shapes: p.Packed}
}

// geometry tells that of each of a program's kernels: launches of gradients are of all chunks,
// and each launch is of all sets of buffers that go together, of which there are the fewest
// that the kernel is launched with.
func geometry(p *lower.Program) func(k *kernel.Kernel) kernel.Geometry {
	trained, fewest := map[*kernel.Kernel]bool{}, map[*kernel.Kernel]int{}
	if e := p.Entry("gradients"); e != nil && p.Geometry.Replicas > 0 {
		for _, s := range e.Steps {
			for k, n := range together(s.Routine) {
				if !trained[k] || n < fewest[k] {
					fewest[k] = n
				}
				trained[k] = true
			}
		}
	}
	return func(k *kernel.Kernel) kernel.Geometry {
		if !trained[k] {
			return ptx.Alone
		}
		g := p.Geometry
		g.Replicas *= fewest[k]
		return g
	}
}

// Aligned says for each buffer of a program's kernels whether all launches bind it to multiples
// of 16 bytes.
func Aligned(p *lower.Program) func(k *kernel.Kernel, buffer int) bool {
	all := map[*kernel.Kernel][]bool{}
	for _, r := range p.Routines() {
		for _, l := range r.Launches {
			if all[l.Kernel] == nil {
				all[l.Kernel] = slices.Repeat([]bool{true}, len(l.Args))
			}
			for i, a := range l.Args {
				all[l.Kernel][i] = all[l.Kernel][i] && isAligned(a)
			}
		}
	}
	return func(k *kernel.Kernel, buffer int) bool { return all[k][buffer] }
}

// sets returns the most launches of each kernel that go together. Trainers update identical
// stretches of parameters together.
func sets(p *lower.Program) func(k *kernel.Kernel) int {
	most := map[*kernel.Kernel]int{}
	for _, r := range p.Routines() {
		for k, n := range together(r) {
			most[k] = max(most[k], n)
		}
	}
	for _, e := range p.Entries {
		if p.Joins && e.Flat && len(e.Memory.Buffers) == 0 {
			most[e.Steps[0].Routine.Launches[0].Kernel] = lower.MaxTogether
		}
	}
	return func(k *kernel.Kernel) int { return most[k] }
}

// together yields the kernels of a routine's launches, each with how many launches go together.
func together(r *lower.Routine) iter.Seq2[*kernel.Kernel, int] {
	return func(yield func(*kernel.Kernel, int) bool) {
		for lo := 0; lo < len(r.Launches); {
			n := 1
			for lo+n < len(r.Launches) && r.Launches[lo+n].Joins {
				n++
			}
			if !yield(r.Launches[lo].Kernel, n) {
				return
			}
			lo += n
		}
	}
}

// isAligned says whether an argument is at a multiple of 16 bytes, given that spaces
// and the buffers in them are.
func isAligned(a lower.Arg) bool {
	switch a.Space {
	case lower.InBuffer, lower.InUses, lower.InRounded: // lowering takes no others
		return true
	case lower.InParams, lower.InGrads:
		return a.Aligned(expr.F32)
	}
	return false // any part of a flat arena
}
