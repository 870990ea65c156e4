//go:build !nogpu && linux && (amd64 || arm64)

package runtime

import (
	"encoding/json"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/arithlang/mlc/runtime/bench"
	"github.com/arithlang/mlc/runtime/cuda/libcuda/fakecuda"
)

// TestFakeDriver replaces NVIDIA's library by one that copies memory but runs no kernel. It
// checks that the library is found, and the messages when it fails.
func TestFakeDriver(t *testing.T) {
	lib := fakecuda.Build(t)
	t.Setenv("MLC_LIBCUDA", lib.Path)
	m := toyOnGPU()
	whole := trained(t, m, "--device", "cpu", "--steps", "2", "--quiet")
	if s := call(t, m, "", "info"); !strings.Contains(s.out, "cuda: Fake GPU 0, compute capability 8.0, driver for CUDA 12.4, ") {
		t.Errorf("info:\n%s%s", s.out, s.err)
	}
	for name, c := range map[string]struct {
		prepare func()
		args    []string
		code    int
		want    []string
	}{
		"no device":       {func() { lib.Set("devices", 0) }, []string{"bench", "--steps", "1", "--device", "cuda"}, 1, []string{"--device cuda: no usable NVIDIA GPU: ", "CUDA_ERROR_NO_DEVICE"}},
		"no device, auto": {func() { lib.Set("devices", 0) }, []string{"bench", "--steps", "1"}, 0, nil},
		"old driver": {func() { lib.Set("version", 11040) }, []string{"bench", "--steps", "1", "--device", "cuda"}, 1,
			[]string{"NVIDIA's driver is too old: it implements CUDA 11.4, and the kernels need CUDA 11.8 or later; update the driver"}},
		"old driver, auto": {func() { lib.Set("version", 11040) }, []string{"bench", "--steps", "1"}, 0,
			[]string{"using the processor, because the GPU cannot be used: ", "too old"}},
		"invalid PTX": {func() { lib.Fail("cuModuleLoadDataEx", 218, 0) }, []string{"bench", "--device", "cuda"}, 1,
			[]string{"the model's kernels cannot be loaded on Fake GPU 0: ", "CUDA_ERROR_INVALID_PTX"}},
		"unsupported PTX": {func() { lib.Fail("cuModuleLoadDataEx", 222, 0) }, []string{"bench", "--device", "cuda"}, 1,
			[]string{"CUDA_ERROR_UNSUPPORTED_PTX_VERSION", "update the driver"}},
		"no library": {func() {}, []string{"bench", "--gemm", "cublaslt=/nowhere.so"}, 1, []string{"--gemm cublaslt=/nowhere.so: cuBLASLt cannot be loaded: "}},
		"out of memory": {func() { lib.Fail("cuMemAlloc_v2", 2, 0) }, []string{"bench", "--device", "cuda"}, 1,
			[]string{"out of GPU memory: asked for ", " are free, for the arenas of 1173 parameters: end other programs on the GPU"}},
		"lost": {func() { lib.Poison(700) }, []string{"train", "--resume", "--out", whole, "--steps", "3", "--device", "cuda"}, 1,
			[]string{"step 3 failed: ", "CUDA_ERROR_ILLEGAL_ADDRESS", "one of the kernels that were running failed: ", "clear", "CUDA_LAUNCH_BLOCKING=1",
				"the last checkpoint is " + filepath.Join(whole, "ckpt", "step-00000002.safetensors") + "; when the cause is gone, continue with: ./toy train --resume --out "}},
	} {
		lib.Reset()
		c.prepare()
		s := call(t, m, "", c.args...)
		if s.code != c.code {
			t.Errorf("%s: exit %d, want %d\n%s", name, s.code, c.code, s.err)
		}
		for _, want := range c.want {
			if !strings.Contains(s.err, want) {
				t.Errorf("%s: no %q in\n%s", name, want, s.err)
			}
		}
		if len(c.want) == 0 && s.err != "" {
			t.Errorf("%s: it says\n%s", name, s.err)
		}
	}
}

// TestBenchByTheFakeClock knows the fake device's clock: it takes a microsecond for each block,
// copy and clearing, and stands while the host works.
func TestBenchByTheFakeClock(t *testing.T) {
	lib := fakecuda.Build(t)
	t.Setenv("MLC_LIBCUDA", lib.Path)
	lib.Set("fill", 0) // no kernel writes results: make them finite
	s := call(t, toyOnGPU(), "", "bench", "--steps", "4", "--device", "cuda", "--json")
	var r bench.Result
	if err := json.Unmarshal([]byte(s.out), &r); err != nil {
		t.Fatalf("%v\n%s%s", err, s.out, s.err)
	}
	const micro = 1e-6
	if r.Seconds <= 0 || r.Timed != 46*micro || r.Peak.Bytes != 2*16384/micro {
		t.Errorf("%+v", r)
	}
	if g := *r.GPU; g.Seconds != 46*micro || g.Host <= 0 || g.Ahead != r.Seconds || g.Busy != 1 || g.Launches != 7 || g.Kernels != 16 || g.Driver != 1 {
		t.Errorf("%+v", g)
	}
	// The four chunks of a step are three equal ones and a shorter one: two groups of replicas.
	want := map[string][3]float64{
		"gradients": {4, 2, 4 * micro}, "sum_squares": {1, 1, micro}, "update": {2, 2, 2 * micro},
		"(clearing)": {0, 2, 20 * micro}, "(copies on the GPU)": {0, 7, 14 * micro}, "(sums of gradients)": {0, 1, 2 * micro},
		"(copies from and to the host)": {0, 2, 2 * micro}, "(clipping's factor)": {0, 1, micro},
		"(the GPU waits for the host)": {},
	}
	sum, share := 0.0, 0.0
	for _, k := range r.Kernels {
		if k.Name == "gradients" && k.Median != 3 { // of a launch of three blocks and a launch of one
			t.Errorf("a launch of gradients takes %g µs", k.Median)
		}
		if got := [3]float64{k.Launches, k.OnGPU, k.Seconds}; got != want[k.Name] {
			t.Errorf("%s: %g, want %g", k.Name, got, want[k.Name])
		}
		delete(want, k.Name)
		sum, share = sum+k.Seconds, share+k.Share
	}
	if len(want) > 0 || math.Abs(sum-r.Timed) > 1e-12 || math.Abs(share-1) > 1e-9 {
		t.Errorf("no rows for %v; rows add up to %g of %g s, shares to %g", want, sum, r.Timed, share)
	}
	for _, function := range []string{"cuEventCreate", "cuEventRecord", "cuEventElapsedTime"} {
		lib.Reset()
		lib.Set("fill", 0)
		lib.Fail(function, 2, 60)
		if s := call(t, toyOnGPU(), "", "bench", "--steps", "2", "--device", "cuda"); s.code != 1 || !strings.Contains(s.err, "event") || strings.Count(s.err, "OUT_OF_MEMORY") != 1 {
			t.Errorf("%s: exit %d\n%s", function, s.code, s.err)
		}
	}
}
