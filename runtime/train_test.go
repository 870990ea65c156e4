package runtime

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	goruntime "runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/arithlang/mlc/runtime/ckpt"
	"github.com/arithlang/mlc/runtime/cpu"
	"github.com/arithlang/mlc/runtime/device"
	"github.com/arithlang/mlc/runtime/flags"
	"github.com/arithlang/mlc/runtime/processor"
	"github.com/arithlang/mlc/runtime/program"
	"github.com/arithlang/mlc/runtime/rundir"
	"github.com/arithlang/mlc/runtime/track"
	"github.com/arithlang/mlc/runtime/train"
	"github.com/arithlang/mlc/runtime/verbs"
	"github.com/arithlang/mlc/runtime/world"
)

// trainerIn returns the trainer of a new run.
func trainerIn(t *testing.T, m program.Model, dir string) *train.Trainer {
	t.Helper()
	machine := processor.New(m.CPU, cpu.Go, 2, &m.Plan)
	c := verbs.Train{Training: flags.Training{Out: dir}, Quiet: true}
	at, err := c.Directory(&m, machine)
	if err != nil {
		t.Fatal(err)
	}
	defer at.Close()
	if err := rundir.Fill(at.Path, rundir.IdentityOf(&m), at.Record); err != nil {
		t.Fatal(err)
	}
	trainer, err := c.Trainer(world.App{Ctx: t.Context(), Model: m, Err: os.Stderr}, machine, at.Dir, at.Path, &at.Record, verbs.Beginning{})
	if err != nil {
		t.Fatal(err)
	}
	trainer.Still = nil
	return trainer
}

// stopAt trains a run that is asked to stop after the given steps.
func stopAt(t *testing.T, m program.Model, dir string, steps int) {
	t.Helper()
	trainer := trainerIn(t, m, dir)
	ctx, stop := context.WithCancel(context.Background())
	match := trainer.Match
	trainer.Match = func(heldOut bool, first, n int) (float64, error) {
		if trainer.State.Step == steps {
			stop()
		}
		return match(heldOut, first, n)
	}
	if err := trainer.Run(ctx); !errors.Is(err, context.Canceled) || trainer.State.Step != steps {
		t.Fatalf("stopped after %d steps with %v", trainer.State.Step, err)
	}
}

func TestTwentyStepsAreTenAStopAndTen(t *testing.T) {
	m := toyModel()
	whole := trained(t, m)
	for _, steps := range []int{1, 10, 19} {
		dir := filepath.Join(t.TempDir(), "run")
		stopAt(t, m, dir, steps)
		if s := call(t, m, "", "train", "--resume", "--out", dir); s.code != 0 {
			t.Fatal(s.err)
		}
		sameRun(t, whole, dir)
	}
}

func TestThreadsAndInstructionsDoNotMatter(t *testing.T) {
	m := toyModel()
	m.Train.Budget.Steps = 60
	want := trained(t, m, "--threads", "1", "--cpu", "go")
	for _, threads := range []string{"2", "3", "8", "32", "0"} {
		sameRun(t, want, trained(t, m, "--threads", threads))
	}
	if other, _ := final(t, trained(t, m, "--seed", "2")); bytes.Equal(other, first(final(t, want))) {
		t.Error("another seed gives the same parameters")
	}
}

// TestManyThreads has more threads than cores, and more than chunks: 25 and 4. It pauses, and
// continues with another number of threads.
func TestManyThreads(t *testing.T) {
	for _, chunk := range []int{2, 16} {
		m := toyModel()
		m.Train.MicroBatch, m.Train.Chunk = 2, chunk
		want := trained(t, m, "--threads", "1")
		for _, threads := range [][]string{{"2", "8"}, {"8", "32"}, {"32", "1"}, {"128", "2"}} {
			dir := filepath.Join(t.TempDir(), "run")
			if s := call(t, m, "", "train", "--out", dir, "--threads", threads[0], "--pause", "0.5"); s.code != 0 || !strings.Contains(s.err, "paused at step 10") {
				t.Fatalf("exit %d\n%s", s.code, s.err)
			}
			if s := call(t, m, "", "train", "--resume", "--out", dir, "--threads", threads[1]); s.code != 0 {
				t.Fatal(s.err)
			}
			sameRun(t, want, dir)
		}
	}
}

// TestSaysIdleThreads reports threads without a chunk once, with a remedy.
func TestSaysIdleThreads(t *testing.T) {
	m := toyModel()
	most := goruntime.GOMAXPROCS(0) + 1
	for _, c := range []struct {
		threads int
		want    string
		not     string
	}{
		{1, "", "threads"},
		{4, "", "chunks"},
		{10, "10 threads, and a step has 4 chunks of 16 examples: 6 threads wait while gradients are computed. train.chunk = 5 has work for all; it belongs in the spec, since it changes the order of sums. mlc bench toy.arith --cores 10 simulates it\n", "train.batch"},
		{64, "a batch of 50 has work for 50 threads at most, with train.chunk = 1: make train.batch larger", "train.chunk = 0"},
		{most, fmt.Sprintf("%d threads take turns on %d cores: the bits are the same, and it is no faster\n", most, most-1), "no cores"},
	} {
		s := call(t, m, "", "train", "--out", filepath.Join(t.TempDir(), "run"), "--threads", fmt.Sprint(c.threads))
		if s.code != 0 || !strings.Contains(s.err, c.want) || strings.Count(s.err, " chunks of ") > 1 || c.threads < most && strings.Contains(s.err, c.not) {
			t.Errorf("%d threads, exit %d: no %q in\n%s", c.threads, s.code, c.want, s.err)
		}
	}
	if s := call(t, m, "", "train", "--out", filepath.Join(t.TempDir(), "run"), "--threads", "64", "-q"); s.code != 0 || strings.Contains(s.err, "threads") {
		t.Errorf("exit %d\n%s", s.code, s.err)
	}
}

func first(b []byte, _ string) []byte { return b }

func TestTrainingLearns(t *testing.T) {
	dir := trained(t, toyModel(), "--steps", "300")
	text, err := os.ReadFile(filepath.Join(dir, "metrics.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	if len(lines) != 100 {
		t.Errorf("%d reports, want 100", len(lines))
	}
	var last struct {
		Step, Examples, Tokens int
		Loss, ExactMatch       float64
	}
	if err := json.Unmarshal([]byte(strings.ReplaceAll(lines[99], "exact_match", "exactmatch")), &last); err != nil {
		t.Fatal(err)
	}
	if last.Step != 300 || last.Examples != 300*50 || last.Tokens != 300*50*8 || last.Loss > 0.5 || last.ExactMatch < 0.8 || last.ExactMatch == 1 {
		t.Errorf("after 300 steps: %+v", last)
	}
	f, err := ckpt.Read(lastCheckpoint(dir))
	if err != nil {
		t.Fatal(err)
	}
	for k, v := range map[string]string{"name": "toy", "spec_hash": toyHash, "mlc_version": "v0.0.0", "seed": "1", "step": "300", "examples": "15000", "tokens": "120000"} {
		if f.Meta[k] != v {
			t.Errorf("checkpoint says %s = %q, want %q", k, f.Meta[k], v)
		}
	}
	for _, tensor := range f.Tensors {
		if tensor.Name != "bias" {
			continue
		}
		atBound := 0
		for _, x := range tensor.Data {
			if x < -0.25 {
				t.Errorf("bias %g is below its bound", x)
			}
			if x == -0.25 {
				atBound++
			}
		}
		if atBound == 0 {
			t.Error("no bias is at its bound: the test does not test projection")
		}
	}
}

// interrupted starts a long run as a process, stops it by a signal once it has saved, and
// returns its directory and the process's exit code.
func interrupted(t *testing.T, sig os.Signal, args ...string) (string, int, string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "run")
	cmd := toyCommand("steady", append([]string{"train", "--out", dir, "--save", "20ms"}, args...)...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for range 5000 {
		if lastCheckpoint(dir) != "" {
			break
		}
		time.Sleep(2 * time.Millisecond)
	}
	if err := cmd.Process.Signal(sig); err != nil {
		t.Fatal(err)
	}
	cmd.Wait()
	return dir, cmd.ProcessState.ExitCode(), stderr.String()
}

func TestKillAndInterruptThenResume(t *testing.T) {
	hangUps := make(chan os.Signal, 1)
	signal.Notify(hangUps, syscall.SIGHUP) // else a child would ignore it under nohup
	defer signal.Stop(hangUps)
	m := toyModel()
	const steps = "200"
	whole := trained(t, m, "--steps", steps, "-q")
	for _, c := range []struct {
		signal syscall.Signal
		code   int
		says   string
	}{
		{syscall.SIGKILL, -1, ""},
		{syscall.SIGINT, 130, "continue with: "},
		{syscall.SIGTERM, 143, "interrupted at step "},
		{syscall.SIGHUP, 129, "continue with: "},
		{syscall.SIGUSR1, 128 + int(syscall.SIGUSR1), "continue with: "},
		{syscall.SIGUSR2, 128 + int(syscall.SIGUSR2), "continue with: "},
		{syscall.SIGXCPU, 128 + int(syscall.SIGXCPU), "continue with: "},
	} {
		dir, code, stderr := interrupted(t, c.signal, "--steps", steps)
		if code != c.code || !strings.Contains(stderr, c.says) {
			t.Errorf("%s: exit %d, want %d\n%s", c.signal, code, c.code, stderr)
		}
		if bytes.Equal(first(final(t, dir)), first(final(t, whole))) {
			t.Fatalf("%s came too late", c.signal)
		}
		if s := call(t, m, "", "train", "--resume", "--out", dir, "-q"); s.code != 0 {
			t.Fatal(s.err)
		}
		sameRun(t, whole, dir)
		if left, _ := filepath.Glob(filepath.Join(dir, "ckpt", ".*")); len(left) > 0 {
			t.Errorf("half-written files stay: %v", left)
		}
	}
}

// TestProcessorTime wants a training to be saved when it reaches a soft limit of processor
// time.
func TestProcessorTime(t *testing.T) {
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("there is no sh, which sets limits")
	}
	dir := filepath.Join(t.TempDir(), "run")
	cmd := toyCommand("toy", "train", "--out", dir, "--time", "60s")
	cmd.Args = append([]string{"sh", "-c", `ulimit -S -t 1 && exec "$@"`, "sh"}, cmd.Args...)
	cmd.Path, _ = exec.LookPath("sh")
	said, _ := cmd.CombinedOutput()
	if code := cmd.ProcessState.ExitCode(); code != 128+int(syscall.SIGXCPU) || !strings.Contains(string(said), "continue with: ") || lastCheckpoint(dir) == "" {
		t.Errorf("exit %d, checkpoint %q\n%s", code, lastCheckpoint(dir), said)
	}
}

func TestSecondInterruptKills(t *testing.T) {
	cmd := toyCommand("slow", "train", "--out", filepath.Join(t.TempDir(), "run"))
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	for lines := bufio.NewScanner(stderr); lines.Scan(); {
		switch {
		case strings.HasPrefix(lines.Text(), "run directory"):
			time.Sleep(200 * time.Millisecond) // until it is in its first step, which does not end
			cmd.Process.Signal(syscall.SIGINT)
		case strings.HasPrefix(lines.Text(), "stopping after this step"):
			cmd.Process.Signal(syscall.SIGINT)
		}
	}
	cmd.Wait()
	if took := time.Since(start); took > 30*time.Second || cmd.ProcessState.ExitCode() != -1 {
		t.Errorf("two interrupts: exit %d after %s", cmd.ProcessState.ExitCode(), took)
	}
}

// TestSignalsEndReadingInput interrupts programs that wait for their next line.
func TestSignalsEndReadingInput(t *testing.T) {
	hangUps := make(chan os.Signal, 1)
	signal.Notify(hangUps, syscall.SIGHUP) // else a child would ignore it under nohup
	defer signal.Stop(hangUps)
	dir := trained(t, toyModel(), "-q")
	for _, c := range []struct {
		args []string
		line string
		sig  syscall.Signal
		code int
	}{
		{[]string{"solve", dir}, "12", syscall.SIGINT, 130},
		{[]string{"solve", dir}, "12", syscall.SIGHUP, 129},
		{[]string{"bench", "--serve"}, "1", syscall.SIGTERM, 143},
	} {
		cmd := toyCommand("toy", c.args...)
		var said bytes.Buffer
		cmd.Stderr = &said
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintln(in, c.line)
		if _, err := out.Read(make([]byte, 100)); err != nil { // it has answered, and waits
			t.Errorf("%v: %v\n%s", c.args, err, &said)
		}
		cmd.Process.Signal(c.sig)
		cmd.Wait()
		if got := cmd.ProcessState.ExitCode(); got != c.code || !strings.HasSuffix(said.String(), "toy: interrupted\n") {
			t.Errorf("%v: exit code %d, says %q", c.args, got, said.String())
		}
	}
}

func TestKilledBeforeTheFirstCheckpoint(t *testing.T) {
	m := toyModel()
	whole := trained(t, m)
	dir := filepath.Join(t.TempDir(), "run")
	stopAt(t, m, dir, 3)
	os.RemoveAll(filepath.Join(dir, "ckpt"))
	if s := call(t, m, "", "train", "--resume", "--out", dir); s.code != 0 {
		t.Fatal(s.err)
	}
	sameRun(t, whole, dir)
}

func TestBudgets(t *testing.T) {
	m := toyModel()
	_, metrics := final(t, trained(t, m, "--examples", "120", "-q"))
	if !strings.Contains(metrics, `"step":3,"examples":150`) || strings.Contains(metrics, `"step":4`) {
		t.Errorf("120 examples in batches of 50:\n%s", metrics)
	}
	start := time.Now()
	dir := trained(t, m, "--time", "300ms", "-q")
	if d := time.Since(start); d < 300*time.Millisecond || d > time.Minute {
		t.Errorf("300ms of training took %s", d)
	}
	if s := call(t, m, "", "train", "--resume", "--out", dir, "-q"); s.code != 0 {
		t.Error(s.err)
	}
}

// TestTimeIsNotForgotten interrupts a run with a budget of time before its first report, and
// wants that time to count.
func TestTimeIsNotForgotten(t *testing.T) {
	const spent = 100 * time.Millisecond
	m := toyModel()
	var once sync.Once
	healthy := m.CPU[toyGradients].Run
	m.CPU[toyGradients].Run = func(w *cpu.Worker, e *device.Env, a []device.Ref) {
		if e.Step == 2 {
			once.Do(func() {
				time.Sleep(spent)
				ctrlC()
			})
		}
		healthy(w, e, a)
	}
	dir := filepath.Join(t.TempDir(), "run")
	if s := call(t, m, "", "train", "--out", dir, "--time", "10h", "-q"); s.code != exitInterrupted {
		t.Fatalf("exit %d\n%s", s.code, s.err)
	}
	if _, metrics := final(t, dir); strings.Contains(metrics, `"step"`) {
		t.Fatalf("there is a report:\n%s", metrics)
	}
	if s := call(t, m, "", "train", "--resume", "--out", dir, "--time", spent.String(), "-q"); s.code != 0 {
		t.Fatal(s.err)
	}
	if got := filepath.Base(lastCheckpoint(dir)); got != "step-00000003.safetensors" {
		t.Errorf("the time of training was over, and it went on to %s", got)
	}
	f, err := ckpt.Read(lastCheckpoint(trained(t, toyModel(), "-q")))
	if _, ok := f.Meta["elapsed"]; ok || err != nil {
		t.Errorf("a checkpoint of a run without a budget of time says when it was made (%v)", err)
	}
}

func TestLossThatIsNoNumber(t *testing.T) {
	m := toyModel()
	healthy := m.CPU[toyGradients].Run
	m.CPU[toyGradients].Run = func(w *cpu.Worker, e *device.Env, a []device.Ref) {
		healthy(w, e, a)
		if e.Step == 6 {
			loss := w.F32(a[3])
			loss[0] = float32(math.NaN())
			w.Mem.F32[device.Grads][0] = loss[0]
		}
	}
	dir := filepath.Join(t.TempDir(), "run")
	s := call(t, m, "", "train", "--out", dir)
	if s.code != 1 || !strings.Contains(s.err, "loss at step 7 is not a finite number (loss NaN") {
		t.Errorf("exit %d\n%s", s.code, s.err)
	}
}

// TestTrainingWithoutHeldOutProblems wants no exact match of held-out problems: neither
// measured, nor reported, nor stopped at.
func TestTrainingWithoutHeldOutProblems(t *testing.T) {
	m := toyModel()
	m.Task.Holdout, m.Train.Budget.Steps = 0, 4
	trainer := trainerIn(t, m, filepath.Join(t.TempDir(), "run"))
	trainer.Match = func(heldOut bool, first, n int) (float64, error) {
		t.Errorf("problems from %d on are tested, held out %t", first, heldOut)
		return 0, nil
	}
	if err := trainer.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	last, err := track.Last(trainer.Dir)
	if err != nil || last == nil || last.Step != 4 || last.ExactMatch != nil {
		t.Errorf("the last report is %+v: %v", last, err)
	}
	trainer.Config.Stop = &train.Stop{AtLeast: 0.5, HeldOut: true}
	if err := trainer.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "no problem is held out") {
		t.Errorf("to stop at missing held-out problems: %v", err)
	}
}

// TestPause stops without a test, and continues to the same bytes.
func TestPause(t *testing.T) {
	whole := trained(t, toyModel(), "--steps", "20")
	dir := filepath.Join(t.TempDir(), "run")
	for _, share := range []string{"0.25", "0.25", "0.5"} {
		s := call(t, toyModel(), "", "train", "--steps", "20", "--out", dir, "--pause", share)
		if rundir.Exists(filepath.Join(dir, "run.json")) && s.code != 0 {
			s = call(t, toyModel(), "", "train", "--resume", "--out", dir, "--pause", share)
		}
		if s.code != 0 || !strings.Contains(s.err, "paused at step ") || s.out != "" || rundir.Exists(filepath.Join(dir, "eval")) {
			t.Fatalf("exit %d: %s%s", s.code, s.out, s.err)
		}
	}
	if got := filepath.Base(lastCheckpoint(dir)); got != "step-00000010.safetensors" {
		t.Errorf("half of 20 steps end with %s", got)
	}
	if s := call(t, toyModel(), "", "train", "--resume", "--out", dir); s.code != 0 {
		t.Fatal(s.err)
	}
	sameRun(t, whole, dir)
	for _, share := range []string{"1", "-0.5", "0"} {
		if s := call(t, toyModel(), "", "train", "--out", filepath.Join(dir, "x"), "--pause="+share); s.code != 2 {
			t.Errorf("--pause %s: exit %d", share, s.code)
		}
	}
}
