package runtime

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/arithlang/mlc/ptxsim/card"
	"github.com/arithlang/mlc/runtime/comm"
	"github.com/arithlang/mlc/runtime/comm/commtest"
	"github.com/arithlang/mlc/runtime/cpu"
	"github.com/arithlang/mlc/runtime/cuda/cluster"
	"github.com/arithlang/mlc/runtime/cuda/counted"
	"github.com/arithlang/mlc/runtime/device"
)

// longOnGPU is the toy whose gradients are the only work that takes long: an example is a
// millisecond of one multiprocessor of an H200, and the launches of chunks have one each.
func longOnGPU() Model {
	m := toyOnGPU()
	m.CPU[toyGradients].Cost = func(e *device.Env) cpu.Cost {
		return cpu.Cost{Flops: float64(e.B) * 66.9e12 / 132 / 1000}
	}
	return m
}

func planned(t *testing.T, m Model, args ...string) cluster.Plan {
	t.Helper()
	var p cluster.Plan
	s := call(t, m, "", append([]string{"bench", "--device", "count", "--json"}, args...)...)
	if err := json.Unmarshal([]byte(s.out), &p); err != nil || s.code != 0 {
		t.Fatalf("exit %d, %v\n%s%s", s.code, err, s.out, s.err)
	}
	return p
}

// TestBenchPlans is of four chunks of 16, 16, 16 and 2 examples, of which three together
// take no longer than one.
func TestBenchPlans(t *testing.T) {
	p := planned(t, longOnGPU(), "--gpus", "1,2,3,4", "--per-machine", "2", "--network", "hdr", "--steps", "1")
	if p.Name != "toy" || p.Card != "H200" || p.PerMachine != 2 || p.Network != "200G HDR" || p.Between != 25e9 || p.Batch != 50 || p.Chunk != 16 || p.Chunks != 4 ||
		p.Elements != toySize || p.Steps != 1 || len(p.Rows) != 4 {
		t.Fatalf("%+v", p)
	}
	for i, want := range []struct {
		chunks, nodes int
		slowest, mean float64 // ms
	}{
		{4, 1, 18, 18},
		{2, 1, 18, 17},      // the second has a launch of 16 and one of 2
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

// TestBenchPlansAsItCounts holds the work of a GPU alone to what is counted of a step.
func TestBenchPlansAsItCounts(t *testing.T) {
	alone := planned(t, costlyOnGPU(), "--gpus", "1", "--steps", "3").Rows[0]
	s := call(t, costlyOnGPU(), "", "bench", "--device", "count", "--steps", "40", "--json")
	var r counted.Report
	if err := json.Unmarshal([]byte(s.out), &r); err != nil {
		t.Fatal(err)
	}
	// Cut into its parts, a step makes smaller graphs: a launch alone is a µs longer than one of a graph.
	if off := alone.Step - r.Bound; math.Abs(off) > r.Launches*1e-6 || alone.Memory < r.Memory*9/10 || alone.Memory > r.Memory*11/10 {
		t.Errorf("planned %g s and %d bytes, counted %g s and %d bytes", alone.Step, alone.Memory, r.Bound, r.Memory)
	}
}

// TestBenchPlansOtherChunks has as many GPUs as chunks are asked for.
func TestBenchPlansOtherChunks(t *testing.T) {
	p := planned(t, longOnGPU(), "--gpus", "25", "--chunk", "2", "--steps", "1")
	if p.Chunks != 25 || p.Chunk != 2 || p.Rows[0].Chunks != 1 || math.Abs(p.Rows[0].Gradients-2e-3) > 1e-4 || p.Rows[0].Hierarchical != 0 {
		t.Errorf("%+v", p)
	}
	s := call(t, longOnGPU(), "", "bench", "--device", "count", "--gpus", "16", "--batch", "256", "--card", "4090")
	for _, want := range []string{"toy on cards RTX 4090, 8 a machine: counted, not measured\n", "256 examples in 16 chunks of 16, so at most 16 GPUs", "32 GB/s within a machine, 50 GB/s between"} {
		if s.code != 0 || !strings.Contains(s.out, want) {
			t.Errorf("exit %d, no %q in\n%s%s", s.code, want, s.out, s.err)
		}
	}
}

func TestBenchRefusesPlans(t *testing.T) {
	for want, args := range map[string]string{
		"a step of 50 examples has 4 chunks, and each GPU wants one: plan for 4 at most": "--device count --gpus 2,5",
		"--gpus 0: want 1 to 16384":                     "--device count --gpus 0",
		"say how many, such as --gpus 1,8,64":           "--device count --network 400G",
		`no network is called "token": there are 100G`:  "--device count --gpus 2 --network token",
		`no card is called "h300"`:                      "--device count --gpus 2 --card h300",
		"what --device count plans for, and the device": "--device cpu --gpus 2",
		"--per-machine 0: want a number above 0":        "--device count --gpus 2 --per-machine 0",
		"--chunk 0: want a number above 0":              "--device count --gpus 2 --chunk 0",
		`--gpus: "x": want a whole number`:              "--device count --gpus x",
		"--serve times steps":                           "--device count --gpus 2 --serve",
	} {
		if s := call(t, longOnGPU(), "", append([]string{"bench"}, strings.Fields(args)...)...); s.code != exitUsage || s.out != "" || !strings.Contains(s.err, want) {
			t.Errorf("%s: exit %d, no %q in\n%s%s", args, s.code, want, s.out, s.err)
		}
	}
}

// TestPlansWhatRanksSend compares bytes with those of ranks that train.
func TestPlansWhatRanksSend(t *testing.T) {
	network, err := cluster.FindNetwork("400G")
	if err != nil {
		t.Fatal(err)
	}
	for _, elems := range []int{100, 4097} {
		for chunks := 1; chunks < 20; chunks++ {
			for _, size := range []int{2, 3, 4, 7} {
				sent := make([]int64, size)
				for rank, err := range commtest.Run(size, commtest.Faults{}, func(w comm.World) error {
					m, _, err := chunkSum(w, elems, chunks, 1)
					sent[w.Rank()] = m.ranks.took.Sent / 2 // of two sums
					return err
				}) {
					if err != nil {
						t.Fatalf("rank %d: %v", rank, err)
					}
				}
				c := cluster.New(card.Card{Bandwidth: 1, Link: 1}, size, 8, network)
				if got, want := c.Direct(cluster.Sum{Elements: elems, Chunks: chunks}).Sent, slices.Max(sent); got != want {
					t.Errorf("%d elements, %d chunks, %d ranks: the plan has %d bytes, %d were sent", elems, chunks, size, got, want)
				}
			}
		}
	}
}
