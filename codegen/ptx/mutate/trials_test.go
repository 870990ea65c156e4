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

// Trials are the launches that a kernel is for, small ones first, each made in
// several ways. What none has asked for is not drawn, interpreted or run.
type trials struct {
	k     *kernel.Kernel
	code  ptx.Output
	left  []slot
	few   int                      // trials before ptxas is asked, which takes longer than they do
	cases map[[2]int]*ptxtest.Case // by number of the launch and GPU; nil: the kernel is not for it
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

// costs is what one costs: the number of scores. Other ways of a launch have to wait for
// launches of other sizes, which find more.
func costs(s kernel.Scalars, way int) float64 {
	cost := s["B"] * s["T"] * (s["S"] + s["T"])
	if way > 0 {
		cost *= 4
	}
	return cost
}

// cheap is what all launches but the largest cost, made in one way.
const cheap = 40_000

// A trial is a slot that was made without a mistake.
type trial struct {
	c     *ptxtest.Case
	way   ptxtest.Way
	steps int64 // of the launch
}

// trialsOf prints a kernel, and lists the launches that it is tried in, in these ways.
func trialsOf(k *kernel.Kernel, o ptx.Options, ways []ptxtest.Way) (*trials, error) {
	code, err := ptx.Module([]*kernel.Kernel{k}, o)
	if err != nil {
		return nil, err
	}
	ts := &trials{k: k, code: code, cases: map[[2]int]*ptxtest.Case{}}
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

// launches are those that kernels are tested on, and some more: mutants may not
// hide behind the choice of lengths.
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
	} {
		s := maps.Clone(all[0].scalars)
		s["B"], s["T"], s["S"], s["P"], s["C"], s["N"] = n.b, n.t, n.s, n.p, n.t+n.p, 100*n.t+n.s
		all = append(all, launch{s, n.inputs})
	}
	return all
}

// at is a trial by its number, nil behind the last one. Nothing may be wrong with
// the kernel as it is.
func (ts *trials) at(i int) (*trial, error) {
	for len(ts.made) <= i && len(ts.left) > 0 {
		s := ts.left[0]
		ts.left = ts.left[1:]
		gpu := s.way.GPU()
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
		r, err := in(&ts.right, ts.code, s.way)
		if err == nil {
			err = r.Check(c)
		}
		if err != nil {
			return nil, fmt.Errorf("without a mistake: %v: %w", s.way, err)
		}
		s.way.Limit = 10*r.Steps() + 10_000
		ts.made = append(ts.made, trial{c, s.way, r.Steps()})
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

// attempt says what finds a mutant: a kind of report, a changed result, or nothing.
// Machine asks ptxas for the code that it makes of the kernel; nil: it is not asked.
func (ts *trials) attempt(m Mutant, machine func() ([]byte, error)) (string, error) {
	code := m.Code()
	if found, err := ts.find(code, 0, ts.few); found != "" || err != nil {
		return found, err
	}
	if m.Line > 0 && machine != nil {
		if same, err := sameMachine(code, machine); same || err != nil {
			return equivalent + "ptxas makes the same code of it", err
		}
	}
	if found, err := ts.find(code, ts.few, math.MaxInt); found != "" || err != nil {
		return found, err
	}
	if m.savesWork() {
		if more, err := ts.longer(code); more || err != nil {
			return equivalent + "the guard saves work alone", err
		}
	}
	for _, p := range m.Probes() {
		found := ""
		for i := 0; i < len(p.Modules) && found == ""; i++ {
			var err error
			if found, err = ts.find(p.Modules[i], 0, math.MaxInt); err != nil {
				return "", err
			}
		}
		if len(p.Modules) > 0 && found == "" {
			return equivalent + p.Reason, nil
		}
	}
	return "", nil
}

// sameMachine says whether ptxas makes this code of a module, where there is ptxas, which
// -tags full alone uses, and it takes the module.
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

// longer says whether a module, whose results are right, takes more instructions for them.
func (ts *trials) longer(code ptx.Output) (bool, error) {
	var loaded *ptxtest.Runner
	for i := range ts.made {
		r, err := in(&loaded, code, ts.made[i].way)
		if err == nil {
			err = r.Check(ts.made[i].c)
		}
		if err != nil || r.Steps() > ts.made[i].steps {
			return err == nil, err
		}
	}
	return false, nil
}

// find says what is the first thing that trials from lo to hi-1 find wrong with a
// module.
func (ts *trials) find(code ptx.Output, lo, hi int) (string, error) {
	var loaded *ptxtest.Runner
	for i := lo; i < hi; i++ {
		x, err := ts.at(i)
		if x == nil || err != nil {
			return "", err
		}
		r, err := in(&loaded, code, x.way)
		if err != nil {
			return "no valid module", nil
		}
		if err := r.Check(x.c); err != nil {
			if report, ok := errors.AsType[*ptxsim.Report](err); ok {
				return string(report.Kind), nil
			}
			return "changed result", nil
		}
	}
	return "", nil
}

// in is a module in a way; its text is read for the first one.
func in(loaded **ptxtest.Runner, code ptx.Output, w ptxtest.Way) (r *ptxtest.Runner, err error) {
	if *loaded != nil {
		return (*loaded).In(w)
	}
	if r, err = ptxtest.Load(code, w); err == nil {
		*loaded = r
	}
	return r, err
}
