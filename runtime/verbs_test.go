package runtime

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/arithlang/mlc/runtime/eval"
	"github.com/arithlang/mlc/runtime/task"
)

func TestTrainEndsWithATable(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	s := call(t, toyModel(), "", "train", "--out", dir, "--steps", "150")
	if s.code != 0 {
		t.Fatal(s.err)
	}
	table := regexp.MustCompile(`^ digits  problems  exact match\n      1        10  +90\.0 %\n      6       300  +[0-9.]+ %\n     10       300  +[0-9.]+ %\n$`)
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
	s := call(t, toyModel(), "", "train", "--out", filepath.Join(t.TempDir(), "run"), "-q", "--json")
	if s.code != 0 || s.err != "" || !json.Valid([]byte(s.out)) {
		t.Errorf("exit %d, standard error %q, standard output:\n%s", s.code, s.err, s.out)
	}
}

// testModel is the model of a run, ready to be asked.
func testModel(t *testing.T, m Model, dir string) *eval.Test {
	t.Helper()
	f := deviceFlags{Device: "cpu", CPU: "auto", Threads: 2}
	test, err := f.load(app{model: m}, dir)
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
			b, err := test.Task.Batch([]task.Problem{p})
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
	if s := call(t, m, "", "eval", dir, "--mode", "greedy", "--threads", "1"); s.code != 0 {
		t.Fatal(s.err)
	}
	greedy := read()
	if greedy.Mode != "greedy" {
		t.Error("the mode is not greedy")
	}
	if diff := cmp.Diff(verified.ByCell, greedy.ByCell); diff != "" {
		t.Errorf("greedy decoding counts otherwise than verification:\n%s", diff)
	}

	// A count that is there is taken over, unless it was made under other settings.
	marked := greedy
	marked.ByCell[1].Correct = 0
	text, _ := json.Marshal(marked)
	os.WriteFile(filepath.Join(dir, "eval/result.json"), text, 0o644)
	s := call(t, m, "", "eval", dir, "--mode", "greedy", "--digits", "6,12")
	if s.code != 0 || strings.Contains(s.err, "length 6") || !strings.Contains(s.err, "length 12") {
		t.Errorf("resumed evaluation: exit %d\n%s", s.code, s.err)
	}
	if r := read(); len(r.ByCell) != 4 || r.ByLength["6"] != 0 {
		t.Errorf("resumed evaluation: %+v", r)
	}
	s = call(t, m, "", "eval", dir, "--samples", "50", "--digits", "6", "--json")
	if s.code != 0 || read().ByLength["6"] == 0 || !json.Valid([]byte(s.out)) {
		t.Errorf("other settings: exit %d\n%s\n%s", s.code, s.out, s.err)
	}
	grid, _ := os.ReadFile(filepath.Join(dir, "eval/grid.csv"))
	if !regexp.MustCompile(`^i,j,samples,correct,exact_match\n6,0,50,\d+,0\.\d+\n$`).Match(grid) {
		t.Errorf("grid.csv:\n%s", grid)
	}
}

func TestInterruptedEvaluationGoesOn(t *testing.T) {
	m := toyModel()
	dir := trained(t, m, "-q")
	os.RemoveAll(filepath.Join(dir, "eval"))
	test := testModel(t, m, dir)
	ctx, stop := context.WithCancel(context.Background())
	var tested []string
	test.Dir = filepath.Join(dir, "eval")
	test.Patience = 0
	test.Progress = func(p eval.Progress) {
		tested = append(tested, p.String())
		if len(tested) == 2 {
			stop()
		}
	}
	if _, err := test.Run(ctx); exitCode(err) != exitInterrupted {
		t.Errorf("interrupted evaluation: %v", err)
	}
	if _, err := test.Run(context.Background()); err != nil {
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
		out   string // expected exactly
		err   string // expected part
	}{
		{"", []string{"41", "0041", long}, 0, "42\n42\n1234567812345678123456781234567812345679\n", ""},
		{"41\n\n 100 \r\n", nil, 0, "42\n101\n", ""},
		{"", []string{"--json", "41"}, 0, `{"problem":"41","answer":"42","right":true}` + "\n", ""},
		{"", []string{"12+3"}, 2, "", `"12+3": '+' is no digit of base 10; expected a number, such as 99999`},
		{"", []string{"hello"}, 2, "", `'h' is no digit of base 10; expected a number`},
		{"41\nx\n42\n", nil, 2, "42\n", `line 2: "x": 'x' is no digit`},
	} {
		s := call(t, m, c.stdin, append([]string{"solve", dir}, c.args...)...)
		if s.code != c.code || s.out != c.out || !strings.Contains(s.err, c.err) {
			t.Errorf("solve %q %q: exit %d\n%s%s", c.stdin, c.args, s.code, s.out, s.err)
		}
	}
}

func TestInfo(t *testing.T) {
	s := call(t, toyModel(), "", "info")
	for _, want := range []string{"toy, 0123456789abcdef", "1,173 in 4 tensors", "cpu: "} {
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
		{[]string{"bench", "--steps=-1"}, 2, "--steps and --batch must not be negative"},
		{[]string{"train", "--steps", "3", "--time", "1s"}, 2, "can't be used together"},
		{[]string{"train", "--steps=-3"}, 2, "must not be negative"},
		{[]string{"train", "--device", "sim"}, 1, "--device sim: this program has no GPU kernels: build it again with a newer mlc, or use --device cpu"},
		{[]string{"train", "--device", "tpu"}, 2, `unknown device "tpu"`},
		{[]string{"train", "--cpu", "mmx"}, 2, `unknown instruction set "mmx"`},
		{[]string{"train", "--threads=-1"}, 2, "--threads -1"},
		{[]string{"train", "--out", dir}, 1, dir + " has a run in it already: go on with it by --resume --out " + dir},
		{[]string{"train", "--out", filepath.Dir(dir)}, 1, "is not empty: choose another --out"},
		{[]string{"train", "--out", filepath.Join(file, "x")}, 1, "cannot make the run directory: "},
		{[]string{"train", "--resume", "--out", t.TempDir()}, 1, "is no run directory: it has no run.json"},
		{[]string{"train", "--resume", "--out", dir, "--seed", "9"}, 2, "has seed 1: resume it without --seed"},
		{[]string{"train", "--resume"}, 1, "there is no run in runs/toy: train without --resume"},
		{[]string{"eval", "nowhere"}, 1, "nowhere is no run directory"},
		{[]string{"eval", dir, "--mode", "guess"}, 2, "--mode must be one of"},
		{[]string{"eval", dir, "--digits", "0"}, 2, "at least one digit"},
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
	m.Spec = strings.Replace(m.Spec, "below = 1M", "below = 2M", 1) + "seed = 3\n"
	m.SpecHash = "fedcba9876543210"
	for _, args := range [][]string{{"train", "--resume", "--out", dir}, {"eval", dir}, {"solve", dir, "1"}} {
		s := call(t, m, "", args...)
		want := "Lines of the run (-) and of this program (+):\n  - below = 1M\n  + below = 2M\n  + seed = 3\nbuild the program from "
		if s.code != 1 || !strings.Contains(s.err, "is a run of another spec (toy, 01234567; this program is toy, fedcba98)") || !strings.Contains(s.err, want) {
			t.Errorf("%v: exit %d\n%s", args, s.code, s.err)
		}
	}
}

func TestDamagedCheckpoints(t *testing.T) {
	m := toyModel()
	dir := filepath.Join(t.TempDir(), "run")
	stopAt(t, m, dir, 10)
	if s := call(t, m, "", "train", "--resume", "--out", dir, "-q"); s.code != 0 {
		t.Fatal(s.err)
	}
	newest := newestCheckpoint(dir)
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
			if s.code != 1 || !strings.Contains(s.err, newest+": "+c.want) || !strings.Contains(s.err, "remove it to go on from "+filepath.Join(dir, "ckpt", "step-00000010")) {
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

func TestResumeTakesTheNewestRun(t *testing.T) {
	t.Chdir(t.TempDir())
	m := toyModel()
	if s := call(t, m, "", "train", "-q", "--steps", "2"); s.code != 0 {
		t.Fatal(s.err)
	}
	made, err := filepath.Glob("runs/toy/*-01234567/run.json")
	if err != nil || len(made) != 1 {
		t.Fatalf("runs: %v", made)
	}
	older := filepath.Join("runs/toy", "20200101-000000-01234567")
	if s := call(t, m, "", "train", "-q", "--steps", "1", "--out", older); s.code != 0 {
		t.Fatal(s.err)
	}
	if s := call(t, m, "", "train", "-q", "--resume", "--steps", "5"); s.code != 0 {
		t.Fatal(s.err)
	}
	if got, want := newestCheckpoint(filepath.Dir(made[0])), "step-00000005.safetensors"; filepath.Base(got) != want {
		t.Errorf("the newest run has come to %s, want %s", got, want)
	}
}
