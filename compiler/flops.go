package compiler

import (
	"github.com/arithlang/mlc/compiler/ir"
	"github.com/arithlang/mlc/compiler/opt"
	"github.com/arithlang/mlc/compiler/plan"
)

// StepFLOPs returns the mean number of floating-point operations in a training step: the
// gradients of the whole batch, and the optimizer. Every problem counts as long as the
// longest. A loop counts with its mean number of recurrences or, if problems decide it,
// with the number for the longest. Each function, such as exp or a sine, counts as one
// operation.
func (p *Program) StepFLOPs() (float64, error) {
	batch, micro := p.Spec.Train.Batch, p.Batches.Micro
	total, err := p.launchFLOPs(micro)
	if err != nil {
		return 0, err
	}
	total *= float64(batch / micro)
	if rest := batch % micro; rest > 0 {
		n, err := p.launchFLOPs(rest)
		if err != nil {
			return 0, err
		}
		total += n
	}
	shared, err := p.sharedFLOPs()
	if err != nil {
		return 0, err
	}
	n, err := p.optimizerFLOPs()
	return total + shared + n, err
}

// sharedFLOPs counts the programs Prepare and Finish, which run once per chunk or group
// of examples that share draws.
func (p *Program) sharedFLOPs() (float64, error) {
	times, chunk, group := 0, p.Batches.Chunk, p.Batches.Group
	for lo := 0; lo < p.Spec.Train.Batch; times++ {
		next := (lo/chunk + 1) * chunk
		if group > 0 {
			next = min(next, (lo/group+1)*group)
		}
		lo = next
	}
	total := 0.0
	for _, name := range []string{plan.Prepare, plan.Finish} {
		n, err := p.programFLOPs(name, 1)
		if err != nil {
			return 0, err
		}
		total += float64(times) * n
	}
	return total, nil
}

// optimizerFLOPs counts the norm of the gradient and the update of all parameters.
func (p *Program) optimizerFLOPs() (float64, error) {
	times, elementwise := map[string]int{}, p.Plan.Trained()
	for _, m := range p.Plan.Matrices() {
		times[m.Update()] = m.Count
		elementwise -= m.Count * m.Rows * m.Cols
	}
	total := 0.0
	for _, f := range p.Plan.Optimizer {
		dims := p.trainedDims(0)
		if f.Name == "update" {
			dims["N"] = elementwise
		}
		n, err := ir.FLOPs(f, ir.Env{Dims: dims})
		if err != nil {
			return 0, err
		}
		total += float64(max(times[f.Name], 1)) * n
	}
	return total, nil
}

// RowFLOPs returns the share of one target row in StepFLOPs.
func (p *Program) RowFLOPs() (float64, error) {
	n, err := p.StepFLOPs()
	_, rows := p.Spec.TrainedShape()
	return n / float64(p.Spec.Train.Batch*rows), err
}

// trainedDims returns the dimensions of a launch on the given number of the longest
// examples.
func (p *Program) trainedDims(examples int) map[string]int {
	source, target := p.Spec.TrainedShape()
	return map[string]int{"B": examples, "S": source, "T": target, "C": target, "P": 0, "N": p.Plan.Trained()}
}

// launchFLOPs counts the gradients of the given number of examples.
func (p *Program) launchFLOPs(examples int) (float64, error) {
	return p.programFLOPs("gradients", examples)
}

// programFLOPs counts a training program for the given number of examples, with the mean
// number of passes through its loops.
func (p *Program) programFLOPs(name string, examples int) (float64, error) {
	mean := p.Spec.MeanPasses()
	runs := map[plan.Runs]float64{plan.Once: mean.Count, plan.NoGrad: mean.NoGrad, plan.WithGrad: mean.WithGrad}
	total := 0.0
	for _, prog := range p.Plan.Programs {
		if prog.Name != name {
			continue
		}
		for _, s := range prog.Body {
			calls, n := []*plan.Call{}, mean.Count
			switch s := s.(type) {
			case *plan.Call:
				calls = append(calls, s)
			case *plan.Loop:
				calls, n = s.Body, float64(s.N)*runs[s.Runs]
			}
			for _, c := range calls {
				flops, err := callFLOPs(c.Func, p.trainedDims(examples))
				if err != nil {
					return 0, err
				}
				total += n * flops
			}
		}
	}
	return total, nil
}

// callFLOPs counts one call. Work that several results of a composite op need counts
// once, because one kernel computes them.
func callFLOPs(f *ir.Func, dims map[string]int) (float64, error) {
	simple, err := ir.Decompose(f)
	if err != nil {
		return 0, err
	}
	return ir.FLOPs(opt.CSE(simple), ir.Env{Dims: dims})
}
