package train

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/arithlang/mlc/cli/build"
	"github.com/arithlang/mlc/cli/shell"
	"github.com/arithlang/mlc/compiler/check"
	"github.com/arithlang/mlc/runtime/flags"
	"github.com/arithlang/mlc/runtime/track"
	"github.com/arithlang/mlc/runtime/train"
)

// TestNarrow keeps the best half by exact match, then by loss, of the reports within the
// share, even if a run has gone further. A run without a report is last.
func TestNarrow(t *testing.T) {
	dir := t.TempDir()
	var said strings.Builder
	s := &series{Builder: build.New(&shell.Shell{Err: &said}, nil, build.Maker{}), flags: Flags{Training: flags.Training{Out: dir}}}
	for _, run := range []struct{ name, metrics string }{
		{"good", `{"step":4,"loss":3,"exact_match":0.1}` + "\n" + `{"step":10,"loss":2,"exact_match":0.5}` + "\n"},
		{"late", `{"step":9,"loss":2.5,"exact_match":0.4}` + "\n" + `{"step":11,"loss":0.1,"exact_match":1}` + "\n"},
		{"loss", `{"step":10,"loss":1.5,"exact_match":0.4}` + "\n"},
		{"none", ""},
		{"bad", `{"step":10,"loss":0.5,"exact_match":0.2}` + "\n"},
		{"failed", "{\n{}\n"},
	} {
		if err := os.Mkdir(filepath.Join(dir, run.name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, run.name, track.File), []byte(run.metrics), 0o644); err != nil {
			t.Fatal(err)
		}
		j := job{state: done, budget: train.Budget{Steps: 20}}
		j.Point.Slug = run.name
		s.jobs = append(s.jobs, j)
	}
	s.jobs[5].state = failed
	s.narrow(check.Search{Factor: 2}, 0.5)
	var kept []string
	for _, i := range s.waiting() {
		kept = append(kept, s.jobs[i].Point.Slug)
	}
	if want := []string{"good", "late", "loss"}; !slices.Equal(kept, want) {
		t.Errorf("kept %q, want %q", kept, want)
	}
	if got, want := s.jobs[4].left, "left after 50.00 %: exact match 20.00 %, loss 0.5000"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got, want := s.jobs[3].left, "left after 50.00 %, without a report"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if strings.Contains(said.String(), "nil") {
		t.Errorf("said %s", said.String())
	}
	said.Reset()
	if got := s.score(5, 0.5); got.report || !strings.Contains(said.String(), track.File) {
		t.Errorf("of damaged reports: %+v, said %q", got, said.String())
	}
	s.jobs[0].state, s.jobs[1].state, s.jobs[2].state = done, done, done
	s.narrow(check.Search{Factor: 3}, 0.5)
	if kept := s.waiting(); len(kept) != 1 || kept[0] != 0 {
		t.Errorf("of three the best one goes on, not %v", kept)
	}
}

// TestNarrowTexts ranks models of texts by the loss of held-out text.
func TestNarrowTexts(t *testing.T) {
	dir := t.TempDir()
	s := &series{Builder: build.New(&shell.Shell{Err: t.Output()}, nil, build.Maker{}), flags: Flags{Training: flags.Training{Out: dir}}}
	for name, losses := range map[string]string{"a": `"loss":1,"held_out_loss":3`, "b": `"loss":2,"held_out_loss":1.5`} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name, track.File), []byte(`{"step":10,`+losses+"}\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"a", "b"} {
		j := job{state: done, budget: train.Budget{Steps: 20}}
		j.Point.Slug = name
		s.jobs = append(s.jobs, j)
	}
	s.narrow(check.Search{Factor: 2}, 0.5)
	if kept := s.waiting(); !slices.Equal(kept, []int{1}) || s.jobs[0].left != "left after 50.00 %: held-out loss 3.0000" {
		t.Errorf("%v go on, and of the other it says %q", kept, s.jobs[0].left)
	}
}

// TestHalvable refuses trainings that cannot be trained in parts.
func TestHalvable(t *testing.T) {
	for _, c := range []struct {
		job   job
		pause float64
		want  string
	}{
		{job{staged: true}, 0, "has stages"},
		{job{budget: train.Budget{FLOP: 1e9}}, 0, "has a budget in FLOP"},
		{job{budget: train.Budget{Steps: 1}}, 0.5, "leave out --pause"},
		{job{budget: train.Budget{Steps: 1}}, 0, ""},
		{job{staged: true, state: failed}, 0, ""},
	} {
		s := &series{flags: Flags{Training: flags.Training{Pause: c.pause}}, jobs: []job{c.job}}
		if err := s.halvable(); (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.job, err, c.want)
		}
	}
}
