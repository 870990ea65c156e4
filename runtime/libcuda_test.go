//go:build !nogpu && linux && (amd64 || arm64)

package runtime

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/arithlang/mlc/runtime/cuda/libcuda/fakecuda"
)

// TestFakeDriver calls the program with a library in place of NVIDIA's, which
// copies memory but runs no kernel: what is left to see is that it is found, and
// what people are told when it fails.
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
		"out of memory": {func() { lib.Fail("cuMemAlloc_v2", 2, 0) }, []string{"bench", "--device", "cuda"}, 1,
			[]string{"out of GPU memory: asked for ", " are free, for the arenas of 1173 parameters: end other programs on the GPU"}},
		"lost": {func() { lib.Poison(700) }, []string{"train", "--resume", "--out", whole, "--steps", "3", "--device", "cuda"}, 1,
			[]string{"step 3 failed: ", "CUDA_ERROR_ILLEGAL_ADDRESS", "one of the kernels that were running failed: ", "clear", "CUDA_LAUNCH_BLOCKING=1",
				"the last checkpoint is " + filepath.Join(whole, "ckpt", "step-00000002.safetensors") + "; when the cause is gone, go on with: ./toy train --resume --out "}},
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
