package track

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/arithlang/mlc/runtime/damage"
)

func report(step int) Report {
	match := 0.5
	return Report{Step: step, Examples: int64(step) * 128, Tokens: int64(step) * 1024, Loss: 1 / float64(step), LR: 1e-3,
		GradNorm: 0.30000000000000004, ExactMatch: &match, Seconds: float64(step) / 7, Stage: "train"}
}

func write(t *testing.T, dir string, after int, steps ...int) *Report {
	t.Helper()
	log, last, err := Open(dir, after, false)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	for _, s := range steps {
		if err := log.Write(report(s)); err != nil {
			t.Fatal(err)
		}
	}
	return last
}

func files(t *testing.T, dir string) string {
	t.Helper()
	var all string
	for _, name := range []string{"metrics.jsonl", "metrics.csv"} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		all += string(text)
	}
	return all
}

func TestLogFormat(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, 0, 7)
	want := `{"step":7,"examples":896,"tokens":7168,"loss":0.14285714285714285,"lr":0.001,"grad_norm":0.30000000000000004,"exact_match":0.5,"seconds":1,"stage":"train"}
step,examples,tokens,loss,lr,grad_norm,exact_match,seconds,stage
7,896,7168,0.14285714285714285,0.001,0.30000000000000004,0.5,1,train
`
	if diff := cmp.Diff(want, files(t, dir)); diff != "" {
		t.Error(diff)
	}
}

// TestWithoutHeldOutProblems wants no exact match of held-out problems anywhere.
func TestWithoutHeldOutProblems(t *testing.T) {
	dir := t.TempDir()
	log, _, err := Open(dir, 0, false)
	if err != nil {
		t.Fatal(err)
	}
	r := Report{Step: 7, Loss: 0.5, Stage: "train"}
	if err := errors.Join(log.Write(r), log.Close()); err != nil {
		t.Fatal(err)
	}
	want := `{"step":7,"examples":0,"tokens":0,"loss":0.5,"lr":0,"grad_norm":0,"seconds":0,"stage":"train"}
` + columns + `7,0,0,0.5,0,0,,0,train
`
	if diff := cmp.Diff(want, files(t, dir)); diff != "" {
		t.Error(diff)
	}
	if line := join((&Progress{Report: r}).fields(), plain); strings.Contains(line, "match") {
		t.Errorf("the status line is %q", line)
	}
}

// TestFullReports wants the numbers of full reports after the others, in both files and in the
// status line, and the same bytes when the log is opened again.
func TestFullReports(t *testing.T) {
	dir := t.TempDir()
	r := report(7)
	loss, match, learnt := 2.5, 1.0, 0.25
	r.HeldOutLoss, r.TrainExactMatch, r.TrainLoss = &loss, &match, &learnt
	without := report(8) // if no problem is held out
	without.ExactMatch, without.TrainExactMatch, without.TrainLoss = nil, &match, &learnt
	log, _, err := Open(dir, 0, true)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(log.Write(r), log.Write(without), log.Close()); err != nil {
		t.Fatal(err)
	}
	want := `{"step":7,"examples":896,"tokens":7168,"loss":0.14285714285714285,"lr":0.001,"grad_norm":0.30000000000000004,"exact_match":0.5,"seconds":1,"stage":"train","held_out_loss":2.5,"train_exact_match":1,"train_loss":0.25}
{"step":8,"examples":1024,"tokens":8192,"loss":0.125,"lr":0.001,"grad_norm":0.30000000000000004,"seconds":1.1428571428571428,"stage":"train","train_exact_match":1,"train_loss":0.25}
` + fullColumns + `7,896,7168,0.14285714285714285,0.001,0.30000000000000004,0.5,1,train,2.5,1,0.25
8,1024,8192,0.125,0.001,0.30000000000000004,,1.1428571428571428,train,,1,0.25
`
	if diff := cmp.Diff(want, files(t, dir)); diff != "" {
		t.Error(diff)
	}
	log, last, err := Open(dir, 7, true)
	if err != nil || !cmp.Equal(last, &r) {
		t.Fatalf("the last report is %+v: %v", last, err)
	}
	if err := errors.Join(log.Write(without), log.Close()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, files(t, dir)); diff != "" {
		t.Error(diff)
	}
	if line := join((&Progress{Report: r}).fields(), plain); !strings.Contains(line, "exact match  50.00 %  of training 100.00 %") {
		t.Errorf("the status line is %q", line)
	}
}

func TestResumedLogEqualsUninterrupted(t *testing.T) {
	whole := t.TempDir()
	write(t, whole, 0, 1, 2, 3, 4, 5, 6)
	for _, torn := range []string{"", `{"step":6,"exa`, "\x00\x00\x00"} {
		dir := t.TempDir()
		write(t, dir, 0, 1, 2, 3, 4, 5)
		path := filepath.Join(dir, "metrics.jsonl")
		f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		f.WriteString(torn)
		f.Close()
		last := write(t, dir, 3, 4, 5, 6)
		if last == nil || !cmp.Equal(*last, report(3)) {
			t.Errorf("the last report kept is %v", last)
		}
		if diff := cmp.Diff(files(t, whole), files(t, dir)); diff != "" {
			t.Errorf("with %q at the end:\n%s", torn, diff)
		}
	}
}

func TestStatus(t *testing.T) {
	now := time.Unix(1000, 0)
	progress := Progress{Report: report(10), Total: 1000, Rate: 43210, Left: 83 * time.Second}
	const text = "step 10/1000  loss 0.1000  exact match  50.00 %  examples/s 43210  left 1m23s"
	for _, c := range []struct {
		name        string
		live, color bool
		width       int
		want        string
	}{
		{"plain", false, false, 80, text + "\n" + text + "\n" + text + "\n"},
		{"live", true, false, 80, strings.Repeat("\r"+text+"\x1b[K", 12) + "\n"},
		{"narrow", true, false, 20, strings.Repeat("\rstep 10/1000\x1b[K", 12) + "\n"},
		{"very narrow", true, true, 8, strings.Repeat("\rstep 10\x1b[K", 12) + "\n"},
		{"color", true, true, 80, strings.Repeat("\r"+join(progress.fields(), dim)+"\x1b[K", 12) + "\n"},
	} {
		var b bytes.Buffer
		clock := now
		s := &Status{out: &b, live: c.live, color: c.color, width: func() int { return c.width }, now: func() time.Time { return clock }}
		for range 11 {
			s.Update(progress, false)
			s.Update(progress, false)
			clock = clock.Add(time.Second)
		}
		s.Update(progress, true)
		s.Clear()
		if diff := cmp.Diff(c.want, b.String()); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
}

// TestWidths shows the most important fields at every width, in one line that leaves the last
// column free.
func TestWidths(t *testing.T) {
	half := 0.5
	p := Progress{Report: report(999), Total: 100_000, Rate: 1_234_567, Left: 83 * time.Hour, Then: time.Hour,
		Test: &Test{Lengths: []Length{{Length: 6, ExactMatch: 1}, {Length: 20, ExactMatch: 0.25}, {Length: 100}}}}
	p.TrainExactMatch = &half
	testing := Testing{What: "length 10 to length 160", Done: 7, Total: 12, Left: time.Minute}
	for _, c := range []struct {
		fields []field
		width  int
		want   string
	}{
		{p.fields(), 10, "step 999/1"},
		{p.fields(), 20, "step 999/100000"},
		{p.fields(), 40, "step 999/100000  left 83h0m0s"},
		{p.fields(), 60, "step 999/100000  loss 0.0010  left 83h0m0s"},
		{p.fields(), 80, "step 999/100000  loss 0.0010  exact match  50.00 %  left 83h0m0s"},
		{p.fields(), 85, "step 999/100000  loss 0.0010  exact match  50.00 %  at 100   0.00 %  left 83h0m0s"},
		{p.fields(), 105, "step 999/100000  loss 0.0010  exact match  50.00 %  at 100   0.00 %  left 83h0m0s  then tests 1h0m0s"},
		{p.fields(), 145, "step 999/100000  loss 0.0010  exact match  50.00 %  of training  50.00 %  at 100   0.00 %  examples/s 1234567  left 83h0m0s  then tests 1h0m0s"},
		{p.fields(), 200, "step 999/100000  loss 0.0010  exact match  50.00 %  of training  50.00 %  at 6 100.00 %  at 20  25.00 %  at 100   0.00 %  examples/s 1234567  left 83h0m0s  then tests 1h0m0s"},
		{testing.fields(), 20, "testing length 10 to"},
		{testing.fields(), 50, "testing length 10 to length 160  left 1m0s"},
		{testing.fields(), 60, "testing length 10 to length 160  cells 7/12  left 1m0s"},
	} {
		if got := Cut(join(fit(c.fields, c.width), plain), c.width); got != c.want {
			t.Errorf("%d columns: %q, want %q", c.width, got, c.want)
		}
	}
	for width := range 221 {
		for _, color := range []bool{false, true} {
			var b bytes.Buffer
			s := &Status{out: &b, live: true, color: color, width: func() int { return width }, now: time.Now}
			s.Update(p, true)
			line := strings.NewReplacer("\x1b[2m", "", "\x1b[0m", "", "\x1b[K\n", "", "\r", "").Replace(b.String())
			if n := utf8.RuneCountInString(line); n > max(width-1, 0) || strings.ContainsAny(line, "\x1b\n") {
				t.Fatalf("in %d columns there are %d: %q", width, n, b.String())
			}
		}
	}
}

func TestQuiet(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	s := NewStatus(f, true)
	s.Update(Progress{}, true)
	s.Clear()
	if info, _ := f.Stat(); info.Size() != 0 {
		t.Error("quiet status wrote")
	}
}

func TestNoColor(t *testing.T) {
	t.Setenv("TERM", "xterm")
	t.Setenv("NO_COLOR", "")
	if !Color() {
		t.Error("no colour although nothing forbids it")
	}
	t.Setenv("NO_COLOR", "1")
	if Color() {
		t.Error("colour under NO_COLOR")
	}
}

// TestDamagedMetrics flips a bit of every byte of both files and cuts them everywhere. Either
// the reports stay the same, or the damage is noticed and nothing is written.
func TestDamagedMetrics(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, 0, 1, 2, 3)
	whole, err := Until(dir, 3)
	if err != nil || len(whole) != 3 {
		t.Fatal(whole, err)
	}
	tell := func(path, what string, text []byte) {
		t.Helper()
		if err := os.WriteFile(path, text, 0o644); err != nil {
			t.Fatal(err)
		}
		if all, err := All(damage.At(dir)); err == nil && len(all) < 3 && filepath.Base(path) == "metrics.jsonl" {
			t.Fatalf("%s of %s: %d reports are taken for all", what, filepath.Base(path), len(all))
		}
		got, err := Until(dir, 3)
		switch {
		case err == nil && !cmp.Equal(whole, got):
			t.Fatalf("%s of %s is not noticed", what, filepath.Base(path))
		case err != nil && (!damage.Is(err) || !strings.Contains(err.Error(), path) || strings.Contains(err.Error(), "json:")):
			t.Fatalf("%s of %s: %v", what, filepath.Base(path), err)
		}
		if err == nil {
			return
		}
		before := files(t, dir)
		if _, _, err := Open(dir, 3, false); err == nil || files(t, dir) != before {
			t.Fatalf("%s of %s: %v, and the files are changed", what, filepath.Base(path), err)
		}
	}
	for _, name := range []string{"metrics.jsonl", "metrics.csv"} {
		path := filepath.Join(dir, name)
		good, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for i := range good {
			bad := bytes.Clone(good)
			bad[i] ^= 1 << (i % 8)
			tell(path, "a bit", bad)
			tell(path, "a cut", good[:i])
		}
		lines := bytes.SplitAfter(good, []byte("\n"))
		tell(path, "a lost line", bytes.Join([][]byte{lines[0], lines[2], lines[3]}, nil))
		tell(path, "a line twice", bytes.Join([][]byte{lines[0], lines[1], lines[1], lines[2], lines[3]}, nil))
		if err := os.WriteFile(path, good, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := Until(dir, 3); err != nil {
		t.Error(err)
	}
	if err := os.Remove(filepath.Join(dir, "metrics.csv")); err != nil {
		t.Fatal(err)
	}
	if got, err := Until(dir, 3); err != nil || !cmp.Equal(whole, got) {
		t.Errorf("without the table: %v, %v", got, err)
	}
}

// TestShortened wants an error for metrics that have lost lines which the table still has.
func TestShortened(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, 0, 1, 2, 3)
	path := filepath.Join(dir, "metrics.jsonl")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, left := range []int{0, len(text) / 2} {
		if err := os.WriteFile(path, text[:left], 0o644); err != nil {
			t.Fatal(err)
		}
		if all, err := All(damage.At(dir)); err == nil || !strings.Contains(err.Error(), path+" is damaged: it has ") {
			t.Errorf("%v, %v", all, err)
		}
	}
}
