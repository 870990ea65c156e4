package cli

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
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/arithlang/mlc/compiler"
	"github.com/arithlang/mlc/compiler/check"
	"github.com/arithlang/mlc/plot"
	"github.com/arithlang/mlc/plot/list"
	"github.com/arithlang/mlc/runtime/config"
	"github.com/arithlang/mlc/runtime/damage"
	"github.com/arithlang/mlc/runtime/eval"
	"github.com/arithlang/mlc/runtime/record"
	"github.com/arithlang/mlc/runtime/train"
)

// result has so many of 1,000 problems right at each length.
func result(lengths []int, right ...int) *eval.Result {
	r := new(eval.Result)
	for n, length := range lengths {
		r.ByCell = append(r.ByCell, eval.Cell{Pair: eval.Pair{I: length, J: length}, Samples: 1000, Correct: right[n]})
	}
	return r
}

// TestResults prints trainings whose tests differ as one table.
func TestResults(t *testing.T) {
	id, ood := 0.99996, 0.5
	digits, bits := []int{6, 10}, []int{20, 33, 200}
	grid := &eval.Result{ID: &id, OOD: &ood, Over: map[string]int{"id": 3, "ood": 54}, ByCell: []eval.Cell{{Pair: eval.Pair{I: 1, J: 2}}}}
	var b bytes.Buffer
	err := writeResults(&b, []resultRow{
		{name: "row=b", missing: "failed"},
		{name: "row=a", result: result(digits, 1000, 999)},
		{name: "row=c", result: result([]int{2, 6, 10}, 1000, 7, 0), lengths: digits},
		{name: "row=d_which_is_long", result: result(bits, 1000, 0, 1)},
		{name: "row=e", result: grid},
		{name: "row=f", missing: "no result"},
	})
	want := `exact match, %              6        10
row=b                  failed
row=a                  100.00     99.90
row=c                    0.70      0.00
                           20        33       200
row=d_which_is_long    100.00      0.00      0.10
                           id       ood
row=e                   99.99     50.00
row=f                no result
id: mean over 3 pairs of lengths of training; ood: mean over 54 longer ones, up to 100 digits
`
	if diff := cmp.Diff(want, b.String()); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
}

// TestMeans ends a table with the mean and the sample standard deviation of trainings
// that differ in their seeds alone, each seed once and only those with a result.
func TestMeans(t *testing.T) {
	digits := []int{6, 10}
	a := func(seed string) kin { return kin{kind: "spec a", name: "row=a", seed: seed} }
	b := func(seed string) kin { return kin{kind: "spec b", name: "row=b", seed: seed} }
	var out bytes.Buffer
	err := writeResults(&out, []resultRow{
		{name: "row=a,seed=1", result: result(digits, 1000, 10), of: a("1")},
		{name: "row=a,seed=2", result: result(digits, 990, 30), of: a("2")},
		{name: "row=a,seed=2", result: result(digits, 0, 0), of: a("2")},
		{name: "row=a,seed=3", result: result(digits, 980, 50), of: a("3")},
		{name: "row=a,seed=4", missing: "failed", of: a("4")},
		{name: "row=b,seed=1", result: result(digits, 1000, 0), of: b("1")},
		{name: "row=b,seed=2", result: result(digits, 1000, 1000), of: b("2")},
		{name: "row=b,seed=3", result: result([]int{6}, 7), of: b("3")},
	})
	want := `exact match, %                              6             10
row=a,seed=1                           100.00           1.00
row=a,seed=2                            99.00           3.00
row=a,seed=2                             0.00           0.00
row=a,seed=3                            98.00           5.00
row=a,seed=4                           failed
row=b,seed=1                           100.00           0.00
row=b,seed=2                           100.00         100.00
row=b,seed=3                             0.70              -
row=a: mean ± deviation, n = 3   99.00 ± 1.00    3.00 ± 2.00
row=b: mean ± deviation, n = 3  66.90 ± 57.33              -
`
	if diff := cmp.Diff(want, out.String()); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
	for name, want := range map[string]string{"seed=1": "", "mask=f(a, seed=2),seed=1": "mask=f(a, seed=2)", "a=1,train.seed=2,b=3": "a=1,b=3", "seeds=1": "seeds=1", "init_seed=4,seed=1": "", "a=2,stage.b.train.init_seed=4": "a=2"} {
		if got := seedless(name); got != want {
			t.Errorf("%s without its seed is %q, want %q", name, got, want)
		}
	}
}

// TestManyLengths shows means where there are more lengths than columns.
func TestManyLengths(t *testing.T) {
	var lengths, right []int
	for n := range maxLengths + 1 {
		lengths, right = append(lengths, n+1), append(right, 0)
	}
	for n, want := range map[int]int{maxLengths: maxLengths, maxLengths + 1: 2} {
		if heads, cells := (&resultRow{result: result(lengths[:n], right...)}).columns(); len(heads) != want || len(cells) != want {
			t.Errorf("%d lengths have %d columns, want %d", n, len(heads), want)
		}
	}
}

// TestBestIsInTheTable wants one number by one name: what is said of the best so far, what a
// training's own message says, the sweep's table and mlc runs.
func TestBestIsInTheTable(t *testing.T) {
	dir := t.TempDir()
	s := &series{app: &app{}, flags: trainFlags{out: dir}}
	for name, text := range map[string]string{
		"a": `{"id":0.9,"ood":0.4483,"ood100":0.5,"by_cell":[[1,1,4,4],[2,2,4,3],[3,3,4,2]]}`,
		"b": `{"id":1,"ood":0.3438,"by_cell":[[1,1,4,4],[2,2,4,4],[3,3,4,4]]}`,
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
	for _, name := range []string{"a", "b", "c"} {
		j := job{state: done}
		j.point.Name, j.point.Slug = name, name
		s.jobs = append(s.jobs, j)
	}
	s.jobs[2].state = waiting
	want := "2 done, 1 left with this one; best so far a, exact match: id 90.00 %, ood 44.83 %, ood100 50.00 %"
	if got := s.soFar(); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got := (&crew{series: s}).matchOf(&s.jobs[0]); !strings.HasSuffix(want, strings.TrimPrefix(got, ",")) {
		t.Errorf("its own message: %s", got)
	}
	row, err := readResult("a", filepath.Join(dir, "a"))
	heads, texts := row.cells()
	if err != nil || !slices.Equal(heads[:3], []string{"id", "ood", "ood100"}) || !slices.Equal(texts[:3], []string{"90.00", "44.83", "50.00"}) {
		t.Errorf("the table: %q %q, %v", heads, texts, err)
	}
	var out bytes.Buffer
	runs, err := list.Runs(damage.At(dir))
	if err != nil {
		t.Fatal(err)
	}
	if err := (&app{out: &out, err: io.Discard}).printRuns(runs); err != nil {
		t.Fatal(err)
	}
	if lines := strings.Split(out.String(), "\n"); !slices.Equal(strings.Fields(lines[0])[5:8], []string{"out", "id", "ood"}) || !strings.Contains(lines[1], "90.00   44.83") {
		t.Errorf("mlc runs:\n%s", out.String())
	}
}

// TestProgress estimates by what was trained from its beginning.
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

// TestFlagsOfStages gives flags about stages to specs that have some.
func TestFlagsOfStages(t *testing.T) {
	f := takeFlags([]string{"--until", "calibrate", "-q", "--go-on", "--out=x"})
	for staged, want := range map[bool][]string{false: {"-q", "--out", "x/a"}, true: {"-q", "--until=calibrate", "--go-on", "--out", "x/a"}} {
		j := &job{training: training{point: check.Point{Slug: "a"}}, staged: staged}
		if diff := cmp.Diff(want, f.of(j)); diff != "" {
			t.Errorf("stages %t: %s", staged, diff)
		}
	}
}

// TestResumeFlag reads the flag in all its forms, and keeps what it is not for the trainer.
func TestResumeFlag(t *testing.T) {
	for args, want := range map[string]trainFlags{
		"":                        {},
		"--resume":                {resume: true},
		"--resume=true":           {resume: true},
		"--resume=auto":           {resume: true, auto: true},
		"--resume --resume=false": {},
		"--resume=perhaps":        {rest: []string{"--resume=perhaps"}},
	} {
		if diff := cmp.Diff(want, takeFlags(strings.Fields(args)), cmp.AllowUnexported(trainFlags{}), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s: %s", args, diff)
		}
	}
}

// TestRunOfTheSameSpec finds what --resume goes on with: a run of the spec, the seed and
// the budget that are asked for.
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
	named := func(f trainFlags, slug, of string) *job {
		spec := &check.Spec{Hash: hash(of), Train: check.Train{Train: config.Train{Seed: 1, Budget: config.Budget{Steps: 200}}}}
		return &job{training: training{source: source{name: "table.arith"}, point: check.Point{Name: "row=" + slug, Slug: slug}},
			asked: f.asks(&compiler.Program{Spec: spec})}
	}
	for _, c := range []struct {
		flags      []string
		slug, hash string
		want       string
	}{
		{nil, "a", "aa", ""},
		{[]string{"--resume"}, "a", "aa", "runs/other/20250102-000000-aa"},
		{[]string{"--resume", "-q"}, "a", "dd", ""},
		{[]string{"--resume", "--seed=3"}, "a", "aa", ""},
		{[]string{"--steps", "5", "--resume"}, "a", "aa", ""},
		{nil, "b", "bb", "runs/table-b/20250102-000000-bb"},
		{[]string{"--resume"}, "b", "bb", "runs/table-b/20250102-000000-bb"},
		{[]string{"--resume", "--seed", "5"}, "b", "bb", "runs/table-b/20250104-000000-bb"},
		{[]string{"--resume", "--steps=50"}, "b", "bb", "runs/table-b/20250105-000000-bb"},
		{[]string{"--resume", "--steps", "200"}, "b", "bb", "runs/table-b/20250102-000000-bb"},
		{[]string{"--resume", "--examples", "200"}, "b", "bb", ""},
		{[]string{"--resume"}, "b", "aa", "runs/other/20250102-000000-aa"}, // its own are of other specs
		{[]string{"--out", "x", "--resume"}, "b", "aa", "x/b"},
	} {
		f := takeFlags(c.flags)
		j := named(f, c.slug, c.hash)
		if got := filepath.ToSlash(f.dir(j)); got != c.want {
			t.Errorf("%v: row %s is in %q, want %q", c.flags, c.slug, got, c.want)
		}
	}
	var said []string
	say := func(format string, args ...any) { said = append(said, fmt.Sprintf(format, args...)) }
	f := takeFlags([]string{"--resume"})
	if err := f.fits(named(f, "b", "bb"), say); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff([]string{
		"runs/table-b/20250104-000000-bb: its seed is 5, and 1 is asked for: not gone on with",
		"runs/table-b/20250105-000000-bb: its budget is 50 steps, and 200 steps are asked for: not gone on with",
		"runs/table-b/20250106-000000-bb: its budget is 50 steps, then 200 steps, and 200 steps are asked for: not gone on with",
		"runs/table-b/20250107-000000-bb/run.json is damaged: spec_hash cannot be a number: not gone on with",
	}, said); diff != "" {
		t.Error(diff)
	}
	for args, want := range map[string]string{
		"--resume --out x":               "x/b is not the training row=b that is asked for: its budget is 50 steps, and 200 steps are asked for. Choose another --out",
		"--resume --out x --steps 50":    "",
		"--resume --out=x --seed=7":      "its seed is 1, and 7 is asked for",
		"--out x":                        "",
		"--resume --out y":               "",
		"--resume --out x --examples 50": "its budget is 50 steps, and 50 examples are asked for",
	} {
		f := takeFlags(strings.Fields(args))
		err := f.fits(named(f, "b", "bb"), say)
		if (err == nil) != (want == "") || err != nil && (!strings.Contains(err.Error(), want) || !errors.As(err, new(usageError))) {
			t.Errorf("%s: %v, want %q", args, err, want)
		}
	}
}

// TestAskedOfStages compares the trainings up to the last one that is asked for.
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
		a := takeFlags(strings.Fields(args)).asks(p)
		if got := a.differs(r); got != want {
			t.Errorf("%q: %q, want %q", args, got, want)
		}
	}
}

// TestAskedOfInitialWeights counts runs for a training whose initial weights are those that
// are asked for, by whichever seed they are.
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
		a := takeFlags(strings.Fields(c.flags)).asks(p)
		if got := a.differs(&record.Record{Seed: 1, InitSeed: c.run, Training: record.Training{Budget: train.Budget{Steps: 9}}}); got != c.want {
			t.Errorf("%+v: %q", c, got)
		}
	}
}

// TestTablesOfInitialWeights says the seed of initial weights where some run has one.
func TestTablesOfInitialWeights(t *testing.T) {
	result := result([]int{3}, 2)
	plain, own := &plot.Run{Name: "a", Seed: 1, Result: result}, &plot.Run{Name: "b", Seed: 1, InitSeed: new(uint64(5)), Result: result}
	for _, c := range []struct {
		got  table
		want [][]any
	}{
		{runsTable([]*list.Run{{Seed: 1}}), [][]any{{"overall"}, {""}}},
		{runsTable([]*list.Run{{Seed: 1}, {Seed: 1, InitSeed: new(uint64(5))}}), [][]any{{"init_seed"}, {""}, {uint64(5)}}},
		{longResults([]*plot.Run{plain}), [][]any{{"correct"}, {2}}},
		{longResults([]*plot.Run{plain, own}), [][]any{{"init_seed"}, {""}, {uint64(5)}}},
	} {
		got := [][]any{{c.got.heads[len(c.got.heads)-1]}}
		for _, row := range c.got.rows {
			if len(row) != len(c.got.heads) {
				t.Errorf("%d cells below %d heads", len(row), len(c.got.heads))
			}
			got = append(got, row[len(row)-1:])
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Error(diff)
		}
	}
}

// TestAgain wants the whole command line to be said, with --resume.
func TestAgain(t *testing.T) {
	for args, want := range map[string]string{
		"s.arith":                                   "mlc train s.arith --resume",
		"s.arith --resume=auto":                     "mlc train s.arith --resume=auto",
		"s.arith --out o --resume -q":               "mlc train s.arith --out o --resume -q",
		"--set a=b s.arith --steps 5 --point=row=x": "mlc train s.arith --set a=b --point row=x --steps 5 --resume",
		"it's.arith --set a=relu(1)":                `mlc train 'it'\''s.arith' --set 'a=relu(1)' --resume`,
	} {
		line, err := splitTrain(strings.Fields(args))
		if err != nil {
			t.Fatal(err)
		}
		if got := line.again(); got != want {
			t.Errorf("%s: %s, want %s", args, got, want)
		}
	}
}
