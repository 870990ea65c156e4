package live

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/arithlang/mlc/compiler/tasks"
	"github.com/arithlang/mlc/ptxsim/count"
	"github.com/arithlang/mlc/runtime/cuda"
	"github.com/arithlang/mlc/runtime/device"
	"github.com/arithlang/mlc/runtime/train"
	"github.com/arithlang/mlc/sim/cluster"
	"github.com/arithlang/mlc/sim/counted"
)

// Steps are counted until batches of the same shape have come again and graphs are
// replayed, or until there were very many launches.
const (
	countedSteps = 10
	manyLaunches = 100_000
)

// counting opens a counting device, with the card and registers of o, and the model's machine on it.
func (m *Model) counting(o counted.Options) (*counted.Driver, *cuda.Machine, error) {
	o.Program, o.Costs = m.GPU, m.Costs
	d, err := counted.Open(o)
	if err != nil {
		return nil, nil, err
	}
	machine, err := m.Machine(d)
	return d, machine, err
}

// unbegun is a trainer that has no parameters, ready for steps that are counted.
func (m *Model) unbegun(on device.Machine) (*train.Trainer, error) {
	t := &train.Trainer{Machine: on, Plan: &m.Plan, Params: m.Params, Config: m.Train, Given: m.Given}
	return t, t.SetTask(m.Task, tasks.Kit())
}

// Count counts the work of training on a card. As in training, it waits only for the step with a
// report, here the last. Equal models give equal reports; nothing in them depends on the host.
func (m *Model) Count(o counted.Options) (counted.Report, error) {
	d, machine, err := m.counting(o)
	if err != nil {
		return counted.Report{}, err
	}
	t, err := m.unbegun(machine)
	if err != nil {
		return counted.Report{}, err
	}
	var c count.Counts
	steps := 0
	for steps < countedSteps && c.Launched() < manyLaunches {
		if err := t.Enqueue(m.Train.LR); err != nil {
			return counted.Report{}, err
		}
		steps++
		c = d.Counts()
	}
	if _, err := t.Wait(); err != nil {
		return counted.Report{}, err
	}
	return d.Report(m.Name, d.Counts(), steps), machine.Close()
}

// CountSteps counts n steps, or with n = 0 some seconds of them, and what they take of the
// host.
func (m *Model) CountSteps(o counted.Options, n int) (counted.Report, error) {
	d, machine, err := m.counting(o)
	if err != nil {
		return counted.Report{}, err
	}
	t, err := m.unbegun(machine)
	if err != nil {
		return counted.Report{}, err
	}
	r, err := d.Steps(m.Name, machine, n, func() error { return t.Enqueue(m.Train.LR) })
	return r, errors.Join(err, machine.Close())
}

// CountOn plans a step that more and more of a cluster's GPUs share, from so many counted
// steps; o says of which card. Equal models give equal plans.
func (m *Model) CountOn(o counted.Options, on cluster.Cluster, network string, gpus []int, steps int) (*cluster.Plan, error) {
	p := cluster.NewPlan(m.Name, on, network, m.Train.Batch, cmp.Or(m.Train.Chunk, m.Train.MicroBatch), m.Plan.NumParams)
	for _, on.GPUs = range gpus {
		d, machine, err := m.counting(o)
		if err != nil {
			return nil, err
		}
		err = p.Count(on, steps, d, machine, func(r device.Machine) (func() error, error) {
			t, err := m.unbegun(r)
			return func() error { return t.Enqueue(m.Train.LR) }, err
		})
		if errors.As(err, new(*cuda.MemoryError)) {
			err = fmt.Errorf("%d GPUs are too few: %w", on.GPUs, err)
		}
		if err != nil {
			return nil, err
		}
	}
	return p, nil
}
