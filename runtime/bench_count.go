package runtime

import (
	"cmp"
	"fmt"

	"github.com/arithlang/mlc/ptxsim/card"
	"github.com/arithlang/mlc/runtime/cuda/counted"
	"github.com/arithlang/mlc/runtime/device"
)

const (
	countDevice = "count" // it computes nothing
	defaultCard = "H200"
)

// countFlags choose the card that --device count counts for.
type countFlags struct {
	Card string `help:"With --device count: the card, by part of its name, such as h100 sxm or 4090. Default: H200." placeholder:"NAME"`
	SMs  int    `help:"With --device count: number of multiprocessors, instead of the card's." name:"sms" positive:"132" placeholder:"N"`
}

func (f *countFlags) given() bool { return f.Card != "" || f.SMs > 0 }

// openCount refuses the device: what is trained or tested on it is nothing.
func (f *deviceFlags) openCount(app) (device.Machine, error) {
	return nil, usagef("--device count computes nothing, it only counts what bench asks for: use another device, or bench --device count")
}

// openCounted is the model's machine on a device that counts for a card, and that device.
func (f *countFlags) openCounted(m *Model) (*counted.Driver, device.Machine, error) {
	c, err := card.Find(cmp.Or(f.Card, defaultCard))
	if err != nil {
		return nil, nil, usagef("--card: %w", err)
	}
	d, err := counted.Open(counted.Options{Card: c, SMs: f.SMs, Program: m.GPU, Costs: m.costs()})
	if err != nil {
		return nil, nil, err
	}
	machine, err := newGPU(d, m, device.About{Device: countDevice, Name: d.Info().Name, How: "nothing is computed"}, nil, nil)
	return d, machine, err
}

// count counts steps, and prints the report, or the plan for many GPUs.
func (c *benchCmd) count(a app) error {
	if c.Serve {
		return usagef("--serve times steps, and --device count has none to time")
	}
	if _, _, err := c.gemm(); err != nil {
		return err
	}
	if c.clusterFlags.given() {
		return c.plan(a)
	}
	d, machine, err := c.openCounted(&a.model)
	if err != nil {
		return err
	}
	r, err := await(a, func() (counted.Report, error) {
		t := c.newTrainer(&a.model, machine)
		if err := t.SetTask(a.model.Task); err != nil {
			return counted.Report{}, err
		}
		return d.Steps(a.model.Name, machine, c.Steps, func() error {
			return t.Enqueue(slow(t))
		})
	})
	if err != nil {
		return err
	}
	if c.JSON {
		return printJSON(a, r)
	}
	_, err = fmt.Fprint(a.out, r.String())
	return err
}
