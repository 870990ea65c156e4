package cores

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/arithlang/mlc/codegen/live"
	"github.com/arithlang/mlc/compiler"
	"github.com/arithlang/mlc/compiler/check"
	"github.com/arithlang/mlc/runtime/cpu"
	"github.com/arithlang/mlc/runtime/device"
	"github.com/arithlang/mlc/runtime/processor"
	"github.com/arithlang/mlc/runtime/program"
)

// TestQueueIsAsForetold compares the queue of chunks with the simulated one, on more threads
// than any test machine has. Chunks sleep, which uses no core.
func TestQueueIsAsForetold(t *testing.T) {
	step := Step{}
	for i := range 40 {
		step.Chunks = append(step.Chunks, float64(10+i*7%23)/1000)
	}
	for _, threads := range []int{1, 2, 8, 32, 128} {
		want := step.On(threads, 0).Seconds
		m := processor.New(nil, cpu.Go, threads, &device.Plan{NumParams: 8})
		best := math.Inf(1)
		for range 5 { // the machine may be busy
			start := time.Now()
			m.Sum(len(step.Chunks), func(_ device.Worker, i int) {
				time.Sleep(time.Duration(step.Chunks[i] * float64(time.Second)))
			})
			best = min(best, time.Since(start).Seconds())
			if best < 1.1*want {
				break
			}
		}
		if best < 0.9*want || best > 1.25*want { // a late thread can by chance make all end earlier
			t.Errorf("%d threads: %.1f ms, foretold were %.1f", threads, 1000*best, 1000*want)
		}
	}
}

// costly is a model of 50 examples a step. Its launches take a millisecond each; all else is
// short.
func costly(t *testing.T) program.Model {
	t.Helper()
	const spec = `arith 2

task successor {
  operands = below(100)
}

model {
  width          = 8
  heads          = 2
  ffn            = relu(hidden = 8)
  decoder.layers = 1
}

train {
  batch      = 50
  microbatch = 4
  chunk      = 16
  budget     = 20steps
}
`
	p, found, err := compiler.Compile(check.Options{Path: "toy.arith", Read: func(string) ([]byte, error) { return []byte(spec), nil }})
	if err != nil || found.HasErrors() {
		t.Fatal(err, found)
	}
	of, err := live.New(p)
	if err != nil {
		t.Fatal(err)
	}
	m := program.Model{Name: "toy", Task: of.Task, Train: of.Train, Params: of.Params, Plan: of.Plan}
	for i := range of.GPU.Kernels {
		run := func(*cpu.Worker, *device.Env, []device.Ref) {}
		if i == 0 { // once a launch
			run = func(*cpu.Worker, *device.Env, []device.Ref) { time.Sleep(time.Millisecond) }
		}
		m.CPU = append(m.CPU, cpu.Kernel{Run: run})
	}
	return m
}

// call runs a command line on a model.
func call(t *testing.T, m program.Model, args string) (code int, out, said string) {
	var to, err strings.Builder
	code = run(m, append([]string{"toy"}, strings.Fields(args)...), &to, &err)
	return code, to.String(), err.String()
}

// TestForecast simulates a step whose chunks take a millisecond and more; all else is short.
func TestForecast(t *testing.T) {
	m := costly(t)
	code, out, said := call(t, m, "--cores 1,2,8,64 --steps 5 --threads 2 --json")
	var p Plan
	if err := json.Unmarshal([]byte(out), &p); err != nil || code != 0 {
		t.Fatalf("exit %d, %v\n%s%s", code, err, out, said)
	}
	if p.Name != "toy" || p.Threads != 2 || p.Batch != 50 || p.Gradients != m.Plan.NumParams || len(p.Cuts) != 3 {
		t.Fatalf("%+v", p)
	}
	for i, want := range []Cut{{Chunk: 16, MicroBatch: 4, Chunks: 4}, {Chunk: 5, MicroBatch: 1, Chunks: 10}, {Chunk: 1, MicroBatch: 1, Chunks: 50}} {
		c := p.Cuts[i]
		if c.Chunk != want.Chunk || c.MicroBatch != want.MicroBatch || c.Chunks != want.Chunks || c.Steps != 5 || len(c.Rows) != 4 {
			t.Errorf("%+v, want %+v", c, want)
		}
		if c.Here.Seconds > 1.1*c.Measured || c.Here.Seconds < c.Measured/2 { // time between pieces is not simulated
			t.Errorf("chunks of %d: measured %g s, foretold %g", c.Chunk, c.Measured, c.Here.Seconds)
		}
	}
	for i, at := range []float64{13, 8, 4, 4} { // chunks of 4, 4, 4 and 1 launches, of a millisecond each
		if r := p.Cuts[0].Rows[i]; r.Chunks < at/1000 {
			t.Errorf("chunks take %g ms on %d cores: %+v", 1000*r.Chunks, r.Cores, r)
		}
	}
	if r := p.Cuts[0].Rows[3]; r.Few < 0.5 {
		t.Errorf("%+v", r)
	}
	code, out, said = call(t, m, "--cores 8 --steps 2")
	for _, want := range []string{"toy on more cores: simulated, from steps timed on cpu", "50 examples in 4 chunks of 16", "\ncores  ", "8 cores: 4 chunks are too few"} {
		if code != 0 || !strings.Contains(out, want) {
			t.Errorf("exit %d, no %q in\n%s%s", code, want, out, said)
		}
	}
}

func TestRefused(t *testing.T) {
	for want, args := range map[string]string{
		"--cores 0: want 1 to 4096":                     "--cores 0",
		"--cores 5000: want 1 to 4096":                  "--cores 8,5000",
		"--copying needs --cores, the numbers of cores": "--copying 100",
		"--copying 0: want a number above 0":            "--cores 8 --copying 0",
		"unknown flag --serve":                          "--cores 8 --serve",
		"--threads 2000: want 1 to 1024":                "--cores 8 --threads 2000",
		"--cpu: ":                                       "--cores 8 --cpu z80",
	} {
		if code, out, said := call(t, costly(t), args); code != exitUsage || out != "" || !strings.Contains(said, want) {
			t.Errorf("%s: exit %d, no %q in\n%s%s", args, code, want, out, said)
		}
	}
}
