package train

import (
	"encoding/json"
	"errors"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/arithlang/mlc/cli/shell"
	"github.com/arithlang/mlc/codegen/live"
	"github.com/arithlang/mlc/runtime/cpu"
	"github.com/arithlang/mlc/runtime/cuda"
	"github.com/arithlang/mlc/runtime/device"
	"github.com/arithlang/mlc/runtime/flag"
	"github.com/arithlang/mlc/runtime/task"
	"github.com/arithlang/mlc/runtime/train"
	"github.com/arithlang/mlc/sim/cluster"
	"github.com/arithlang/mlc/sim/counted"
)

// toyParams is the number of parameters of countedToy.
const toyParams = 1173

// countedToy has the plan of package runtime's toy: a gradient launch for each chunk, one
// launch of the norm and two of the update. Only gradients have a cost.
func countedToy(t *testing.T, gradients func(e *device.Env) cpu.Cost) *live.Model {
	t.Helper()
	ptx, err := os.ReadFile("../../runtime/testdata/toy.ptx")
	if err != nil {
		t.Fatal(err)
	}
	first := func(s device.Space) device.Ref { return device.Ref{Space: s} }
	layout := func(e *device.Env) device.Layout {
		ints := func(off int) device.Ref { return device.Ref{Space: device.Ints, Off: off} }
		s, n := e.B*e.S, e.B*e.T
		return device.Layout{Work: n, Ints: s + 3*n, Source: ints(0), Target: ints(s), Labels: ints(s + n), Pred: ints(s + 2*n), Loss: first(device.Work)}
	}
	alone := func(kernel int, args ...device.Ref) device.Program {
		return device.Program{Layout: func(*device.Env) device.Layout { return device.Layout{Work: 1} },
			Run: func(q device.Queue, e *device.Env) { q.Launch(kernel, e, args...) }}
	}
	one := func(*device.Env) int { return 1 }
	nothing := func(*device.Env) cpu.Cost { return cpu.Cost{} }
	return &live.Model{
		Name: "toy",
		Task: task.Config{Kind: "successor", Below: 1_000_000, Base: 10, Reversed: true, Pad: task.Pad{To: 7, Step: 3}, Holdout: 0.125},
		Train: train.Config{LR: 0.05, Beta1: 0.9, Beta2: 0.98, Eps: 1e-9, Decay: 0.01, Schedule: "trapezoid", Warmup: 0.1,
			Cooldown: 0.5, Clip: 0.5, Batch: 50, MicroBatch: 16, Budget: train.Budget{Steps: 20}, Seed: 1},
		Params: []device.Param{ // two launches of the update, since only one of the parameters decays
			{Name: "tables", Shape: []int{toyParams - 17}, Init: device.Init{Kind: "normal", A: 0.1}, Decay: true},
			{Name: "bias", Shape: []int{17}, Off: toyParams - 17},
		},
		Plan: device.Plan{
			NumParams: toyParams, States: []string{"moment1", "moment2"},
			Gradients: device.Program{Layout: layout, Run: func(q device.Queue, e *device.Env) {
				l := layout(e)
				q.Launch(0, e, l.Source, l.Target, l.Labels, l.Loss, l.Pred, first(device.Params), first(device.Grads))
			}},
			SumSquares: alone(1, first(device.Grads), first(device.Work)),
			Update:     alone(2, first(device.Grads), first(device.State), first(device.State+1), first(device.Params)),
		},
		GPU: cuda.Program{PTX: string(ptx), Kernels: []cuda.Kernel{
			{Name: "gradients", Threads: 32, Scalars: []string{"B", "T", "S", "example"}, Step: true, Blocks: one},
			{Name: "sum_squares", Threads: 32, Scalars: []string{"N"}, Blocks: one},
			{Name: "update", Threads: 32, Scalars: []string{"P", "N", "decay", "bound"}, Step: true, Blocks: one},
		}},
		Costs: []func(e *device.Env) cpu.Cost{gradients, nothing, nothing},
	}
}

// costly has a known amount of work: a gradient's row is 100 operations and 8 bytes.
func costly(t *testing.T) *live.Model {
	return countedToy(t, func(e *device.Env) cpu.Cost {
		return cpu.Cost{Flops: float64(100 * e.B * e.T), Bytes: float64(8 * e.B * e.T)}
	})
}

// long has slow gradients: an example takes a millisecond of one multiprocessor of an H200,
// and a chunk's launch has one example for each.
func long(t *testing.T) *live.Model {
	return countedToy(t, func(e *device.Env) cpu.Cost { return cpu.Cost{Flops: float64(e.B) * 66.9e12 / 132 / 1000} })
}

// counting runs mlc bench --device count on a model. It returns the text, and decodes the
// JSON into out.
func counting(t *testing.T, m *live.Model, args string, out any) (text string, err error) {
	t.Helper()
	var c Bench
	parser, err := kong.New(&c, flag.Numbers()...)
	if err != nil {
		t.Fatal(err)
	}
	line, err := parser.Parse(append([]string{"toy.arith", "--device", "count"}, strings.Fields(args)...))
	if err == nil {
		err = flag.Positive(line.Flags())
	}
	if err == nil {
		err = c.check()
	}
	if err != nil {
		return "", shell.Misused(err)
	}
	r, err := c.Count.of(m, &c.Steps)
	if err != nil {
		return "", err
	}
	data, err := json.Marshal(r)
	if err == nil && out != nil {
		err = json.Unmarshal(data, out)
	}
	return r.String(), err
}

// TestBenchCounts counts four chunks of 16, 16, 16 and 2 examples, of which three share a
// launch.
func TestBenchCounts(t *testing.T) {
	var r counted.Report
	if _, err := counting(t, costly(t), "--steps 4", &r); err != nil {
		t.Fatal(err)
	}
	if r.Name != "toy" || r.Card != "H200" || r.SMs != 132 || r.Steps != 4 || r.Plan != 4+1+2 || r.Host <= 0 || r.Memory < 4*4*toyParams {
		t.Errorf("%+v", r)
	}
	// The first step launches kernels one by one, the second is recorded.
	if r.Captures != 1 || r.Replays != 3 || r.Misses != 1 || r.Calls >= r.Launches {
		t.Errorf("graphs: %+v", r)
	}
	// The third step waits for the first, the fourth for the second, and the end for all.
	if r.Waits != 1/4. || r.Behind != 2/4. {
		t.Errorf("%g waits and %g for a step before", r.Waits, r.Behind)
	}
	for _, k := range r.Kernels {
		if k.Name == "gradients" && (k.Launches != 2 || k.Least != 1 || k.Most != 3 || k.Mean != 2 || k.Threads != 32 || k.Flops != 100*50*8 || k.Bytes != 8*50*8 ||
			k.Weighted != (3*48+2)/50. || k.Resident != 32) {
			t.Errorf("%+v", k)
		}
	}
}

func TestBenchCountsForACard(t *testing.T) {
	text, err := counting(t, costly(t), "--card 4090 --sms 7", nil)
	for _, want := range []string{
		"toy on RTX 4090 with 7 multiprocessors: counted, not computed, over 50 steps\na step   7 launches of the plan; the device runs ",
		"\ngraphs   of all steps: 1 recorded, 49 replays, 1 misses; at most 1 kept\n",
		"\ngradients ", "\n(clear) ", "\n(sum) ",
	} {
		if err != nil || !strings.Contains(text, want) {
			t.Errorf("%v, no %q in\n%s", err, want, text)
		}
	}
}

// TestBenchPlans plans four chunks of 16, 16, 16 and 2 examples, of which three together
// take no longer than one.
func TestBenchPlans(t *testing.T) {
	var p cluster.Plan
	if _, err := counting(t, long(t), "--gpus 1,2,3,4 --per-machine 2 --network hdr --steps 1", &p); err != nil {
		t.Fatal(err)
	}
	if p.Name != "toy" || p.Card != "H200" || p.PerMachine != 2 || p.Network != "200G HDR" || p.Between != 25e9 || p.Batch != 50 || p.Chunk != 16 || p.Chunks != 4 ||
		p.Elements != toyParams || p.Steps != 1 || len(p.Rows) != 4 {
		t.Fatalf("%+v", p)
	}
	for i, want := range []struct {
		chunks, nodes int
		slowest, mean float64 // ms
	}{
		{4, 1, 18, 18},
		{2, 1, 18, 17},      // the second GPU has a launch of 16 and one of 2
		{2, 1, 18, 50 / 3.}, // 16, 16, and 16 + 2
		{1, 1, 16, (48 + 2) / 4.},
	} {
		r := p.Rows[i]
		// Clearing, copies and sums of gradients, in launches or graphs, take a few µs.
		slow := func(seconds, ms float64) bool { return math.Abs(1000*seconds-ms) > 0.05 }
		if r.GPUs != i+1 || r.Chunks != want.chunks || r.Nodes != want.nodes || slow(r.Gradients, want.slowest) || slow(r.Mean, want.mean) ||
			r.Norm <= 0 || r.Update <= 0 || slow(r.Norm, 0) || slow(r.Update, 0) || r.Memory == 0 {
			t.Errorf("%+v, want %+v", r, want)
		}
	}
}

// TestBenchPlansAsItCounts compares the plan for one GPU with the count of a step.
func TestBenchPlansAsItCounts(t *testing.T) {
	var p cluster.Plan
	var r counted.Report
	_, err := counting(t, costly(t), "--gpus 1 --steps 3", &p)
	if _, fails := counting(t, costly(t), "--steps 40", &r); err != nil || fails != nil {
		t.Fatal(err, fails)
	}
	alone := p.Rows[0]
	// A step in parts makes smaller graphs, and a single launch takes a µs longer than one
	// in a graph.
	if off := alone.Step - r.Bound; math.Abs(off) > r.Launches*1e-6 || alone.Memory < r.Memory*9/10 || alone.Memory > r.Memory*11/10 {
		t.Errorf("planned %g s and %d bytes, counted %g s and %d bytes", alone.Step, alone.Memory, r.Bound, r.Memory)
	}
}

// TestBenchPlansOtherChunks uses as many GPUs as there are chunks.
func TestBenchPlansOtherChunks(t *testing.T) {
	var p cluster.Plan
	if _, err := counting(t, long(t), "--gpus 25 --chunk 2 --steps 1", &p); err != nil {
		t.Fatal(err)
	}
	if p.Chunks != 25 || p.Chunk != 2 || p.Rows[0].Chunks != 1 || math.Abs(p.Rows[0].Gradients-2e-3) > 1e-4 || p.Rows[0].Hierarchical != 0 {
		t.Errorf("%+v", p)
	}
	text, err := counting(t, long(t), "--gpus 16 --batch 256 --card 4090", nil)
	for _, want := range []string{"toy on cards RTX 4090, 8 a machine: counted, not measured\n", "256 examples in 16 chunks of 16, so at most 16 GPUs", "32 GB/s within a machine, 50 GB/s between"} {
		if err != nil || !strings.Contains(text, want) {
			t.Errorf("%v, no %q in\n%s", err, want, text)
		}
	}
}

// TestBenchRefusesToCount refuses mistakes, and flags for timing or for another device.
func TestBenchRefusesToCount(t *testing.T) {
	for want, flags := range map[string]string{
		"each GPU needs a chunk, and a step of 50 examples has 4: plan for fewer": "--gpus 2,5",
		"--gpus 0: want 1 to 16384":                                   "--gpus 0",
		"need --gpus, such as --gpus 1,8,64":                          "--network 400G",
		`no network is called "token": there are 100G`:                "--gpus 2 --network token",
		`no card is called "h300": did you m`:                         "--card h300",
		`no card is called "h300"`:                                    "--gpus 2 --card h300",
		"--per-machine 0: want a number above 0":                      "--gpus 2 --per-machine 0",
		"--chunk 0: want a number above 0":                            "--gpus 2 --chunk 0",
		"--sms 0: want a number above 0":                              "--sms 0",
		`--gpus: "x": want a whole number`:                            "--gpus x",
		"--serve: with --device count nothing is timed or computed":   "--gpus 2 --serve",
		"--trace: with --device count nothing is timed or computed":   "--trace x.json",
		"--kernels: with --device count nothing is timed or computed": "--kernels",
		"--cores: with --device count nothing is timed or computed":   "--cores 2",
		"--gemm: with --device count nothing is timed or computed":    "--gemm cublaslt",
		"--steps -1 must not be negative":                             "--steps=-1",
		"want at most 1048576 examples":                               "--batch 1048577",
	} {
		if _, err := counting(t, long(t), flags, nil); !errors.As(err, new(shell.UsageError)) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", flags, err, want)
		}
	}
}
