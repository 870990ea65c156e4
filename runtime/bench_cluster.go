package runtime

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/arithlang/mlc/ptxsim/card"
	"github.com/arithlang/mlc/runtime/cuda"
	"github.com/arithlang/mlc/runtime/cuda/cluster"
	"github.com/arithlang/mlc/runtime/device"
	"github.com/arithlang/mlc/runtime/train"
)

// Defaults of a cluster: a DGX H100's.
const (
	defaultNetwork    = "400G"
	defaultPerMachine = 8
	planSteps         = 4 // whose mean is planned with
)

// clusterFlags choose the GPUs that a step is planned for.
type clusterFlags struct {
	GPUs       []int  `help:"With --device count: plan a step that so many GPUs share: 1,8,64." name:"gpus" placeholder:"N,…"`
	PerMachine int    `help:"With --gpus: GPUs of a machine. Default: 8." positive:"8" placeholder:"N"`
	Network    string `help:"With --gpus: what GPUs of different machines have each: 100G, 200G, 400G, 800G, or a number of Gbit/s. Default: 400G." placeholder:"NAME"`
}

func (f *clusterFlags) given() bool { return len(f.GPUs) > 0 || f.PerMachine > 0 || f.Network != "" }

// check is a mistake in the flags, for a step of so many chunks.
func (f *clusterFlags) check(c *train.Config) error {
	if len(f.GPUs) == 0 {
		return usagef("--per-machine and --network are of the GPUs that a step is planned for: say how many, such as --gpus 1,8,64")
	}
	for _, n := range f.GPUs {
		switch {
		case n < 1 || n > cluster.MostGPUs:
			return usagef("--gpus %d: want 1 to %d", n, cluster.MostGPUs)
		case n > c.Chunks():
			return usagef("--gpus %d: a step of %d examples has %d chunks, and each GPU wants one: plan for %d at most, or with a larger --batch or a smaller --chunk",
				n, c.Batch, c.Chunks(), c.Chunks())
		}
	}
	return nil
}

// plan counts what GPUs that share a step have to do, and prints how long it takes.
func (c *benchCmd) plan(a app) error {
	if err := c.clusterFlags.check(&a.model.Train); err != nil {
		return err
	}
	k, err := card.Find(cmp.Or(c.Card, defaultCard))
	if err != nil {
		return usagef("--card: %w", err)
	}
	network, err := cluster.FindNetwork(cmp.Or(c.Network, defaultNetwork))
	if err != nil {
		return usagef("--network: %w", err)
	}
	on, t := cluster.New(k, 1, cmp.Or(c.PerMachine, defaultPerMachine), network), &a.model.Train
	p := cluster.NewPlan(a.model.Name, on, network.Name, t.Batch, cmp.Or(t.Chunk, t.MicroBatch), a.model.Plan.NumParams)
	for _, on.GPUs = range c.GPUs {
		if err := c.planned(a, p, on); err != nil {
			return err
		}
	}
	if c.JSON {
		return printJSON(a, p)
	}
	_, err = fmt.Fprint(a.out, p.String())
	return err
}

// planned adds the row of a cluster.
func (c *benchCmd) planned(a app, p *cluster.Plan, on cluster.Cluster) error {
	d, machine, err := c.openCounted(&a.model)
	if err != nil {
		return err
	}
	_, err = await(a, func() (*cluster.Plan, error) {
		return p, p.Count(on, cmp.Or(c.Steps, planSteps), d, machine, func(m device.Machine) (func() error, error) {
			t := c.newTrainer(&a.model, m)
			return func() error { return t.Enqueue(t.Config.LR / 100) }, t.SetTask(a.model.Task)
		})
	})
	if errors.As(err, new(*cuda.MemoryError)) {
		return fmt.Errorf("--gpus %d are too few: %w", on.GPUs, err)
	}
	return err
}
