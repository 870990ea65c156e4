package live

import (
	"github.com/arithlang/mlc/runtime/cuda/count"
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
func (m *Model) Count(o count.Options) (count.Report, error) {
	o.Program, o.Costs = m.GPU, m.Costs
	d, err := count.Open(o)
	if err != nil {
		return count.Report{}, err
	}
	machine, err := m.Machine(d)
	if err != nil {
		return count.Report{}, err
	}
	t := &train.Trainer{Machine: machine, Plan: &m.Plan, Params: m.Params, Config: m.Train, Given: m.Given}
	if err := t.SetTask(m.Task); err != nil {
		return count.Report{}, err
	}
	var c count.Counts
	steps := 0
	for steps < countedSteps && c.Launched() < manyLaunches {
		if err := t.Enqueue(m.Train.LR); err != nil {
			return count.Report{}, err
		}
		steps++
		c = d.Counts()
	}
	if _, err := t.Wait(); err != nil {
		return count.Report{}, err
	}
	return d.Report(m.Name, d.Counts(), steps), machine.Close()
}
