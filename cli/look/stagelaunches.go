package look

import (
	"cmp"
	"errors"
	"fmt"
	"os/exec"
	"slices"

	"github.com/arithlang/mlc/cli/shell"
	"github.com/arithlang/mlc/codegen/live"
	"github.com/arithlang/mlc/codegen/ptx/ptxas"
	"github.com/arithlang/mlc/compiler"
	"github.com/arithlang/mlc/ptxsim/card"
	"github.com/arithlang/mlc/sim/counted"
)

// launchesStage is the name of the stage with counted launches.
const launchesStage = "launches"

// countedCard is the default card for counting launches.
const countedCard = "H200"

// An OnCard is the hardware for counting launches. The zero value is countedCard.
type OnCard struct {
	Name string // of the card; "": countedCard
	sms  int    // 0: the card's
}

// NewOnCard returns the hardware that flags choose; sms 0 means the card's. It returns a
// shell.UsageError for an unknown card, or if the flags do not fit the stage.
func NewOnCard(name string, sms int, stage string) (OnCard, error) {
	on := OnCard{name, sms}
	if on != (OnCard{}) && stage != launchesStage {
		return on, shell.Usagef("--card and --sms are for --stage %s", launchesStage)
	}
	if sms < 0 {
		return on, shell.Usagef("--sms %d: want a number above 0, such as 132", sms)
	}
	if _, err := on.Card(); err != nil {
		return on, shell.Usagef("--card: %w", err)
	}
	return on, nil
}

// Card returns the card, or an error if the name fits no card.
func (on OnCard) Card() (card.Card, error) { return card.Find(cmp.Or(on.Name, countedCard)) }

// text returns the report for people.
func (on OnCard) text(p *compiler.Program, only string) (string, error) {
	r, note, err := on.report(p, only)
	return r.String() + note, err
}

// report counts steps of training on a device that computes nothing. note says why launches
// are small and why registers are unknown.
func (on OnCard) report(p *compiler.Program, only string) (r counted.Report, note string, err error) {
	c, err := on.Card()
	if err != nil {
		return r, "", err
	}
	m, err := live.New(p)
	if err != nil {
		return r, "", err
	}
	registers, note, err := registersOf(m.GPU.PTX, c)
	if err != nil {
		return r, "", err
	}
	if why := p.Lowered.WhyMicroBatches(); why != "" {
		note = fmt.Sprintf("A launch has one micro-batch (examples: %d), even with more memory: %s.\n", m.Train.MicroBatch, why) + note
	}
	if r, err = m.Count(counted.Options{Card: c, SMs: on.sms, Registers: registers}); err != nil || only == "" {
		return r, note, err
	}
	shown := map[string]bool{}
	for _, k := range launched(p, only) {
		shown[m.GPU.Kernels[slices.Index(p.Lowered.Kernels, k)].Name] = true
	}
	r.Kernels = slices.DeleteFunc(r.Kernels, func(u counted.Use) bool { return u.Own || !shown[u.Name] })
	return r, note, nil
}

// printLaunches prints the report for programs.
func printLaunches(sh *shell.Shell, p *compiler.Program, only string, on OnCard) error {
	r, err := shell.Await(sh, func() (counted.Report, error) {
		r, _, err := on.report(p, only)
		return r, err
	})
	if err != nil {
		return err
	}
	return sh.PrintJSON(struct {
		Stage  string         `json:"stage"`
		Report counted.Report `json:"report"`
	}{launchesStage, r})
}

// registersOf asks ptxas for the registers of a module's kernels on a card. Without ptxas,
// note says why they are unknown.
func registersOf(text string, c card.Card) (registers map[string]int, note string, err error) {
	usage, err := ptxas.Assemble([]byte(text), fmt.Sprintf("sm_%d%d", c.Major, c.Minor))
	if exit := new(exec.ExitError); errors.As(err, &exit) && shell.ExitOf(exit).Killed() {
		return nil, "", fmt.Errorf("ptxas was %w", shell.ErrKilled)
	}
	if err != nil {
		return nil, fmt.Sprintf("Registers are not known: %v.\n", err), nil
	}
	registers = map[string]int{}
	for name, u := range usage {
		registers[name] = u.Registers
	}
	return registers, "", nil
}
