package runtime

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/arithlang/mlc/compiler/tasks"
	"github.com/arithlang/mlc/runtime/calibrate"
	"github.com/arithlang/mlc/runtime/calibration"
	"github.com/arithlang/mlc/runtime/ckpt"
	"github.com/arithlang/mlc/runtime/cpu"
	"github.com/arithlang/mlc/runtime/device"
	"github.com/arithlang/mlc/runtime/eval"
	"github.com/arithlang/mlc/runtime/processor"
	"github.com/arithlang/mlc/runtime/program"
	"github.com/arithlang/mlc/runtime/record"
	"github.com/arithlang/mlc/runtime/stages"
	"github.com/arithlang/mlc/runtime/task"
	"github.com/arithlang/mlc/runtime/world"
)

// The toy's attention: its heads, and the extended matrix of their lines.
const (
	toyHeads     = 2
	toyM, toyN   = 11, 12
	toyLines     = toyM + toyN - 1 + 2
	toyAttention = toyUpdate + 1
	toyGiven     = "fixed.lines"
)

// attendingToy is the toy with a program that writes attention. Head 0 attends to the digit of
// its row, more if the digit is larger, and by a trained amount; head 1 attends to everything.
func attendingToy() *program.Model {
	m := toyModel()
	m.Name = "toys/first"
	layout := func(e *device.Env) device.Layout {
		self := e.B * toyHeads * e.T * e.T
		return device.Layout{Work: self + e.B*toyHeads*e.T*e.S, Ints: e.B * (e.S + e.T),
			Source: device.Ref{Space: device.Ints}, Target: device.Ref{Space: device.Ints, Off: e.B * e.S},
			Self: device.Ref{Space: device.Work}, Cross: device.Ref{Space: device.Work, Off: self}}
	}
	m.Plan.Attention = device.Program{Layout: layout, Run: func(q device.Queue, e *device.Env) {
		l := layout(e)
		q.Launch(toyAttention, e, l.Source, l.Self, l.Cross)
	}}
	m.CPU = append(m.CPU, cpu.Kernel{Name: "attention", Run: runToyAttention})
	return &m
}

func runToyAttention(w *cpu.Worker, e *device.Env, a []device.Ref) {
	source, self, cross := w.I32(a[0]), w.F32(a[1]), w.F32(a[2])
	trained := w.Mem.F32[device.Params][0]
	for b := range e.B {
		for i := range e.T {
			for j := range i + 1 {
				self[((b*toyHeads)*e.T+i)*e.T+j] = 1 / float32(i+1)
				self[((b*toyHeads+1)*e.T+i)*e.T+j] = 1 / float32(i+1)
			}
			for j := range e.S {
				spread := 1 / float32(e.S)
				sharp := spread / 100
				if j == e.S-2-i {
					sharp = 0.8 + 0.01*float32(source[b*e.S+j]) + trained/1000
				}
				cross[((b*toyHeads)*e.T+i)*e.S+j] = sharp
				cross[((b*toyHeads+1)*e.T+i)*e.S+j] = spread
			}
		}
	}
}

// fixedToy is the toy with a fixed parameter that its gradients overwrite, as if it were
// trained.
func fixedToy() *program.Model {
	m := toyModel()
	m.Name = "toys/second"
	m.Params = append(m.Params, device.Param{Name: toyGiven, Shape: []int{toyHeads, toyLines}, Off: toySize, Init: device.Init{Kind: "given"}, Fixed: true, Decay: true})
	m.Plan.NumParams += toyHeads * toyLines
	honest := m.CPU[toyGradients].Run
	m.CPU[toyGradients].Run = func(w *cpu.Worker, e *device.Env, a []device.Ref) {
		honest(w, e, a)
		for i := range toyHeads * toyLines {
			w.Mem.F32[device.Grads][toySize+i] += 7
		}
	}
	return &m
}

func toyPipeline() stages.Pipeline {
	p := toyStages()
	own(&p)
	return p
}

// own gives the models of all stages the pipeline's spec.
func own(p *stages.Pipeline) {
	for _, s := range p.Stages {
		if s.Model != nil {
			s.Model.Spec, s.Model.SpecHash = p.Spec, p.SpecHash
			s.Model.Eval.Samples = 30
		}
	}
}

func toyStages() stages.Pipeline {
	above := func(value, mean, std float64) bool { return value >= mean+float64(3*std) }
	cross := calibrate.Direction{1, -1}
	return stages.Pipeline{Name: "toys", Spec: "arith 2\nstage first {}\n", SpecHash: otherHash, Version: "v0.0.0", Stages: []stages.Stage{
		{Name: "first", Model: attendingToy()},
		{Name: "calibrate", From: "first", Calibration: calibration.Stage{Samples: 300, Heads: toyHeads, Layer: 2,
			Self:  calibrate.Lines{Directions: [][2]int{{1, 1}}, Rows: 6, M: toyM, N: toyM, Keep: above},
			Cross: calibrate.Lines{Directions: [][2]int{cross}, Rows: 6, M: toyM, N: toyN, Keep: above}}},
		{Name: "second", Model: fixedToy(), Given: []stages.Given{{Param: toyGiven, Stage: "calibrate", Tensor: calibrate.Tensor("cross", cross)}}},
	}}
}

// callStages is call for a pipeline.
func callStages(t *testing.T, p stages.Pipeline, args ...string) said {
	t.Helper()
	return callApp(t, world.App{Whole: &p, Model: *p.Model(p.Last()), In: strings.NewReader("")}, append([]string{"./toys"}, args...))
}

// travelled runs all stages in a new directory.
func travelled(t *testing.T, p stages.Pipeline, args ...string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "run")
	if s := callStages(t, p, append([]string{"train", "--out", dir}, args...)...); s.code != 0 {
		t.Fatalf("train: exit %d\n%s", s.code, s.err)
	}
	return dir
}

// sameJourney compares the files of two runs of a pipeline, to the last byte.
func sameJourney(t *testing.T, want, got string) {
	t.Helper()
	for _, name := range []string{calibrate.AttentionFile, calibrate.RecordFile, calibrate.LinesFile} {
		a, errA := os.ReadFile(filepath.Join(want, "calibrate", name))
		b, errB := os.ReadFile(filepath.Join(got, "calibrate", name))
		if errA != nil || errB != nil || !bytes.Equal(a, b) {
			t.Errorf("%s differs (%v, %v)", name, errA, errB)
		}
	}
	for _, stage := range []string{"first", "second"} {
		sameRun(t, filepath.Join(want, stage), filepath.Join(got, stage))
	}
	if diff := cmp.Diff(states(t, want), states(t, got)); diff != "" {
		t.Error(diff)
	}
}

// states returns the states of a run's stages.
func states(t *testing.T, dir string) []string {
	t.Helper()
	rec, err := record.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, s := range rec.Stages {
		all = append(all, s.Name+" "+s.State)
	}
	return all
}

func tensors(t *testing.T, path string) map[string]ckpt.Tensor {
	t.Helper()
	f, err := ckpt.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]ckpt.Tensor{}
	for _, tensor := range f.Tensors {
		all[tensor.Name] = tensor
	}
	return all
}

func TestPipeline(t *testing.T) {
	p := toyPipeline()
	dir := filepath.Join(t.TempDir(), "run")
	s := callStages(t, p, "train", "--out", dir)
	for _, want := range []string{"stage 1 of 3, first: training 1,173 parameters, 20 steps, seed 1", "stage 2 of 3, calibrate: attention of first in decoder layer 2, mean over 300 problems",
		"head 0: i+j = 7 (", "head 1: nothing, stays open", "stage 3 of 3, second: training 1,173 parameters", "next: ./toys solve " + filepath.Join(dir, "second")} {
		if s.code != 0 || !strings.Contains(s.err, want) {
			t.Errorf("exit %d, no %q in:\n%s", s.code, want, s.err)
		}
	}
	if diff := cmp.Diff([]string{"first done", "calibrate done", "second done"}, states(t, dir)); diff != "" {
		t.Error(diff)
	}
	lines := tensors(t, filepath.Join(dir, "calibrate", calibrate.LinesFile))
	for name, shape := range map[string][]int{"self": {2, 11, 11}, "cross": {2, 11, 12}, "self.line.1.1": {2, 23}, "cross.line.1.-1": {2, 24}} {
		if diff := cmp.Diff(shape, lines[name].Shape); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	// S is 9 in training and 12 in the extended matrix: line 7 becomes line 10.
	line := lines["cross.line.1.-1"].Data
	if line[11] < 4.8 || line[11] > 6 || line[10] != calibrate.Closed || line[0] != calibrate.Closed || line[toyLines+11] != 0 {
		t.Errorf("lines %v", line)
	}
	trained := tensors(t, lastCheckpoint(filepath.Join(dir, "second")))
	if diff := cmp.Diff(line, trained[toyGiven].Data); diff != "" {
		t.Errorf("the fixed parameter is not the calibrated one:\n%s", diff)
	}
	if _, ok := trained["moment1."+toyGiven]; ok {
		t.Error("a fixed parameter has moments")
	}
	for _, dir := range []string{dir, filepath.Join(dir, "second")} {
		rec, err := record.Read(dir)
		got, _ := rec.Trained(dir)
		if filepath.Base(got) != "second" || err != nil {
			t.Errorf("the run speaks from %s, %v", got, err)
		}
	}
	if _, metrics := final(t, filepath.Join(dir, "second")); !strings.Contains(metrics, `"stage":"second"`) {
		t.Errorf("metrics without the stage:\n%s", metrics)
	}
}

// TestVerbsOfPipelines wants a run's directory to stand for its last training, and a stage's
// directory for that stage.
func TestVerbsOfPipelines(t *testing.T) {
	p := toyPipeline()
	dir := travelled(t, p, "-q")
	for _, c := range []struct {
		args []string
		want string // a file
	}{
		{[]string{"eval", dir, "--digits", "3", "--samples", "20"}, "second/eval/samples-20/result.json"},
		{[]string{"eval", filepath.Join(dir, "first"), "--digits", "3", "--samples", "20"}, "first/eval/samples-20/result.json"},
	} {
		os.RemoveAll(filepath.Join(dir, filepath.Dir(c.want)))
		if s := callStages(t, p, c.args...); s.code != 0 {
			t.Errorf("%v: exit %d\n%s", c.args, s.code, s.err)
		}
		if _, err := os.Stat(filepath.Join(dir, c.want)); err != nil {
			t.Error(err)
		}
	}
	if s := callStages(t, p, "solve", dir, "41"); s.code != 0 || len(s.out) < 2 {
		t.Errorf("solve: exit %d\n%s%s", s.code, s.out, s.err)
	}
	if s := callStages(t, p, "info"); s.code != 0 || !strings.Contains(s.out, "first, calibrate, second; the numbers are for second") || !strings.Contains(s.out, "1,173 in 5 tensors") {
		t.Errorf("info: exit %d\n%s", s.code, s.out)
	}
}

func TestPipelineThreads(t *testing.T) {
	p := toyPipeline()
	sameJourney(t, travelled(t, p, "--threads", "1", "--cpu", "go"), travelled(t, p, "--threads", "3"))
	if other := travelled(t, p, "--seed", "2", "-q"); bytes.Equal(first(final(t, filepath.Join(other, "first"))), first(final(t, filepath.Join(travelled(t, p, "-q"), "first")))) {
		t.Error("another seed gives the same parameters")
	}
}

// TestPipelineResumes stops runs in every stage and between stages, and leaves files behind as
// a killed process might.
func TestPipelineResumes(t *testing.T) {
	p := toyPipeline()
	whole := travelled(t, p, "-q")
	resume := func(t *testing.T, dir string) {
		t.Helper()
		if s := callStages(t, p, "train", "--resume", "--out", dir); s.code != 0 {
			t.Fatal(s.err)
		}
		sameJourney(t, whole, dir)
	}
	for _, until := range []string{"first", "calibrate", "second"} {
		dir := filepath.Join(t.TempDir(), "run")
		s := callStages(t, p, "train", "--out", dir, "--until", until)
		if goOn := until + " is done; continue with: ./toys train --resume --out " + dir; s.code != 0 || strings.Contains(s.err, goOn) != (until != "second") {
			t.Errorf("--until %s: exit %d\n%s", until, s.code, s.err)
		}
		if until == "first" { // and killed in the next stage
			os.MkdirAll(filepath.Join(dir, "calibrate"), 0o755)
			os.WriteFile(filepath.Join(dir, "calibrate", calibrate.LinesFile), []byte("half"), 0o644)
			os.MkdirAll(filepath.Join(dir, "second"), 0o755)
			os.WriteFile(filepath.Join(dir, "second", record.SpecFile), []byte("half"), 0o644)
		}
		resume(t, dir)
	}
	// Interrupted when a kernel is launched for the nth time.
	for _, c := range []struct{ stage, kernel, launch int }{{0, toyGradients, 10}, {0, toyAttention, 1}, {2, toyGradients, 17}} {
		stopped := toyPipeline()
		m := stopped.Stages[c.stage].Model
		launches, healthy := 0, m.CPU[c.kernel].Run
		m.CPU[c.kernel].Run = func(w *cpu.Worker, e *device.Env, a []device.Ref) {
			if launches++; launches == c.launch {
				ctrlC()
			}
			healthy(w, e, a)
		}
		dir := filepath.Join(t.TempDir(), "run")
		s := callStages(t, stopped, "train", "--out", dir, "--threads", "1")
		if s.code != 130 || !strings.Contains(s.err, "continue with: ./toys train --resume --out "+dir) {
			t.Fatalf("interrupted: exit %d\n%s", s.code, s.err)
		}
		if slices.Contains(states(t, dir), "second done") {
			t.Fatal("the interrupt came too late")
		}
		resume(t, dir)
	}
}

// TestKilledPipeline kills a run again and again, later and later, until it has finished.
func TestKilledPipeline(t *testing.T) {
	whole := travelled(t, toyPipeline(), "-q", "--steps", "150")
	sameJourney(t, whole, killed(t, "stages", "150"))
}

// killed runs a toy for the given steps, killed again and again, later and later, until it has
// finished.
func killed(t *testing.T, toy, steps string) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "run")
	for after := 1; ; after++ {
		args := []string{"train", "--out", dir, "--save", "1ms", "-q", "--resume"}
		if _, err := record.Open(dir); err != nil { // killed before there was a run
			args = []string{"train", "--out", dir, "--save", "1ms", "-q", "--steps", steps}
		}
		cmd := toyCommand(toy, args...)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		select {
		case err := <-ended:
			if err != nil {
				t.Fatalf("the resumed run fails: %v", err)
			}
			if after == 1 {
				t.Error("the run was never killed")
			}
			return dir
		case <-time.After(time.Duration(after) * 80 * time.Millisecond):
			cmd.Process.Kill()
			<-ended
		}
	}
}

// TestNothingKept wants an error that lists the lines if a bias is needed and no line stands
// out.
func TestNothingKept(t *testing.T) {
	p := toyPipeline()
	never := p.Stages[1].Calibration.(calibration.Stage)
	never.Cross.Keep = func(value, mean, std float64) bool { return value >= mean+100*std }
	p.Stages[1].Calibration = never
	dir := filepath.Join(t.TempDir(), "run")
	s := callStages(t, p, "train", "--out", dir)
	for _, want := range []string{"no line of cross attention stands out in any head", "head 0: i+j = 7 with ", " std (a line alone of 14 has 3.61)\n", "lower cross.keep in stage calibrate"} {
		if s.code != 1 || !strings.Contains(s.err, want) {
			t.Errorf("exit %d, no %q in:\n%s", s.code, want, s.err)
		}
	}
	text, err := os.ReadFile(filepath.Join(dir, "calibrate", calibrate.RecordFile))
	if err != nil || !json.Valid(text) {
		t.Errorf("no statistics: %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "calibrate", calibrate.LinesFile)); err == nil {
		t.Error("there is a file of lines although none is selected")
	}
	never.Open = true
	p.Stages[1].Calibration = never
	open := filepath.Join(t.TempDir(), "open")
	if s := callStages(t, p, "train", "--out", open, "-q"); s.code != 0 {
		t.Errorf("with open heads: exit %d\n%s", s.code, s.err)
	}
	read, err := ckpt.Read(filepath.Join(open, "calibrate", calibrate.LinesFile))
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range read.Tensors {
		if strings.HasPrefix(x.Name, "cross") && slices.ContainsFunc(x.Data, func(v float32) bool { return v != 0 }) {
			t.Errorf("%s is not 0", x.Name)
		}
	}
	p.Stages[1].Calibration = toyPipeline().Stages[1].Calibration
	if s := callStages(t, p, "train", "--resume", "--out", dir, "-q"); s.code != 0 { // no line of self attention stands out, but no stage uses it
		t.Error(s.err)
	}
}

// TestWeights begins a stage with the unchanged weights of another one, which lacks one of its
// parameters.
func TestWeights(t *testing.T) {
	p := toyPipeline()
	p.Stages[2].From = "first"
	p.Stages[2].Model.Train.LR = 0
	dir := travelled(t, p, "-q")
	from, to := tensors(t, lastCheckpoint(filepath.Join(dir, "first"))), tensors(t, lastCheckpoint(filepath.Join(dir, "second")))
	for _, param := range p.Stages[0].Model.Params {
		if diff := cmp.Diff(from[param.Name].Data, to[param.Name].Data); diff != "" {
			t.Errorf("%s: %s", param.Name, diff)
		}
	}
	if to[toyGiven].Data[11] < 4 {
		t.Error("the fixed parameter is not the calibrated one")
	}
	p.Stages[2].Model.Params[3].Shape = []int{1, toyV}
	if s := callStages(t, p, "train", "--out", filepath.Join(t.TempDir(), "run")); s.code != 1 || !strings.Contains(s.err, "its bias has shape [17], that of this model [1 17]") {
		t.Errorf("other shapes: exit %d\n%s", s.code, s.err)
	}
}

// TestFixed trains a model with a fixed parameter from its program, with the same result as
// without.
func TestFixed(t *testing.T) {
	m := fixedToy()
	values := bytes.Repeat([]byte{0, 0, 0x20, 0xc1}, toyHeads*toyLines) // -10
	m.Given = []program.Table{{Param: toyGiven, Values: string(values)}}
	want, got := tensors(t, lastCheckpoint(trained(t, toyModel()))), tensors(t, lastCheckpoint(trained(t, *m)))
	for name, tensor := range want {
		if diff := cmp.Diff(tensor.Data, got[name].Data); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	for _, x := range got[toyGiven].Data {
		if x != -10 {
			t.Fatalf("the fixed parameter has become %v", got[toyGiven].Data)
		}
	}
	m.Given = nil
	if s := call(t, *m, "", "train", "--out", filepath.Join(t.TempDir(), "run")); s.code != 1 || !strings.Contains(s.err, "parameter fixed.lines of shape [2 24] is given 0 values") {
		t.Errorf("nothing given: exit %d\n%s", s.code, s.err)
	}
}

// TestFixedDrawn wants a random fixed parameter to keep its initial values, which depend on the
// seed.
func TestFixedDrawn(t *testing.T) {
	m := fixedToy()
	m.Params[len(m.Params)-1].Init = device.Init{Kind: "normal", A: 3}
	drawn := func(seed string, steps string) []float32 {
		dir := filepath.Join(t.TempDir(), "run")
		if s := call(t, *m, "", "train", "--out", dir, "--seed", seed, "--steps", steps); s.code != 0 {
			t.Fatalf("exit %d\n%s", s.code, s.err)
		}
		return tensors(t, lastCheckpoint(dir))[toyGiven].Data
	}
	one, more, other := drawn("1", "1"), drawn("1", "9"), drawn("2", "1")
	if !slices.Equal(one, more) || slices.Equal(one, other) || one[0] == 0 {
		t.Errorf("after a step %v, after nine %v, of another seed %v", one, more, other)
	}
}

// TestDrawnWeights begins a stage with the fixed rows that another one has drawn.
func TestDrawnWeights(t *testing.T) {
	drawn := func(seed uint64) *program.Model {
		m := fixedToy()
		m.Params[len(m.Params)-1].Init = device.Init{Kind: "normal", A: 3}
		m.Train.Seed = seed
		return m
	}
	p := toyPipeline()
	p.Stages = []stages.Stage{{Name: "first", Model: drawn(1)}, {Name: "second", From: "first", Model: drawn(2)}}
	own(&p)
	dir := travelled(t, p, "-q")
	from, to := tensors(t, lastCheckpoint(filepath.Join(dir, "first"))), tensors(t, lastCheckpoint(filepath.Join(dir, "second")))
	if diff := cmp.Diff(from[toyGiven].Data, to[toyGiven].Data); diff != "" {
		t.Error(diff)
	}
}

// TestMissingWeights names the weights that the earlier stage lacks.
func TestMissingWeights(t *testing.T) {
	more := fixedToy()
	more.Params[len(more.Params)-1].Init = device.Init{Kind: "normal", A: 3}
	p := toyPipeline()
	p.Stages = []stages.Stage{{Name: "first", Model: attendingToy()}, {Name: "second", From: "first", Model: more}}
	own(&p)
	dir := filepath.Join(t.TempDir(), "run")
	s := callStages(t, p, "train", "--out", dir)
	if want := filepath.Join(dir, "first") + " has no " + toyGiven + ": new weights there\n"; s.code != 0 || !strings.Contains(s.err+s.out, want) {
		t.Errorf("exit %d, want %q:\n%s", s.code, want, s.err)
	}
}

// TestAttend compares the mean with one computed directly.
func TestAttend(t *testing.T) {
	m := attendingToy()
	machine := processor.New(m.CPU, cpu.Go, 2, &m.Plan)
	problems, err := tasks.New(m.Task, 5)
	if err != nil {
		t.Fatal(err)
	}
	config := toyPipeline().Stages[1].Calibration.(calibration.Stage)
	config.Samples = 137
	self, cross, err := config.Attend(t.Context(), eval.Model{Machine: machine, Plan: &m.Plan, Task: problems, Seed: 5, Runs: m.Eval.Loop})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 8 {
		want := 0.0
		for k := range 137 {
			b, err := problems.Batch([]task.Problem{problems.Train(int64(k))})
			if err != nil {
				t.Fatal(err)
			}
			want += 0.8 + 0.01*float64(b.Source[b.S-2-i])
		}
		if got := cross.At(0, i, 9-2-i); math.Abs(got-want/137) > 1e-6 {
			t.Errorf("row %d: %g, want %g", i, got, want/137)
		}
		if got, want := cross.At(1, i, 8), 1./9; math.Abs(got-want) > 1e-7 {
			t.Errorf("row %d of head 1: %g, want %g", i, got, want)
		}
		if got, want := self.At(1, i, 0), 1/float64(i+1); math.Abs(got-want) > 1e-7 {
			t.Errorf("row %d of self: %g, want %g", i, got, want)
		}
	}
	if cross.Rows != 8 || cross.Columns != 9 || self.Columns != 8 {
		t.Errorf("shapes: %d rows, %d and %d columns", cross.Rows, cross.Columns, self.Columns)
	}
}

func TestBadCommandLinesOfStages(t *testing.T) {
	p := toyPipeline()
	dir := filepath.Join(t.TempDir(), "run")
	if s := callStages(t, p, "train", "--out", dir, "--until", "first", "-q"); s.code != 0 {
		t.Fatal(s.err)
	}
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"train", "--until", "nowhere"}, 2, "--until nowhere: there is no such stage"},
		{[]string{"train", "--out", dir}, 1, dir + " has a run in it already"},
		{[]string{"train", "--resume", "--out", filepath.Join(dir, "first")}, 2, "is the directory of stage first: resume the whole run with --out " + dir},
		{[]string{"train", "--resume", "--out", dir, "--seed", "7"}, 2, "has seed 1"},
		{[]string{"eval", dir}, 1, "has no checkpoint of second yet: continue with train --resume --out " + dir + ", or name a stage that has one, " + filepath.Join(dir, "first")},
		{[]string{"eval", filepath.Join(dir, "second")}, 1, "is no run directory"},
	} {
		if s := callStages(t, p, c.args...); s.code != c.code || !strings.Contains(s.err, c.want) {
			t.Errorf("%v: exit %d, want %d and %q:\n%s", c.args, s.code, c.code, c.want, s.err)
		}
	}
	if s := call(t, toyModel(), "", "train", "--until", "first"); s.code != 2 || !strings.Contains(s.err, "this spec has no stages") {
		t.Errorf("exit %d\n%s", s.code, s.err)
	}
}
