package train

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/arithlang/mlc/cli/build"
	"github.com/arithlang/mlc/cli/project"
	"github.com/arithlang/mlc/cli/results"
	"github.com/arithlang/mlc/cli/shell"
	"github.com/arithlang/mlc/compiler"
	"github.com/arithlang/mlc/compiler/check"
	"github.com/arithlang/mlc/plot/list"
	"github.com/arithlang/mlc/runtime/config"
	"github.com/arithlang/mlc/runtime/damage"
	"github.com/arithlang/mlc/runtime/flag"
	"github.com/arithlang/mlc/runtime/flags"
	"github.com/arithlang/mlc/runtime/record"
	"github.com/arithlang/mlc/runtime/train"
)

// TestBestIsInTheTable wants the same number everywhere: in the best so far, a training's
// message, the sweep's table and mlc runs.
func TestBestIsInTheTable(t *testing.T) {
	dir := t.TempDir()
	s := &series{Builder: build.New(&shell.Shell{}, nil, build.Maker{}), flags: Flags{Training: flags.Training{Out: dir}}}
	for name, text := range map[string]string{
		"a":    `{"id":0.9,"ood":0.4483,"ood100":0.5,"by_cell":[[1,1,4,4],[2,2,4,3],[3,3,4,2]]}`,
		"also": `{"id":0.9,"ood":0.4483,"ood100":0.5,"by_cell":[[1,1,4,4],[2,2,4,3],[3,3,4,2]]}`,
		"b":    `{"id":1,"ood":0.3438,"by_cell":[[1,1,4,4],[2,2,4,4],[3,3,4,4]]}`,
	} {
		for file, text := range map[string]string{"eval/result.json": text, "run.json": `{"name":"` + name + `"}`} {
			path := filepath.Join(dir, name, file)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, name := range []string{"b", "a", "also", "c"} {
		j := job{state: done}
		j.Point.Name, j.Point.Slug = name, name
		s.jobs = append(s.jobs, j)
	}
	s.jobs[3].state = waiting
	want := "3 done, 1 left with this one; best so far a, exact match: id 90.00 %, ood 44.83 %, ood100 50.00 %"
	if got := s.soFar(); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got := (&crew{series: s}).matchOf(&s.jobs[1]); !strings.HasSuffix(want, strings.TrimPrefix(got, ",")) {
		t.Errorf("its own message: %s", got)
	}
	row, err := results.ReadRow("a", filepath.Join(dir, "a"))
	heads, texts := row.Cells()
	if err != nil || !slices.Equal(heads[:3], []string{"id", "ood", "ood100"}) || !slices.Equal(texts[:3], []string{"90.00", "44.83", "50.00"}) {
		t.Errorf("the table: %q %q, %v", heads, texts, err)
	}
	var out bytes.Buffer
	runs, err := list.Runs(damage.At(dir))
	if err != nil {
		t.Fatal(err)
	}
	if err := results.PrintRuns(&shell.Shell{Out: &out, Err: io.Discard}, runs); err != nil {
		t.Fatal(err)
	}
	if lines := strings.Split(out.String(), "\n"); !slices.Equal(strings.Fields(lines[0])[5:8], []string{"out", "id", "ood"}) || !strings.Contains(lines[1], "90.00   44.83") {
		t.Errorf("mlc runs:\n%s", out.String())
	}
}

// TestProgress estimates from the trainings that were run from their beginning.
func TestProgress(t *testing.T) {
	for _, c := range []struct {
		jobs []job
		want string
	}{
		{[]job{{work: 10}, {work: 30}}, ""},
		{[]job{{work: 10, state: done, took: time.Hour}, {work: 30}}, " (25 % of the work is done, about 3h0m left)"},
		{[]job{{work: 10, state: done, begun: true, took: time.Second}, {work: 30}}, " (25 % of the work is done)"},
		{[]job{{work: 10, state: done, begun: true, took: time.Hour}, {work: 10, state: done, took: 30 * time.Minute}, {work: 20}},
			" (50 % of the work is done, about 1h0m left)"},
		{[]job{{state: failed, took: time.Hour}, {work: 10, state: done, took: 20 * time.Second}, {work: 10}},
			" (50 % of the work is done, about 20s left, 1 failed)"},
		{[]job{{work: 10, state: done, took: time.Hour}, {}}, ""},
	} {
		s := &series{jobs: c.jobs}
		if got := s.progress(); got != c.want {
			t.Errorf("%+v:%s, want%s", c.jobs, got, c.want)
		}
	}
}

// TestEnded goes on after a training that has failed or was killed, but not after a mistake in the
// first command line, a signal or an error of mlc.
func TestEnded(t *testing.T) {
	const again = "training 1 of 2 has failed: mlc train x.arith --seed 4\n"
	broken := errors.New("broken")
	for _, c := range []struct {
		err   error
		ran   bool
		ends  bool
		state jobState
		says  string
	}{
		{nil, false, false, done, ""},
		{shell.ExitStatus(1), false, false, failed, again},
		{shell.ExitStatus(137), false, false, failed, "training 1 of 2 was killed by the kernel (SIGKILL): probably out of memory: try it with fewer --threads, or on another machine\n" + again},
		{shell.ExitStatus(shell.ExitUsage), false, true, waiting, ""},
		{shell.ExitStatus(shell.ExitUsage), true, false, failed, again},
		{shell.ExitStatus(130), true, true, waiting, ""},
		{broken, true, true, waiting, ""},
	} {
		var said strings.Builder
		s := &series{Builder: build.New(&shell.Shell{Err: &said}, nil, build.Maker{}), flags: flagsGiven(t, "--seed 4"), jobs: make([]job, 2), ran: c.ran}
		s.jobs[0].Source.Name = "x.arith"
		err := s.ended(0, time.Minute, c.err)
		if c.ends != (err != nil) || err != nil && err != c.err {
			t.Errorf("after %v it returns %v", c.err, err)
		}
		j := s.jobs[0]
		if j.state != c.state || (j.took == time.Minute) == c.ends || s.ran != (c.ran || !c.ends) {
			t.Errorf("after %v the state is %v, it took %v, and some training ran: %v", c.err, j.state, j.took, s.ran)
		}
		if got := strings.ReplaceAll(said.String(), shell.Hint("train"), "mlc train"); got != c.says {
			t.Errorf("after %v it says %q, want %q", c.err, got, c.says)
		}
	}
}

// TestFinish ends with the trainings that failed or go on elsewhere, and with commands that show
// the results.
func TestFinish(t *testing.T) {
	for name, c := range map[string]struct {
		states []jobState
		quiet  bool
		says   string
		fails  bool
	}{
		"all done":  {[]jobState{done, done}, false, "next: mlc plot --kind table o/*\n      mlc plot o/*\n", false},
		"one":       {[]jobState{done}, false, "next: mlc plot --kind table o/0\n      mlc plot o/0\n", false},
		"quiet":     {[]jobState{done, done}, true, "", false},
		"elsewhere": {[]jobState{done, away, away}, true, "2 of 3 trainings are still running in other processes\n", true},
		"failed":    {[]jobState{failed, away}, false, "1 of 2 trainings are still running in other processes\n1 of 2 trainings have failed:\n  mlc train x.arith --out o --resume=auto\n", true},
		"none":      {nil, false, "", false},
	} {
		var out, said strings.Builder
		s := &series{Builder: build.New(&shell.Shell{Out: &out, Err: &said}, nil, build.Maker{}), flags: flagsGiven(t, "--out o --resume"), quiet: c.quiet}
		for i, state := range c.states {
			j := job{state: state}
			j.Source.Name, j.Point.Slug = "x.arith", fmt.Sprint(i)
			s.jobs = append(s.jobs, j)
		}
		err := s.finish()
		got := strings.NewReplacer(shell.Hint("train"), "mlc train", shell.Hint("plot"), "mlc plot").Replace(said.String())
		if diff := cmp.Diff(c.says, got); diff != "" || errors.Is(err, shell.ErrShown) != c.fails || !c.fails && err != nil {
			t.Errorf("%s: %v, %s", name, err, diff)
		}
		table := out.String()
		out.Reset()
		s.JSON = true
		if s.finish(); (table == "") != (c.states == nil) || out.Len() > 0 {
			t.Errorf("%s: the table is %q, and as JSON %q", name, table, out.String())
		}
	}
}

// TestWork counts the operations of a budget in steps, examples and FLOP alike.
func TestWork(t *testing.T) {
	work := func(budget, args string) float64 {
		sh := &shell.Shell{Context: t.Context(), Err: t.Output()}
		p, err := project.Compile(sh, project.Training{Source: project.Source{Base: "../..", Name: "specs/tiny.arith"}, Set: []string{"train.batch=32", "train.budget=" + budget}})
		if err != nil {
			t.Fatal(err)
		}
		return flagsGiven(t, args).work(p)
	}
	step := work("1steps", "")
	for budget, want := range map[string]float64{"3steps": 3 * step, "128examples": 4 * step, "5TFLOP": 5e12, "2m": 0} {
		if got := work(budget, ""); got != want {
			t.Errorf("of %s: %g, want %g", budget, got, want)
		}
	}
	if got := work("3steps", "--steps 7"); got != 1 || step < 1e6 {
		t.Errorf("with a budget for all: %g; of a step: %g", got, step)
	}
}

// TestSaying passes the flags for output on to trainers.
func TestSaying(t *testing.T) {
	for want, c := range map[string][2]bool{"": {}, "-q": {true, false}, "--json": {false, true}, "-q --json": {true, true}} {
		if got := strings.Join(saying(c[0], c[1]), " "); got != want {
			t.Errorf("quiet and JSON %v: %q, want %q", c, got, want)
		}
	}
}

// TestFlagsOfStages passes flags about stages only to specs with stages.
func TestFlagsOfStages(t *testing.T) {
	f := flagsGiven(t, "--until calibrate --go-on --out=x --steps 3")
	for staged, want := range map[bool][]string{false: {"--out", "x/a", "--steps", "3"}, true: {"--out", "x/a", "--steps", "3", "--until", "calibrate", "--go-on"}} {
		j := &job{Training: project.Training{Point: check.Point{Slug: "a"}}, staged: staged}
		one := f.of(j)
		if diff := cmp.Diff(want, words(&one)); diff != "" {
			t.Errorf("stages %t: %s", staged, diff)
		}
	}
}

// TestRunOfTheSameSpec finds the run that --resume continues: with the training's spec,
// seed and budget.
func TestRunOfTheSameSpec(t *testing.T) {
	t.Chdir(t.TempDir())
	hash := func(of string) string { return strings.Repeat(of, 32) }
	const full = `"seed":1,"budget":{"steps":200}`
	for dir, text := range map[string]string{
		"runs/other/20250102-000000-aa":   `"spec_hash":"` + hash("aa") + `",` + full,
		"runs/zoo/20250101-000000-aa":     `"spec_hash":"` + hash("aa") + `",` + full,
		"runs/table-b/20250101-000000-bb": `"spec_hash":"` + hash("bb") + `",` + full,
		"runs/table-b/20250102-000000-bb": `"spec_hash":"` + hash("bb") + `",` + full,
		"runs/table-b/20250103-000000-cc": `"spec_hash":"` + hash("cc") + `",` + full,
		"runs/table-b/20250104-000000-bb": `"spec_hash":"` + hash("bb") + `","seed":5,"budget":{"steps":200}`,
		"runs/table-b/20250105-000000-bb": `"spec_hash":"` + hash("bb") + `","seed":1,"budget":{"steps":50}`,
		"runs/table-b/20250106-000000-bb": `"spec_hash":"` + hash("bb") + `","seed":1,"budget":{"steps":200},"earlier_budgets":[{"steps":50}]`,
		"runs/table-b/20250107-000000-bb": `"spec_hash":7`,
		"runs/table-b/backup":             `"spec_hash":"` + hash("bb") + `",` + full, // a copy
		"runs/no/20260101-000000-cc":      `"spec_hash":"` + hash("cc") + `",` + full,
		"x/b":                             `"spec_hash":"` + hash("bb") + `","seed":1,"budget":{"steps":50}`,
	} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "run.json"), []byte("{"+text+"}"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	named := func(f Flags, slug, of string) *job {
		spec := &check.Spec{Hash: hash(of), Train: check.Train{Train: config.Train{Seed: 1, Budget: config.Budget{Steps: 200}}}}
		return &job{Training: project.Training{Source: project.Source{Name: "table.arith"}, Point: check.Point{Name: "row=" + slug, Slug: slug}},
			asked: f.asks(&compiler.Program{Spec: spec})}
	}
	for _, c := range []struct {
		flags      string
		slug, hash string
		want       string
	}{
		{"", "a", "aa", ""},
		{"--resume", "a", "aa", "runs/other/20250102-000000-aa"},
		{"--resume --picture", "a", "dd", ""},
		{"--resume --seed=3", "a", "aa", ""},
		{"--steps 5 --resume", "a", "aa", ""},
		{"", "b", "bb", "runs/table-b/20250102-000000-bb"},
		{"--resume", "b", "bb", "runs/table-b/20250102-000000-bb"},
		{"--resume --seed 5", "b", "bb", "runs/table-b/20250104-000000-bb"},
		{"--resume --steps=50", "b", "bb", "runs/table-b/20250105-000000-bb"},
		{"--resume --steps 200", "b", "bb", "runs/table-b/20250102-000000-bb"},
		{"--resume --examples 200", "b", "bb", ""},
		{"--resume", "b", "aa", "runs/other/20250102-000000-aa"}, // its own runs are of other specs
		{"--out x --resume", "b", "aa", "x/b"},
	} {
		f := flagsGiven(t, c.flags)
		j := named(f, c.slug, c.hash)
		if got := filepath.ToSlash(f.dir(j)); got != c.want {
			t.Errorf("%v: row %s is in %q, want %q", c.flags, c.slug, got, c.want)
		}
	}
	var said []string
	say := func(format string, args ...any) { said = append(said, fmt.Sprintf(format, args...)) }
	f := flagsGiven(t, "--resume")
	if err := f.fits(named(f, "b", "bb"), say); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff([]string{
		"runs/table-b/20250104-000000-bb: its seed is 5, and 1 is asked for: not resumed",
		"runs/table-b/20250105-000000-bb: its budget is 50 steps, and 200 steps are asked for: not resumed",
		"runs/table-b/20250106-000000-bb: its budget is 50 steps, then 200 steps, and 200 steps are asked for: not resumed",
		"runs/table-b/20250107-000000-bb/run.json is damaged: spec_hash cannot be a number: not resumed",
	}, said); diff != "" {
		t.Error(diff)
	}
	for args, want := range map[string]string{
		"--resume --out x":               "x/b does not fit the training row=b: its budget is 50 steps, and 200 steps are asked for. Choose another --out",
		"--resume --out x --steps 50":    "",
		"--resume --out=x --seed=7":      "its seed is 1, and 7 is asked for",
		"--out x":                        "",
		"--resume --out y":               "",
		"--resume --out x --examples 50": "its budget is 50 steps, and 50 examples are asked for",
	} {
		f := flagsGiven(t, args)
		err := f.fits(named(f, "b", "bb"), say)
		if (err == nil) != (want == "") || err != nil && (!strings.Contains(err.Error(), want) || !errors.As(err, new(shell.UsageError))) {
			t.Errorf("%s: %v, want %q", args, err, want)
		}
	}
}

// TestAskedOfStages compares the trainings up to the last requested one.
func TestAskedOfStages(t *testing.T) {
	stage := func(name string, seed uint64) *compiler.Program {
		return &compiler.Program{Stage: name, Spec: &check.Spec{Hash: "aa", Train: check.Train{Train: config.Train{Seed: seed, Budget: config.Budget{Examples: 500}}}}}
	}
	p := &compiler.Program{Spec: &check.Spec{Hash: "aa"}, Stages: []*compiler.Program{stage("first", 1), stage("second", 2)}}
	of := func(name string, seed uint64, budget train.Budget) *record.Stage {
		return &record.Stage{Name: name, Kind: "training", Seed: seed, Training: record.Training{Budget: budget}}
	}
	r := &record.Record{Seed: 2, Stages: []*record.Stage{of("first", 1, train.Budget{Examples: 500}), {Name: "calibrate", Kind: "calibration", Seed: 2}, of("second", 2, train.Budget{Steps: 9})}}
	for args, want := range map[string]string{
		"":                              "stage second: its budget is 9 steps, and 500 examples are asked for",
		"--until first":                 "",
		"--until second":                "stage second: its budget is 9 steps, and 500 examples are asked for",
		"--until=first --seed 3":        "stage first: its seed is 1, and 3 is asked for",
		"--until first --init-seed 1":   "",
		"--until first --init-seed 3":   "stage first: its seed of initial weights is 1, and 3 is asked for",
		"--until first --examples=1000": "stage first: its budget is 500 examples, and 1000 examples are asked for",
	} {
		a := flagsGiven(t, args).asks(p)
		if got := a.differs(r); got != want {
			t.Errorf("%q: %q, want %q", args, got, want)
		}
	}
}

// TestAskedOfInitialWeights accepts a run with the same initial weights, whichever seed
// sets them.
func TestAskedOfInitialWeights(t *testing.T) {
	for _, c := range []struct {
		spec, run *uint64
		flags     string
		want      string
	}{
		{nil, nil, "", ""},
		{nil, new(uint64(7)), "--init-seed=7", ""},
		{nil, new(uint64(7)), "", "its seed of initial weights is 7, and 1 is asked for"},
		{new(uint64(7)), new(uint64(7)), "", ""},
		{new(uint64(7)), new(uint64(9)), "--init-seed 9", ""},
		{new(uint64(7)), new(uint64(9)), "", "its seed of initial weights is 9, and 7 is asked for"},
		{nil, nil, "--init-seed 2", "its seed of initial weights is 1, and 2 is asked for"},
	} {
		p := &compiler.Program{Spec: &check.Spec{Train: check.Train{Train: config.Train{Seed: 1, InitSeed: c.spec, Budget: config.Budget{Steps: 9}}}}}
		a := flagsGiven(t, c.flags).asks(p)
		if got := a.differs(&record.Record{Seed: 1, InitSeed: c.run, Training: record.Training{Budget: train.Budget{Steps: 9}}}); got != c.want {
			t.Errorf("%+v: %q", c, got)
		}
	}
}

// TestAgain prints the whole command line, with --resume.
func TestAgain(t *testing.T) {
	for args, want := range map[string]string{
		"s.arith":                                   "mlc train s.arith --resume -q",
		"s.arith --resume=auto":                     "mlc train s.arith --resume=auto -q",
		"s.arith --out o --resume":                  "mlc train s.arith --out o --resume -q",
		"--set a=b s.arith --steps 5 --point=row=x": "mlc train s.arith --set a=b --point row=x --steps 5 --resume -q",
		"it's.arith --set a=relu(1) --jobs 2":       `mlc train 'it'\''s.arith' --set 'a=relu(1)' --jobs 2 --resume -q`,
	} {
		want = strings.Replace(want, "mlc", flag.Line(shell.Self()), 1)
		if got := lineOf(t, args).again(true); got != want {
			t.Errorf("%s: %s, want %s", args, got, want)
		}
	}
}
