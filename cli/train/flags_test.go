package train

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/arithlang/mlc/cli/project"
	"github.com/arithlang/mlc/cli/shell"
	"github.com/arithlang/mlc/compiler/check"
	"github.com/arithlang/mlc/runtime/flags"
	"github.com/arithlang/mlc/runtime/record"
	"github.com/arithlang/mlc/runtime/track"
	"github.com/arithlang/mlc/runtime/train"
)

// TestBudgetOfFlags prefers the budget of a flag to the spec's.
func TestBudgetOfFlags(t *testing.T) {
	spec := train.Budget{Steps: 100}
	for flags, want := range map[string]train.Budget{
		"":                    spec,
		"--picture":           spec,
		"--steps 7":           {Steps: 7},
		"--steps=7":           {Steps: 7},
		"--examples=640":      {Examples: 640},
		"--flop=1e12":         {FLOP: 1e12},
		"--time 90s":          {Time: 90 * time.Second},
		"--time=90s --go-on":  {Time: 90 * time.Second},
		"--steps=7 --steps=8": {Steps: 8},
	} {
		f := flagsGiven(t, flags)
		if got := f.budget(spec); got != want {
			t.Errorf("%s: %+v, want %+v", flags, got, want)
		}
		if got := f.hasBudget(); got != (want != spec) {
			t.Errorf("%s says how long to train: %v", flags, got)
		}
	}
}

// TestRefuseAxes refuses flags that set an axis of the sweep.
func TestRefuseAxes(t *testing.T) {
	point := func(axes map[string]string) []project.Training {
		return []project.Training{{}, {Source: project.Source{Base: t.TempDir(), Name: "a.arith"}, Point: check.Point{Name: "x", Axes: axes}}}
	}
	for _, c := range []struct {
		flags string
		axes  map[string]string
		want  string // "": accepted
	}{
		{"--seed 3", map[string]string{"train.optimizer.lr": "train.optimizer.lr"}, ""},
		{"--picture", map[string]string{"train.seed": "train.seed"}, ""},
		{"--seed 3", map[string]string{"train.seed": "train.seed"}, "--seed 3: the axis train.seed of the sweep"},
		{"--seed 3", map[string]string{"train.seed": "train.seed"}, "--set sweep.train.seed=3"},
		{"--seed 3", map[string]string{"train.seed": "row"}, "the axis row of the sweep"},
		{"--seed 3", map[string]string{"train.seed": "row"}, "--set train.seed=3"},
		{"--seed 3", map[string]string{"train.init_seed": "train.init_seed"}, ""},
		{"--init-seed 3", map[string]string{"stage.one.train.init_seed": "row"}, "sets stage.one.train.init_seed"},
		{"--steps=9", map[string]string{"train.budget": "train.budget"}, "--set sweep.train.budget=9steps"},
		{"--flop=9", map[string]string{"train.budget": "row"}, "--set train.budget=9FLOP"},
		{"--time=9s", map[string]string{"train.budget": "row"}, "--set train.budget=9s"},
		{"--examples=9", map[string]string{"my_train.budget": "row"}, ""},
	} {
		err := flagsGiven(t, c.flags).refuseAxes(point(c.axes))
		if (c.want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s with axes of %v: %v, want %q", c.flags, c.axes, err, c.want)
		}
	}
}

// TestFlagsOfOne gives each training of a sweep a directory below --out, and resumes begun
// ones.
func TestFlagsOfOne(t *testing.T) {
	out := t.TempDir()
	begun := filepath.Join(out, "begun")
	if err := os.MkdirAll(begun, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(record.Path(begun), []byte("{}"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		flags, slug string
		staged      bool
		of          string // flags of one among others; OUT is the folder
		inside      string // flags of one alone
	}{
		{"--picture --out OUT", "new", false, "--out OUT/new --picture", "--out OUT/new --picture"},
		{"--picture --out OUT", "begun", false, "--out OUT/begun --picture", "--out OUT/begun --picture"},
		{"--resume --out OUT", "new", false, "--out OUT/new", "--out OUT/new --resume"},
		{"--resume --out OUT", "begun", false, "--out OUT/begun --resume", "--out OUT/begun --resume"},
		{"--resume=auto --out=OUT", "new", false, "--out OUT/new --resume=auto", "--out OUT/new --resume=auto"},
		{"--until one --out OUT --go-on", "new", true, "--out OUT/new --until one --go-on", "--out OUT/new --until one --go-on"},
		{"--until one --out OUT", "new", false, "--out OUT/new", "--out OUT/new --until one"},
	} {
		list := func(text string) []string {
			return strings.Fields(strings.ReplaceAll(text, "OUT", filepath.ToSlash(out)))
		}
		f := flagsGiven(t, strings.Join(list(c.flags), " "))
		training := project.Training{Point: check.Point{Name: c.slug, Slug: c.slug}}
		j := &job{Training: training, staged: c.staged}
		one := f.of(j)
		if got := words(&one); !slices.Equal(got, list(c.of)) {
			t.Errorf("%s: %q, want %q", c.flags, got, list(c.of))
		}
		alone, err := f.inside(training)
		if got := words(&alone); err != nil || !slices.Equal(got, list(c.inside)) {
			t.Errorf("%s alone: %q, %v, want %q", c.flags, got, err, list(c.inside))
		}
	}
	if got, err := flagsGiven(t, "--out "+begun).inside(project.Training{}); err == nil || !strings.Contains(err.Error(), "is a run itself") {
		t.Errorf("below a run: %v, %v", words(&got), err)
	}
}

// TestUsed computes the share of a budget at a report.
func TestUsed(t *testing.T) {
	r := &track.Report{Step: 25, Examples: 320, Seconds: 30}
	for want, b := range map[float64]train.Budget{0.25: {Steps: 100}, 25: {Steps: 1}, 0.5: {Examples: 640}, 320: {Examples: 1}, 0.75: {Time: 40 * time.Second}} {
		if got := used(r, b); got != want {
			t.Errorf("%g of %s are used, want %g", got, b, want)
		}
	}
}

// TestRungFlags pauses trainings at their share, and resumes them from the second rung on.
func TestRungFlags(t *testing.T) {
	s := &series{flags: flagsGiven(t, "--picture --out x")}
	j := &job{Training: project.Training{Point: check.Point{Name: "a", Slug: "a"}}}
	dir := filepath.Join("x", "a")
	for _, c := range []struct {
		rung  int
		share float64
		want  []string
	}{
		{0, 0.25, []string{"--out", dir, "--pause", "0.25", "--picture"}},
		{1, 0.5, []string{"--out", dir, "--resume", "--pause", "0.5", "--picture"}},
		{2, 1, []string{"--out", dir, "--resume", "--picture"}},
	} {
		f := s.rungFlags(j, c.rung, c.share)
		if got := words(&f); !slices.Equal(got, c.want) {
			t.Errorf("rung %d: %q, want %q", c.rung, got, c.want)
		}
	}
	for _, c := range []struct {
		before, now int
		want        string
	}{{0, 0, ""}, {2, 0, " (2 trained before)"}, {0, 1, " (1 being trained)"}, {2, 1, " (2 trained before, 1 being trained)"}} {
		if got := (&launch{before: c.before, now: c.now}).leftOut(); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

// TestBatchWord quotes values that sbatch would split.
func TestBatchWord(t *testing.T) {
	for text, want := range map[string]string{"gpu": "gpu", "": "", "a b": `"a b"`, "a\tb": "\"a\tb\"", "it's": `"it's"`, `a"b`: `"a\"b"`, "a#b": `"a#b"`, "x=1,y": "x=1,y"} {
		if got := batchWord(text); got != want {
			t.Errorf("%q is %s, want %s", text, got, want)
		}
	}
}

// TestWorkOfABudget counts every program as one if a flag sets the budget.
func TestWorkOfABudget(t *testing.T) {
	sh := &shell.Shell{Context: t.Context(), Err: t.Output()}
	p, err := project.Compile(sh, project.Training{Source: project.Source{Base: "../..", Name: "specs/tiny.arith"}})
	if err != nil {
		t.Fatal(err)
	}
	whole := Flags{}.work(p)
	if whole <= 1 {
		t.Errorf("the spec's budget is %g operations", whole)
	}
	if got := (Flags{Training: flags.Training{Steps: 3}}).work(p); got != 1 {
		t.Errorf("the flag's budget is %g", got)
	}
}
