package runtime

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/arithlang/mlc/runtime/config"
	"github.com/arithlang/mlc/runtime/cpu"
	"github.com/arithlang/mlc/runtime/damage"
	"github.com/arithlang/mlc/runtime/device"
	"github.com/arithlang/mlc/runtime/eval"
	"github.com/arithlang/mlc/runtime/flags"
	"github.com/arithlang/mlc/runtime/program"
	"github.com/arithlang/mlc/runtime/rundir"
	"github.com/arithlang/mlc/runtime/task"
	"github.com/arithlang/mlc/runtime/track"
	"github.com/arithlang/mlc/runtime/train"
	"github.com/arithlang/mlc/runtime/verbs"
	"github.com/arithlang/mlc/runtime/world"
)

// testedToy is the toy with losses and an average of its weights. It is tested every seven
// steps and keeps its best checkpoint.
func testedToy() program.Model {
	m := scoredToy()
	m.Train.Report = train.Report{}
	m.Plan.States = append(m.Plan.States, config.AverageState)
	m.CPU[toyUpdate].Run = func(w *cpu.Worker, e *device.Env, a []device.Ref) {
		runToyUpdate(w, e, a)
		average, p := w.Mem.F32[m.Plan.Average()], w.Mem.F32[device.Params]
		for i := e.P; i < e.P+e.N; i++ {
			share := min(0.9, float32(e.Step)/float32(e.Step+9))
			average[i] = float32(share*average[i]) + float32((1-share)*p[i])
		}
	}
	m.Eval.During = config.During{Every: config.Budget{Steps: 7}, Digits: []int{3, 6, 10}, Samples: 60}
	m.Train.Best = &config.Criterion{}
	return m
}

// file reads a file of a run directory.
func file(t *testing.T, dir string, names ...string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(append([]string{dir}, names...)...))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// sameTests compares the files that tests leave in two runs.
func sameTests(t *testing.T, want, got string) {
	t.Helper()
	sameRun(t, want, got)
	for _, names := range [][]string{{track.TestsFile}, {train.Folder, train.Best}} {
		if !bytes.Equal(file(t, want, names...), file(t, got, names...)) {
			t.Errorf("%v differs", names)
		}
	}
}

// TestTestsChangeNothing trains with tests and without, to the same bytes, and with any number
// of threads to the same tests.
func TestTestsChangeNothing(t *testing.T) {
	m := testedToy()
	tested := trained(t, m, "--threads", "1")
	sameTests(t, tested, trained(t, m, "--threads", "3"))
	m.Eval.During, m.Train.Best = config.During{}, nil
	without := trained(t, m)
	sameRun(t, without, tested)
	if rundir.Exists(filepath.Join(without, track.TestsFile)) || rundir.Exists(train.BestPath(without)) {
		t.Error("a run without tests has a file of tests")
	}
}

// TestTestsResume stops between two tests and at a test, and continues to the same bytes. A
// killed process may have saved a checkpoint but not yet the best one.
func TestTestsResume(t *testing.T) {
	m := testedToy()
	m.Train.Report.Every = 1
	whole := trained(t, m, "--threads", "1")
	for _, steps := range []int{1, 7, 10, 14} {
		dir := filepath.Join(t.TempDir(), "run")
		stopAt(t, m, dir, steps)
		if steps == 7 {
			if err := os.Remove(train.BestPath(dir)); err != nil {
				t.Fatal(err)
			}
		}
		if s := call(t, m, "", "train", "--resume", "--out", dir, "--threads", "2"); s.code != 0 {
			t.Fatal(s.err)
		}
		sameTests(t, whole, dir)
	}
}

// TestBestIsLost trains on after the best checkpoint was removed: the best of the later tests
// replaces it.
func TestBestIsLost(t *testing.T) {
	m := testedToy()
	m.Train.Report.Every = 1
	dir := filepath.Join(t.TempDir(), "run")
	stopAt(t, m, dir, 15)
	if err := os.Remove(train.BestPath(dir)); err != nil {
		t.Fatal(err)
	}
	if s := call(t, m, "", "train", "--resume", "--out", dir); s.code != 0 {
		t.Fatal(s.err)
	}
	if c, err := train.Read(train.BestPath(dir)); err != nil || c.State.Step != 20 {
		t.Errorf("%+v, %v", c, err)
	}
}

// TestTestsSayWhatIs computes the last test from the saved run, problem by problem, and wants
// held-out problems that the test after training does not have.
func TestTestsSayWhatIs(t *testing.T) {
	m := testedToy()
	dir := trained(t, m, "--steps", "60")
	tests, err := track.Tests(damage.At(dir), math.MaxInt)
	if err != nil || len(tests) != 9 || tests[0].Step != 7 || tests[7].Step != 56 || tests[8].Step != 60 || tests[8].Examples != 3000 {
		t.Fatalf("tests are %+v: %v", tests, err)
	}
	f := world.Flags{Machine: flags.Machine{Device: "cpu", CPU: "go", Threads: 1}}
	for _, w := range []verbs.WeightsFlags{{}, {Kept: flags.Kept{Average: true}}} {
		test, err := verbs.Load(&f, world.App{Ctx: t.Context(), Model: m}, dir, w)
		if err != nil {
			t.Fatal(err)
		}
		got := tests[8].Lengths
		if w.Average {
			got = tests[8].Average
		}
		for i, digits := range m.Eval.During.Digits {
			right, loss := answered(t, m, test, test.Task.Unseen(digits, 0, m.Eval.Samples, 60))
			if l := got[i]; l.Length != digits || l.Samples != 60 || l.ExactMatch != right || math.Abs(*l.Loss-loss) > 1e-6 {
				t.Errorf("%+v at %d digits: %+v with a loss of %g, want %g and %g", w, digits, l, *l.Loss, right, loss)
			}
		}
	}
	if l := tests[8]; l.Lengths[1].ExactMatch < 0.3 || *l.Lengths[1].Loss == *l.Average[1].Loss {
		t.Errorf("the last test is %+v", l)
	}
}

// answered returns the exact match and the mean loss of some problems, one by one.
func answered(t *testing.T, m program.Model, test *eval.Test, problems []task.Problem) (match, loss float64) {
	t.Helper()
	params := make([]float32, m.Plan.NumParams)
	test.Machine.Root().GetFloats(params, device.Ref{Space: device.Params})
	labels := 0
	for _, p := range problems {
		b, err := test.Task.One(p)
		if err != nil {
			t.Fatal(err)
		}
		e, right := &device.Env{B: 1, T: b.T, S: b.S}, 1.0
		for row, label := range b.Labels {
			parts := toyRow(e, b.Source, b.Target[row], row)
			if _, best := toyLogits(params, parts[:]); best != label {
				right = 0
			}
			loss += toyLoss(params, e, b.Source, b.Target[row], row, label)
			labels++
		}
		match += right
	}
	return match / float64(len(problems)), loss / float64(labels)
}

// TestBestIsKept wants the best checkpoint to be the one of the best test. It can be tested and
// asked separately, with its results next to the last checkpoint's.
func TestBestIsKept(t *testing.T) {
	m := testedToy()
	m.Train.Best = &config.Criterion{Loss: true, At: 3}
	m.Train.LR, m.Train.Schedule = 9, "constant" // later steps are no better
	dir := filepath.Join(t.TempDir(), "run")
	s := call(t, m, "", "train", "--out", dir, "--steps", "100")
	tests, err := track.Tests(damage.At(dir), math.MaxInt)
	if err != nil {
		t.Fatal(err)
	}
	best := tests[0]
	for _, x := range tests {
		if *x.Lengths[0].Loss < *best.Lengths[0].Loss {
			best = x
		}
	}
	c, err := train.Read(train.BestPath(dir))
	if err != nil || c.State.Step != best.Step || best.Step >= 98 {
		t.Fatalf("the best checkpoint is of step %d, the best test %d: %v", c.State.Step, best.Step, err)
	}
	if want := fmt.Sprintf("the best checkpoint is of step %d; test it with: ./toy eval %s --best\n", best.Step, dir); s.code != 0 || !strings.Contains(s.err, want) {
		t.Errorf("exit %d\n%s", s.code, s.err)
	}
	for flags, folder := range map[string]string{"--best": "best", "--average": "average", "--best --average": "best-average"} {
		s := call(t, m, "", append([]string{"eval", dir, "-q"}, strings.Fields(flags)...)...)
		r, err := eval.Load(damage.At(filepath.Join(dir, "eval", folder)))
		if s.code != 0 || err != nil || r == nil || r.Weights != folder || strings.Contains(flags, "best") != (r.ExamplesTrained == int64(50*best.Step)) {
			t.Errorf("eval %s: exit %d, %+v, %v\n%s", flags, s.code, r, err, s.err)
		}
		if s := call(t, m, "", append([]string{"solve", dir, "123"}, strings.Fields(flags)...)...); s.code != 0 || len(s.out) < 2 {
			t.Errorf("solve %s: exit %d\n%s%s", flags, s.code, s.out, s.err)
		}
	}
	if s := call(t, m, "", "train", "--resume", "--out", dir, "--steps", "107"); s.code != 0 || strings.Contains(s.err, "remove it") {
		t.Errorf("exit %d\n%s", s.code, s.err)
	}
	if err := os.WriteFile(train.BestPath(dir), []byte("no tensors"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"eval", dir, "--best"}, {"train", "--resume", "--out", dir, "--steps", "120"}} {
		if s := call(t, m, "", args...); s.code != 1 || !strings.Contains(s.err, train.BestPath(dir)) {
			t.Errorf("%v with a damaged best checkpoint: exit %d\n%s", args, s.code, s.err)
		}
	}
}

// TestWeightsThatAreNotKept reports weights that the spec does not save, or that are not saved
// yet.
func TestWeightsThatAreNotKept(t *testing.T) {
	m := toyModel()
	dir := trained(t, m)
	for flag, want := range map[string]string{"--best": "train.keep = best", "--average": "train.average = ema"} {
		for _, verb := range []string{"eval", "solve"} {
			if s := call(t, m, "", verb, dir, flag); s.code != 2 || !strings.Contains(s.err, want) {
				t.Errorf("%s %s: exit %d\n%s", verb, flag, s.code, s.err)
			}
		}
	}
	m = testedToy()
	dir = filepath.Join(t.TempDir(), "run")
	stopAt(t, m, dir, 1)
	if s := call(t, m, "", "eval", dir, "--best"); s.code != 1 || !strings.Contains(s.err, "no best checkpoint yet") {
		t.Errorf("exit %d\n%s", s.code, s.err)
	}
}

// TestPlateauStops ends a training that no longer improves, at the same step after an
// interruption, and says why.
func TestPlateauStops(t *testing.T) {
	m := testedToy()
	m.Train.LR, m.Train.Schedule = 0.8, "constant"
	m.Train.Report.Every = 1
	m.Train.Plateau = &config.Plateau{Patience: 3, By: config.Criterion{Loss: true}}
	dir := filepath.Join(t.TempDir(), "run")
	s := call(t, m, "", "train", "--out", dir, "--steps", "1000")
	tests, err := track.Tests(damage.At(dir), math.MaxInt)
	if err != nil || s.code != 0 || len(tests) < 4 || len(tests) > 100 || !strings.Contains(s.err, "none of the last 3 tests was better than one before") {
		t.Fatalf("exit %d after %d tests: %v\n%s", s.code, len(tests), err, s.err)
	}
	last := tests[len(tests)-1].Step
	if s := call(t, m, "", "train", "--resume", "--out", dir, "--steps", "2000"); s.code != 0 || !strings.Contains(s.err, "nothing is left to train: it stopped at step") {
		t.Errorf("exit %d\n%s", s.code, s.err)
	}
	again := filepath.Join(t.TempDir(), "run")
	m.Train.Budget = config.Budget{Steps: 1000}
	stopAt(t, m, again, last-4)
	if s := call(t, m, "", "train", "--resume", "--out", again); s.code != 0 {
		t.Fatal(s.err)
	}
	sameTests(t, dir, again)
}

// TestDamagedTests names the file and the line.
func TestDamagedTests(t *testing.T) {
	m := testedToy()
	dir := filepath.Join(t.TempDir(), "run")
	m.Train.Report.Every = 1
	stopAt(t, m, dir, 15)
	path := filepath.Join(dir, track.TestsFile)
	text := file(t, dir, track.TestsFile)
	for what, bad := range map[string][]byte{
		"altered":      bytes.Replace(text, []byte(`"examples":700`), []byte(`"examples":900`), 1),
		"line 2":       append(bytes.Clone(text[:bytes.IndexByte(text, '\n')+1]), text...),
		"this is no J": append([]byte("x\n"), text...),
	} {
		if err := os.WriteFile(path, bad, 0o644); err != nil {
			t.Fatal(err)
		}
		if s := call(t, m, "", "train", "--resume", "--out", dir); s.code != 1 || !strings.Contains(s.err, path+" is damaged: line ") || !strings.Contains(s.err, what) {
			t.Errorf("%s: exit %d\n%s", what, s.code, s.err)
		}
		if !bytes.Equal(file(t, dir, track.TestsFile), bad) {
			t.Errorf("%s: the file was changed", what)
		}
	}
	if err := os.WriteFile(path, append(bytes.Clone(text), `{"step":1`...), 0o644); err != nil { // killed while it wrote
		t.Fatal(err)
	}
	if s := call(t, m, "", "train", "--resume", "--out", dir); s.code != 0 {
		t.Errorf("exit %d\n%s", s.code, s.err)
	}
	sameTests(t, trained(t, m), dir)
}

// TestTestsFail reports the error of a failed test.
func TestTestsFail(t *testing.T) {
	m := testedToy()
	trainer := trainerIn(t, m, filepath.Join(t.TempDir(), "run"))
	trainer.Tests.Measure = func() ([]track.Length, error) { return nil, errors.New("no memory") }
	if err := trainer.Run(context.Background()); err == nil || err.Error() != "the test after step 7 failed: no memory" {
		t.Error(err)
	}
}

// TestPicture draws lengths into a pipe only if asked to.
func TestPicture(t *testing.T) {
	m := toyModel()
	dir := trained(t, m)
	for flag, want := range map[string]bool{"": false, "--picture": true} {
		s := call(t, m, "", strings.Fields("eval -q "+dir+" "+flag)...)
		if s.code != 0 || strings.Contains(s.out, "100 │") != want || strings.Contains(s.out, "━ lengths of training") != want {
			t.Errorf("%q: exit %d\n%s%s", flag, s.code, s.out, s.err)
		}
	}
}
