package live

import (
	"cmp"

	"github.com/arithlang/mlc/ptxsim/count"
	"github.com/arithlang/mlc/runtime/cuda/cluster"
	"github.com/arithlang/mlc/runtime/cuda/counted"
	"github.com/arithlang/mlc/runtime/device"
	"github.com/arithlang/mlc/runtime/train"
)

// Steps are counted until batches of the same shape have come again and graphs are
// replayed, or until there were very many launches.
const (
	countedSteps = 10
	manyLaunches = 100_000
)

// Count counts what training asks of a card: o says of which, and what is known of
// registers. As in training, nobody waits for a step before its report, the last one here.
// Equal models give equal reports; nothing in them is of the host.
func (m *Model) Count(o counted.Options) (counted.Report, error) {
	o.Program, o.Costs = m.GPU, m.Costs
	d, err := counted.Open(o)
	if err != nil {
		return counted.Report{}, err
	}
	machine, err := m.Machine(d)
	if err != nil {
		return counted.Report{}, err
	}
	t := &train.Trainer{Machine: machine, Plan: &m.Plan, Params: m.Params, Config: m.Train, Given: m.Given}
	if err := t.SetTask(m.Task); err != nil {
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

// CountOn plans a step that more and more of a cluster's GPUs share, from so many counted
// steps. Equal models give equal plans.
func (m *Model) CountOn(on cluster.Cluster, network string, gpus []int, steps int) (*cluster.Plan, error) {
	p := cluster.NewPlan(m.Name, on, network, m.Train.Batch, cmp.Or(m.Train.Chunk, m.Train.MicroBatch), m.Plan.NumParams)
	for _, on.GPUs = range gpus {
		d, err := counted.Open(counted.Options{Card: on.Card, Program: m.GPU, Costs: m.Costs})
		if err != nil {
			return nil, err
		}
		machine, err := m.Machine(d)
		if err != nil {
			return nil, err
		}
		err = p.Count(on, steps, d, machine, func(r device.Machine) (func() error, error) {
			t := &train.Trainer{Machine: r, Plan: &m.Plan, Params: m.Params, Config: m.Train, Given: m.Given}
			return func() error { return t.Enqueue(m.Train.LR) }, t.SetTask(m.Task)
		})
		if err != nil {
			return nil, err
		}
	}
	return p, nil
}
