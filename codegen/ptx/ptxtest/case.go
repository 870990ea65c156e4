package ptxtest

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/arithlang/mlc/codegen/cost"
	"github.com/arithlang/mlc/codegen/ptx"
	"github.com/arithlang/mlc/compiler/kernel"
	"github.com/arithlang/mlc/compiler/kernel/kerneltest"
)

// A Case is a launch of a kernel. It has the inputs and the interpreter's results for each
// replica in each set of buffers.
type Case struct {
	Kernel  *kernel.Kernel
	Scalars kernel.Scalars // of replica 0
	Cells   int            // of the grid

	sets        int
	shapes      bool         // replicas have different numbers of rows
	add         *kernel.Sums // sums of products on tensor cores; nil: as defined
	start, want [Sets * Replicas][]kernel.Buffer
}

// exampleStep is the distance between the examples of adjacent replicas.
const exampleStep = 5

// NewCase draws inputs and interprets the kernel. Its entry e is for a GPU of architecture arch.
func NewCase(k *kernel.Kernel, s kernel.Scalars, kind kerneltest.Kind, seed uint64, e ptx.Entry, arch int) (*Case, error) {
	s = k.Suited(s)
	c := &Case{Kernel: k, Scalars: s, Cells: 1, sets: min(max(e.Sets, 1), Sets), shapes: e.Shapes, add: e.Sums(arch)}
	for _, a := range k.Cut(64).Grid {
		c.Cells *= cost.Value(a.Size, s)
	}
	var err error
	if c.start[0], c.want[0], err = kerneltest.Interpret(k, s, kind, seed, c.add); err != nil {
		return nil, fmt.Errorf("interpreter: %w", err)
	}
	return c, nil
}

// replicate makes replica r, counted through the sets, with other inputs than the first. The
// first launch that needs the replica makes it.
func (c *Case) replicate(r int) error {
	if c.start[r] != nil {
		return nil
	}
	for i, b := range c.start[0] {
		b = b.Clone()
		by := r
		if c.shared(i) {
			by = r / Replicas
		}
		rotate(b.F, by)
		rotate(b.H, by)
		c.start[r] = append(c.start[r], b)
		c.want[r] = append(c.want[r], b.Clone())
	}
	if err := kernel.RunSums(c.Kernel, c.scalars(r%Replicas), c.want[r], c.add); err != nil {
		return fmt.Errorf("interpreter, replica %d: %w", r, err)
	}
	return nil
}

// scalars returns the scalars of a replica.
func (c *Case) scalars(replica int) kernel.Scalars {
	s := maps.Clone(c.Scalars)
	if x, ok := s["example"]; ok {
		s["example"] = x + float64(replica*exampleStep)
	}
	rows, ok := s["R"]
	if !ok || !c.shapes {
		return s
	}
	if !slices.ContainsFunc(c.Kernel.Params, func(p kernel.Param) bool { return p.Name == "B" }) {
		s["R"] = max(1, rows-float64(replica))
		return s
	}
	lengths, _ := kernel.Lengths(s)
	lengths = lengths[:max(1, len(lengths)-replica)] // the last examples are left out
	s["B"] = float64(len(lengths))
	return c.Kernel.Suited(s)
}

// shared reports whether all replicas of a set read the same buffer. Every other buffer that is
// only read is like parameters, the rest like activations.
func (c *Case) shared(buffer int) bool {
	return c.Kernel.Params[buffer].Mode == kernel.In && buffer%2 == 1
}

// rotate moves elements by some places. Integers, which may be ids, stay.
func rotate[T float32 | uint16](f []T, by int) {
	if n := len(f); n > 0 {
		copy(f, append(slices.Clone(f[by%n:]), f[:by%n]...))
	}
}

// compare compares the buffers of a replica after a launch with the interpreter's.
func (c *Case) compare(replica int, got []kernel.Buffer) error {
	var errs []error
	for i, b := range got {
		if err := kerneltest.Differ(c.Kernel.Params[i].Name, b, c.want[replica][i]); err != nil {
			errs = append(errs, fmt.Errorf("replica %d: %w", replica, err))
		}
	}
	return errors.Join(errs...)
}
