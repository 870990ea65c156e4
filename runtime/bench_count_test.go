package runtime

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/arithlang/mlc/runtime/cpu"
	"github.com/arithlang/mlc/runtime/cuda/counted"
	"github.com/arithlang/mlc/runtime/device"
)

// costlyOnGPU is the toy with known work: a gradient's row is 100 operations and 8 bytes.
func costlyOnGPU() Model {
	m := toyOnGPU()
	m.CPU[toyGradients].Cost = func(e *device.Env) cpu.Cost {
		return cpu.Cost{Flops: float64(100 * e.B * e.T), Bytes: float64(8 * e.B * e.T)}
	}
	return m
}

// TestBenchCounts is of four chunks of 16, 16, 16 and 2 examples: three are one launch.
func TestBenchCounts(t *testing.T) {
	s := call(t, costlyOnGPU(), "", "bench", "--device", "count", "--steps", "4", "--json")
	var r counted.Report
	if err := json.Unmarshal([]byte(s.out), &r); err != nil || s.code != 0 {
		t.Fatalf("exit %d, %v\n%s%s", s.code, err, s.out, s.err)
	}
	if r.Name != "toy" || r.Card != "H200" || r.SMs != 132 || r.Steps != 4 || r.Plan != 4+1+2 || r.Host <= 0 || r.Memory < 4*4*toySize {
		t.Errorf("%+v", r)
	}
	// The first step is launched one by one, the second is recorded.
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
	s := call(t, costlyOnGPU(), "", "bench", "--device", "count", "--card", "4090", "--sms", "7")
	for _, want := range []string{
		"toy on RTX 4090 with 7 multiprocessors: counted, not computed, over 50 steps\na step   7 launches of the plan; the device runs ",
		"\ngraphs   of all steps: 1 recorded, 49 replays, 1 misses; at most 1 kept\n",
		"\ngradients ", "\n(clear) ", "\n(sum) ",
	} {
		if s.code != 0 || !strings.Contains(s.out, want) {
			t.Errorf("exit %d, no %q in\n%s%s", s.code, want, s.out, s.err)
		}
	}
}

// TestCountingIsForBench refuses what would train or test on nothing.
func TestCountingIsForBench(t *testing.T) {
	m := toyOnGPU()
	dir := trained(t, m, "--device", "cpu", "--steps", "1", "--quiet")
	for want, args := range map[string][]string{
		"computes nothing":                    {"train", "--device", "count"},
		"it only counts what bench asks for":  {"eval", dir, "--device", "count"},
		"use another device":                  {"solve", dir, "1", "--device", "count"},
		`no card is called "h300": did you m`: {"bench", "--device", "count", "--card", "h300"},
		"the device is cpu":                   {"bench", "--device", "cpu", "--card", "h200"},
		"--sms 0: want a number above 0":      {"bench", "--device", "count", "--sms", "0"},
		"--serve times steps":                 {"bench", "--device", "count", "--serve"},
	} {
		if s := call(t, m, "", args...); s.code != exitUsage || s.out != "" || !strings.Contains(s.err, want) {
			t.Errorf("%v: exit %d, no %q in\n%s%s", args, s.code, want, s.out, s.err)
		}
	}
	m.GPU.PTX = ""
	if s := call(t, m, "", "bench", "--device", "count"); s.code != exitFailed || !strings.Contains(s.err, "no GPU kernels") {
		t.Errorf("without kernels: exit %d\n%s", s.code, s.err)
	}
}
