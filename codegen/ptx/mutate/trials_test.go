package mutate

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/arithlang/mlc/codegen/ptx"
	"github.com/arithlang/mlc/codegen/ptx/ptxas"
	"github.com/arithlang/mlc/codegen/ptx/ptxtest"
	"github.com/arithlang/mlc/compiler/kernel"
	"github.com/arithlang/mlc/compiler/kernel/kerneltest"
	"github.com/arithlang/mlc/internal/full"
	"github.com/arithlang/mlc/ptxsim"
)

// Trials are the launches that a kernel is for, small ones first, each made in several ways. A
// launch is drawn, interpreted and run only on demand.
type trials struct {
	k     *kernel.Kernel
	code  ptx.Output
	left  []slot
	steps map[int]int64            // steps of each launch in its first way
	spent int64                    // steps of all that were made
	few   int                      // trials before ptxas is asked, which takes longer than they do
	cases map[[2]int]*ptxtest.Case // cases by launch and, if sums depend on it, GPU; nil: the kernel is not for it
	made  []trial
	right *ptxtest.Runner // has loaded the code; nil before the first trial
}

// A slot is a launch and the way that it is made.
type slot struct {
	number  int
	scalars kernel.Scalars
	inputs  kerneltest.Kind
	way     ptxtest.Way
	cost    float64
}

// costs estimates the cost of a slot: its scores and elements. Other ways of a launch wait for
// launches of other sizes, which find more.
func costs(s kernel.Scalars, way int) float64 {
	cost := s["B"]*s["T"]*(s["S"]+s["T"]) + s["N"]
	if way > 0 {
		cost *= 4
	}
	return cost
}

// cheap is the most that a launch costs in one way, except the largest launches.
const cheap = 40_000

const (
	// dear is the most lane instructions of a launch in further ways: wide kernels run in all
	// ways only in small launches.
	dear = 50_000_000
	// enough is how many lane instructions a kernel needs. After them it is launched only with
	// many rows of few tokens.
	enough = 400_000_000
)

// many is the number of the launch that has more rows than a block takes at a time, of few
// tokens.
var many = len(launches()) - 2

// A trial is a slot that was made without a mistake.
type trial struct {
	c       *ptxtest.Case
	way     ptxtest.Way
	steps   int64 // of the launch
	reached map[int]ptxsim.Reach
}

// shows reports whether a mutant may differ from its kernel in the launch. It cannot if the
// launch never reaches the line, or if the guard lets all threads through.
func (x *trial) shows(m Mutant) bool {
	at := x.reached[m.Line]
	switch {
	case m.Line == 0 || m.Kind == Shared:
		return true
	case m.Kind == Unguard && !m.branches():
		return at.Kept
	case m.Kind == Invert:
		return at.Ran || at.Kept
	}
	return at.Ran
}

// trialsOf prints a kernel, and lists the launches that it is tried in, in these ways.
func trialsOf(k *kernel.Kernel, o ptx.Options, ways []ptxtest.Way) (*trials, error) {
	code, err := ptx.Module([]*kernel.Kernel{k}, o)
	if err != nil {
		return nil, err
	}
	ts := &trials{k: k, code: code, cases: map[[2]int]*ptxtest.Case{}, steps: map[int]int64{}}
	for i, l := range launches() {
		some := ways
		if i >= len(ptxtest.Launches()) {
			some = ways[len(ways)/2:][:2]
		}
		for n, w := range some {
			ts.left = append(ts.left, slot{i, l.scalars, l.inputs, w, costs(l.scalars, n)})
		}
	}
	slices.SortStableFunc(ts.left, func(a, b slot) int { return cmp.Compare(a.cost, b.cost) })
	ts.few = slices.IndexFunc(ts.left, func(s slot) bool { return s.cost > cheap })
	return ts, nil
}

// A launch is scalars and the kind of inputs.
type launch struct {
	scalars kernel.Scalars
	inputs  kerneltest.Kind
}

// launches returns the launches of kernel tests, and some more: mutants may not hide behind the
// choice of lengths.
func launches() (all []launch) {
	for i, s := range ptxtest.Launches() {
		all = append(all, launch{s, kerneltest.Kind(i % 2)})
	}
	for _, n := range []struct {
		b, t, s, p float64
		inputs     kerneltest.Kind
	}{
		{1, 3, 40, 0, kerneltest.Positive}, {3, 7, 2, 0, kerneltest.Signed}, {3, 16, 8, 0, kerneltest.Positive},
		{2, 1, 64, 63, kerneltest.Signed}, {1, 129, 1, 0, kerneltest.Positive}, {5, 17, 2, 0, kerneltest.Signed},
		{1, 100, 100, 0, kerneltest.Positive}, {1, 70, 140, 100, kerneltest.Signed},
		{1, 70, 75, 0, kerneltest.Large}, {1, 126, 127, 0, kerneltest.Large}, {1, 140, 150, 0, kerneltest.Large}, {1, 20, 150, 120, kerneltest.Large},
		{1, 5, 6, 0, kerneltest.Spread}, {2, 6, 5, 0, kerneltest.Signed}, {1, 9, 7, 0, kerneltest.Spread}, {2, 4, 9, 0, kerneltest.Signed}, // small, for gates that few elements open
		{1, 3, 9, 5, kerneltest.Spread}, {2, 1, 4, 7, kerneltest.Spread}, {1, 7, 3, 2, kerneltest.Spread}, {1, 3, 4, 0, kerneltest.Spread},
		{1, 32, 64, 0, kerneltest.Signed},   // whole blocks of rows
		{1, 129, 262, 0, kerneltest.Signed}, // more rows than threads, with two keys a query
		{13, 11, 12, 0, kerneltest.Signed},
	} {
		s := maps.Clone(all[0].scalars)
		s["B"], s["T"], s["S"], s["P"], s["C"], s["N"] = n.b, n.t, n.s, n.p, n.t+n.p, 100*n.t+n.s
		all = append(all, launch{s, n.inputs})
	}
	long := maps.Clone(all[0].scalars)
	long["N"] = 140_000 // sums of this length fill all cells of a block
	return append(all, launch{long, kerneltest.Signed})
}

// at returns a trial by its number, nil after the last one. It fails if the kernel itself is
// wrong.
func (ts *trials) at(i int) (*trial, error) {
	for len(ts.made) <= i && len(ts.left) > 0 {
		s := ts.left[0]
		ts.left = ts.left[1:]
		if ts.steps[s.number]*int64(s.way.Replicas*max(1, s.way.Sets)) > dear || ts.spent > enough && s.number != many {
			continue
		}
		gpu := s.way.GPU()
		if !ts.code.Kernels[0].Tensor {
			gpu = 0
		}
		c, drawn := ts.cases[[2]int{s.number, gpu}]
		if !drawn {
			var err error
			c, err = ptxtest.NewCase(ts.k, s.scalars, s.inputs, uint64(s.number), ts.code.Kernels[0], gpu)
			if err != nil && !errors.Is(err, kerneltest.ErrNotFor) {
				return nil, err
			}
			ts.cases[[2]int{s.number, gpu}] = c
		}
		if c == nil {
			continue
		}
		s.way.Reach = true
		r, err := in(&ts.right, ts.code, s.way)
		if err == nil {
			err = r.Check(c)
		}
		if err != nil {
			return nil, fmt.Errorf("without a mistake: %v: %w", s.way, err)
		}
		s.way.Reach, s.way.Limit = false, 2*r.Steps()+1_000_000
		ts.made = append(ts.made, trial{c, s.way, r.Steps(), r.Reached()})
		ts.spent += r.Steps()
		if ts.steps[s.number] == 0 {
			ts.steps[s.number] = r.Steps()
		}
	}
	if i >= len(ts.made) {
		return nil, nil
	}
	return &ts.made[i], nil
}

const (
	equivalent = "equivalent: " // to the kernel, and why
	arch       = "sm_80"
)

// attempt returns the kind of report that finds a mutant, or a changed result, or why the mutant
// is equivalent, or "". machine returns ptxas's code of the kernel; if it is nil, ptxas is not
// asked.
func (ts *trials) attempt(m Mutant, machine func() ([]byte, error)) (string, error) {
	code := m.Code()
	early, err := ts.find(m, code, 0, ts.few)
	if early.what != "" || err != nil {
		return early.what, err
	}
	if m.Line > 0 && machine != nil {
		if same, err := sameMachine(code, machine); same || err != nil {
			return equivalent + "ptxas makes the same code of it", err
		}
	}
	late, err := ts.find(m, code, ts.few, math.MaxInt)
	switch {
	case late.what != "" || err != nil:
		return late.what, err
	case !early.shown && !late.shown && m.Kind == Unguard:
		return equivalent + "the guard never closes", nil
	case !early.shown && !late.shown:
		return equivalent + "it is never reached", nil
	case (early.longer || late.longer) && m.savesWork():
		return equivalent + "the guard saves work alone", nil
	}
	for _, p := range m.Probes(oneSize(ts.k)) {
		passed := len(p.Modules) > 0
		for i := 0; i < len(p.Modules) && passed; i++ {
			x, err := ts.find(m, p.Modules[i], 0, math.MaxInt)
			if err != nil {
				return "", err
			}
			passed = x.what == "" && (x.longer || !p.Longer)
		}
		if passed {
			return equivalent + p.Reason, nil
		}
	}
	return "", nil
}

// oneSize reports whether the launches of a kernel differ only in the contents of its buffers.
func oneSize(k *kernel.Kernel) bool {
	return !slices.ContainsFunc(k.Params, func(p kernel.Param) bool { return p.Mode == kernel.Scalar })
}

// sameMachine reports whether ptxas makes this code of a module. It is false without ptxas, which
// only -tags full uses, and if ptxas rejects the module.
func sameMachine(code ptx.Output, machine func() ([]byte, error)) (bool, error) {
	if _, missing := full.Ptxas.Find(); missing != "" {
		return false, nil
	}
	want, err := machine()
	if err != nil {
		return false, err
	}
	got, err := ptxas.Code(code.Text, arch)
	return err == nil && bytes.Equal(got, want), nil
}

// A finding is the result of a module's trials.
type finding struct {
	what   string // a kind of report, a changed result, or nothing
	shown  bool   // in one of them the module does something else than the kernel
	longer bool   // one of them takes more instructions than the kernel
}

// find returns the first fault of a module that trials from lo to hi-1 find. The module differs
// from the kernel at the mutant's line.
func (ts *trials) find(m Mutant, code ptx.Output, lo, hi int) (f finding, err error) {
	var loaded *ptxtest.Runner
	for i := lo; i < hi; i++ {
		x, err := ts.at(i)
		if x == nil || err != nil {
			return f, err
		}
		if !x.shows(m) {
			continue
		}
		f.shown = true
		r, err := in(&loaded, code, x.way)
		if err != nil {
			f.what = "no valid module"
			return f, nil
		}
		if err := r.Check(x.c); err != nil {
			f.what = "changed result"
			if report, ok := errors.AsType[*ptxsim.Report](err); ok {
				f.what = string(report.Kind)
			}
			return f, nil
		}
		f.longer = f.longer || r.Steps() > x.steps
	}
	return f, nil
}

// in returns a module in a way. It reads the module's text only the first time.
func in(loaded **ptxtest.Runner, code ptx.Output, w ptxtest.Way) (r *ptxtest.Runner, err error) {
	if *loaded != nil {
		return (*loaded).In(w)
	}
	if r, err = ptxtest.Load(code, w); err == nil {
		*loaded = r
	}
	return r, err
}
