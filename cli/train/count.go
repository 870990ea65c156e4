package train

import (
	"cmp"
	"fmt"

	"github.com/arithlang/mlc/cli/look"
	"github.com/arithlang/mlc/cli/project"
	"github.com/arithlang/mlc/cli/shell"
	"github.com/arithlang/mlc/codegen/live"
	"github.com/arithlang/mlc/runtime/flags"
	"github.com/arithlang/mlc/runtime/train"
	"github.com/arithlang/mlc/sim/cluster"
	"github.com/arithlang/mlc/sim/counted"
)

// Defaults of a cluster of DGX H100 machines.
const (
	defaultNetwork    = "400G"
	defaultPerMachine = 8
	planSteps         = 4 // the plan uses their mean
)

// maxBatch is the largest number of examples of a step, as for train.batch.
const maxBatch = 1 << 20

// Count describes the hardware that steps are counted for.
type Count struct {
	Card       string `help:"With --device count: the card, by part of its name, such as h100 sxm or 4090. Default: H200." placeholder:"NAME"`
	SMs        int    `help:"With --device count: number of multiprocessors, instead of the card's." name:"sms" positive:"132" placeholder:"N"`
	GPUs       []int  `help:"With --device count: plan a step for these numbers of GPUs: 1,8,64." name:"gpus" placeholder:"N,…"`
	PerMachine int    `help:"With --gpus: GPUs of a machine. Default: 8." positive:"8" placeholder:"N"`
	Network    string `help:"With --gpus: network of each GPU to other machines: 100G, 200G, 400G, 800G, or a number of Gbit/s. Default: 400G." placeholder:"NAME"`
}

// check returns an error for flags that exclude each other.
func (c *Count) check(s *Steps) error {
	given := words(c)
	if s.Device != countDevice {
		if len(given) > 0 {
			return shell.Usagef("%s is for --device count", given[0])
		}
		return nil
	}
	other := *s
	other.Device, other.Timing = "auto", flags.Timing{Kernels: s.Kernels, Serve: s.Serve, Trace: s.Trace}
	switch given := words(&other); {
	case len(given) > 0:
		return shell.Usagef("%s: with --device count nothing is timed or computed: leave it out", given[0])
	case s.Timing.Steps < 0:
		return shell.Usagef("--steps %d must not be negative", s.Timing.Steps)
	case s.Batch > maxBatch:
		return shell.Usagef("--batch %d: want at most %d examples", s.Batch, maxBatch)
	case len(c.GPUs) == 0 && (c.PerMachine > 0 || c.Network != ""):
		return shell.Usagef("--per-machine and --network need --gpus, such as --gpus 1,8,64")
	}
	return nil
}

// countOn counts steps of a training and prints the report, or the plan for many GPUs. In a
// spec with stages it counts the last training.
func countOn(sh *shell.Shell, t project.Training, s *Steps, c *Count) error {
	p, err := project.Compile(sh, t)
	if err != nil {
		return err
	}
	trainings := p.Trainings()
	r, err := shell.Await(sh, func() (fmt.Stringer, error) {
		m, err := live.New(trainings[len(trainings)-1])
		if err != nil {
			return nil, err
		}
		return c.of(m, s)
	})
	if err != nil {
		return err
	}
	if sh.JSON {
		return sh.PrintJSON(r)
	}
	_, err = fmt.Fprint(sh.Out, r.String())
	return err
}

// of returns the report or the plan for a model.
func (c *Count) of(m *live.Model, s *Steps) (fmt.Stringer, error) {
	card, err := look.OnCard{Name: c.Card}.Card()
	if err != nil {
		return nil, shell.Usagef("--card: %w", err)
	}
	o := counted.Options{Card: card, SMs: c.SMs}
	if s.Batch > 0 {
		m.Train.Batch = s.Batch
	}
	if s.Chunk > 0 {
		m.Train.Chunk, m.Train.MicroBatch = s.Chunk, min(m.Train.MicroBatch, s.Chunk)
	}
	m.Task.Padded = m.Task.Padded || s.Padded
	if len(c.GPUs) == 0 {
		r, err := m.CountSteps(o, s.Timing.Steps)
		return &r, err
	}
	if err := c.checkGPUs(&m.Train); err != nil {
		return nil, err
	}
	network, err := cluster.FindNetwork(cmp.Or(c.Network, defaultNetwork))
	if err != nil {
		return nil, shell.Usagef("--network: %w", err)
	}
	on := cluster.New(card, 1, cmp.Or(c.PerMachine, defaultPerMachine), network)
	return m.CountOn(o, on, network.Name, c.GPUs, cmp.Or(s.Timing.Steps, planSteps))
}

// checkGPUs checks that a step has a chunk for each GPU.
func (c *Count) checkGPUs(t *train.Config) error {
	for _, n := range c.GPUs {
		switch {
		case n < 1 || n > cluster.MostGPUs:
			return shell.Usagef("--gpus %d: want 1 to %d", n, cluster.MostGPUs)
		case n > t.Chunks():
			return shell.Usagef("--gpus %d: each GPU needs a chunk, and a step of %d examples has %d: plan for fewer, or use a larger --batch or a smaller --chunk",
				n, t.Batch, t.Chunks())
		}
	}
	return nil
}
