package specs

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/arithlang/mlc/compiler"
	"github.com/arithlang/mlc/compiler/check"
	"github.com/arithlang/mlc/diff"
	"github.com/arithlang/mlc/internal/full"
	"github.com/arithlang/mlc/runtime/config"
)

// uncompiled lists specs that are only parts of others, and specs whose trainings have specs of
// their own.
var uncompiled = regexp.MustCompile(`^base/|^bias/(table|paper)`)

var every = flag.Bool("all", false, "compile every training of every sweep")

// parametersOfSpecs lists the parameters of biases and tables that specs or the prelude declare.
var parametersOfSpecs = []string{
	"decoder.cross.rpe.w", "decoder.self.kerple.r1", "decoder.self.kerple.r2", "decoder.self.rpe.w", "loop.self.fire.b1", "loop.self.fire.b2", "loop.self.fire.reach", "loop.self.fire.scale", "loop.self.fire.w1", "loop.self.fire.w2", "loop.self.here.more", "loop.self.wave.height", "loop.self.wave.phase", "shared.line.rest", "shared.line.slope", "shared.parabola.bend",
}

// tiny makes the model of a spec so small that its kernels are interpreted quickly.
// No two of its extents are equal.
func tiny(spec *check.Spec) []string {
	set := []string{"model.width=8", "model.heads=2"}
	units := 10
	if check.Activations[spec.Model.Act].Gated {
		units = 20
	}
	set = append(set, fmt.Sprintf("model.ffn=%s(hidden = %d)", spec.Model.Act, units))
	if spec.Model.Head > 0 {
		set = append(set, fmt.Sprintf("model.head=%s(hidden = 12)", spec.Model.HeadAct))
	}
	return set
}

// some returns points that cover each setting of each axis; with -all, all points.
func some(points []check.Point) []check.Point {
	if len(points) == 0 {
		return []check.Point{{}} // no sweep
	}
	out, seen := points[:1], make(map[string]bool)
	for n, p := range points {
		news := *every
		for _, s := range p.Set {
			news = news || !seen[s] && !strings.HasPrefix(s, "sweep.train.seed=")
			seen[s] = true
		}
		if n > 0 && news {
			out = append(out, p)
		}
	}
	return out
}

// TestLowered compiles a few specs with a tiny model, at several points of their sweeps, and
// compares each kernel with the tensor function that it computes. With -tags full it takes every
// spec.
func TestLowered(t *testing.T) {
	done, unnamed := make(map[string]bool), make(map[string]bool)
	for _, file := range few(t) {
		if uncompiled.MatchString(file) {
			continue
		}
		opts := check.Options{Path: file, Read: os.ReadFile}
		opts.Set = tiny(resolve(t, opts))
		points, list := check.Points(opts)
		silent(t, file, list)
		for _, p := range some(points) {
			one := opts
			one.Set = slices.Concat(opts.Set, p.Set)
			prog, list, err := compiler.Compile(one)
			if err != nil || list.HasErrors() {
				t.Errorf("%s, %s: %v", file, p.Name, err)
				silent(t, file, list)
				continue
			}
			for _, training := range prog.Trainings() {
				for _, g := range training.Lowered.Groups {
					for _, param := range g.Params {
						if name := g.Name + "." + param.Name; strings.Contains(config.Meaning(name), "parameter ") {
							unnamed[name] = true
						}
					}
				}
				compare(t, strings.TrimSpace(file+" "+p.Name+" "+training.Stage), training, done)
			}
		}
	}
	t.Logf("%d kernels", len(done))
	if !full.Tests {
		return
	}
	if diff := cmp.Diff(parametersOfSpecs, slices.Sorted(maps.Keys(unnamed))); diff != "" {
		t.Errorf("parameters whose meaning is not known: %s", diff)
	}
}

// compare compares new kernels with float64.
func compare(t *testing.T, name string, prog *compiler.Program, done map[string]bool) {
	t.Helper()
	cases, err := diff.Cases(prog.Lowered)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	for _, c := range cases {
		if text := c.Text(); !done[text] {
			done[text] = true
			r, err := c.Compare(diff.Shape{Batch: 2, Length: 5}, nil)
			switch {
			case err != nil:
				t.Errorf("%s: %v", name, err)
			case r.Out():
				t.Errorf("%s: %s: %s%v is %v, want %v", name, c.Kernel.Name, r.Buffer, r.Index, r.Got, r.Want)
			}
		}
	}
}
