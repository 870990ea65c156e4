// Package probe measures a GPU's best performance, in addition to package peak. It measures
// tensor cores by mma.sync and wgmma, copies by the driver, and the latency of starting and
// awaiting work. Each probe checks its results, so a wrong result never counts as a speed.
// Package prove runs the probes on a Driver of package cuda.
package probe

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/arithlang/mlc/runtime/cuda"
	"github.com/arithlang/mlc/runtime/cuda/peak"
)

// A Figure is one measurement.
type Figure struct {
	Name   string  `json:"name"`
	Value  float64 `json:"value,omitempty"`  // best of the rounds; 0 if only the result was checked
	Unit   string  `json:"unit"`             // TFLOP/s, GB/s, µs
	Spread float64 `json:"spread,omitempty"` // how much worse the worst round was, relative to the best

	Missing string `json:"missing,omitempty"` // why it could not be measured
}

// A Probe is one row of the table of probes.
type Probe struct {
	Name, Doc string
	run       func(b *bench) error
}

func (p Probe) String() string { return p.Name }

// Probes returns the table of probes.
func Probes() []Probe {
	return []Probe{
		{"peak", "multiply-adds in registers, and a kernel that copies", runPeak},
		{"mma-bf16", "tensor cores: mma.sync of bf16 with sums of fp32", bf16.run},
		{"mma-tf32", "tensor cores: mma.sync of tf32", tf32.run},
		{"wgmma-bf16", "tensor cores: wgmma of bf16, which compute capability 9.0 has", runWgmma},
		{"copies", "copies of the driver, between host and device and within it", runCopies},
		{"latency", "launches of kernels and of graphs, and waiting for them", runLatency},
	}
}

// ErrAbsent is in the error of Run if the device lacks the instructions of the probe.
var ErrAbsent = errors.New("the device lacks the instructions")

// Run runs a probe. With reduced, for a slow device without a speed, it only checks the results.
// The error names the failure or the wrong result.
func Run(name string, d cuda.Driver, reduced bool) ([]Figure, error) {
	all := Probes()
	i := slices.IndexFunc(all, func(p Probe) bool { return p.Name == name })
	if i < 0 {
		return nil, fmt.Errorf("BUG: no probe %q", name)
	}
	b := &bench{Driver: d, reduced: reduced}
	var err error
	for _, e := range []*cuda.Event{&b.start, &b.end} {
		if *e, err = d.NewEvent(); err != nil {
			return nil, err
		}
	}
	err = all[i].run(b)
	if err := errors.Join(err, b.start.Close(), b.end.Close()); err != nil {
		return nil, err // wrong results have no speed
	}
	return b.figures, nil
}

// rounds is the number of rounds of a measurement.
const rounds = 5

// A bench is a device to measure.
type bench struct {
	cuda.Driver
	reduced    bool
	start, end cuda.Event
	figures    []Figure
}

// pick returns a size, or the smaller one for a slow device.
func (b *bench) pick(size, reduced int) int {
	if b.reduced {
		return reduced
	}
	return size
}

// device times work by the device's clock.
func (b *bench) device(work func() error) (time.Duration, error) {
	if err := errors.Join(b.start.Record(), work(), b.end.Record()); err != nil {
		return 0, err
	}
	return b.end.Since(b.start)
}

// host times a call by the host's clock.
func (b *bench) host(call func() error) (time.Duration, error) {
	start := time.Now()
	err := call()
	return time.Since(start), err
}

// A clock times a call.
type clock func(call func() error) (time.Duration, error)

// rate measures a rate of work: size is the work of a call in the unit of the figure.
func (b *bench) rate(name, unit string, size float64, by clock, call func() error) error {
	took, err := b.repeat(by, call)
	if err == nil {
		b.note(took, Figure{Name: name, Unit: unit, Value: size / took[0].Seconds()})
	}
	return err
}

// latency measures the time of one of n equal operations in a call.
func (b *bench) latency(name string, n int, by clock, call func() error) error {
	took, err := b.repeat(by, call)
	if err == nil {
		b.note(took, Figure{Name: name, Unit: "µs", Value: took[0].Seconds() * 1e6 / float64(n)})
	}
	return err
}

// repeat measures rounds after a warm-up, and sorts them.
func (b *bench) repeat(by clock, call func() error) ([]time.Duration, error) {
	if err := errors.Join(call(), b.Synchronize()); err != nil {
		return nil, err
	}
	took := make([]time.Duration, b.pick(rounds, 1))
	for i := range took {
		var err error
		if took[i], err = by(call); err != nil {
			return nil, err
		}
		if err := b.Synchronize(); err != nil {
			return nil, err
		}
	}
	slices.Sort(took)
	return took, nil
}

// note records a figure of rounds with these times. Without a speed or a clock it only records
// that the result was checked.
func (b *bench) note(took []time.Duration, f Figure) {
	if n := len(took); n > 0 && took[0] > 0 {
		f.Spread = took[n-1].Seconds()/took[0].Seconds() - 1
	} else if n > 0 {
		f.Value = 0
	}
	if b.reduced {
		f.Value, f.Spread = 0, 0
	}
	b.figures = append(b.figures, f)
}

func runPeak(b *bench) error {
	p, err := peak.Measure(b)
	b.note(nil, Figure{Name: "fp32 multiply-adds", Value: p.Flops / 1e12, Unit: "TFLOP/s"})
	b.note(nil, Figure{Name: "copied by a kernel, read and written", Value: p.Bytes / 1e9, Unit: "GB/s"})
	return err
}

// function loads PTX and returns its entry, and a function to unload it.
func (b *bench) function(ptx, name string) (cuda.Function, func() error, error) {
	m, err := b.Load(ptx)
	if err != nil {
		return nil, nil, err
	}
	f, err := m.Function(name)
	if err != nil {
		return nil, nil, errors.Join(err, m.Unload())
	}
	return f, m.Unload, nil
}
