package cli

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/arithlang/mlc/cli/shell"
	"github.com/arithlang/mlc/prove"
)

// proveCmd is the verb prove.
type proveCmd struct {
	Device string        `help:"Device to prove: cuda is the GPU of this machine; sim the simulator, at reduced sizes; count a GPU that computes nothing." enum:"cuda,sim,count" default:"cuda"`
	Speed  bool          `help:"Measure how fast the GPU is, with PyTorch's steps between, and prove nothing."`
	Budget time.Duration `help:"Time for all phases. Default: 540s; with --speed 450s." placeholder:"540s"`
	Out    string        `help:"File for the result. Default: prove-DEVICE-TIME.json here, with --speed speed-DEVICE-TIME.json." short:"o" placeholder:"FILE"`
	Only   []string      `help:"Only these phases, or only the parts of a phase that match a pattern; * matches anything." placeholder:"PHASE[:PART],…"`
	Caches string        `help:"With --speed, an archive of PyTorch's compilation cache: read if it exists, then written." placeholder:"FILE"`
	Seed   uint64        `help:"Seed of random numbers." default:"1" placeholder:"1"`
	Replay string        `help:"Compare a result's records of single instructions with the simulator, without a device." placeholder:"FILE"`
}

// Help is printed below the usage.
func (proveCmd) Help() string {
	var b strings.Builder
	list := func(title string, speed bool) {
		b.WriteString(title)
		for _, p := range prove.Phases(speed) {
			fmt.Fprintf(&b, "  %-11s %s\n", p[0], p[1])
		}
	}
	list("Phases:\n", false)
	list("\nPhases with --speed:\n", true)
	b.WriteString(`
Each part of a phase runs in its own process, with a share of the budget. If one
dies or never ends, this is reported, and the next runs. The result is written after
every part, and a readable page at the end (docs/gpu.md).
Exit code 0 if everything applicable was checked and is right; 1 if not.

Examples:
  mlc prove
  mlc prove --device sim --budget 300s -o result.json
  mlc prove --only machine,kernels
  mlc prove --only "peers:looped8x2* compile *"
  mlc prove --speed --caches caches.tgz
  mlc prove --replay result.json`)
	return b.String()
}

// Run proves a device and prints the page.
func (c *proveCmd) Run(sh *shell.Shell) error {
	if c.Replay != "" {
		return c.replay(sh)
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	name, budget := "prove", prove.Budget
	if c.Speed {
		name, budget = "speed", prove.SpeedBudget
	}
	path := cmp.Or(c.Out, fmt.Sprintf("%s-%s-%s.json", name, c.Device, time.Now().UTC().Format("20060102-150405")))
	o := prove.Options{
		Device: c.Device, Speed: c.Speed, Budget: cmp.Or(c.Budget, budget), Only: c.Only, Seed: c.Seed, Version: thisBuild().Version,
		Command: []string{self, "prove-part"},
		Say:     func(phase string, p *prove.Part) { sh.Say("%-10s %s", phase, p.Summary()) },
	}
	if err := o.Check(); err != nil {
		return shell.Misused(err)
	}
	if c.Caches != "" {
		if !c.Speed {
			return shell.Usagef("--caches goes with --speed")
		}
		if o.Caches, err = filepath.Abs(c.Caches); err != nil {
			return err
		}
	}
	made := false
	o.Keep = func(r *prove.Result) error {
		if made {
			return r.Write(path)
		}
		made = true
		return r.Create(path)
	}
	r, err := prove.Run(sh.Context, o)
	if err != nil {
		return err
	}
	sh.Say("written: %s", path)
	if sh.JSON {
		err = sh.PrintJSON(r)
	} else {
		_, err = fmt.Fprint(sh.Out, r.Page())
	}
	if err == nil && !r.Proven() {
		err = shell.ErrShown
	}
	return err
}

// replay compares the simulator with a record.
func (c *proveCmd) replay(sh *shell.Shell) error {
	r, err := shell.Await(sh, func() (*prove.Result, error) { return prove.Load(c.Replay) })
	if err != nil {
		return err
	}
	report, err := prove.Replay(sh.Context, r)
	if err != nil {
		return err
	}
	if sh.JSON {
		err = sh.PrintJSON(report)
	} else {
		_, err = fmt.Fprint(sh.Out, prove.ReplayPage(r, report))
	}
	if err == nil && len(report.Differences) > 0 {
		err = shell.ErrShown
	}
	return err
}

// provePartCmd is the verb that prove starts processes with.
type provePartCmd struct{}

// Run does one part of a phase.
func (provePartCmd) Run(sh *shell.Shell) error {
	_, err := shell.Await(sh, func() (struct{}, error) { return struct{}{}, prove.Child(sh.In) })
	return cmp.Or(context.Cause(sh.Context), err)
}
