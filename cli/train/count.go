package train

import (
	"bytes"
	"cmp"
	"fmt"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/arithlang/mlc/cli/look"
	"github.com/arithlang/mlc/cli/project"
	"github.com/arithlang/mlc/cli/shell"
	"github.com/arithlang/mlc/codegen/live"
	"github.com/arithlang/mlc/runtime/cores"
	"github.com/arithlang/mlc/runtime/flag"
	"github.com/arithlang/mlc/runtime/train"
	"github.com/arithlang/mlc/sim/cluster"
	"github.com/arithlang/mlc/sim/counted"
)

// Defaults of a cluster: a DGX H100's.
const (
	defaultNetwork    = "400G"
	defaultPerMachine = 8
	planSteps         = 4 // whose mean is planned with
)

// maxBatch is the most examples of a step, as in the language: train.batch.
const maxBatch = 1 << 20

// countFlags are those of mlc bench with --device count.
type countFlags struct {
	Device     string `hidden:""`
	Card       string `help:"The card, by part of its name, such as h100 sxm or 4090. Default: H200." placeholder:"NAME"`
	SMs        int    `help:"Number of multiprocessors, instead of the card's." name:"sms" positive:"132" placeholder:"N"`
	GPUs       []int  `help:"Plan a step that so many GPUs share: 1,8,64." name:"gpus" placeholder:"N,…"`
	PerMachine int    `help:"With --gpus: GPUs of a machine. Default: 8." positive:"8" placeholder:"N"`
	Network    string `help:"With --gpus: what GPUs of different machines have each: 100G, 200G, 400G, 800G, or a number of Gbit/s. Default: 400G." placeholder:"NAME"`
	Steps      int    `help:"Steps to count; 0 for some seconds' worth." default:"0" placeholder:"N"`
	Batch      int    `help:"Examples per step, instead of the spec's." positive:"64" placeholder:"N"`
	Chunk      int    `help:"Examples of a chunk, whose gradients one worker adds up, instead of the spec's." positive:"16" placeholder:"N"`
	Padded     bool   `help:"Pad all sequences to the longest, like train.lengths = padded."`
	JSON       bool   `help:"Print the result as JSON." name:"json"`
}

// benchParser reads flags of mlc bench.
func benchParser(to any, out *bytes.Buffer) *kong.Kong {
	k, err := kong.New(to, append(flag.Numbers(), kong.Name("mlc bench"), kong.NoDefaultHelp(), kong.Writers(out, out))...)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	flag.ShowValues(k)
	return k
}

// CountHelp lists the flags of --device count, CoresHelp those of --cores.
func CountHelp() string { return flagsHelp(new(countFlags)) }

func CoresHelp() string { return flagsHelp(new(cores.Flags)) }

// flagsHelp lists flags of mlc bench.
func flagsHelp(of any) string {
	var out bytes.Buffer
	k := benchParser(of, &out)
	if c, err := kong.Trace(k, nil); err != nil || c.PrintUsage(false) != nil {
		panic(fmt.Sprint("BUG: ", err))
	}
	_, flags, _ := strings.Cut(out.String(), "Flags:\n")
	return flags
}

// parse reads the flags, and refuses those that have no meaning here.
func (c *countFlags) parse(flags []string) error {
	k, err := benchParser(c, new(bytes.Buffer)).Parse(flags)
	if err != nil {
		return shell.Usagef("with --device count: %w (see mlc bench --help)", err)
	}
	if err := flag.Positive(k.Flags()); err != nil {
		return shell.Misused(err)
	}
	switch {
	case c.Steps < 0:
		return shell.Usagef("--steps %d must not be negative", c.Steps)
	case c.Batch > maxBatch:
		return shell.Usagef("--batch %d: want at most %d examples", c.Batch, maxBatch)
	case len(c.GPUs) == 0 && (c.PerMachine > 0 || c.Network != ""):
		return shell.Usagef("--per-machine and --network are of the GPUs that a step is planned for: say how many, such as --gpus 1,8,64")
	}
	return nil
}

// count counts steps of a training, and prints the report, or the plan for many GPUs. Of a spec
// with stages it counts the last training.
func countOn(sh *shell.Shell, t project.Training, flags []string) error {
	var c countFlags
	if err := c.parse(flags); err != nil {
		return err
	}
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
		return c.of(m)
	})
	if err != nil {
		return err
	}
	if c.JSON || sh.JSON {
		return sh.PrintJSON(r)
	}
	_, err = fmt.Fprint(sh.Out, r.String())
	return err
}

// of is the report or the plan of a model.
func (c *countFlags) of(m *live.Model) (fmt.Stringer, error) {
	card, err := look.OnCard{Name: c.Card}.Card()
	if err != nil {
		return nil, shell.Usagef("--card: %w", err)
	}
	o := counted.Options{Card: card, SMs: c.SMs}
	if c.Batch > 0 {
		m.Train.Batch = c.Batch
	}
	if c.Chunk > 0 {
		m.Train.Chunk, m.Train.MicroBatch = c.Chunk, min(m.Train.MicroBatch, c.Chunk)
	}
	m.Task.Padded = m.Task.Padded || c.Padded
	if len(c.GPUs) == 0 {
		r, err := m.CountSteps(o, c.Steps)
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
	return m.CountOn(o, on, network.Name, c.GPUs, cmp.Or(c.Steps, planSteps))
}

// checkGPUs wants a chunk of a step for each GPU.
func (c *countFlags) checkGPUs(t *train.Config) error {
	for _, n := range c.GPUs {
		switch {
		case n < 1 || n > cluster.MostGPUs:
			return shell.Usagef("--gpus %d: want 1 to %d", n, cluster.MostGPUs)
		case n > t.Chunks():
			return shell.Usagef("--gpus %d: a step of %d examples has %d chunks, and each GPU wants one: plan for %d at most, or with a larger --batch or a smaller --chunk",
				n, t.Batch, t.Chunks(), t.Chunks())
		}
	}
	return nil
}
