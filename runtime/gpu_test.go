package runtime

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/arithlang/mlc/ptxsim"
	"github.com/arithlang/mlc/runtime/cpu"
	"github.com/arithlang/mlc/runtime/cuda"
	"github.com/arithlang/mlc/runtime/device"
	"github.com/arithlang/mlc/runtime/processor"
	"github.com/arithlang/mlc/runtime/program"
	"github.com/arithlang/mlc/runtime/rundir"
	"github.com/arithlang/mlc/runtime/stages"
	"github.com/arithlang/mlc/runtime/world"
	"github.com/arithlang/mlc/sim/simulated"
)

// simulatedGPU returns a driver that behaves like NVIDIA's.
func simulatedGPU(t *testing.T) cuda.Driver {
	t.Helper()
	d, err := simulated.Open(ptxsim.Options{Memory: simMemory, Order: ptxsim.Random, Seed: 3})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// callGPU is call with another driver than NVIDIA's.
func callGPU(t *testing.T, m program.Model, gpu func() (cuda.Driver, error), args ...string) said {
	t.Helper()
	stderr, err := os.Create(filepath.Join(t.TempDir(), "stderr"))
	if err != nil {
		t.Fatal(err)
	}
	defer stderr.Close()
	var out strings.Builder
	code := attended(world.App{Model: m, In: strings.NewReader(""), Out: &out, Err: stderr, GPU: gpu}, append([]string{"./toy"}, args...))
	text, err := os.ReadFile(stderr.Name())
	if err != nil {
		t.Fatal(err)
	}
	return said{code, out.String(), string(text)}
}

func TestSimulatedTrainingGivesTheSameBits(t *testing.T) {
	m := toyOnGPU()
	for _, cut := range []struct{ batch, chunk, micro int }{{50, 16, 8}, {48, 16, 16}, {50, 0, 7}} {
		m.Train.Batch, m.Train.Chunk, m.Train.MicroBatch = cut.batch, cut.chunk, cut.micro
		sameRun(t, trained(t, m, "--device", "cpu", "--steps", "3"), trained(t, m, "--device", "sim", "--steps", "3"))
	}
}

func TestDevicesCanTakeTurns(t *testing.T) {
	m := toyOnGPU()
	m.Train.Schedule, m.Train.Warmup, m.Train.Cooldown = "constant", 0, 0 // independent of the budget
	whole := trained(t, m, "--device", "cpu", "--steps", "6")
	dir := trained(t, m, "--device", "sim", "--steps", "2")
	for i, device := range []string{"cpu", "sim"} {
		if s := call(t, m, "", "train", "--resume", "--out", dir, "--device", device, "--steps", fmt.Sprint(4+2*i)); s.code != 0 {
			t.Fatal(s.err)
		}
	}
	want, _ := final(t, whole)
	got, _ := final(t, dir)
	if string(want) != string(got) {
		t.Error("checkpoints differ")
	}
}

func TestSimulatedAnswers(t *testing.T) {
	m := toyOnGPU()
	dir := trained(t, m, "--device", "cpu", "--steps", "60", "--quiet")
	said := map[string]bool{}
	for _, device := range []string{"cpu", "sim"} {
		text := ""
		for _, args := range [][]string{
			{"eval", dir, "--quiet", "--samples", "40", "--mode", "verify"},
			{"eval", dir, "--quiet", "--samples", "40", "--mode", "greedy"},
			{"solve", dir, "41", "999", "1234567812345678"},
		} {
			os.RemoveAll(filepath.Join(dir, "eval"))
			s := call(t, m, "", append(args, "--device", device)...)
			if s.code != 0 {
				t.Fatal(s.err)
			}
			text += s.out
		}
		said[text] = true
	}
	if len(said) != 1 {
		t.Errorf("devices answer differently: %v", said)
	}
}

// TestStagesOpenTheGPUOnce wants each stage to be trained and tested on one machine, which is
// announced once.
func TestStagesOpenTheGPUOnce(t *testing.T) {
	first, second := toyOnGPU(), toyOnGPU()
	p := stages.Pipeline{Name: "toys", Spec: "arith 2\n", SpecHash: otherHash, Version: "v0.0.0",
		Stages: []stages.Stage{{Name: "first", Model: &first}, {Name: "second", From: "first", Model: &second}}}
	for _, s := range p.Stages {
		s.Model.Spec, s.Model.SpecHash, s.Model.Eval.Samples = p.Spec, p.SpecHash, 4
	}
	opened := 0
	stages := world.App{Whole: &p, Model: *p.Model(p.Last()), In: strings.NewReader(""), GPU: func() (cuda.Driver, error) {
		opened++
		return simulatedGPU(t), nil
	}}
	s := callApp(t, stages, []string{"./toys", "train", "--out", filepath.Join(t.TempDir(), "run"), "--steps", "2"})
	if said := strings.Count(s.err, "using simulated sm_80"); s.code != 0 || opened != 2 || said != 1 {
		t.Errorf("exit %d, the GPU is opened %d times and named %d times\n%s", s.code, opened, said, s.err)
	}
}

func TestAutoUsesTheGPU(t *testing.T) {
	m := toyOnGPU()
	there := func() (cuda.Driver, error) { return simulatedGPU(t), nil }
	dir := filepath.Join(t.TempDir(), "run")
	s := callGPU(t, m, there, "train", "--out", dir, "--steps", "2", "--quiet")
	if s.code != 0 || !strings.Contains(s.err, "using simulated sm_80 (compute capability 8.0, driver for CUDA 12.4); --device cpu would use the processor\n") {
		t.Errorf("exit %d\n%s", s.code, s.err)
	}
	if rec, err := rundir.Open(dir, rundir.IdentityOf(&m)); err != nil || rec.Device != "cuda" || rec.DeviceName != "simulated sm_80" {
		t.Errorf("run.json: %+v, %v", rec, err)
	}
	if s := callGPU(t, m, there, "eval", dir, "--device", "cpu", "--samples", "2"); s.code != 0 || strings.Contains(s.err, "using") {
		t.Errorf("--device cpu: exit %d\n%s", s.code, s.err)
	}

	missing := func() (cuda.Driver, error) { return nil, fmt.Errorf("%w: there is no driver", cuda.ErrUnavailable) }
	if s := callGPU(t, m, missing, "eval", dir, "--samples", "2"); s.code != 0 || strings.Contains(s.err, "using") {
		t.Errorf("auto without a GPU: exit %d\n%s", s.code, s.err)
	}
	if s := callGPU(t, m, missing, "eval", dir, "--device", "cuda"); s.code != 1 || !strings.Contains(s.err, "--device cuda: no usable NVIDIA GPU: there is no driver") {
		t.Errorf("--device cuda without a GPU: exit %d\n%s", s.code, s.err)
	}
	old := func() (cuda.Driver, error) { return nil, errors.New("the driver is too old") }
	if s := callGPU(t, m, old, "eval", dir, "--samples", "2"); s.code != 0 || !strings.Contains(s.err, "using the processor, because the GPU cannot be used: --device cuda: the driver is too old\n") {
		t.Errorf("auto with an old driver: exit %d\n%s", s.code, s.err)
	}
	m.GPU = cuda.Program{}
	if s := callGPU(t, m, there, "eval", dir, "--samples", "2"); s.code != 0 || strings.Contains(s.err, "using") {
		t.Errorf("auto without kernels: exit %d\n%s", s.code, s.err)
	}
}

func TestInfoListsDevices(t *testing.T) {
	m := toyOnGPU()
	for want, gpu := range map[string]func() (cuda.Driver, error){
		"cuda: simulated sm_80, compute capability 8.0, driver for CUDA 12.4, 108 multiprocessors, 1.0 GiB (1.0 GiB free)": func() (cuda.Driver, error) {
			return simulatedGPU(t), nil
		},
		"cuda: no usable NVIDIA GPU": func() (cuda.Driver, error) { return nil, cuda.ErrUnavailable },
	} {
		if s := callGPU(t, m, gpu, "info"); s.code != 0 || !strings.Contains(s.out, want) {
			t.Errorf("exit %d, want %q in\n%s", s.code, want, s.out)
		}
	}
}

// TestBenchOnGPU wants launches to be counted as in the plan, and timed on the device.
func TestBenchOnGPU(t *testing.T) {
	s := call(t, toyOnGPU(), "", "bench", "--steps", "2", "--device", "sim")
	for _, want := range []string{
		`toy on sim, every access checked \(simulated sm_80\)\na step of 50 examples`,
		`\nstep  [0-9.]+ ms \(mean of 2\), .*\n      as in training, .* alone [0-9.]+ ms by the GPU's clock, [0-9.]+ ms by the\n      host's, of which the GPU works [0-9]+ %\n      7 launches by the plan, 16 on the GPU, 1 asked of the driver: a graph is one\n`,
		`\npeak  [0-9.]+ GFLOP/s, on tensor cores [0-9.]+ of bf16 and [0-9.]+ of TF32, copying [0-9.]+ GB/s, as measured;\n      what stays in a cache can be faster than copying\n`,
		`\nrows  of 2 further steps, [0-9.]+ ms each: without graphs, each launch timed\n      from the end of what came before to its own\n\nkernel +launches +on GPU +µs each +ms a step `,
		`\ngradients +4 +2 +[0-9.]*[1-9][0-9.]* +[0-9.]*[1-9][0-9.]* +[0-9.]+ %\n`,
		`\n\(the GPU waits for the host\) +[0-9.]+ +[0-9.]+ %\n$`,
	} {
		if !regexp.MustCompile(want).MatchString(s.out) {
			t.Errorf("exit %d, no match of %s in\n%s%s", s.code, want, s.out, s.err)
		}
	}
}

// newToyGPU returns a machine for the toy with a driver.
func newToyGPU(t *testing.T, m *program.Model, d cuda.Driver) *cuda.Machine {
	t.Helper()
	machine, err := cuda.NewMachine(cuda.NewDevice(d), m.GPU, &m.Plan, cuda.Options{About: device.About{Device: "cuda"}})
	if err != nil {
		t.Fatal(err)
	}
	return machine
}

func TestStepsOnGPUAreOneLaunchAChunk(t *testing.T) {
	m := toyOnGPU()
	m.Train.Batch, m.Train.Chunk, m.Train.MicroBatch = 48, 16, 16
	m.Plan.NumUses = 1 // clearing them makes enough launches for a graph
	d := &faulty{Driver: simulatedGPU(t)}
	tr := trainerOf(t, m, newToyGPU(t, &m, d))
	onCPU := trainerOf(t, m, processor.New(m.CPU, cpu.Go, 1, &m.Plan))
	for step := range 4 {
		a, err := tr.Step(0.01)
		if err != nil {
			t.Fatal(err)
		}
		b, err := onCPU.Step(0.01)
		if err != nil || a != b {
			t.Fatalf("step %d: %+v, %v; on the processor %+v", step, a, err, b)
		}
	}
	if a, b := parameterBits(tr), parameterBits(onCPU); a != b {
		t.Error("parameters differ")
	}
	// The first step also clears the moments. The second is the first of its kind, the third is
	// recorded, and the later ones are a graph.
	if n := d.launched["gradients"]; n != 3 || d.graphs != 2 {
		t.Errorf("gradients were launched %d times, graphs %d times", n, d.graphs)
	}
}

// TestTraceOfAGPU has the launches of a GPU on one track, in their order.
func TestTraceOfAGPU(t *testing.T) {
	path := filepath.Join(t.TempDir(), "trace.json")
	if s := call(t, toyOnGPU(), "", "bench", "--steps", "2", "--device", "sim", "--trace", path); s.code != 0 {
		t.Fatal(s.err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"name":"GPU 0"`, `{"name":"gradients","ph":"X",`, `{"name":"waiting for the host","ph":"X",`, `{"name":"update","ph":"X",`} {
		if !strings.Contains(string(text), want) {
			t.Errorf("no %s in %.2000s", want, text)
		}
	}
}
