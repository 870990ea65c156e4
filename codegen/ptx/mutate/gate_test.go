package mutate

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"hash/fnv"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/arithlang/mlc/codegen/ptx"
	"github.com/arithlang/mlc/codegen/ptx/ptxas"
	"github.com/arithlang/mlc/codegen/ptx/ptxtest"
	"github.com/arithlang/mlc/compiler/kernel"
	"github.com/arithlang/mlc/compiler/kernel/kerneltest"
	"github.com/arithlang/mlc/runtime/cuda/sim"
)

var (
	all  = flag.Bool("all", false, "kernels of every shipped spec, not only of the small one")
	only = flag.String("spec", "", "only this spec")
	kind = flag.String("kind", "", "only kinds of mutants with this in their description")
	part = flag.Int("part", 600, "try one mutant of so many; with 1 it takes long")
	list = flag.String("survivors", "", "write the survivors to this file")
)

// TestGate wants at least 99 of 100 mutants reported, or caught by their result.
func TestGate(t *testing.T) {
	specs, err := ptxtest.Shipped("../../../specs")
	if err != nil {
		t.Fatal(err)
	}
	var g gate
	t.Run("kernels", func(t *testing.T) {
		for _, s := range ptxtest.Distinct(specs) {
			name := strings.TrimSuffix(filepath.Base(s.Path), ".arith")
			if *only != "" && name != *only || *only == "" && !*all && name != "tiny" {
				continue
			}
			for _, k := range s.Kernels {
				t.Run(name+"/"+k.Name, func(t *testing.T) {
					t.Parallel()
					if err := g.kernel(k, s.Options); err != nil {
						t.Error(err)
					}
				})
			}
		}
	})
	g.finish(t)
}

// A gate counts mutants.
type gate struct {
	mu      sync.Mutex
	tried   map[Kind]int
	by      map[string]int // what has found them
	missed  map[Kind]int
	through []string
}

// A trial is one launch of a kernel and the way that it is made.
type trial struct {
	c     *ptxtest.Case
	way   ptxtest.Way
	steps int64
}

// kernel tries the mutants of a kernel, the cheapest trials first.
func (g *gate) kernel(k *kernel.Kernel, o ptx.Options) error {
	code, err := ptx.Module([]*kernel.Kernel{k}, o)
	if err != nil {
		return err
	}
	mutants := slices.DeleteFunc(Of(code), func(m Mutant) bool { return !chosen(k, m) })
	if len(mutants) == 0 {
		return nil
	}
	trials, err := trialsOf(k, code)
	if err != nil {
		return err
	}
	machine, err := ptxas.Code(code.Text, arch)
	if err != nil && !errors.Is(err, ptxas.ErrMissing) {
		return err
	}
	for _, m := range mutants {
		g.note(k, m, attempt(m, trials, machine))
	}
	return nil
}

// chosen says whether a mutant is tried: always the same ones, whatever the order.
func chosen(k *kernel.Kernel, m Mutant) bool {
	if !strings.Contains(string(m.Kind), *kind) {
		return false
	}
	h := fnv.New32a()
	fmt.Fprint(h, k.Name, m)
	return h.Sum32()%uint32(*part) == 0
}

// trialsOf runs the kernel as it is, which nothing may be wrong with.
func trialsOf(k *kernel.Kernel, code ptx.Output) ([]trial, error) {
	var all []trial
	for i, s := range launches() {
		c, err := ptxtest.NewCase(k, s, kerneltest.Kind(i%2), uint64(i))
		if err != nil {
			return nil, err
		}
		ways := ptxtest.Ways()
		if i >= len(ptxtest.Launches()) {
			ways = ways[3:5]
		}
		for _, w := range ways {
			r, err := ptxtest.Load(code, w)
			if err != nil {
				return nil, err
			}
			if err := r.Check(c); err != nil {
				return nil, fmt.Errorf("without a mistake: %v: %w", w, err)
			}
			all = append(all, trial{c, w, r.Steps()})
		}
	}
	slices.SortStableFunc(all, func(a, b trial) int { return int(a.steps - b.steps) })
	return all, nil
}

const (
	equivalent = "equivalent: " // to the kernel, and why
	arch       = "sm_80"
	few        = 8 // trials before ptxas is asked
)

// launches are those that kernels are tested on, and some more: mutants may not
// hide behind the choice of lengths.
func launches() []kernel.Scalars {
	all := ptxtest.Launches()
	for _, n := range []struct{ b, t, s, p float64 }{{1, 3, 40, 0}, {3, 16, 8, 0}, {2, 1, 64, 63}, {1, 130, 1, 0}} {
		s := maps.Clone(all[0])
		s["B"], s["T"], s["S"], s["P"], s["C"], s["N"] = n.b, n.t, n.s, n.p, n.t+n.p, 100*n.t+n.s
		all = append(all, s)
	}
	return all
}

// attempt says what finds a mutant: a kind of report, a changed result, or nothing.
func attempt(m Mutant, trials []trial, machine []byte) string {
	if found := try(m.Code, trials[:few]); found != "" {
		return found
	}
	if m.Line > 0 && machine != nil {
		if code, err := ptxas.Code(m.Code.Text, arch); err == nil && bytes.Equal(code, machine) {
			return equivalent + "ptxas makes the same code of it"
		}
	}
	if found := try(m.Code, trials[few:]); found != "" {
		return found
	}
	for _, p := range m.Probes() {
		if len(p.Modules) > 0 && !slices.ContainsFunc(p.Modules, func(o ptx.Output) bool { return try(o, trials) != "" }) {
			return equivalent + p.Reason
		}
	}
	return ""
}

// try says what is the first thing that trials find wrong with a module.
func try(code ptx.Output, trials []trial) string {
	for _, x := range trials {
		way := x.way
		way.Limit = 10*x.steps + 10_000
		r, err := ptxtest.Load(code, way)
		if err != nil {
			return "no valid module"
		}
		if err := r.Check(x.c); err != nil {
			if report, ok := errors.AsType[*sim.Report](err); ok {
				return string(report.Kind)
			}
			return "changed result"
		}
	}
	return ""
}

func (g *gate) note(k *kernel.Kernel, m Mutant, found string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.tried == nil {
		g.tried, g.missed, g.by = map[Kind]int{}, map[Kind]int{}, map[string]int{}
	}
	g.by[found]++
	if strings.HasPrefix(found, equivalent) {
		return
	}
	g.tried[m.Kind]++
	if found == "" {
		g.missed[m.Kind]++
		g.through = append(g.through, fmt.Sprintf("%s: %v: %s", k.Name, m, m.reason()))
	}
}

func (g *gate) finish(t *testing.T) {
	total, missed := 0, 0
	for kind, n := range g.tried {
		t.Logf("%4d of %5d survive: %s", g.missed[kind], n, kind)
		total, missed = total+n, missed+g.missed[kind]
	}
	for what, n := range g.by {
		t.Logf("%5d found by: %s", n, what)
	}
	t.Logf("%d mutants, %d survive: %.2f %%", total, missed, 100*float64(missed)/float64(total))
	if *list != "" {
		if err := os.WriteFile(*list, []byte(strings.Join(g.through, "\n")+"\n"), 0o644); err != nil {
			t.Error(err)
		}
	}
	// Of a small part one by chance proves nothing.
	if missed > 1 && missed*100 > total {
		t.Errorf("more than 1 in 100 survive:\n%s", strings.Join(g.through, "\n"))
	}
}
