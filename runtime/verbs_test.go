package runtime

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/arithlang/mlc/runtime/cpu"
	"github.com/arithlang/mlc/runtime/damage"
	"github.com/arithlang/mlc/runtime/device"
	"github.com/arithlang/mlc/runtime/eval"
	"github.com/arithlang/mlc/runtime/flags"
	"github.com/arithlang/mlc/runtime/program"
	"github.com/arithlang/mlc/runtime/rundir"
	"github.com/arithlang/mlc/runtime/task"
	"github.com/arithlang/mlc/runtime/verbs"
	"github.com/arithlang/mlc/runtime/world"
)

func TestTrainEndsWithATable(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	s := call(t, toyModel(), "", "train", "--out", dir, "--steps", "150")
	if s.code != 0 {
		t.Fatal(s.err)
	}
	table := regexp.MustCompile(`^ digits  problems  exact match\n      1        10  +90\.00 %\n      6       300  +[0-9.]+ %\n     10       300  +[0-9.]+ %\n$`)
	if !table.MatchString(s.out) {
		t.Errorf("standard output:\n%s", s.out)
	}
	for _, want := range []string{
		"training toy: 1,173 parameters, 150 steps, seed 1, on cpu, ", "run directory " + dir, "step 150/150  loss ", "left 0s\n",
		"testing length 6 to length 10", "next: ./toy solve " + dir + " '9999999999'\n",
	} {
		if !strings.Contains(s.err, want) {
			t.Errorf("standard error has no %q:\n%s", want, s.err)
		}
	}
	var files []string
	filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if !d.IsDir() {
			name, _ := filepath.Rel(dir, path)
			files = append(files, name)
		}
		return err
	})
	want := []string{"ckpt/step-00000150.safetensors", "eval/grid.csv", "eval/result.json", "metrics.csv", "metrics.jsonl", "run.json", "spec.arith"}
	if diff := cmp.Diff(want, files); diff != "" {
		t.Error(diff)
	}
	var rec map[string]any
	text, _ := os.ReadFile(filepath.Join(dir, "run.json"))
	if err := json.Unmarshal(text, &rec); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"name", "spec_hash", "mlc_version", "device", "device_name", "seed", "params", "started", "go", "cpu"} {
		if rec[key] == nil || rec[key] == "" {
			t.Errorf("run.json has no %s", key)
		}
	}
}

func TestQuietTrainingSaysNothing(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	s := call(t, toyModel(), "", "train", "--out", dir, "-q", "--json")
	if s.code != 0 || s.err != "" || !json.Valid([]byte(s.out)) || !strings.HasPrefix(s.out, `{"run":"`+dir+`","name":"toy",`) {
		t.Errorf("exit %d, standard error %q, standard output:\n%s", s.code, s.err, s.out)
	}
	stages := filepath.Join(t.TempDir(), "run")
	s = callStages(t, toyPipeline(), "train", "--out", stages, "--until", "calibrate", "-q", "--json")
	if want := `{"run":"` + filepath.Join(stages, "calibrate") + "\"}\n"; s.code != 0 || s.out != want {
		t.Errorf("exit %d\n%s%s", s.code, s.out, s.err)
	}
}

// testModel returns the model of a run, ready to be asked.
func testModel(t *testing.T, m program.Model, dir string) *eval.Test {
	t.Helper()
	f := world.Flags{Machine: flags.Machine{Device: "cpu", CPU: "auto", Threads: 2}}
	test, err := verbs.Load(&f, world.App{Ctx: t.Context(), Model: m}, dir, verbs.WeightsFlags{})
	if err != nil {
		t.Fatal(err)
	}
	return test
}

func TestVerificationAgreesWithGreedyDecoding(t *testing.T) {
	m := toyModel()
	for _, steps := range []string{"20", "60", "200"} {
		test := testModel(t, m, trained(t, m, "--steps", steps, "-q"))
		var problems []task.Problem
		for _, digits := range []int{1, 3, 6, 7, 9, 13} {
			problems = append(problems, test.Task.Test(digits, 600)...)
		}
		ctx := context.Background()
		right, err := test.Verify(ctx, problems, eval.ExactMatch)
		if err != nil {
			t.Fatal(err)
		}
		replies, err := test.Decode(ctx, problems)
		if err != nil {
			t.Fatal(err)
		}
		count := 0
		for i, p := range problems {
			b, err := test.Task.One(p)
			if err != nil {
				t.Fatal(err)
			}
			if exact := cmp.Equal(replies[i], b.Labels); exact != right[i] {
				t.Fatalf("%s: decoded %v, verified %v", test.Task.Text(p), exact, right[i])
			}
			if right[i] {
				count++
			}
		}
		t.Logf("%s steps: %d of %d right", steps, count, len(problems))
		if steps == "200" && (count < len(problems)/2 || count == len(problems)) {
			t.Errorf("%d of %d right: the test wants both kinds", count, len(problems))
		}
	}
}

func TestEval(t *testing.T) {
	m := toyModel()
	dir := trained(t, m, "--steps", "150", "-q")
	read := func() (r eval.Result) {
		t.Helper()
		text, err := os.ReadFile(filepath.Join(dir, "eval/result.json"))
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(text, &r); err != nil {
			t.Fatal(err)
		}
		return r
	}
	verified := read()
	if verified.Mode != "verify" || verified.ExamplesTrained != 7500 || verified.SecondsTrain <= 0 || len(verified.ByCell) != 3 ||
		verified.ID == nil || verified.OOD == nil || verified.OOD100 != nil || *verified.OOD != verified.ByLength["10"] {
		t.Errorf("result: %+v", verified)
	}
	// An existing count is taken over. Other lengths join it.
	marked := read()
	marked.ByCell[1].Correct = 0
	text, _ := json.Marshal(marked)
	os.WriteFile(filepath.Join(dir, "eval/result.json"), text, 0o644)
	s := call(t, m, "", "eval", dir, "--digits", "6,12")
	if s.code != 0 || strings.Contains(s.err, "length 6") || !strings.Contains(s.err, "length 12") {
		t.Errorf("resumed evaluation: exit %d\n%s", s.code, s.err)
	}
	if r := read(); len(r.ByCell) != 4 || r.ByLength["6"] != 0 || *r.OOD != *verified.OOD {
		t.Errorf("resumed evaluation: %+v", r)
	}
}

// TestOtherEvaluations wants tests that the spec does not ask for to leave the spec's result
// alone.
func TestOtherEvaluations(t *testing.T) {
	m := toyModel()
	dir := trained(t, m, "--steps", "150", "-q")
	spec := map[string]string{}
	for _, name := range []string{"result.json", "grid.csv"} {
		text, err := os.ReadFile(filepath.Join(dir, "eval", name))
		if err != nil {
			t.Fatal(err)
		}
		spec[name] = string(text)
	}
	load := func(folder string) *eval.Result {
		r, err := eval.Load(damage.At(filepath.Join(dir, "eval", folder)))
		if err != nil || r == nil {
			t.Fatalf("%s: %v, %v", folder, r, err)
		}
		return r
	}
	for _, c := range []struct {
		folder string
		cells  int
		args   []string
	}{
		{"greedy", 3, []string{"--mode", "greedy", "--threads", "1"}},
		{"samples-50", 1, []string{"--samples", "50", "--digits", "6"}},
		{"samples-50", 3, []string{"--samples", "50", "--digits", "7,8"}},
		{"first_token/greedy/samples-20", 3, []string{"--samples", "20", "--mode", "greedy", "--metric", "first_token"}},
		{"", 3, []string{"--samples", "300", "--mode", "verify", "--metric", "exact_match"}},
	} {
		s := call(t, m, "", append([]string{"eval", dir, "--json"}, c.args...)...)
		if s.code != 0 || !json.Valid([]byte(s.out)) {
			t.Fatalf("%v: exit %d\n%s\n%s", c.args, s.code, s.out, s.err)
		}
		if r := load(c.folder); len(r.ByCell) != c.cells {
			t.Errorf("%v: %d cells in %s", c.args, len(r.ByCell), c.folder)
		}
		for name, want := range spec {
			if got, err := os.ReadFile(filepath.Join(dir, "eval", name)); string(got) != want || err != nil {
				t.Errorf("%v: %s has become\n%s, %v", c.args, name, got, err)
			}
		}
	}
	if diff := cmp.Diff(load("").ByCell, load("greedy").ByCell); diff != "" {
		t.Errorf("greedy decoding counts otherwise than verification:\n%s", diff)
	}
	// Tests with other settings have no spec: means cover all of their lengths.
	if r := load("samples-50"); *r.OOD != (r.ByLength["7"]+r.ByLength["8"])/2 {
		t.Errorf("means of other settings: %+v", r)
	}
}

// TestGoOnWithAnEvaluation wants the whole command line in the message.
func TestGoOnWithAnEvaluation(t *testing.T) {
	m := toyModel()
	dir := filepath.Join(filepath.Dir(trained(t, m, "-q")), "it's mine")
	if err := os.CopyFS(dir, os.DirFS(filepath.Join(filepath.Dir(dir), "run"))); err != nil {
		t.Fatal(err)
	}
	var once sync.Once // a second signal would end this process
	healthy := m.CPU[toyPredict].Run
	m.CPU[toyPredict].Run = func(w *cpu.Worker, e *device.Env, a []device.Ref) {
		once.Do(ctrlC)
		healthy(w, e, a)
	}
	s := call(t, m, "", "eval", dir, "--digits", "3,4", "--samples", "2")
	want := "while testing; continue with: ./toy eval '" + strings.ReplaceAll(dir, "'", `'\''`) + "' --digits 3,4 --samples 2\n"
	if s.code != exitInterrupted || !strings.Contains(s.err, want) {
		t.Errorf("exit %d, no %q in\n%s", s.code, want, s.err)
	}
}

func TestInterruptedEvaluationGoesOn(t *testing.T) {
	m := toyModel()
	dir := trained(t, m, "-q")
	os.RemoveAll(filepath.Join(dir, "eval"))
	test := testModel(t, m, dir)
	ctx, stop := context.WithCancel(context.Background())
	var tested []string
	test.Patience = 0
	test.Progress = func(p eval.Progress) {
		tested = append(tested, p.String())
		if len(tested) == 2 {
			stop()
		}
	}
	if _, err := test.Run(ctx, filepath.Join(dir, "eval")); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted evaluation: %v", err)
	}
	if _, err := test.Run(context.Background(), filepath.Join(dir, "eval")); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"testing length 1", "testing length 6", "testing length 6", "testing length 10"}, tested); diff != "" {
		t.Error(diff)
	}
}

func TestSolve(t *testing.T) {
	m := toyModel()
	dir := trained(t, m, "--steps", "200", "-q")
	long := "1234567812345678123456781234567812345678"
	for _, c := range []struct {
		stdin string
		args  []string
		code  int
		out   string // exact output
		err   string // part of the error output
	}{
		{"", []string{"41", "0041", long}, 0, "42\n42\n1234567812345678123456781234567812345679\n", ""},
		{"41\n\n 100 \r\n", nil, 0, "42\n101\n", ""},
		{"", []string{"--json", "41"}, 0, `{"problem":"41","answer":"42","expected":"42","right":true}` + "\n", ""},
		{"", []string{"12+3"}, 2, "", `"12+3": '+' is no digit of base 10; expected a number, such as 99999`},
		{"", []string{"hello"}, 2, "", `'h' is no digit of base 10; expected a number`},
		{"41\nx\n42\n", nil, 2, "42\n43\n", `line 2: "x": 'x' is no digit`},
		{"41\nx\n\n42\n  \n", nil, 2, "42\n43\n", "2 of 5 lines are not problems for this model"},
		{"41\n  ", nil, 2, "42\n", `line 2: "  ": `},
	} {
		s := call(t, m, c.stdin, append([]string{"solve", dir}, c.args...)...)
		if s.code != c.code || s.out != c.out || !strings.Contains(s.err, c.err) {
			t.Errorf("solve %q %q: exit %d\n%s%s", c.stdin, c.args, s.code, s.out, s.err)
		}
	}
}

// TestEvalSaysWhere wants a test that the spec does not ask for to name the place of its
// result, and the command that draws it.
func TestEvalSaysWhere(t *testing.T) {
	dir := trained(t, toyModel(), "--steps", "3", "-q")
	s := call(t, toyModel(), "", "eval", dir, "--samples", "5")
	if s.code != 0 || !strings.Contains(s.err, "the result is in "+filepath.Join(dir, "eval", "samples-5")+"; draw it with: mlc plot "+dir+" --eval samples-5\n") {
		t.Errorf("exit %d, %s", s.code, s.err)
	}
	if s := call(t, toyModel(), "", "eval", dir); strings.Contains(s.err, "mlc plot") {
		t.Errorf("the test that the spec asks for: %s", s.err)
	}
}

// TestBeyondPositions wants no answer and no result for problems beyond a model's positions.
func TestBeyondPositions(t *testing.T) {
	m := toyModel()
	m.Eval.Reach = eval.Reach{Tokens: 16}
	dir := trained(t, m, "-q")
	before, err := os.ReadFile(filepath.Join(dir, "eval/result.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"eval", dir, "--digits", "6,20"},
		{"eval", dir, "--diagonal", "5..20"},
		{"solve", dir, "12345678901234567890"},
		{"solve", dir, "--json", "12345678901234567890"},
	} {
		s := call(t, m, "", args...)
		if s.code != world.ExitUsage || s.out != "" || !strings.Contains(s.err, "E0304: max = 16 of the positions is fewer than the ") {
			t.Errorf("%q: exit %d\n%s%s", args, s.code, s.out, s.err)
		}
	}
	after, err := os.ReadFile(filepath.Join(dir, "eval/result.json"))
	if err != nil || !bytes.Equal(before, after) {
		t.Errorf("the result was written: %v", err)
	}
	if s := call(t, m, "", "solve", dir, "41"); s.code != 0 {
		t.Errorf("a problem that fits: exit %d\n%s", s.code, s.err)
	}
}

func TestInfo(t *testing.T) {
	s := call(t, toyModel(), "", "info")
	for _, want := range []string{"toy, " + toyHash, "1,173 in 4 tensors", "cpu: "} {
		if s.code != 0 || !strings.Contains(s.out, want) {
			t.Errorf("info: exit %d, no %q in:\n%s", s.code, want, s.out)
		}
	}
	if s := call(t, toyModel(), "", "info", "--json"); s.code != 0 || !json.Valid([]byte(s.out)) {
		t.Errorf("info --json: exit %d\n%s", s.code, s.out)
	}
}

func TestBadCommandLines(t *testing.T) {
	m := toyModel()
	dir := trained(t, m, "-q")
	file := filepath.Join(dir, "run.json")
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"train", "--devise", "cpu"}, 2, "unknown flag --devise"},
		{[]string{"tune"}, 2, `unexpected argument tune`},
		{[]string{"bench", "--steps=-1"}, 2, "--steps -1 must not be negative"},
		{[]string{"bench", "--batch", "0"}, 2, "--batch 0: want a number above 0"},
		{[]string{"bench", "--batch", "1000000000"}, 2, "--batch 1000000000: want at most 1048576 examples"},
		{[]string{"train", "--steps", "3", "--time", "1s"}, 2, "can't be used together"},
		{[]string{"train", "--steps=-3"}, 2, "--steps -3: want a number above 0, such as 500"},
		{[]string{"train", "--steps", "0"}, 2, "--steps 0: want a number above 0"},
		{[]string{"train", "--examples", "0"}, 2, "--examples 0: want a number above 0"},
		{[]string{"train", "--time", "0s"}, 2, "--time 0s: want a number above 0, such as 5m"},
		{[]string{"train", "--save=-1s"}, 2, "--save -1s must not be negative"},
		{[]string{"train", "--flop", "0"}, 2, "--flop 0: want a number above 0"},
		{[]string{"train", "--flop", "nan"}, 2, "--flop NaN: want a number"},
		{[]string{"train", "--flop", "inf"}, 2, "--flop +Inf: want a number"},
		{[]string{"train", "--device", "sim"}, 1, "--device sim: this program has no GPU kernels: build it again with a newer mlc, or use --device cpu"},
		{[]string{"train", "--device", "tpu"}, 2, `unknown device "tpu"`},
		{[]string{"train", "--cpu", "mmx"}, 2, `unknown instruction set "mmx"`},
		{[]string{"train", "--threads=-1"}, 2, "--threads -1"},
		{[]string{"train", "--out", dir}, 1, dir + " has a run in it already: continue it with --resume --out " + dir},
		{[]string{"train", "--out", filepath.Dir(dir)}, 1, "is not empty: choose another --out"},
		{[]string{"train", "--out", filepath.Join(file, "x")}, 1, "cannot make the run directory: "},
		{[]string{"train", "--resume", "--out", t.TempDir()}, 1, "is no run directory: it has no run.json"},
		{[]string{"train", "--resume", "--out", dir, "--seed", "9"}, 2, "has seed 1: resume it without --seed"},
		{[]string{"train", "--resume"}, 1, "there is no run of this spec in runs/toy: train without --resume"},
		{[]string{"eval", "nowhere"}, 1, "nowhere is no run directory"},
		{[]string{"eval", dir, "--mode", "guess"}, 2, "--mode must be one of"},
		{[]string{"eval", dir, "--digits", "0"}, 2, "--digits 0: want lengths from 1 to 32768"},
		{[]string{"eval", dir, "--digits", "6,1000000000"}, 2, "--digits 1000000000: want lengths from 1 to 32768"},
		{[]string{"eval", dir, "--diagonal", "1..1000000000"}, 2, "--diagonal 1..1000000000: want lengths up to 32768"},
		{[]string{"eval", dir, "--grid", "1..5,2..1000000000"}, 2, "--grid 1..5,2..1000000000: want lengths up to 1000"},
		{[]string{"eval", dir, "--samples", "1000000000000"}, 2, "--samples 1000000000000: want at most 1048576 problems"},
		{[]string{"eval", dir, "--samples", "0"}, 2, "--samples 0: want a number above 0"},
		{[]string{"eval", dir, "--samples=-4"}, 2, "--samples -4: want a number above 0"},
		{[]string{"eval", dir, "--times", "0"}, 2, "--times 0: want a number above 0"},
		{[]string{"solve", dir, "--times=-1", "1"}, 2, "--times -1: want a number above 0"},
		{[]string{"solve"}, 2, "RUN"},
	} {
		s := call(t, m, "", c.args...)
		if s.code != c.code || !strings.Contains(s.err, c.want) || s.out != "" {
			t.Errorf("%q: exit %d, want %d and %q:\n%s%s", c.args, s.code, c.code, c.want, s.out, s.err)
		}
	}
	if s := call(t, m, "", "--help"); s.code != 0 || !strings.Contains(s.out, "solve") || s.err != "" {
		t.Errorf("--help: exit %d\n%s%s", s.code, s.out, s.err)
	}
}

func TestAnotherSpecIsRefused(t *testing.T) {
	dir := trained(t, toyModel(), "-q")
	m := toyModel()
	m.Spec = strings.Replace(m.Spec, "below(1M)", "below(2M)", 1) + "seed = 3\n"
	m.SpecHash = otherHash
	for _, args := range [][]string{{"train", "--resume", "--out", dir}, {"eval", dir}, {"solve", dir, "1"}} {
		s := call(t, m, "", args...)
		want := "Lines of the run (-) and of this program (+):\n  - operands = below(1M)\n  + operands = below(2M)\n  + seed = 3\nto continue that run, build the program from "
		if s.code != 1 || !strings.Contains(s.err, "is a run of another spec (toy, 01234567; this program is toy, fedcba98)") || !strings.Contains(s.err, want) {
			t.Errorf("%v: exit %d\n%s", args, s.code, s.err)
		}
	}
}

// TestOtherFiles has a spec with the same text that reads another table.
func TestOtherFiles(t *testing.T) {
	dir := trained(t, toyModel(), "-q")
	m := toyModel()
	m.SpecHash = otherHash
	want := "is a run of this spec with other files: a table or a list of problems that it reads has changed (01234567 in run.json; this program is fedcba98). To continue that run, build"
	if s := call(t, m, "", "eval", dir); s.code != 1 || !strings.Contains(s.err, want) {
		t.Errorf("exit %d\n%s", s.code, s.err)
	}
}

func TestDamagedCheckpoints(t *testing.T) {
	m := toyModel()
	dir := filepath.Join(t.TempDir(), "run")
	stopAt(t, m, dir, 10)
	if s := call(t, m, "", "train", "--resume", "--out", dir, "-q"); s.code != 0 {
		t.Fatal(s.err)
	}
	newest := lastCheckpoint(dir)
	good, err := os.ReadFile(newest)
	if err != nil {
		t.Fatal(err)
	}
	altered := bytes.Clone(good)
	altered[len(altered)-100] ^= 4
	for _, c := range []struct {
		bytes []byte
		want  string
	}{
		{altered, "altered: its contents do not match its checksum"},
		{good[:len(good)/2], "truncated: "},
		{nil, "truncated: 0 bytes"},
		{[]byte("not a checkpoint at all"), "not a checkpoint: "},
	} {
		os.WriteFile(newest, c.bytes, 0o644)
		for _, args := range [][]string{{"train", "--resume", "--out", dir}, {"eval", dir}, {"solve", dir, "1"}} {
			s := call(t, m, "", args...)
			if s.code != 1 || !strings.Contains(s.err, newest+": "+c.want) || !strings.Contains(s.err, "remove it to continue from "+filepath.Join(dir, "ckpt", "step-00000010")) {
				t.Errorf("%v: exit %d, want %q\n%s", args, s.code, c.want, s.err)
			}
		}
	}
	os.Remove(newest)
	if s := call(t, m, "", "train", "--resume", "--out", dir, "-q"); s.code != 0 {
		t.Fatal(s.err)
	}
	if again, _ := os.ReadFile(newest); !bytes.Equal(again, good) {
		t.Error("going on from the older checkpoint gives other bytes")
	}
}

// TestKilledBeforePruning wants the same number of checkpoints for a run that was killed after
// its last one as for any other.
func TestKilledBeforePruning(t *testing.T) {
	dir := trained(t, toyModel(), "-q", "--save", "1ns")
	oldest := filepath.Join(dir, "ckpt", "step-00000001.safetensors")
	if err := os.WriteFile(oldest, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if s := call(t, toyModel(), "", "train", "--resume", "--out", dir, "-q"); s.code != 0 {
		t.Fatal(s.err)
	}
	if rundir.Exists(oldest) {
		t.Error("a checkpoint from before the last two is left")
	}
}

// TestRecordWithoutBudget reports a record that lost its budget, and the budget in its
// checkpoint.
func TestRecordWithoutBudget(t *testing.T) {
	dir := trained(t, toyModel(), "-q")
	path := filepath.Join(dir, "run.json")
	forge(t, path, `"budget"`, `"bu$get"`)
	for _, args := range [][]string{{"train", "--resume", "--out", dir, "-q"}, {"eval", dir, "--digits", "3"}} {
		if s := call(t, toyModel(), "", args...); s.code != 1 || !strings.Contains(s.err, "its budget is 20 steps, in "+path+" it is missing") {
			t.Errorf("%v: exit %d\n%s", args, s.code, s.err)
		}
	}
}

// TestFlagOfAnAxis refuses flags that contradict the name of a sweep's program.
func TestFlagOfAnAxis(t *testing.T) {
	m := toyModel()
	m.Axes = []string{"train.seed", "stage.first.train.init_seed", "stage.first.train.budget"}
	for flags, want := range map[string]string{
		"--seed 5":      "--seed: this program belongs to a sweep with an axis for train.seed",
		"--init-seed 5": "--init-seed: this program belongs to a sweep with an axis for stage.first.train.init_seed",
		"--steps 2":     "--steps: this program belongs to a sweep with an axis for stage.first.train.budget",
		"--time 1m":     "--time: this program belongs to a sweep with an axis",
		"--flop 1e9":    "--flop: this program belongs to a sweep with an axis",
		"--save 1m":     "",
		"--threads 1":   "",
	} {
		dir := filepath.Join(t.TempDir(), "run")
		s := call(t, m, "", append([]string{"train", "--out", dir, "-q"}, strings.Fields(flags)...)...)
		if want == "" && s.code != 0 || want != "" && (s.code != 2 || !strings.Contains(s.err, want)) {
			t.Errorf("%s: exit %d, want %q:\n%s", flags, s.code, want, s.err)
		}
		if _, err := os.Stat(dir); want != "" && err == nil {
			t.Errorf("%s has made a run", flags)
		}
	}
}
