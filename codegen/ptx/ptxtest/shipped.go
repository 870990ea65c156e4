package ptxtest

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/arithlang/mlc/codegen"
	"github.com/arithlang/mlc/codegen/ptx"
	"github.com/arithlang/mlc/compiler"
	"github.com/arithlang/mlc/compiler/check"
	"github.com/arithlang/mlc/compiler/kernel"
	"github.com/arithlang/mlc/compiler/lower"
	"github.com/arithlang/mlc/internal/full"
)

// A Spec is one that the compiler has a lowering for.
type Spec struct {
	Path    string
	Lowered *lower.Program
	Kernels []*kernel.Kernel // of the program, or some of these
	Options ptx.Options      // that its programs have
}

// Representatives are specs that together have each combination of kind, schedule, closed cells,
// bias, window, dropout and packed rows of any spec.
var Representatives = []string{
	"abacus/figure21", "adders/frontier", "adders/windows", "bias/parity_rpe", "bias/parity_window", "bias/successor_abc",
	"small/abacus_window", "small/copy", "small/embeddings", "small/rounds", "small/sort", "small/sum", "successor", "tiny",
}

// Shipped compiles the specs below a folder and lists specs that lower; each stage of a spec has
// an entry. They are the Representatives, or all specs with -tags full. Files without a task are
// parts of others.
func Shipped(dir string) ([]Spec, error) {
	read, _ := known.LoadOrStore(dir, sync.OnceValues(func() ([]Spec, error) { return shipped(dir, full.Tests) }))
	return read.(func() ([]Spec, error))()
}

// known has what Shipped returns, by folder: compiling the specs takes a second.
var known sync.Map

func shipped(dir string, all bool) ([]Spec, error) {
	var specs []Spec
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".arith" {
			return err
		}
		name, _ := filepath.Rel(dir, strings.TrimSuffix(path, ".arith"))
		if !all && path != dir && !slices.Contains(Representatives, filepath.ToSlash(name)) {
			return nil
		}
		p, found, err := compiler.Compile(check.Options{Path: path, Read: os.ReadFile})
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		if found.HasErrors() {
			return nil
		}
		for _, t := range p.Trainings() {
			specs = append(specs, Spec{path, t.Lowered, t.Lowered.Kernels, codegen.ModuleOptions(t.Lowered)})
		}
		return nil
	})
	return specs, err
}

// Distinct drops kernels that differ from an earlier one only in name.
func Distinct(specs []Spec) []Spec {
	var out []Spec
	seen := map[string]bool{}
	for _, s := range specs {
		var ks []*kernel.Kernel
		for _, k := range s.Kernels {
			_, text, _ := strings.Cut(k.String(), "\n")
			if text = k.Kind + text; !seen[text] {
				seen[text] = true
				ks = append(ks, k)
			}
		}
		if len(ks) > 0 {
			out = append(out, Spec{s.Path, s.Lowered, ks, s.Options})
		}
	}
	return out
}
