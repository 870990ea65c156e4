package runtime

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/arithlang/mlc/runtime/config"
	"github.com/arithlang/mlc/runtime/cpu"
	"github.com/arithlang/mlc/runtime/damage"
	"github.com/arithlang/mlc/runtime/device"
	"github.com/arithlang/mlc/runtime/program"
	"github.com/arithlang/mlc/runtime/stages"
	"github.com/arithlang/mlc/runtime/train"
)

// toyRounds is a pipeline that trains the toy on numbers of three digits, and then on its
// answers to numbers of four to eight digits, in three rounds.
func toyRounds() stages.Pipeline {
	short, long := toyModel(), toyModel()
	for _, m := range []*program.Model{&short, &long} {
		m.Task.Below, m.Task.DigitsLo, m.Task.DigitsHi = 0, 1, 3
		m.Task.Pad.To = 4
		m.Train.Budget = train.Budget{Steps: 100}
	}
	long.Task.Rounds = config.Rounds{Until: 8, Step: 2, Samples: 40, Votes: 1, Length: 1, Newest: 0.5}
	p := stages.Pipeline{Name: "toys", Spec: "arith 2\nstage first {}\n", SpecHash: strings.Repeat("0123456789fedcba", 4), Version: "v0.0.0",
		Stages: []stages.Stage{{Name: "first", Model: &short}, {Name: "second", From: "first", Model: &long}}}
	own(&p)
	return p
}

// answersOf is the file of a round, counted from 1, and round its content.
func answersOf(round int) string { return fmt.Sprintf("answers-%03d.json", round) }

type round struct {
	From, To, Step, Asked, Kept, Right int
	Problems                           []string
}

// sameRounds compares the files of two runs of toyRounds, to the last byte.
func sameRounds(t *testing.T, want, got string) {
	t.Helper()
	for _, name := range []string{answersOf(1), answersOf(2), answersOf(3), "rounds.csv"} {
		a, errA := os.ReadFile(filepath.Join(want, "second", name))
		b, errB := os.ReadFile(filepath.Join(got, "second", name))
		if errA != nil || errB != nil || !bytes.Equal(a, b) {
			t.Errorf("%s differs (%v, %v)", name, errA, errB)
		}
	}
	for _, stage := range []string{"first", "second"} {
		sameRun(t, filepath.Join(want, stage), filepath.Join(got, stage))
	}
}

// TestRounds follows a training through its rounds.
func TestRounds(t *testing.T) {
	p := toyRounds()
	dir := filepath.Join(t.TempDir(), "run")
	s := callStages(t, p, "train", "--out", dir)
	if s.code != 0 {
		t.Fatal(s.err)
	}
	var table strings.Builder
	table.WriteString("round,from,to,step,asked,kept,right\n")
	for k, want := range []round{{From: 4, To: 5, Step: 0}, {From: 6, To: 7, Step: 34}, {From: 8, To: 8, Step: 67}} {
		var a round
		if err := damage.At(dir).Join("second", answersOf(k+1)).ReadSealed(&a); err != nil {
			t.Fatal(err)
		}
		if a.From != want.From || a.To != want.To || a.Step != want.Step || a.Asked != 40 || a.Kept != len(a.Problems) || a.Kept == 0 || a.Right > a.Kept {
			t.Errorf("round %d: %+v", k+1, a)
		}
		for _, line := range a.Problems {
			if number, answer, _ := strings.Cut(line, "="); len(number) < a.From || len(number) > a.To || len(answer) < len(number)-1 {
				t.Errorf("round %d has %s", k+1, line)
			}
		}
		fmt.Fprintf(&table, "%d,%d,%d,%d,40,%d,%d\n", k+1, a.From, a.To, a.Step, a.Kept, a.Right)
		if said := fmt.Sprintf("round %d of 3: %d of 40 answers to problems of ", k+1, a.Kept); !strings.Contains(s.err, said) {
			t.Errorf("no %q in:\n%s", said, s.err)
		}
	}
	got, err := os.ReadFile(filepath.Join(dir, "second", "rounds.csv"))
	if diff := cmp.Diff(table.String(), string(got)); diff != "" || err != nil {
		t.Error(diff, err)
	}
	if diff := cmp.Diff([]string{"first done", "second done"}, states(t, dir)); diff != "" {
		t.Error(diff)
	}
}

// TestRoundsLearn wants training to use exactly the accepted answers: the toy cannot know a
// digit that it has not seen in that place, so its wrong answers stay.
func TestRoundsLearn(t *testing.T) {
	p := toyRounds()
	dir := travelled(t, p, "-q")
	none := toyRounds()
	none.Stages[1].Model.Task.Rounds = config.Rounds{}
	if bytes.Equal(first(final(t, filepath.Join(dir, "second"))), first(final(t, filepath.Join(travelled(t, none, "-q"), "second")))) {
		t.Error("training without rounds gives the same parameters")
	}
	few := toyRounds()
	few.Stages[1].Model.Task.Rounds.Samples = 39
	if bytes.Equal(first(final(t, filepath.Join(dir, "second"))), first(final(t, filepath.Join(travelled(t, few, "-q"), "second")))) {
		t.Error("training on other answers gives the same parameters")
	}
}

func TestRoundsOnThreads(t *testing.T) {
	sameRounds(t, travelled(t, toyRounds(), "--threads", "1", "--cpu", "go"), travelled(t, toyRounds(), "--threads", "3"))
}

// TestRoundsResume stops a run at a step of each round and while it answers, and leaves files
// behind as a killed process might.
func TestRoundsResume(t *testing.T) {
	whole := travelled(t, toyRounds(), "-q")
	for _, c := range []struct{ kernel, launch int }{
		{toyGradients, 2}, {toyGradients, 150}, {toyGradients, 300}, {toyEncode, 1}, {toyEncode, 2}, {toyEncode, 3},
	} {
		stopped := toyRounds()
		m := stopped.Stages[1].Model
		launches, healthy := 0, m.CPU[c.kernel].Run
		m.CPU[c.kernel].Run = func(w *cpu.Worker, e *device.Env, a []device.Ref) {
			if launches++; launches == c.launch {
				ctrlC()
			}
			healthy(w, e, a)
		}
		dir := filepath.Join(t.TempDir(), "run")
		if s := callStages(t, stopped, "train", "--out", dir, "--threads", "1"); s.code != 130 || !strings.Contains(s.err, "continue with: ./toys train --resume --out "+dir) {
			t.Fatalf("interrupted at %+v: exit %d\n%s", c, s.code, s.err)
		}
		os.WriteFile(filepath.Join(dir, "second", "."+answersOf(2)+".123"), []byte("half"), 0o644)
		if s := callStages(t, toyRounds(), "train", "--resume", "--out", dir); s.code != 0 {
			t.Fatalf("resumed at %+v: %s", c, s.err)
		}
		sameRounds(t, whole, dir)
	}
}

// TestKilledRounds kills a run again and again, later and later, until it has finished.
func TestKilledRounds(t *testing.T) {
	whole := travelled(t, toyRounds(), "-q", "--steps", "300")
	sameRounds(t, whole, killed(t, "rounds", "300"))
}

// TestBadRounds wants errors if rounds cannot continue as they began.
func TestBadRounds(t *testing.T) {
	stopped := toyRounds()
	at(stopped.Stages[1].Model, 50, ctrlC)
	dir := filepath.Join(t.TempDir(), "run")
	if s := callStages(t, stopped, "train", "--out", dir); s.code != 130 {
		t.Fatalf("exit %d\n%s", s.code, s.err)
	}
	second := filepath.Join(dir, "second", answersOf(2))
	whole, err := os.ReadFile(second)
	if err != nil {
		t.Fatal(err)
	}
	for what, c := range map[string]struct {
		spoil func() error
		args  []string
		code  int
		want  string
	}{
		"another budget": {func() error { return nil }, []string{"--steps", "200"}, 2, "the rounds of second have begun with a budget of 100 steps"},
		"missing":        {func() error { return os.Remove(second) }, nil, 1, "second was trained on it: bring it back"},
		"changed":        {func() error { return os.WriteFile(second, bytes.Replace(whole, []byte("="), []byte("=9"), 1), 0o644) }, nil, 1, "is damaged"},
		"another round's": {func() error {
			text, err := os.ReadFile(filepath.Join(dir, "second", answersOf(1)))
			if err == nil {
				err = os.WriteFile(second, text, 0o644)
			}
			return err
		}, nil, 1, "is of another run: its round is 1"},
	} {
		if err := os.WriteFile(second, whole, 0o644); err != nil {
			t.Fatal(err)
		}
		if err := c.spoil(); err != nil {
			t.Fatal(err)
		}
		s := callStages(t, toyRounds(), append([]string{"train", "--resume", "--out", dir}, c.args...)...)
		if s.code != c.code || !strings.Contains(s.err, c.want) {
			t.Errorf("%s: exit %d, want %d and %q:\n%s", what, s.code, c.code, c.want, s.err)
		}
	}
	for _, args := range [][]string{{"--time", "1m"}, {"--examples", "10000"}, {"--steps", "2"}} {
		if s := callStages(t, toyRounds(), append([]string{"train", "--out", filepath.Join(t.TempDir(), "run")}, args...)...); s.code != 2 || !strings.Contains(s.err, "give ") {
			t.Errorf("%v: exit %d\n%s", args, s.code, s.err)
		}
	}
	untaught := toyRounds()
	untaught.Stages[0].Model.Train.Budget.Steps = 1
	if s := callStages(t, untaught, "train", "--out", filepath.Join(t.TempDir(), "run")); s.code != 1 || !strings.Contains(s.err, "Train the stage before it longer") {
		t.Errorf("exit %d\n%s", s.code, s.err)
	}
}

// TestRoundsOnGPU wants a GPU to give the same answers as a processor, and to learn the same
// from them.
func TestRoundsOnGPU(t *testing.T) {
	p := toyRounds()
	for _, s := range p.Stages {
		spec, hash, task, steps := s.Model.Spec, s.Model.SpecHash, s.Model.Task, s.Model.Train.Budget
		*s.Model = toyOnGPU()
		s.Model.Spec, s.Model.SpecHash, s.Model.Task, s.Model.Train.Budget, s.Model.Eval.Samples = spec, hash, task, steps, 4
	}
	p.Stages[1].Model.Task.Rounds.Samples = 10
	p.Stages[1].Model.Train.Budget.Steps = 6
	dirs := map[string]string{"cpu": filepath.Join(t.TempDir(), "run"), "sim": filepath.Join(t.TempDir(), "run")}
	for device, dir := range dirs {
		for _, args := range [][]string{{"--until", "first", "--device", "cpu"}, {"--resume", "--device", device}} {
			if s := callStages(t, p, append([]string{"train", "--out", dir, "-q"}, args...)...); s.code != 0 {
				t.Fatalf("%v: exit %d\n%s", args, s.code, s.err)
			}
		}
	}
	sameRounds(t, dirs["cpu"], dirs["sim"])
}
