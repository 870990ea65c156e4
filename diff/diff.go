// Package diff compares kernels with their definition. It runs each kernel of a lowered
// program on random inputs three times: in a back end, in the kernel interpreter, which a
// back end may equal to the last bit, and in float64 as the tensor function that the kernel
// was lowered from. It comes after package lower; the command mlc diff prints its results.
package diff

import (
	"fmt"

	"github.com/arithlang/mlc/compiler/ir"
	"github.com/arithlang/mlc/compiler/kernel"
	"github.com/arithlang/mlc/compiler/lower"
	"github.com/arithlang/mlc/compiler/opt"
)

// A Case is one kernel and the tensor function of the values that it computes.
type Case struct {
	Kernel  *kernel.Kernel
	Program string // how the back end adds products of 16-bit factors; nil: as defined
	Routine string
	Sums    *kernel.Sums // how the back end adds products of 16-bit factors; nil: as is defined

	fn      *ir.Func
	params  []int    // for each parameter of fn the buffer that holds it, or -1
	results []result // for each result of fn
	buffers []buffer // one for each buffer parameter of the kernel
}

// A result says which buffer holds a result of the function.
type result struct {
	buffer int
	adds   bool // adds the result to the buffer's content
}

// A buffer describes the buffer that a launch passes for a parameter.
type buffer struct {
	arg  lower.Arg
	like int // index of the first buffer in the same memory
	in   *lower.Buffer
	ids  idRange // range of I32 elements
}

// Text returns the kernel and its function as text. Cases of equal text need only one
// comparison.
func (c *Case) Text() string {
	return kernel.Format([]*kernel.Kernel{c.Kernel}) + c.fn.String()
}

// Cases lists the kernels of a program, each with its first launch.
func Cases(p *lower.Program) ([]*Case, error) {
	var cases []*Case
	seen := map[*kernel.Kernel]bool{}
	for _, e := range p.Entries {
		for _, s := range e.Steps {
			for i, l := range s.Routine.Launches {
				if seen[l.Kernel] {
					continue
				}
				seen[l.Kernel] = true
				c, err := newCase(e, s.Routine, s.Routine.Groups[i], l)
				if err != nil {
					return nil, fmt.Errorf("BUG: %s %s: %s: %w", e.Name, s.Routine.Name, l.Kernel.Name, err)
				}
				cases = append(cases, c)
			}
		}
	}
	return cases, nil
}

func newCase(e *lower.Entry, r *lower.Routine, g *opt.Group, l lower.Launch) (*Case, error) {
	c := &Case{Kernel: l.Kernel, Program: e.Name, Routine: r.Name}
	for i, a := range l.Args {
		b := buffer{arg: a, like: i, ids: idRange{0, 2}}
		if a.Space == lower.InBuffer {
			b.in = e.Memory.Buffer(a.Ref.Buffer)
		}
		for j, earlier := range c.buffers {
			if earlier.arg == a {
				b.like = j
				break
			}
		}
		c.buffers = append(c.buffers, b)
	}
	values := inOrder(r.Func, g)
	var err error
	if c.fn, err = function(l.Kernel.Name, g, values); err != nil {
		return nil, err
	}
	for _, v := range g.Inputs {
		at := c.bound(r.Args[v])
		c.params = append(c.params, at)
		if at >= 0 {
			c.buffers[at].ids = idsOf(v, values)
		}
	}
	for _, v := range g.Outputs {
		at := c.bound(r.Args[v])
		if at < 0 {
			return nil, fmt.Errorf("no buffer holds %s", v)
		}
		c.results = append(c.results, result{at, accumulates(r.Func, v)})
	}
	return c, nil
}

// bound returns the first buffer with an argument, or -1.
func (c *Case) bound(a lower.Arg) int {
	for i, b := range c.buffers {
		if b.arg == a {
			return i
		}
	}
	return -1
}

func accumulates(f *ir.Func, v *ir.Value) bool {
	for _, r := range f.Results {
		if r.Value == v {
			return r.Accumulate
		}
	}
	return false
}

// inOrder lists the values that a group computes, in the order of the function.
func inOrder(f *ir.Func, g *opt.Group) []*ir.Value {
	in := map[*ir.Value]bool{}
	for _, v := range g.Anchors {
		in[v] = true
	}
	for _, v := range g.Members {
		in[v] = true
	}
	var out []*ir.Value
	for _, v := range f.Values {
		if in[v] {
			out = append(out, v)
		}
	}
	return out
}

// function makes a function of a group. Its inputs are parameters, its outputs results.
func function(name string, g *opt.Group, values []*ir.Value) (*ir.Func, error) {
	b := ir.NewBuilder(name, values[0].Pos)
	now := map[*ir.Value]*ir.Value{}
	for _, v := range g.Inputs {
		now[v] = b.Param(fmt.Sprintf("v%d", v.ID), v.Type, ir.Input)
	}
	for _, v := range values {
		args := make([]*ir.Value, len(v.Args))
		for i, a := range v.Args {
			args[i] = now[a]
		}
		now[v] = b.Clone(v, args...)
	}
	for _, v := range g.Outputs {
		b.Result(fmt.Sprintf("v%d", v.ID), now[v], false)
	}
	return b.Func()
}
