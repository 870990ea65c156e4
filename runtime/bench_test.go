package runtime

import (
	"compress/gzip"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/arithlang/mlc/runtime/bench"
	"github.com/arithlang/mlc/runtime/cpu"
	"github.com/arithlang/mlc/runtime/device"
	"github.com/arithlang/mlc/runtime/program"
	"github.com/arithlang/mlc/runtime/world"
)

// costly is the toy with known work: a row of gradients has 100 operations and 8 bytes, and
// takes measurable time.
func costly() program.Model {
	m := toyModel()
	run := m.CPU[toyGradients].Run
	m.CPU[toyGradients] = cpu.Kernel{Name: "gradients",
		Run: func(w *cpu.Worker, e *device.Env, a []device.Ref) {
			run(w, e, a)
			time.Sleep(time.Millisecond)
		},
		Cost: func(e *device.Env) cpu.Cost {
			return cpu.Cost{Flops: float64(100 * e.B * e.T), Bytes: float64(8 * e.B * e.T)}
		},
	}
	return m
}

func TestBenchCountsLaunchesAndTime(t *testing.T) {
	s := call(t, costly(), "", "bench", "--steps", "3", "--batch", "40", "--threads", "2", "--json")
	if s.code != 0 {
		t.Fatal(s.err)
	}
	var r bench.Result
	if err := json.Unmarshal([]byte(s.out), &r); err != nil {
		t.Fatal(err)
	}
	if r.Name != "toy" || r.Batch != 40 || r.Chunk != 16 || r.Source != 9 || r.Target != 8 || r.Steps != 3 || r.Peak.Bytes <= 0 {
		t.Errorf("%+v", r)
	}
	if r.GPU != nil || r.Timed <= 0 {
		t.Errorf("%+v", r)
	}
	want := map[string]float64{"gradients": 3, "sum_squares": 1, "update": 2} // two ranges of weight decay
	share := 0.0
	for _, k := range r.Kernels {
		share += k.Share
		if k.Seconds < 0 {
			t.Errorf("%s takes %g s", k.Name, k.Seconds)
		}
		if want[k.Name] != k.Launches {
			t.Errorf("%s has %g launches a step, want %g", k.Name, k.Launches, want[k.Name])
		}
		delete(want, k.Name)
		if k.Name != "gradients" {
			continue
		}
		if flops := k.Flops * k.Seconds * float64(r.Threads); math.Abs(flops-100*40*8) > 1e-3 {
			t.Errorf("rate times time is %g operations", flops)
		}
		if k.Seconds < 0.0015 || k.Bound == "" {
			t.Errorf("3 launches of a millisecond and more, by 2 threads: %+v", k)
		}
	}
	if len(want) > 0 || math.Abs(share-1) > 1e-9 {
		t.Errorf("no row for %v, shares add up to %g", want, share)
	}
}

func TestBenchTable(t *testing.T) {
	s := call(t, costly(), "", "bench", "--steps", "1")
	for _, want := range []string{
		`toy on cpu, .*\na step of 50 examples, 9 source tokens and 8 target rows each, in chunks of 16, micro-batches of 16\n`,
		`\nstep  [0-9.]+ ms \(median of 1\), [0-9]+ examples/s, peak memory [0-9]+ MiB\n`,
		`\nkernel +launches +ms a step +share +GFLOP/s +GB/s +of peak\n(?:.*\n)*gradients +4 +[0-9.]+ +[0-9.]+ % +0.0 +0.0 +0 % (products|others|[0-9]+ [KM]iB|memory)\n`,
		`\nrows  of 1 further steps, [0-9.]+ ms each\n\nkernel `,
		`\n\(rest: .*\) +[0-9.]+ +[0-9.]+ %\n$`,
	} {
		if !regexp.MustCompile(want).MatchString(s.out) {
			t.Errorf("exit %d, no match of %s in\n%s%s", s.code, want, s.out, s.err)
		}
	}
}

// TestBenchKernels times only the kernels: no step is timed whole, on either device.
func TestBenchKernels(t *testing.T) {
	for _, device := range []string{"cpu", "sim"} {
		s := call(t, costlyOnGPU(), "", "bench", "--kernels", "--steps", "2", "--json", "--device", device)
		var r bench.Result
		if err := json.Unmarshal([]byte(s.out), &r); err != nil || s.code != 0 {
			t.Fatalf("%s: exit %d, %v\n%s", device, s.code, err, s.err)
		}
		if r.Seconds != 0 || r.Examples != 0 || len(r.Kernels) < 3 || device == "cpu" && r.Timed <= 0 || device == "sim" && (r.GPU.Steps != 0 || r.GPU.Marked != 2) {
			t.Errorf("%s: %+v, %+v", device, r, r.GPU)
		}
	}
	s := call(t, costly(), "", "bench", "--kernels", "--steps", "1")
	if s.code != 0 || strings.Contains(s.out, "\nstep ") || !strings.Contains(s.out, "\nrows  of 1 steps, ") {
		t.Errorf("exit %d\n%s%s", s.code, s.out, s.err)
	}
	if s := call(t, costlyOnGPU(), "", "bench", "--kernels", "--serve"); s.code != world.ExitUsage || !strings.Contains(s.err, "--kernels times kernels: leave out") {
		t.Errorf("exit %d\n%s", s.code, s.err)
	}
}

func TestBenchServe(t *testing.T) {
	s := call(t, costly(), "2\n1\n", "bench", "--serve")
	lines := strings.Split(strings.TrimSuffix(s.out, "\n"), "\n")
	if s.code != 0 || len(lines) != 2 {
		t.Fatalf("exit %d\n%s%s", s.code, s.out, s.err)
	}
	for _, line := range lines {
		if seconds, err := strconv.ParseFloat(line, 64); err != nil || seconds < 0.001 {
			t.Errorf("%q is no time of a step", line)
		}
	}
	for _, bad := range []string{"0\n", "x\n", "-1\n", "\n"} {
		if s := call(t, toyModel(), bad, "bench", "--serve"); s.code != world.ExitUsage || s.out != "" || !strings.Contains(s.err, "is no number of steps") {
			t.Errorf("%q: exit %d\n%s%s", bad, s.code, s.out, s.err)
		}
	}
}

func TestProfile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "cpu.pprof")
	if s := call(t, toyModel(), "", "bench", "--steps", "1", "--profile", path); s.code != 0 {
		t.Fatal(s.err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := gzip.NewReader(f); err != nil { // a profile is a compressed protocol buffer
		t.Error(err)
	}
	if s := call(t, toyModel(), "", "info", "--profile", t.TempDir()); s.code != world.ExitFailed || !strings.Contains(s.err, "cannot write a profile") {
		t.Errorf("exit %d\n%s", s.code, s.err)
	}
}

// TestTrace writes a time line for Perfetto: launches of a worker are consecutive, within
// steps, and as many as in the table.
func TestTrace(t *testing.T) {
	path := filepath.Join(t.TempDir(), "trace.json")
	s := call(t, costly(), "", "bench", "--steps", "3", "--batch", "40", "--threads", "2", "--json", "--trace", path)
	if s.code != 0 {
		t.Fatal(s.err)
	}
	var r bench.Result
	if err := json.Unmarshal([]byte(s.out), &r); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var trace struct {
		TraceEvents []struct {
			Name, Ph string
			TS, Dur  float64
			PID, TID int
			Args     map[string]any
		}
	}
	if err := json.Unmarshal(text, &trace); err != nil {
		t.Fatal(err)
	}
	counts, ends, names := map[string]int{}, map[int]float64{}, map[int]string{}
	for _, e := range trace.TraceEvents {
		switch {
		case e.Ph == "M" && e.Name == "thread_name":
			names[e.TID] = e.Args["name"].(string)
		case e.Ph == "M":
		case e.Ph != "X" || e.PID != 1 || e.Dur < 0 || e.TS < ends[e.TID]-1e-3:
			t.Fatalf("%+v ends the one before at %g", e, ends[e.TID])
		default:
			ends[e.TID] = e.TS + e.Dur
			counts[e.Name]++
			if e.Name == "gradients" && (e.Args["flop"].(float64) <= 0 || e.Dur < 1000) {
				t.Errorf("%+v", e)
			}
		}
	}
	if counts["step 1"] != 1 || counts["step 3"] != 1 || counts["gradients"] != 3*3 || counts["update"] == 0 {
		t.Errorf("%v", counts)
	}
	if len(names) < 2 || !strings.HasPrefix(names[1], "worker ") {
		t.Errorf("tracks %v", names)
	}
	for _, args := range [][]string{{"--serve"}, {"--device", "count"}} {
		if s := call(t, toyModel(), "", append([]string{"bench", "--trace", path}, args...)...); s.code != 2 {
			t.Errorf("%s: exit %d", args, s.code)
		}
	}
	if s := call(t, toyModel(), "", "bench", "--steps", "1", "--trace", filepath.Join(path, "x")); s.code != 1 || !strings.Contains(s.err, "cannot write the time line") {
		t.Errorf("exit %d: %s", s.code, s.err)
	}
}
