package mutate

import (
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
	"github.com/arithlang/mlc/internal/full"
)

var (
	all  = flag.Bool("all", false, "kernels of every shipped spec, not only of the small one")
	only = flag.String("spec", "", "only this spec")
	kind = flag.String("kind", "", "only kinds of mutants with this in their description")
	part = flag.Int("part", 600, "try one mutant of so many; with 1 it takes long")
	turn = flag.Int("turn", 0, "which one of them, from 0")
	page = flag.String("page", "", "write what was tried, and the result, to this file")
)

// shipped are the kernels of all specs that differ.
var shipped = sync.OnceValues(func() ([]ptxtest.Spec, error) {
	specs, err := ptxtest.Shipped("../../../specs")
	return ptxtest.Distinct(specs), err
})

// own are kernels for tensor cores: small, and of all forms.
func own() (all []ptxtest.Spec, err error) {
	for _, path := range ownFiles {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		ks, err := kernel.Parse(string(text))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		all = append(all, ptxtest.Spec{Path: path, Kernels: ks, Options: ptx.Options{Aligned: func(*kernel.Kernel, int) bool { return true }}})
	}
	return all, nil
}

var ownFiles = []string{"testdata/products.kir", "testdata/attention.kir"}

func nameOf(s ptxtest.Spec) string {
	return strings.TrimSuffix(filepath.Base(s.Path), filepath.Ext(s.Path))
}

// TestGate wants at least 99 of 100 mutants reported, or caught by their result.
func TestGate(t *testing.T) {
	full.Only(t)
	specs, err := shipped()
	if err != nil {
		t.Fatal(err)
	}
	more, err := own()
	if err != nil {
		t.Fatal(err)
	}
	specs = append(slices.Clip(specs), more...)
	listed, err := readBarriers()
	if err != nil {
		t.Fatal(err)
	}
	_, missing := full.Ptxas.Find()
	g := gate{listed: listed, ptxas: missing == "", tried: map[Kind]int{}, missed: map[Kind]int{}, by: map[string]int{}}
	t.Run("kernels", func(t *testing.T) {
		for _, s := range specs {
			if *only != "" && nameOf(s) != *only || *only == "" && !*all && nameOf(s) != "tiny" && !slices.Contains(ownFiles, s.Path) {
				continue
			}
			for _, k := range s.Kernels {
				name := nameOf(s) + "/" + k.Name
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					if err := g.kernel(name, k, s.Options); err != nil {
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
	listed  *barriers
	mu      sync.Mutex
	asked   int // kernels
	kernels int // that have a mutant
	ptxas   bool
	failed  []string // kernels
	tried   map[Kind]int
	by      map[string]int // mutants by finder
	missed  map[Kind]int
	through []string
}

// kernel tries the mutants of a kernel.
func (g *gate) kernel(name string, k *kernel.Kernel, o ptx.Options) (err error) {
	ts, err := trialsOf(k, o, ptxtest.Ways())
	if err != nil {
		return err
	}
	mutants := slices.DeleteFunc(Of(ts.code), func(m Mutant) bool { return !chosen(k, m) })
	defer func() { g.tell(name, len(mutants), err) }()
	if len(mutants) == 0 {
		return nil
	}
	spare := g.listed.spare(hashOf(k, ts.code))
	machine := sync.OnceValues(func() ([]byte, error) { return ptxas.Code(ts.code.Text, arch) })
	for _, m := range mutants {
		var found string
		if found, err = ts.attempt(m, machine); err != nil {
			return err
		}
		if found == "" && m.Kind == Barrier && spare {
			found = equivalent + "of the kernel's barriers some are needless, as is listed"
		}
		g.note(name, m, found)
	}
	return nil
}

// tell counts a kernel and whether it has mutants. With an error it notes the kernel as failed.
func (g *gate) tell(name string, mutants int, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.asked++
	g.kernels += min(1, mutants)
	if err != nil {
		g.failed = append(g.failed, name)
	}
}

// chosen reports whether to try a mutant. The order of mutants does not matter.
func chosen(k *kernel.Kernel, m Mutant) bool {
	if !strings.Contains(string(m.Kind), *kind) {
		return false
	}
	h := fnv.New32a()
	fmt.Fprint(h, k.Name, m)
	return h.Sum32()%uint32(*part) == uint32(*turn%*part)
}

func (g *gate) note(kernel string, m Mutant, found string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.by[found]++
	if strings.HasPrefix(found, equivalent) {
		return
	}
	g.tried[m.Kind]++
	if found == "" {
		g.missed[m.Kind]++
		g.through = append(g.through, fmt.Sprintf("%s: %v: %s", kernel, m, m.reason()))
	}
}

func (g *gate) finish(t *testing.T) {
	total, missed := 0, 0
	for _, kind := range slices.Sorted(maps.Keys(g.tried)) {
		t.Logf("%4d of %5d survive: %s", g.missed[kind], g.tried[kind], kind)
		total, missed = total+g.tried[kind], missed+g.missed[kind]
	}
	for _, what := range slices.Sorted(maps.Keys(g.by)) {
		t.Logf("%5d found by: %s", g.by[what], what)
	}
	t.Logf("%d mutants, %d survive: %.2f %%", total, missed, 100*float64(missed)/float64(total))
	if *page != "" {
		if err := g.write(*page); err != nil {
			t.Error(err)
		}
	}
	// One survivor in a small part proves nothing.
	if missed > 1 && missed*100 > total {
		t.Errorf("more than 1 in 100 survive:\n%s", strings.Join(g.through, "\n"))
	}
}
