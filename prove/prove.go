// Package prove finds out what a machine's GPU is, whether it computes what it should,
// and how fast. It comes after the compiler, which makes the kernels that are tried, and
// after package runtime/cuda, which drives the device; the command mlc prove prints the
// page that comes of it.
//
// A run is a table of phases, and a phase a list of parts. Each part is a process of its
// own with a share of the budget: a kernel that breaks the device, a driver that ends the
// process, or a loop without end costs one part, and is reported with it. What a part
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

// Options say what is proved or measured, on what, and in what time.
type Options struct {
	Device  string        // one of Devices
	Speed   bool          // measure how fast the device is, beside PyTorch, and prove nothing
	Budget  time.Duration // of everything together
	Only    []string      // PHASE, or PHASE:PATTERN for some of its parts, * matching anything; none: all
	Caches  string        // an archive of what PyTorch has compiled: read first, written where Speed has filled it; "": none
	Seed    uint64        // of what is drawn
	Version string        // of mlc, for the file
	Command []string      // starts a process that calls Child

	// Keep is called at the start, after every part and after every phase; Say after every part.
	Keep func(*Result) error
	Say  func(phase string, p *Part)

	cores  int     // of this machine; 0: as many as it has; for tests
	memory float64 // bytes; the same
}

// Devices are what can be proved.
var Devices = [...]string{"cuda", "sim", "count"}

// Run runs the phases and returns what they found. The error is that of Keep, of options
// that make no sense, or the cause of the context's end; then the result holds what was
// found before.
func Run(ctx context.Context, o Options) (*Result, error) { return run(ctx, o, o.table()) }

// table has the phases to choose from.
func (o *Options) table() []phase {
	if o.Speed {
		return speeds()
	}
	return phases()
}

// Check wants options that make sense.
func (o *Options) Check() error {
	_, err := o.choose(o.table())
	return err
}

// choose returns the phases of a table that are asked for.
func (o *Options) choose(table []phase) ([]phase, error) {
	switch {
	case !slices.Contains(Devices[:], o.Device):
		return nil, fmt.Errorf("no device %q: devices are %s", o.Device, strings.Join(Devices[:], ", "))
	case o.Budget < leastBudget:
		return nil, fmt.Errorf("a budget of %v is too little: want %v at the least", o.Budget, leastBudget)
	case o.Speed && o.Device == "sim":
		return nil, errors.New("the simulator has no speed: devices whose speed is measured are cuda and count, which computes nothing")
	}
	return only(table, o.Device, o.Only)
}

// leastBudget is how long a part takes to say that it has no time.
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

// reserve is what is kept of a budget for the end.
func reserve(budget time.Duration) time.Duration { return min(time.Second, budget/10) }

// A job is a run under way.
type job struct {
	Options
	dir     string // for the files of parts
	end     time.Time
	keep    func() error // saves what has been found
	opened  bool         // a part has found the device
	missing string       // says why there is no device
}

// phase runs one phase, the first of those that are left, and fills in what it finds.
func (j *job) phase(ctx context.Context, p phase, left []phase, out *Phase) (err error) {
	start := time.Now()
	defer func() { out.Seconds = time.Since(start).Seconds() }()
	names, why := p.todo(j.Device)
	switch {
	case j.missing != "":
		out.Verdict, out.Reason = Unavailable, "there is no device"
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

// share is the time for the first of the phases that are left: what earlier ones did not
// use is theirs.
func share(time time.Duration, left []phase) time.Duration {
	all := 0.0
	for _, p := range left {
		all += p.share
	}
	return max(0, min(time, scale(time, left[0].share/all)))
}

func scale(d time.Duration, by float64) time.Duration { return time.Duration(float64(d) * by) }

// firstLine is the beginning of a text of many lines.
func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return cmp.Or(line, "nothing")
}
