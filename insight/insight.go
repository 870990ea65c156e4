// Package insight looks into a trained model: the attention of each head for one problem,
// and the learned biases. It runs the tensor functions of the forward program in float64,
// so it needs no trainer and no kernels. Package model, whose programs it runs, comes
// before it; the command mlc comes after.
package insight

import (
	"context"
	"fmt"

	"github.com/arithlang/mlc/compiler/check"
	"github.com/arithlang/mlc/compiler/ir"
	"github.com/arithlang/mlc/compiler/model"
	"github.com/arithlang/mlc/compiler/plan"
	"github.com/arithlang/mlc/runtime/ckpt"
	"github.com/arithlang/mlc/runtime/config"
)

// A Model is a spec with trained weights.
type Model struct {
	forward *plan.Program
	plan    *plan.Plan
	weights Weights
	times   int    // runs of the loop
	seed    uint64 // of the training run
	layers  int    // layers of the loop; 0: the model has none
}

// Weights are the parameters of a checkpoint by name, row-major.
type Weights map[string][]float32

// New returns the model of one training, given the seed of its run. It returns an error if
// the weights do not fit the spec or are not finite.
func New(spec *check.Spec, weights Weights, seed uint64) (*Model, error) {
	p, err := model.Build(spec)
	if err != nil {
		return nil, err
	}
	m := &Model{plan: p, weights: weights, seed: seed, times: 1}
	for _, program := range p.Programs {
		if program.Name == "forward" {
			m.forward = program
		}
	}
	if loop := spec.Model.Loop; loop != nil {
		m.times, m.layers = loop.Times, loop.Layers
	}
	for _, g := range p.Groups {
		for l := range g.Layers {
			for _, param := range g.Params {
				name := nameOf(g, l, param.Name)
				if len(weights[name]) != param.Elems() {
					return nil, fmt.Errorf("the checkpoint has no %s of shape %v: it belongs to another spec", name, param.Shape)
				}
				if err := (ckpt.Tensor{Name: name, Data: weights[name]}).Finite(); err != nil && g.Name != plan.Fixed {
					return nil, err
				}
			}
		}
	}
	return m, nil
}

// nameOf is the name of an instance's parameter in checkpoints, as device.Flat gives it.
func nameOf(g *plan.Group, instance int, name string) string {
	if g.Stack {
		return fmt.Sprintf("%s.%d.%s", g.Name, instance, name)
	}
	return g.Name + "." + name
}

// A runner runs the forward program on one problem.
type runner struct {
	*Model
	ctx     context.Context
	dims    map[string]int
	buffers map[tensor]ir.Tensor
	sites   []Site
}

// tensor names one tensor of a buffer.
type tensor struct {
	buffer string
	n      int
}

func (r *runner) run() error {
	for _, s := range r.forward.Body {
		switch s := s.(type) {
		case *plan.Call:
			if err := r.call(s, 0); err != nil {
				return err
			}
		case *plan.Loop:
			for l := range s.N * r.runs(s.Runs) {
				for _, c := range s.Body {
					if err := r.call(c, l); err != nil {
						return err
					}
				}
			}
		}
	}
	return nil
}

func (r *runner) runs(n plan.Runs) int {
	if n == plan.Times {
		return r.times
	}
	return 1
}

func (r *runner) index(ref plan.Ref, l int) tensor {
	return tensor{ref.Buffer, ref.Index(l, r.runs(ref.Runs))}
}

// call runs a function in iteration l and collects the attention weights that it computes.
func (r *runner) call(c *plan.Call, l int) error {
	if r.ctx.Err() != nil {
		return context.Cause(r.ctx)
	}
	f, names := watched(c.Func)
	args := make([]ir.Tensor, len(f.Params))
	for i, p := range f.Params {
		var err error
		if args[i], err = r.arg(c, p, f.Roles[i], l); err != nil {
			return err
		}
	}
	out, err := ir.Eval(f, ir.Env{Dims: r.dims, Layer: l, Seed: r.seed}, args)
	if err != nil {
		return err
	}
	plain := len(c.Func.Results)
	for i, result := range c.Func.Results {
		if ref, kept := c.Results[result.Name]; kept {
			r.buffers[r.index(ref, l)] = out[i]
		}
	}
	for i, name := range names {
		r.sites = append(r.sites, r.site(c.Group, name, l, out[plain+i]))
	}
	return nil
}

// arg returns the argument of a function's parameter.
func (r *runner) arg(c *plan.Call, p *ir.Value, role ir.Role, l int) (ir.Tensor, error) {
	name := p.Attr.Name
	if ref, passed := c.Args[name]; passed {
		t, there := r.buffers[r.index(ref, l)]
		if !there {
			return t, fmt.Errorf("BUG: %s reads %s, which nothing has written", c.Func.Name, ref)
		}
		return t, nil
	}
	if role == ir.Input {
		return ir.Tensor{}, fmt.Errorf("BUG: %s has no %s", c.Func.Name, name)
	}
	return r.parameter(c.Group, name, l)
}

// parameter returns a parameter of layer l of a group. It may be one that all layers share,
// or a constant from the spec.
func (m *Model) parameter(group, name string, l int) (ir.Tensor, error) {
	g, p, _ := m.plan.Find(group, name)
	if g == nil {
		return ir.Tensor{}, fmt.Errorf("BUG: no group has a parameter %s", name)
	}
	t := ir.Tensor{Shape: p.Shape, F: make([]float64, p.Elems())}
	for i, x := range m.weights[nameOf(g, (*config.Group)(g).Instance(l), p.Name)] {
		t.F[i] = float64(x)
	}
	return t, nil
}
