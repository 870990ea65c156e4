//go:build !nogpu && linux && (amd64 || arm64)

package prove

import (
	"context"
	"strings"
	"testing"

	"github.com/arithlang/mlc/runtime/cuda"
	"github.com/arithlang/mlc/runtime/cuda/libcuda"
	"github.com/arithlang/mlc/runtime/cuda/libcuda/fakecuda"
)

// TestWrongKernel alters one instruction of one kernel and wants that kernel named.
func TestWrongKernel(t *testing.T) {
	t.Parallel()
	e := &Env{Device: "sim", models: []model{{name: "tiny"}}}
	right := conclude(t, runKernels, e, "tiny")
	if k := right.Kernels; right.Verdict != Pass || k.Compared != k.Kernels || k.Kernels < 50 || k.Inexact != 0 || k.Elements == 0 {
		t.Fatalf("%+v, %+v", right, k)
	}
	again := conclude(t, runKernels, e, "tiny")
	if k := again.Kernels; again.Verdict != Pass || k.Same != k.Kernels || k.Compared != 0 {
		t.Errorf("a compared kernel is compared again: %+v", k)
	}
	var kernel string
	e = &Env{Device: "sim", models: e.models, ptx: func(text []byte) []byte {
		before, after, _ := strings.Cut(string(text), "mul.rn.f32")
		kernel = before[strings.LastIndex(before, ".entry ")+len(".entry "):]
		kernel = kernel[:strings.IndexAny(kernel, "( \n")]
		return []byte(before + "add.rn.f32" + after)
	}}
	wrong := conclude(t, runKernels, e, "tiny")
	if wrong.Verdict != Fail || len(wrong.Wrong) != 1 || !strings.Contains(wrong.Wrong[0], ": "+kernel+" at length") || wrong.Kernels.Inexact == 0 {
		t.Errorf("with another instruction in %s: %s, %q", kernel, wrong.Verdict, wrong.Wrong)
	}
}

// TestNoDevice checks the advice if there is no GPU.
func TestNoDevice(t *testing.T) {
	lib := fakecuda.Build(t)
	t.Setenv("MLC_LIBCUDA", lib.Path)
	lib.Set("devices", 0)
	p := conclude(t, runMachine, &Env{Device: "cuda"}, thisDevice)
	if p.Verdict != Unavailable || !strings.Contains(p.Reason, "no usable NVIDIA GPU") {
		t.Fatalf("%+v", p)
	}
	r := &Result{Phases: []*Phase{{Name: "machine", Parts: []*Part{p}}}}
	r.Phases[0].judge()
	r.judge()
	r.Reason = p.Reason
	if page := r.Page(); r.Proven() || !strings.Contains(page, "not proven: no usable NVIDIA GPU") || !strings.Contains(page, "mlc prove --device sim") {
		t.Errorf("%s\n%s", r.Verdict, page)
	}
}

// TestDriverFails lets each function of the driver that a phase calls fail once.
func TestDriverFails(t *testing.T) {
	lib := fakecuda.Build(t)
	e := &Env{Device: "cuda", models: []model{{name: "tiny"}}, open: func() (cuda.Driver, error) {
		return libcuda.Open(libcuda.Options{Library: lib.Path})
	}}
	if p := conclude(t, runMachine, e, thisDevice); p.Verdict != Pass || !strings.Contains(p.Summary(), "Fake GPU") {
		t.Fatalf("without a failure: %+v", p)
	}
	if p := conclude(t, runMachine, e, "tiny"); p.Verdict != Pass || p.Module.Kernels == 0 {
		t.Fatalf("without a failure: %+v", p)
	}
	if p := conclude(t, runKernels, e, "tiny"); p.Verdict != Fail || p.Kernels.Inexact == 0 {
		t.Errorf("a driver that runs nothing: %+v", p)
	}
	if p := conclude(t, runProbe, e, "copies"); p.Verdict != Pass || p.Figures[0].Value == 0 {
		t.Errorf("without a failure: %+v", p)
	}
	for part, run := range map[string]func(context.Context, *Env, *Part) error{"latency": runProbe, "warp": runFragments, "tiny": runSteps} {
		if p := conclude(t, run, e, part); p.Verdict != Fail {
			t.Errorf("%s, of a driver that runs nothing: %+v", part, p)
		}
	}
	for _, c := range []struct {
		run       func(context.Context, *Env, *Part) error
		part      string
		functions string
	}{
		{runMachine, thisDevice, `cuDriverGetVersion cuInit cuDeviceGetCount cuDeviceGet cuDeviceGetName cuDeviceTotalMem_v2
			cuDeviceGetAttribute cuDevicePrimaryCtxRetain cuCtxSetCurrent cuStreamCreate cuMemGetInfo_v2 cuStreamDestroy_v2`},
		{runMachine, "tiny", "cuModuleLoadDataEx cuModuleGetFunction cuFuncGetAttribute cuModuleUnload"},
		{runKernels, "tiny", "cuMemAlloc_v2 cuMemcpyHtoDAsync_v2 cuLaunchKernel cuStreamSynchronize cuMemcpyDtoHAsync_v2 cuMemFree_v2"},
		{runProbe, "latency", `cuEventCreate cuEventRecord cuEventElapsedTime cuEventDestroy_v2 cuStreamBeginCapture_v2 cuStreamEndCapture
			cuGraphInstantiateWithFlags cuGraphLaunch cuGraphExecDestroy cuMemsetD8Async`},
		{runProbe, "copies", "cuMemHostAlloc cuMemcpyDtoDAsync_v2 cuMemFreeHost"},
		{runFragments, "warp", "cuModuleLoadDataEx cuModuleGetFunction cuMemAlloc_v2 cuLaunchKernel"},
		{runTimed, "successor", "cuModuleLoadDataEx cuMemAlloc_v2 cuLaunchKernel"},
		{runSteps, "tiny", "cuModuleLoadDataEx cuFuncGetAttribute cuMemAlloc_v2 cuMemHostAlloc cuLaunchKernel cuStreamSynchronize"},
	} {
		for _, f := range strings.Fields(c.functions) {
			lib.Reset()
			lib.Fail(f, 718, 0)
			e.dir = t.TempDir()
			p := conclude(t, c.run, e, c.part)
			if text := strings.Join(append(p.Wrong, p.Reason), "\n"); p.Verdict != Fail && p.Verdict != Unavailable || !strings.Contains(text, "718") {
				t.Errorf("%s, when %s fails: %s, %s", c.part, f, p.Verdict, text)
			}
		}
	}
}
