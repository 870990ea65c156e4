package runtime

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/arithlang/mlc/runtime/program"
	"github.com/arithlang/mlc/runtime/record"
	"github.com/arithlang/mlc/runtime/stages"
	"github.com/arithlang/mlc/runtime/train"
)

// TestLostResult wants a stage to begin from exactly the last checkpoint of another stage, and
// to be tested with exactly its last one.
func TestLostResult(t *testing.T) {
	p := toyPipeline()
	p.Stages[1] = stages.Stage{Name: "middle", From: "first", Model: fixedToy(), Given: nil}
	p.Stages[1].Model.Given = []program.Table{{Param: toyGiven, Values: strings.Repeat("\x00", 4*toyHeads*toyLines)}}
	p.Stages[1].Model.Spec, p.Stages[1].Model.SpecHash = p.Spec, p.SpecHash
	weights := stages.Pipeline{Name: p.Name, Spec: p.Spec, SpecHash: p.SpecHash, Version: p.Version, Stages: p.Stages[:2]}
	for name, p := range map[string]stages.Pipeline{"attention": toyPipeline(), "weights": weights} {
		dir := filepath.Join(t.TempDir(), "run")
		if s := callStages(t, p, "train", "--out", dir, "--until", "first", "-q"); s.code != 0 {
			t.Fatal(s.err)
		}
		newest := lastCheckpoint(filepath.Join(dir, "first"))
		good, err := os.ReadFile(newest)
		if err != nil {
			t.Fatal(err)
		}
		refused := func(want string, args ...string) {
			t.Helper()
			s := callStages(t, p, append([]string{"train", "--resume", "--out", dir, "-q"}, args...)...)
			if s.code != 1 || !strings.Contains(s.err, want) || strings.Contains(s.err, "remove it") {
				t.Errorf("%s %v: exit %d\n%s", name, args, s.code, s.err)
			}
		}
		os.WriteFile(newest, good[:len(good)/2], 0o644)
		refused(newest + ": truncated")
		os.Rename(newest, filepath.Join(filepath.Dir(newest), "step-00000019.safetensors"))
		lost := "first is done, but its last checkpoint " + newest + " is missing: bring it back, or train in another --out"
		refused(lost)
		os.RemoveAll(filepath.Dir(newest))
		refused(lost)
		refused(lost, "--until", "first")
		os.MkdirAll(filepath.Dir(newest), 0o755)
		os.WriteFile(newest, good, 0o644)
		if s := callStages(t, p, "train", "--resume", "--out", dir, "-q"); s.code != 0 {
			t.Errorf("%s: brought back: exit %d\n%s", name, s.code, s.err)
		}
	}
}

// TestTrainedLonger gives finished trainings a new budget if no stage has begun from them.
func TestTrainedLonger(t *testing.T) {
	p := toyPipeline()
	whole := travelled(t, p, "-q", "--steps", "30")
	dir := filepath.Join(t.TempDir(), "run")
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"--until", "first", "--steps", "10"}, 0, ""},
		{[]string{"--until", "first", "--steps", "30", "--resume"}, 0, "first: training 1,173 parameters, 30 steps"},
		{[]string{"--until", "calibrate", "--resume"}, 0, "calibrate: attention of first"},
		{[]string{"--until", "first", "--steps", "40", "--resume"}, 2, "the trainings up to stage first are done, and calibrate has begun from it"},
		{[]string{"--until", "first", "--steps", "30", "--resume"}, 0, "digits"},
		{[]string{"--steps", "12", "--resume"}, 0, "second: training 1,173 parameters, 12 steps"},
		{[]string{"--steps", "30", "--resume"}, 0, "second: training 1,173 parameters, 30 steps"},
	} {
		s := callStages(t, p, append([]string{"train", "--out", dir}, c.args...)...)
		if s.code != c.code || !strings.Contains(s.out+s.err, c.want) {
			t.Errorf("%v: exit %d, no %q in\n%s%s", c.args, s.code, c.want, s.out, s.err)
		}
	}
	if diff := cmp.Diff(states(t, whole), states(t, dir)); diff != "" {
		t.Error(diff)
	}
}

// TestUnreached wants a stage that another one reads to have reached its exact match.
func TestUnreached(t *testing.T) {
	p := toyPipeline()
	p.Stages[0].Model.Train.Stop = &train.Stop{AtLeast: 0.5, HeldOut: true}
	dir := filepath.Join(t.TempDir(), "run")
	s := callStages(t, p, "train", "--out", dir, "--steps", "3")
	for _, want := range []string{"stage first: its budget of 3 steps is used up", "which calibrate begins from, has an exact match of 3.13 %", "the spec wants 50 %",
		"Train it longer with ./toys train --resume --out " + dir + " --until first --steps N, or continue all the same with ./toys train --resume --out " + dir + " --go-on"} {
		if s.code != 1 || !strings.Contains(s.err, want) {
			t.Errorf("exit %d, no %q in:\n%s", s.code, want, s.err)
		}
	}
	other := toyPipeline()
	other.Stages[0].Model.Train.Stop = &train.Stop{AtLeast: 0.5}
	if s := callStages(t, other, "train", "--out", filepath.Join(t.TempDir(), "run"), "--steps", "3"); s.code != 1 || !strings.Contains(s.err, " % on problems of training; the spec wants 50 %") {
		t.Errorf("on problems of training: exit %d\n%s", s.code, s.err)
	}
	if got := states(t, dir); got[0] != "first unreached" || got[1] != "calibrate waiting" {
		t.Error(got)
	}
	if s := callStages(t, p, "train", "--resume", "--out", dir); s.code != 1 {
		t.Errorf("resumed without more: exit %d", s.code)
	}
	forced := filepath.Join(t.TempDir(), "forced")
	if err := os.CopyFS(forced, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	if s := callStages(t, p, "train", "--resume", "--out", forced, "--go-on"); s.code != 0 || !strings.Contains(s.err, "continuing all the same") {
		t.Errorf("--go-on: exit %d\n%s", s.code, s.err)
	}
	if r, err := record.Read(forced); err != nil || !strings.HasPrefix(r.How(), "3 steps, first with ") || !strings.HasSuffix(r.How(), " of 50 % exact match") {
		t.Errorf("a stage that fell short: %q, %v", r.How(), err)
	}
	if s := callStages(t, p, "train", "--resume", "--out", dir, "--until", "first", "--steps", "300"); s.code != 0 || !strings.Contains(s.err, "stopped at step") {
		t.Errorf("longer: exit %d\n%s", s.code, s.err)
	}
	if s := callStages(t, p, "train", "--resume", "--out", dir); s.code != 0 || !strings.Contains(s.err, "training 1,173 parameters, 3 steps") {
		t.Errorf("on: exit %d\n%s", s.code, s.err)
	}
}

// TestReachedBetweenReports continues from a stage that has reached its exact match although no
// report has seen it.
func TestReachedBetweenReports(t *testing.T) {
	p := toyPipeline()
	p.Stages[0].Model.Train.Stop = &train.Stop{AtLeast: 0.5, HeldOut: true}
	dir := filepath.Join(t.TempDir(), "run")
	if s := callStages(t, p, "train", "--out", dir, "--steps", "3"); s.code != 1 {
		t.Fatalf("exit %d\n%s", s.code, s.err)
	}
	p.Stages[0].Model.Train.Stop.AtLeast = 0.005
	if s := callStages(t, p, "train", "--resume", "--out", dir, "--until", "first"); s.code != 0 {
		t.Errorf("exit %d\n%s", s.code, s.err)
	}
}
