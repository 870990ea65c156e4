package prove

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/arithlang/mlc/prove/fragment"
	"github.com/arithlang/mlc/runtime/interrupt"
)

// Fragments is the result of single instructions of one group.
type Fragments struct {
	Probes    int                 `json:"probes"`    // probes that ran
	Unknown   int                 `json:"unknown"`   // probes of instructions that the simulator should run but does not know
	Recorded  int                 `json:"recorded"`  // probes that are only recorded: the simulator claims nothing about them
	Results   int                 `json:"results"`   // results compared with the simulator or with a model
	Unbound   int                 `json:"unbound"`   // results that PTX leaves open
	Different int                 `json:"different"` // results that contradict the simulator's claims
	Recording *fragment.Recording `json:"recording"` // inputs and whole outputs
}

// fewCases is the number of cases of a probe on a slow device.
const fewCases = 64

func fragmentParts(*Env) ([]string, string) { return fragment.Groups(), "" }

// runFragments records what the instructions of a group do and compares it with the simulator.
func runFragments(ctx context.Context, e *Env, p *Part) error {
	claims := map[string]fragment.Claim{}
	for _, probe := range fragment.Probes() {
		claims[probe.Name] = probe.Claim
	}
	d, err := e.Open()
	if err != nil {
		return err
	}
	o := fragment.Options{Seed: e.Seed, Only: []string{p.Name}}
	if e.Reduced() {
		o.Cases = fewCases
	}
	r, err := fragment.Record(ctx, d, o)
	if r == nil || ctx.Err() != nil {
		return err
	}
	if len(r.Probes) == 0 {
		return errors.Join(d.Close(), skipf("the device has none of these instructions"))
	}
	p.Fragments = &Fragments{Probes: len(r.Probes), Recording: r}
	refused := false
	for _, one := range r.Probes {
		switch {
		case one.Error == "":
		case one.Refused && claims[one.Name] == fragment.Refused:
			refused = true
		case e.Device == "sim" && !claims[one.Name].Simulated():
			p.Fragments.Unknown++
		default:
			p.wrong("%s: %s", one.Name, one.Error)
		}
	}
	report, failed := interrupt.Await(ctx, func() (*fragment.Report, error) { return fragment.Compare(r) })
	if ctx.Err() != nil || failed != nil {
		return errors.Join(err, failed)
	}
	p.Fragments.compare(p, report)
	if err == nil {
		if err = d.Close(); refused { // the device is lost, and closing it fails
			err = nil
		}
	}
	return err
}

// compare counts how a recording compares with the simulator.
func (f *Fragments) compare(p *Part, report *fragment.Report) {
	noted := map[string]bool{} // probes that could not run
	for _, row := range report.Rows {
		if row.Claim == fragment.Unknown {
			f.Recorded++
		}
		f.Results += row.Results
		f.Unbound += row.Unbound
		f.Different += row.Differences
		noted[row.Probe] = row.Error != ""
	}
	for _, d := range report.Differences {
		if !noted[d.Probe] {
			p.wrong("%s", d)
		}
	}
}

func (f *Fragments) String() string {
	text := fmt.Sprintf("%d probes, %d results, %d of them different from the simulator's", f.Probes, f.Results, f.Different)
	if f.Unknown > 0 {
		text += fmt.Sprintf("; the simulator does not know %d", f.Unknown)
	}
	if f.Recorded > 0 {
		text += fmt.Sprintf("; %d probes only recorded", f.Recorded)
	}
	return text
}

// Replay compares everything that a result has recorded of single instructions with the
// simulator, without a device.
func Replay(ctx context.Context, r *Result) (*fragment.Report, error) {
	all := &fragment.Report{}
	for _, p := range r.Phases {
		for _, part := range p.Parts {
			if part.Fragments == nil || part.Fragments.Recording == nil {
				continue
			}
			one, err := interrupt.Await(ctx, func() (*fragment.Report, error) { return fragment.Compare(part.Fragments.Recording) })
			if err != nil {
				return nil, err
			}
			all.Rows = append(all.Rows, one.Rows...)
			all.Differences = append(all.Differences, one.Differences...)
		}
	}
	if len(all.Rows) == 0 {
		return nil, errors.New("the result has no recording: it was made without the phase fragments")
	}
	return all, nil
}

// ReplayPage formats a report as text.
func ReplayPage(r *Result, report *fragment.Report) string {
	var b strings.Builder
	fmt.Fprintf(&b, "recorded by mlc prove %s, --device %s, %s\n", r.Version, r.Device, r.Started)
	different := 0
	for _, row := range report.Rows {
		fmt.Fprintf(&b, "  %s\n", row)
		if row.Differences > 0 {
			different++
		}
	}
	for _, d := range report.Differences {
		fmt.Fprintf(&b, "%s\n", d)
	}
	if len(report.Differences) == 0 {
		fmt.Fprintf(&b, "the simulator matches the recording in all %d probes\n", len(report.Rows))
	} else {
		fmt.Fprintf(&b, "the simulator differs from the recording in %d of %d probes\n", different, len(report.Rows))
	}
	return b.String()
}
