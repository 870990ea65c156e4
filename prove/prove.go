// Package prove finds out which GPU a machine has, whether it computes correctly, and how fast.
// The compiler makes the kernels to try, and package runtime/cuda drives the device; the command
// mlc prove prints the result.
//
// A run is a table of phases, and a phase is a list of parts. Each part runs in its own process
// with a share of the budget. A kernel that breaks the device, a driver that ends the process, or
// an endless loop costs one part, and is reported with it. A part writes its results to a file;
// the parent collects them in a Result.
// finds it writes to a file; the parent puts the parts together in a Result.
package prove

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/arithlang/mlc/runtime/available"
)

// Options select the device, the phases and the time of a run.
type Options struct {
	Device  string        // one of Devices
	Speed   bool          // measure the device's speed, next to PyTorch's, and prove nothing
	Budget  time.Duration // for everything together
	Only    []string      // PHASE, or PHASE:PATTERN for some of its parts, where * matches anything; none means all
	Caches  string        // archive of PyTorch's compiled code: read first, and written if Speed filled it; "" for none
	Seed    uint64        // of random numbers
	Version string        // mlc's version, recorded in the file
	Command []string      // starts a process that calls Child

	// Keep is called at the start, after every part and after every phase; Say after every part.
	Keep func(*Result) error
	Say  func(phase string, p *Part)

	cores  int     // cores of this machine; 0: detect; for tests
	memory float64 // bytes of this machine; 0: detect; for tests
}

// Devices are the devices that Options may name.
var Devices = [...]string{"cuda", "sim", "count"}

// Run runs the phases and returns what they found. The error is Keep's, an error of the options,
// or the cause of the context's end; then the result holds what was found before.
func Run(ctx context.Context, o Options) (*Result, error) { return run(ctx, o, o.table()) }

// table returns the phases to choose from.
func (o *Options) table() []phase {
	if o.Speed {
		return speeds()
	}
	return phases()
}

// Check returns an error for invalid options.
func (o *Options) Check() error {
	_, err := o.choose(o.table())
	return err
}

// choose returns the requested phases of a table.
func (o *Options) choose(table []phase) ([]phase, error) {
	switch {
	case !slices.Contains(Devices[:], o.Device):
		return nil, fmt.Errorf("no device %q: devices are %s", o.Device, strings.Join(Devices[:], ", "))
	case o.Budget < leastBudget:
		return nil, fmt.Errorf("a budget of %v is too little: want %v at least", o.Budget, leastBudget)
	case o.Speed && o.Device == "sim":
		return nil, errors.New("the simulator has no speed: want the device cuda, or count, which computes nothing")
	}
	return only(table, o.Device, o.Only)
}

// leastBudget is the time that a part needs to report that it has no time.
const leastBudget = 2 * time.Second

func run(ctx context.Context, o Options, table []phase) (*Result, error) {
	start := time.Now()
	r := &Result{
		Format: format, Started: start.UTC().Format(time.RFC3339), Version: o.Version, Device: o.Device, Seed: o.Seed,
		Host:  fmt.Sprintf("%s/%s, %d cores", runtime.GOOS, runtime.GOARCH, runtime.NumCPU()),
		Speed: o.Speed, Budget: o.Budget.Seconds(), Only: o.Only, Phases: []*Phase{},
	}
	chosen, err := o.choose(table)
	if err != nil {
		return r, err
	}
	dir, err := os.MkdirTemp("", "mlc-prove-")
	if err != nil {
		return r, err
	}
	defer os.RemoveAll(dir)
	keep := func() error {
		r.Seconds = time.Since(start).Seconds()
		if o.Keep == nil {
			return nil
		}
		return o.Keep(r)
	}
	if err := keep(); err != nil {
		return r, err
	}
	j := job{Options: o, dir: dir, end: start.Add(o.Budget - reserve(o.Budget)), keep: keep}
	j.cores, j.memory = cmp.Or(o.cores, runtime.GOMAXPROCS(0)), o.memory
	if j.memory == 0 {
		j.memory, _ = available.Memory(os.DirFS("/"))
	}
	for i, p := range chosen {
		out := &Phase{Name: p.name}
		r.Phases = append(r.Phases, out)
		err := j.phase(ctx, p, chosen[i:], out)
		if ctx.Err() != nil {
			r.Verdict, r.Reason = Interrupted, context.Cause(ctx).Error()
			return r, errors.Join(context.Cause(ctx), keep())
		}
		if err = cmp.Or(err, keep()); err != nil {
			return r, err
		}
	}
	r.judge()
	if j.missing != "" {
		r.Reason = j.missing
	}
	return r, keep()
}

// reserve returns the part of a budget that is kept for the end.
func reserve(budget time.Duration) time.Duration { return min(time.Second, budget/10) }

// A job is a run in progress.
type job struct {
	Options
	dir     string // for the files of parts
	end     time.Time
	keep    func() error // saves the results so far
	opened  bool         // a part has found the device
	missing string       // why there is no device
}

// phase runs a phase, the first of the remaining ones, and records what it finds in out.
func (j *job) phase(ctx context.Context, p phase, left []phase, out *Phase) (err error) {
	start := time.Now()
	defer func() { out.Seconds = time.Since(start).Seconds() }()
	names, why := p.todo(j.Device)
	switch {
	case j.missing != "":
		out.Verdict, out.Reason = Unavailable, "no device"
		return nil
	case why != "":
		out.Verdict, out.Reason = Skipped, why
		return nil
	}
	left = slices.DeleteFunc(slices.Clone(left), func(p phase) bool {
		_, why := p.todo(j.Device)
		return why != ""
	})
	err = j.parts(ctx, p, names, start.Add(share(time.Until(j.end), left)), out)
	if ctx.Err() == nil {
		out.judge()
	}
	return err
}

// share returns the time for the first of the remaining phases. Time that earlier phases did not
// use is shared among them.
func share(time time.Duration, left []phase) time.Duration {
	all := 0.0
	for _, p := range left {
		all += p.share
	}
	return max(0, min(time, scale(time, left[0].share/all)))
}

func scale(d time.Duration, by float64) time.Duration { return time.Duration(float64(d) * by) }

// firstLine returns the first line of a text.
func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return cmp.Or(line, "nothing")
}
