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

// Steps are counted until graphs of batches with the same shape are replayed, or until
// manyLaunches.
const (
	countedSteps = 10
	manyLaunches = 100_000
)

// counting opens a counting device with o's card and registers, and the model's machine on it.
func (m *Model) counting(o counted.Options) (*counted.Driver, *cuda.Machine, error) {
	o.Program, o.Costs = m.GPU, m.Costs
	d, err := counted.Open(o)
	if err != nil {
		return nil, nil, err
	}
	machine, err := m.Machine(d)
	return d, machine, err
}

// unbegun returns a trainer without parameters, ready to count steps.
func (m *Model) unbegun(on device.Machine) (*train.Trainer, error) {
	t := &train.Trainer{Machine: on, Plan: &m.Plan, Params: m.Params, Config: m.Train, Given: m.Given}
	return t, t.SetTask(m.Task, tasks.Kit())
}

// Count counts the work of training on a card. As in training, only the step with a report waits,
// here the last. Equal models give equal reports on every host.
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

// CountSteps counts n steps and their time on the host, or with n = 0 some seconds of steps.
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

// CountOn plans a step that a cluster's GPUs share, for each number in gpus, from counted steps on
// o's card. Equal models give equal plans.
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
