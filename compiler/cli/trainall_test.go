package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/arithlang/mlc/compiler/check"
	"github.com/arithlang/mlc/runtime/eval"
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
	grid := &eval.Result{ID: &id, OOD: &ood, ByCell: []eval.Cell{{Pair: eval.Pair{I: 1, J: 2}}}}
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
                      trained    longer  over 100
row=e                   99.99     50.00         -
row=f                no result
`
	if diff := cmp.Diff(want, b.String()); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
}

// TestManyLengths shows means where there are more lengths than columns.
func TestManyLengths(t *testing.T) {
	var lengths, right []int
	for n := range maxLengths + 1 {
		lengths, right = append(lengths, n+1), append(right, 0)
	}
	for n, want := range map[int]int{maxLengths: maxLengths, maxLengths + 1: 3} {
		if heads, cells := (resultRow{result: result(lengths[:n], right...)}).columns(); len(heads) != want || len(cells) != want {
			t.Errorf("%d lengths have %d columns, want %d", n, len(heads), want)
		}
	}
}

// TestProgress estimates by what was trained from its beginning.
func TestProgress(t *testing.T) {
	for _, c := range []struct {
		jobs []job
		want string
	}{
		{[]job{{work: 10}, {work: 30}}, ""},
		{[]job{{work: 10, state: done, ending: time.Hour}, {work: 30}}, " (25 % of the work is done, about 3h0m left)"},
		{[]job{{work: 10, state: done, begun: true, ending: time.Second}, {work: 30}}, " (25 % of the work is done)"},
		{[]job{{work: 10, state: done, begun: true, ending: time.Hour}, {work: 10, state: done, ending: 90 * time.Minute}, {work: 20}},
			" (50 % of the work is done, about 1h0m left)"},
		{[]job{{state: failed, ending: time.Hour}, {work: 10, state: done, ending: time.Hour + 20*time.Second}, {work: 10}},
			" (50 % of the work is done, about 20s left, 1 failed)"},
		{[]job{{work: 10, state: done, ending: time.Hour}, {}}, ""},
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

// TestRunOfTheSameSpec finds what --resume goes on with.
func TestRunOfTheSameSpec(t *testing.T) {
	t.Chdir(t.TempDir())
	for dir, hash := range map[string]string{
		"runs/other/20250102-000000-aa": "aa", "runs/zoo/20250101-000000-aa": "aa", "runs/table-b/20250101-000000-bb": "bb", "runs/no/20260101-000000-cc": "cc",
		"runs/table-b/20250102-000000-bb": "bb", "runs/table-b/20250103-000000-cc": "cc", "runs/table-b/backup": "bb", // a copy
	} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "run.json"), []byte(`{"spec_hash":"`+hash+`"}`), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	named := func(slug, hash string) *job {
		return &job{training: training{source: source{name: "table.arith"}, point: check.Point{Name: "row=" + slug, Slug: slug}}, hash: hash}
	}
	for _, c := range []struct {
		flags []string
		job   *job
		want  string
	}{
		{nil, named("a", "aa"), ""},
		{[]string{"--resume"}, named("a", "aa"), "runs/other/20250102-000000-aa"},
		{[]string{"--resume", "-q"}, named("a", "dd"), ""},
		{[]string{"--resume", "--seed=3"}, named("a", "aa"), ""},
		{[]string{"--steps", "5", "--resume"}, named("a", "aa"), ""},
		{nil, named("b", "bb"), "runs/table-b/20250102-000000-bb"},
		{[]string{"--resume"}, named("b", "bb"), "runs/table-b/20250102-000000-bb"},
		{[]string{"--resume"}, named("b", "aa"), "runs/other/20250102-000000-aa"}, // its own are of other specs
		{[]string{"--out", "x", "--resume"}, named("b", "aa"), "x/b"},
	} {
		f := takeFlags(c.flags)
		if got := filepath.ToSlash(f.dir(c.job)); got != c.want {
			t.Errorf("%v: row %s is in %q, want %q", c.flags, c.job.point.Slug, got, c.want)
		}
	}
}

// TestAgain wants the whole command line to be said, with --resume.
func TestAgain(t *testing.T) {
	for args, want := range map[string]string{
		"s.arith":                     "mlc train s.arith --resume",
		"s.arith --out o --resume -q": "mlc train s.arith --out o --resume -q",
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
