package compiler

import (
	"slices"

	"github.com/arithlang/mlc/compiler/kernel"
	"github.com/arithlang/mlc/compiler/kernel/lanes"
	"github.com/arithlang/mlc/compiler/lower"
)

// inLanes adds the kernels that train several models at once, if the spec asks for lanes.
func inLanes(p *Program) error {
	n := p.Spec.Train.Lanes
	if n == 0 {
		return nil
	}
	p.Lanes = make([]*kernel.Kernel, len(p.Lowered.Kernels))
	for _, e := range p.Lowered.Entries {
		if !trains(e) {
			continue
		}
		for _, s := range e.Steps {
			for _, l := range s.Routine.Launches {
				if l.Kernel.Kind == "argmax" { // only predictions need it
					continue
				}
				i := slices.Index(p.Lowered.Kernels, l.Kernel)
				if p.Lanes[i] != nil {
					continue
				}
				k, err := lanes.Of(l.Kernel, n)
				if err == nil {
					err = kernel.Verify(k)
				}
				if err != nil {
					return err
				}
				p.Lanes[i] = k
			}
		}
	}
	return nil
}

// trains reports whether an entry is part of a training step.
func trains(e *lower.Entry) bool {
	return e.Optimizer() || slices.Contains([]string{"prepare", "gradients", "finish"}, e.Name)
}
