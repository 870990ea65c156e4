package cli

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/arithlang/mlc/prove"
)

// proveCmd is the verb prove.
type proveCmd struct {
	Device string        `help:"Device to prove: ${enum}; cuda is the GPU of this machine; sim the simulator, at reduced sizes; count a GPU that computes nothing." enum:"cuda,sim,count" default:"cuda" placeholder:"cuda"`
	Budget time.Duration `help:"Time for all phases." default:"540s" placeholder:"540s"`
	Out    string        `help:"File for the result. Default: prove-DEVICE-TIME.json here." short:"o" placeholder:"FILE"`
	Only   []string      `help:"Only these phases." placeholder:"PHASE,…"`
	Seed   uint64        `help:"Seed of random numbers." default:"1" placeholder:"1"`
	Replay string        `help:"Compare a result's records of single instructions with the simulator, without a device." placeholder:"FILE"`
}

// Help is printed below the usage.
func (proveCmd) Help() string {
	var b strings.Builder
	b.WriteString("Phases:\n")
	for _, p := range prove.Phases() {
		fmt.Fprintf(&b, "  %-10s %s\n", p[0], p[1])
	}
	b.WriteString(`
Each part of a phase runs in its own process, with a share of the budget. If one
dies or never ends, this is reported, and the next runs. The result is written after
every phase, and a readable page at the end (docs/gpu.md).
Exit code 0 if everything applicable was checked and is right; 1 if not.

Examples:
  mlc prove
  mlc prove --device sim --budget 300s -o result.json
  mlc prove --only machine,kernels
  mlc prove --replay result.json`)
	return b.String()
}

// Run proves a device and prints the page.
func (c *proveCmd) Run(a *app) error {
	if c.Replay != "" {
		return c.replay(a)
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	path := cmp.Or(c.Out, fmt.Sprintf("prove-%s-%s.json", c.Device, time.Now().UTC().Format("20060102-150405")))
	o := prove.Options{
		Device: c.Device, Budget: c.Budget, Only: c.Only, Seed: c.Seed, Version: thisBuild().Version,
		Command: []string{self, "prove-part"},
		Say:     func(phase string, p *prove.Part) { a.say("%-10s %s", phase, p.Summary()) },
	}
	if err := o.Check(); err != nil {
		return usageError{err}
	}
	made := false
	o.Keep = func(r *prove.Result) error {
		if made {
			return r.Write(path)
		}
		made = true
		return r.Create(path)
	}
	r, err := prove.Run(a.ctx, o)
	if err != nil {
		return err
	}
	a.say("written: %s", path)
	if a.json {
		err = a.printJSON(r)
	} else {
		_, err = fmt.Fprint(a.out, r.Page())
	}
	if err == nil && !r.Proven() {
		err = errShown
	}
	return err
}

// replay prints how the simulator stands to what was recorded.
func (c *proveCmd) replay(a *app) error {
	r, err := await(a, func() (*prove.Result, error) { return prove.Load(c.Replay) })
	if err != nil {
		return err
	}
	report, err := prove.Replay(a.ctx, r)
	if err != nil {
		return err
	}
	if a.json {
		err = a.printJSON(report)
	} else {
		_, err = fmt.Fprint(a.out, prove.ReplayPage(r, report))
	}
	if err == nil && len(report.Differences) > 0 {
		err = errShown
	}
	return err
}

// provePartCmd is the verb that prove starts processes with.
type provePartCmd struct{}

// Run does one part of a phase.
func (provePartCmd) Run(a *app) error {
	_, err := await(a, func() (struct{}, error) { return struct{}{}, prove.Child(a.in) })
	return cmp.Or(context.Cause(a.ctx), err)
}
