// Package ptx prints kernels as PTX for NVIDIA GPUs. Package runtime/cuda loads the text; ptxsim
// interprets it without a GPU. Ptx shares nothing with the simulator, so that one checks the other.
//
// Each kernel follows the first schedule of a table that fits (schedule.go; mlc explain --stage
// schedule says which, and why). A schedule plans a kernel and prints it; each family of them has
// a package:
//
//   - product: matrix products with an elementwise epilogue, and sums of gradients by row of a table
//   - attention: attention and its gradient, in BF16 and in F32
//   - rows: sums over rows, and elementwise kernels
//   - generic: all other kernels, statement by statement
//
// They share package emit, which knows where a thread's values and elements are. Package asm has
// the instructions, and passes that shorten the code.
package ptx

import (
	"fmt"
	"slices"
	"strings"

	"github.com/arithlang/mlc/codegen/ptx/asm"
	"github.com/arithlang/mlc/codegen/ptx/emit"
	"github.com/arithlang/mlc/compiler/kernel"
	"github.com/arithlang/mlc/compiler/scalars"
	"github.com/arithlang/mlc/runtime/abi"
)

// Options say how a module is printed.
type Options struct {
	Header string // the first line, as a comment
	// Aligned reports whether a buffer is at a multiple of 16 bytes in every launch of a kernel,
	// in each replica. If it is nil, no buffer is. Aligned buffers are read and written four
	// elements at a time.
	Aligned func(k *kernel.Kernel, buffer int) bool
	// Sets is how many sets of buffers a launch of a kernel has at most; nil: 1.
	Sets func(k *kernel.Kernel) int
	// Geometry is the geometry of a kernel's most expensive launches; nil: Alone.
	Geometry func(k *kernel.Kernel) kernel.Geometry
	// Shapes says that replicas of a launch differ in how many rows they have.
	Shapes bool
}

// Alone is the geometry of unknown launches.
var Alone = kernel.Geometry{Rows: 2048, Replicas: 1}

// launches returns what is known of the launches of a kernel.
func (o Options) launches(k *kernel.Kernel) emit.Launches {
	l := emit.Launches{Geometry: Alone, Aligned: map[string]bool{}, Sets: 1, Shapes: o.Shapes}
	if o.Geometry != nil {
		l.Geometry = o.Geometry(k)
	}
	if o.Sets != nil {
		l.Sets = o.Sets(k)
	}
	for i, b := range k.Params {
		if b.Mode != kernel.Scalar {
			l.Aligned[b.Name] = o.Aligned != nil && o.Aligned(k, i)
		}
	}
	return l
}

// Arch is the least architecture that modules run on, such as 80 for sm_80.
const Arch = asm.Arch

// Output is the code of a program for the GPU.
type Output struct {
	Text    []byte // one module, for Arch and later
	Kernels []Entry
}

// An Entry says how a kernel of a module is launched. Signature gives its parameters. The grid
// is x times y times z blocks: y is the number of replicas, z the number of sets of buffers. Any
// x up to Blocks gives the same results.
type Entry struct {
	Name string
	emit.Launch
	Tensor bool   // adds products of 16-bit or split factors as tensor cores do (Sums)
	Fours  bool   // adds products over keys in fours
	Row    string // its schedule
	Gemm   *Gemm  // the product that a library can compute instead; or nil
}

// Sums returns how a GPU of an architecture such as 80 or 90 adds products of the kernel; nil: as
// defined. For tensor cores it is as MMA-Sim says (Xie et al. 2026).
func (e *Entry) Sums(arch int) *kernel.Sums {
	switch {
	case !e.Tensor:
		return nil
	case arch >= 90:
		return &kernel.Sums{Step: 16, Kept: 25, Fours: e.Fours}
	}
	return &kernel.Sums{Step: 8, Kept: 24, Fours: e.Fours}
}

// Schedules lists the schedules of the kernels, each once, in the order of the table.
func (o Output) Schedules() string {
	var rows []string
	for _, s := range schedules {
		if slices.ContainsFunc(o.Kernels, func(e Entry) bool { return e.Row == s.name }) {
			rows = append(rows, s.name)
		}
	}
	return strings.Join(rows, ", ")
}

// Signature returns the parameters of the entry besides its buffers.
func (e *Entry) Signature() abi.Signature {
	s, err := abi.Sign(scalars.Find, e.Scalars, e.Shapes, e.Step, e.Scratch != nil)
	if err != nil {
		panic("BUG: entry " + e.Name + ": " + err.Error())
	}
	s.Sets = e.Sets
	return s
}

// Module prints kernels as one module.
func Module(ks []*kernel.Kernel, o Options) (Output, error) {
	m := &asm.Module{Header: o.Header}
	var out Output
	for _, k := range ks {
		f, entry, err := build(k, m, o)
		if err != nil {
			return Output{}, fmt.Errorf("kernel %s: %w", k.Name, err)
		}
		f.Optimize()
		if err := asm.Verify(f); err != nil {
			return Output{}, fmt.Errorf("BUG: kernel %w", err)
		}
		m.Add(f)
		out.Kernels = append(out.Kernels, entry)
	}
	out.Text = m.Text()
	return out, nil
}
