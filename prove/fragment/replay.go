package fragment

import (
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/arithlang/mlc/ptxsim"
	"github.com/arithlang/mlc/sim/simulated"
)

// A Difference is a result that differs between a device and the simulator, or a probe that one
// of them could not run.
type Difference struct {
	Probe     string   `json:"probe"`
	Case      int      `json:"case"` // -1 for the whole probe
	Thread    int      `json:"thread"`
	Result    int      `json:"result"`              // index of the thread's result
	Inputs    []string `json:"inputs,omitempty"`    // bit patterns and their values
	Card      string   `json:"card,omitempty"`      // the device's result
	Simulator string   `json:"simulator,omitempty"` // the simulator's or the model's result
	ULPs      uint64   `json:"ulps,omitempty"`      // distance of the two, if they are floats and numbers
	Problem   string   `json:"problem,omitempty"`   // why there is nothing to compare
}

func (d Difference) String() string {
	if d.Problem != "" {
		return fmt.Sprintf("%s: %s", d.Probe, d.Problem)
	}
	s := fmt.Sprintf("%s, case %d, thread %d, result %d: the card gives %s, the simulator %s", d.Probe, d.Case, d.Thread, d.Result, d.Card, d.Simulator)
	if d.ULPs > 0 {
		s += fmt.Sprintf(", %d ulp away", d.ULPs)
	}
	return s + "\n\t" + strings.Join(d.Inputs, "\n\t")
}

// A Row summarises the comparison of one probe.
type Row struct {
	Probe       string `json:"probe"`
	Claim       Claim  `json:"claim"`
	Results     int    `json:"results"` // number of results compared; a refusal is one
	Unbound     int    `json:"unbound"` // elements that differ where PTX promises nothing
	Differences int    `json:"differences"`
	ULPs        uint64 `json:"ulps"`            // the largest distance of float results, within the claim or not
	Error       string `json:"error,omitempty"` // why the card gave no results
}

// String formats the row as a line. "recorded only" means that the simulator claims nothing about
// the probe.
func (r Row) String() string {
	switch {
	case !r.Claim.Simulated() && r.Error != "":
		return r.Probe + ": not recorded: " + r.Error
	case r.Claim == Unknown:
		return r.Probe + ": recorded only"
	case r.Results == 0:
		return r.Probe + ": not compared"
	case r.Differences > 0:
		return fmt.Sprintf("%s: %d of %d results differ", r.Probe, r.Differences, r.Results)
	case r.Claim == Refused:
		return r.Probe + ": refused, as claimed"
	}
	return fmt.Sprintf("%s: %d results agree, at most %d ulp apart", r.Probe, r.Results, r.ULPs)
}

// A Report compares a recording with the simulator.
type Report struct {
	Rows        []Row        `json:"rows"`
	Differences []Difference `json:"differences"`
}

// Compare runs a recording on the simulator of the same architecture, or with the probes' models.
// It returns a row for each probe and every difference that contradicts a claim. It runs the PTX
// of the recording, not this program's.
func Compare(r *Recording) (*Report, error) {
	arch, err := r.arch()
	if err != nil {
		return nil, err
	}
	known := map[string]*Probe{}
	for _, p := range Probes() {
		known[p.Name] = p
	}
	report := &Report{}
	for _, one := range r.Probes {
		c := comparison{one: one, inputs: r.Inputs[one.Inputs], row: Row{Probe: one.Name, Claim: Unknown, Error: one.Error}}
		if p := known[one.Name]; p != nil && p.matches(one) {
			c.probe, c.row.Claim = p, p.Claim
		}
		if !c.row.Claim.Simulated() && r.Capability != modelled {
			c.row.Claim = Unknown
		}
		switch {
		case c.row.Claim == Modelled && one.Error == "":
			c.model()
		case c.row.Claim == Refused:
			c.refusal()
		case c.row.Claim.Simulated():
			if err := c.replay(arch); err != nil {
				return nil, err
			}
		}
		report.Rows = append(report.Rows, c.row)
		report.Differences = append(report.Differences, c.found...)
	}
	return report, nil
}

// Models and refusals apply to the compute capability modelled. Tensor cores of other
// generations add differently.
const modelled = "9.0"

// matches reports whether a recorded probe has the same operands as in this program.
func (p *Probe) matches(one *Recorded) bool {
	return p.Threads == one.Threads && fmt.Sprint(p.In, p.Out) == fmt.Sprint(one.In, one.Out)
}

// arch returns the architecture to simulate: the nearest that is not newer than the device.
func (r *Recording) arch() (int, error) {
	var major, minor int
	if n, err := fmt.Sscanf(r.Capability, "%d.%d", &major, &minor); n != 2 || err != nil || major < 0 || minor < 0 || minor > 9 || major > 99 {
		return 0, fmt.Errorf("a recording of probes has compute capability %.20q: want one such as 9.0", r.Capability)
	}
	arch := 80
	for _, a := range []int{86, 89, 90} {
		if 10*major+minor >= a {
			arch = a
		}
	}
	return arch, nil
}

// comparison compares one probe.
type comparison struct {
	one    *Recorded
	probe  *Probe
	inputs []byte
	row    Row
	found  []Difference
}

// mostSteps stops a kernel that does not end. No probe needs as many.
const mostSteps = 1 << 30

// replay runs the probe on a new simulated device. Its error is the simulator's, not an error of
// the recording.
func (c *comparison) replay(arch int) error {
	if c.one.Error != "" {
		c.problem("the card did not run it: " + c.one.Error)
		return nil
	}
	d, err := simulated.Open(ptxsim.Options{Arch: arch, MaxSteps: mostSteps})
	if err != nil {
		return err
	}
	defer d.Close()
	outputs, err := run(d, c.one, c.inputs)
	if err != nil {
		c.problem("the simulator does not run it: " + err.Error())
		return nil
	}
	_, size := layout(c.one.Out, c.one.Threads)
	for number := range c.one.Cases {
		at := number * size
		c.compareCase(number, c.one.Outputs[at:at+size], outputs[at:at+size])
	}
	return nil
}

// model compares the probe with its model.
func (c *comparison) model() {
	_, size := layout(c.one.Out, c.one.Threads)
	_, inSize := layout(c.one.In, c.one.Threads)
	results := make([]byte, size)
	compute := c.probe.model
	if box := c.probe.box; box != nil {
		compute = box.model(c.inputs)
	}
	for number := range c.one.Cases {
		in := read(c.inputs[number*inSize:], c.one.In, c.one.Threads)
		write(results, c.one.Out, c.one.Threads, compute(c.probe, in))
		c.compareCase(number, c.one.Outputs[number*size:][:size], results)
	}
}

// refusal checks that the card refused the probe. Other errors tell nothing.
func (c *comparison) refusal() {
	switch {
	case c.one.Refused:
		c.row.Results, c.row.Error = 1, ""
	case c.one.Error == "":
		c.row.Results = 1
		c.problem("it ran, although it is claimed to be an illegal instruction")
	}
}

func (c *comparison) problem(text string) {
	c.row.Differences++
	c.found = append(c.found, Difference{Probe: c.one.Name, Case: -1, Problem: text})
}

func (c *comparison) compareCase(number int, card, simulator []byte) {
	if string(card) == string(simulator) {
		c.row.Results += len(c.one.Out) * c.one.Threads
		return
	}
	got, want := read(card, c.one.Out, c.one.Threads), read(simulator, c.one.Out, c.one.Threads)
	_, size := layout(c.one.In, c.one.Threads)
	in := read(c.inputs[number*size:], c.one.In, c.one.Threads)
	for thread := range c.one.Threads {
		for k, t := range c.one.Out {
			c.row.Results++
			x, y := got[k][thread], want[k][thread]
			apart := t.apart(x, y)
			c.row.ULPs = max(c.row.ULPs, apart)
			if x == y || c.within(t, in, thread, x, y) {
				continue
			}
			c.row.Differences++
			c.found = append(c.found, Difference{Probe: c.one.Name, Case: number, Thread: thread, Result: k,
				Inputs: c.readable(in, thread, k, x, y), Card: t.text(x), Simulator: t.text(y), ULPs: apart})
		}
	}
}

// within reports whether two results are as near as the simulator claims.
func (c *comparison) within(t Type, in [][]uint64, thread int, got, rounded uint64) bool {
	if c.row.Claim != Bounded {
		return false
	}
	for e := range t.count {
		var operands []float64
		for k, it := range c.one.In {
			operands = append(operands, it.value(it.element(in[k][thread], e)))
		}
		allowed, promised := c.probe.bound(operands)
		if !promised {
			c.row.Unbound++
		} else if !allowed.allows(t, t.element(got, e), t.element(rounded, e)) {
			return false
		}
	}
	return true
}

// apart returns the largest distance in ulp of two results' elements, ignoring NaN.
func (t Type) apart(x, y uint64) uint64 {
	var most uint64
	for e := range t.count {
		a, b := t.element(x, e), t.element(y, e)
		if t.kind != 'f' || t.isNaN(a) || t.isNaN(b) {
			continue
		}
		most = max(most, uint64(max(t.order(a), t.order(b))-min(t.order(a), t.order(b))))
	}
	return most
}

// readable lists the operands of a result. For a product these are the operands of the first
// element that differs; for shared memory, all words of the warp.
func (c *comparison) readable(in [][]uint64, thread, result int, x, y uint64) []string {
	if p := c.probe.product; p != nil {
		e := 0
		for e < c.one.Out[result].count-1 && c.one.Out[result].element(x, e) == c.one.Out[result].element(y, e) {
			e++
		}
		if row, col, ok := p.find(result, thread, e); ok {
			a, b, addend := p.terms(in, row, col)
			return []string{fmt.Sprintf("row %d of A: %s", row, strings.Join(a, " ")),
				fmt.Sprintf("column %d of B: %s", col, strings.Join(b, " ")), "C: " + addend}
		}
	}
	var lines []string
	for k, t := range c.one.In {
		lines = append(lines, fmt.Sprintf("operand %d: %s", k, t.text(in[k][thread])))
	}
	if c.one.Threads > 1 { // other lanes matter, too
		var bytes []byte
		for k := range in {
			for _, v := range in[k] {
				bytes = binary.BigEndian.AppendUint32(bytes, uint32(v))
			}
		}
		lines = append(lines, fmt.Sprintf("operands of all threads, in hexadecimal: %x", bytes))
	}
	return lines
}
