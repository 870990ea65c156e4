//go:build !nogpu && linux && (amd64 || arm64)

package libcuda_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/arithlang/mlc/runtime/cuda"
	"github.com/arithlang/mlc/runtime/cuda/libcuda"
	"github.com/arithlang/mlc/runtime/cuda/libcuda/fakecuda"
)

// TestOpen opens machines without a usable GPU.
func TestOpen(t *testing.T) {
	tests := map[string]struct {
		prepare     func(*fakecuda.Library)
		device      int
		unavailable bool
		want        string // in the message
	}{
		"no device":       {func(l *fakecuda.Library) { l.Set("devices", 0) }, 0, true, "CUDA_ERROR_NO_DEVICE (100: no CUDA-capable device is detected)\nsee whether nvidia-smi lists a GPU"},
		"none counted":    {func(l *fakecuda.Library) { l.Fail("cuDeviceGetCount", 100, 0) }, 0, true, "look for a GPU: CUDA_ERROR_NO_DEVICE"},
		"second device":   {nil, 1, true, "GPU 1 was asked for, but there are 1, counted from 0"},
		"negative device": {nil, -1, true, "GPU -1 was asked for"},
		"old driver":      {func(l *fakecuda.Library) { l.Set("version", 11040) }, 0, false, "driver is too old: it implements CUDA 11.4, and the kernels need CUDA 11.8 or later; update the driver"},
		"old device":      {func(l *fakecuda.Library) { l.Set("major", 7); l.Set("minor", 5) }, 0, true, "Fake GPU 0 has compute capability 7.5, and the kernels need 8.0 (Ampere) or later"},
		"mismatch":        {func(l *fakecuda.Library) { l.Fail("cuInit", 803, 0) }, 0, true, "restart the machine after an update of the driver"},
		"no version":      {func(l *fakecuda.Library) { l.Fail("cuDriverGetVersion", 999, 0) }, 0, false, "ask for the version of NVIDIA's driver: unknown CUDA error (999)"},
		"nameless":        {func(l *fakecuda.Library) { l.Fail("cuDeviceGetName", 101, 0) }, 0, false, "ask what GPU 0 is: CUDA_ERROR_INVALID_DEVICE"},
		"no context":      {func(l *fakecuda.Library) { l.Fail("cuDevicePrimaryCtxRetain", 2, 0) }, 0, false, "open a context on Fake GPU 0: CUDA_ERROR_OUT_OF_MEMORY"},
		"no stream":       {func(l *fakecuda.Library) { l.Fail("cuStreamCreate", 2, 0) }, 0, false, "make a stream on Fake GPU 0: CUDA_ERROR_OUT_OF_MEMORY"},
	}
	lib := fakecuda.Build(t)
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			lib.Reset()
			if test.prepare != nil {
				test.prepare(lib)
			}
			_, err := libcuda.Open(libcuda.Options{Library: lib.Path, Device: test.device})
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Fatalf("got the error\n%v\nwant\n%s", err, test.want)
			}
			if errors.Is(err, cuda.ErrUnavailable) != test.unavailable {
				t.Errorf("unavailable: %v, want %v", !test.unavailable, test.unavailable)
			}
			if n := lib.Live(); n != 0 {
				t.Errorf("%d things were not freed", n)
			}
		})
	}
}

func TestNoLibrary(t *testing.T) {
	absent := filepath.Join(t.TempDir(), "libcuda.so.1")
	_, err := libcuda.Open(libcuda.Options{Library: absent})
	if !errors.Is(err, cuda.ErrUnavailable) || !strings.Contains(err.Error(), "install NVIDIA's driver, or set MLC_LIBCUDA") {
		t.Errorf("without a library: %v", err)
	}
	t.Setenv("MLC_LIBCUDA", absent)
	if _, err = libcuda.Open(libcuda.Options{}); err == nil || !strings.Contains(err.Error(), absent) {
		t.Errorf("with MLC_LIBCUDA: %v", err)
	}
	text := filepath.Join(t.TempDir(), "text.so")
	if err := os.WriteFile(text, []byte("no library"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err = libcuda.Open(libcuda.Options{Library: text}); !errors.Is(err, cuda.ErrUnavailable) {
		t.Errorf("with a file that is no library: %v", err)
	}
}

func TestMissingFunction(t *testing.T) {
	lib := fakecuda.Build(t, "NO_GRAPHS")
	_, err := libcuda.Open(libcuda.Options{Library: lib.Path})
	if err == nil || !strings.Contains(err.Error(), lib.Path+" has no function cuStreamEndCapture") {
		t.Errorf("got %v", err)
	}
	lib.Set("version", 10020)
	if _, err = libcuda.Open(libcuda.Options{Library: lib.Path}); err == nil || !strings.Contains(err.Error(), "too old: it implements CUDA 10.2") {
		t.Errorf("an old driver lacks functions: the error must say that it is old, not %v", err)
	}
}

func TestOutOfMemory(t *testing.T) {
	d, lib := open(t)
	p := alloc(t, d, 16<<20)
	_, err := d.Alloc(1 << 30)
	var e *cuda.MemoryError
	if !errors.As(err, &e) || e.Asked != 1<<30 || e.Free != 48<<20 || e.Total != 64<<20 {
		t.Errorf("got %+v", err)
	}
	if !isCode(err, cuda.OutOfMemory) || err.Error() != "out of GPU memory: asked for 1.0 GiB, 48.0 MiB of 64.0 MiB are free" {
		t.Errorf("got %q", err)
	}
	ok(t, d.Zero(p, 4)) // the device still works

	lib.Fail("cuMemHostAlloc", 2, 0)
	_, err = d.AllocHost(1 << 20)
	if !errors.As(err, &e) || e.Total != 0 || err.Error() != "out of host memory: asked for 1.0 MiB of pinned memory" {
		t.Errorf("got %v", err)
	}
}

func TestLoadFails(t *testing.T) {
	d, lib := open(t)
	tests := map[string]struct {
		ptx  string
		code cuda.Code
		want string
	}{
		"no PTX":     {"hello", cuda.InvalidPTX, "load PTX: CUDA_ERROR_INVALID_PTX (218: a PTX JIT compilation failed)\nptxas application ptx input, line 1; fatal   : Missing .version"},
		"empty":      {"", cuda.InvalidPTX, "Missing .version"},
		"a NUL":      {kernels + "\x00", cuda.InvalidPTX, "load PTX with a NUL in it"},
		"too new":    {"// c\n.version 8.6\n", cuda.UnsupportedPTXVersion, "Unsupported .version 8.6\nNVIDIA's driver is too old: it implements CUDA 12.4, and PTX 8.6 needs CUDA 12.6 or later; update the driver"},
		"newer yet":  {" .version 9.0\n", cuda.UnsupportedPTXVersion, "PTX 9.0 needs CUDA 13.0 or later"},
		"no version": {"/**/ .version 99.9", cuda.UnsupportedPTXVersion, "the PTX needs a later one"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := d.Load(test.ptx)
			if !isCode(err, test.code) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got\n%v\nwant\n%s", err, test.want)
			}
		})
	}
	lib.Fail("cuModuleLoadDataEx", 221, 0)
	if _, err := d.Load(kernels); !isCode(err, 221) || !strings.Contains(err.Error(), "libnvidia-ptxjitcompiler") {
		t.Errorf("without the compiler: %v", err)
	}
	_, err := d.Load(kernels)
	ok(t, err)
}

// TestLost makes a kernel fail on the device. The launch has returned long before, and all later
// calls fail.
func TestLost(t *testing.T) {
	for code, name := range map[cuda.Code]string{cuda.IllegalAddress: "CUDA_ERROR_ILLEGAL_ADDRESS", cuda.LaunchFailed: "CUDA_ERROR_LAUNCH_FAILED"} {
		t.Run(name, func(t *testing.T) {
			lib := fakecuda.Build(t)
			d, err := libcuda.Open(libcuda.Options{Library: lib.Path})
			ok(t, err)
			p := alloc(t, d, 8)
			m, err := d.Load(kernels)
			ok(t, err)
			f, err := m.Function("add1")
			ok(t, err)
			none, err := m.Function("none")
			ok(t, err)
			g, err := d.Capture(func() error { return f.Launch(one, one, 0, add1(p, 2)) })
			ok(t, err, none.Launch(one, one, 0, nil), d.Synchronize())

			lib.Poison(int(code))
			ok(t, g.Launch(), g.Launch())
			first := d.Synchronize()
			var e *cuda.Error
			if !errors.As(first, &e) || e.Code != code || e.Name != name || !e.Lost() || e.Doing != "wait for the GPU" {
				t.Fatalf("Synchronize: %v", first)
			}
			if want := "one of the kernels that were running failed: add1; CUDA_LAUNCH_BLOCKING=1"; !strings.Contains(first.Error(), want) {
				t.Errorf("got %v, want %s", first, want)
			}
			_, allocErr := d.Alloc(8)
			for call, err := range map[string]error{
				"Alloc": allocErr, "Launch": f.Launch(one, one, 0, add1(p, 2)), "ToHost": d.ToHost(make([]byte, 8), p),
				"Synchronize": d.Synchronize(), "Close": d.Close(),
			} {
				if !errors.Is(err, first) {
					t.Errorf("%s on a lost device: %v", call, err)
				}
			}
		})
	}
}

// TestLostAtLaunch checks that with CUDA_LAUNCH_BLOCKING the launch itself fails.
func TestLostAtLaunch(t *testing.T) {
	t.Setenv("CUDA_LAUNCH_BLOCKING", "1")
	lib := fakecuda.Build(t)
	d, err := libcuda.Open(libcuda.Options{Library: lib.Path})
	ok(t, err)
	m, err := d.Load(kernels)
	ok(t, err)
	f, err := m.Function("none")
	ok(t, err, f.Launch(one, one, 0, nil))
	lib.Fail("cuLaunchKernel", 716, 0)
	err = f.Launch(one, one, 0, nil)
	if !isCode(err, cuda.MisalignedAddress) || strings.Contains(err.Error(), "one of the kernels") {
		t.Errorf("got %v", err)
	}
}

// TestBlame launches more kernels than a message names.
func TestBlame(t *testing.T) {
	lib := fakecuda.Build(t)
	d, err := libcuda.Open(libcuda.Options{Library: lib.Path})
	ok(t, err)
	ptx := ".version 7.8\n"
	for i := range 14 {
		ptx += fmt.Sprintf(".visible .entry k%02d() { ret; }\n", i)
	}
	m, err := d.Load(ptx)
	ok(t, err)
	launch := func(from, to int) {
		for i := from; i < to; i++ {
			f, err := m.Function(fmt.Sprintf("k%02d", i))
			ok(t, err, f.Launch(one, one, 0, nil), f.Launch(one, one, 0, nil))
		}
	}
	launch(13, 14)
	ok(t, d.Synchronize())
	launch(0, 13)
	lib.Poison(700)
	want := "k00, k01, k02, k03, k04, k05, k06, k07, k08, k09, k10, k11 and 1 more;"
	if err := d.Synchronize(); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
}

// BenchmarkCall measures a call that does nothing but set the context.
func BenchmarkCall(b *testing.B) {
	lib := fakecuda.Build(b)
	d, err := libcuda.Open(libcuda.Options{Library: lib.Path})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := d.MemInfo(); err != nil {
			b.Fatal(err)
		}
	}
}
