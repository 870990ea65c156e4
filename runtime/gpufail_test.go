package runtime

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/arithlang/mlc/runtime/cuda"
	"github.com/arithlang/mlc/runtime/eval"
	"github.com/arithlang/mlc/runtime/program"
	"github.com/arithlang/mlc/runtime/train"
	"github.com/arithlang/mlc/runtime/verbs"
)

// illegalAddress returns a driver's error after a kernel's bad access.
func illegalAddress(doing string) error {
	return &cuda.Error{Code: cuda.IllegalAddress, Name: "CUDA_ERROR_ILLEGAL_ADDRESS", Text: "an illegal memory access was encountered", Doing: doing}
}

// failsAt makes a driver whose n-th launch of a kernel fails, at once or at the next wait.
func failsAt(t *testing.T, kernel string, n int, late bool) func() (cuda.Driver, error) {
	f := &faulty{Driver: simulatedGPU(t), noCapture: &cuda.Error{Code: cuda.CaptureUnsupported, Name: "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED"}}
	f.launch = func(name string, number int) error {
		if name != kernel || number < n {
			return nil
		}
		if late {
			f.late = illegalAddress("wait for the device")
			return nil
		}
		return illegalAddress("launch kernel " + name)
	}
	return func() (cuda.Driver, error) { return f, nil }
}

// TestKernelFailsInTheMiddleOfARun wants the last checkpoint to survive, the failed step not to
// count, and the run to resume there.
func TestKernelFailsInTheMiddleOfARun(t *testing.T) {
	m := toyOnGPU()
	m.Train.Batch, m.Train.MicroBatch = 16, 16
	whole := trained(t, m, "--device", "cpu", "--steps", "6")
	for _, c := range []struct {
		kernel string
		late   bool
		want   string
	}{
		{"gradients", false, "step 4 failed: launch kernel gradients: CUDA_ERROR_ILLEGAL_ADDRESS (700: an illegal memory access was encountered)"},
		{"update", false, "step 4 failed: launch kernel update: CUDA_ERROR_ILLEGAL_ADDRESS"},
		{"gradients", true, "step 4 failed: wait for the device: CUDA_ERROR_ILLEGAL_ADDRESS"},
		{"predict", false, "the test after step 4 failed: launch kernel predict: "},
	} {
		n := 4
		switch c.kernel {
		case "update": // two ranges
			n = 7
		case "predict": // three batches of held-out problems
			n = 1
		}
		dir := filepath.Join(t.TempDir(), "run")
		m := m
		if c.kernel == "predict" {
			n = launchesOfTest(t, m)*3 + 1
		}
		s := callGPU(t, m, failsAt(t, c.kernel, n, c.late), "train", "--out", dir, "--steps", "6", "--save", "1ns", "--device", "cuda")
		kept := filepath.Join(dir, "ckpt", "step-00000003.safetensors")
		if s.code != 1 || !strings.Contains(s.err, c.want) || !strings.Contains(s.err, "the last checkpoint is "+kept+"; when the cause is gone, continue with: ./toy train --resume --out "+dir) {
			t.Errorf("%s: exit %d, want %q in\n%s", c.kernel, s.code, c.want, s.err)
			continue
		}
		if s := call(t, m, "", "train", "--resume", "--out", dir, "--device", "cpu"); s.code != 0 {
			t.Fatal(s.err)
		}
		want, _ := final(t, whole)
		if got, _ := final(t, dir); !bytes.Equal(got, want) {
			t.Errorf("%s: the resumed run ends otherwise than one that did not fail", c.kernel)
		}
	}
}

// launchesOfTest counts how often the test at a report launches its kernel.
func launchesOfTest(t *testing.T, m program.Model) int {
	t.Helper()
	f := &faulty{Driver: simulatedGPU(t)}
	machine := newToyGPU(t, &m, f)
	tr := trainerOf(t, m, machine)
	asking := verbs.Questions{Model: eval.Model{Machine: machine, Plan: &m.Plan, Task: tr.Task, Seed: 1}}
	if _, err := asking.Match(true, 0, train.Glance); err != nil {
		t.Fatal(err)
	}
	return f.launched["predict"]
}

// TestBlockingNamesTheKernel sets the variable that users set.
func TestBlockingNamesTheKernel(t *testing.T) {
	t.Setenv("CUDA_LAUNCH_BLOCKING", "1")
	m := toyOnGPU()
	s := callGPU(t, m, failsAt(t, "gradients", 1, true), "bench", "--steps", "1", "--device", "cuda")
	if s.code != 1 || !strings.Contains(s.err, "step 1 failed: kernel gradients: wait for the device: CUDA_ERROR_ILLEGAL_ADDRESS") {
		t.Errorf("exit %d\n%s", s.code, s.err)
	}
}

// TestFaultOnTheSimulatorSaysWhere breaks an index of the toy's PTX.
func TestFaultOnTheSimulatorSaysWhere(t *testing.T) {
	m := toyOnGPU()
	i := strings.Index(m.GPU.PTX, "ld.global.u32")
	if i < 0 {
		t.Fatal("the toy's PTX has changed")
	}
	line := 1 + strings.Count(m.GPU.PTX[:i], "\n")
	load := m.GPU.PTX[i : i+strings.Index(m.GPU.PTX[i:], "]")]
	m.GPU.PTX = strings.Replace(m.GPU.PTX, load+"]", load+"+1073741824]", 1)
	s := call(t, m, "", "bench", "--steps", "1", "--device", "sim")
	want := fmt.Sprintf("out of bounds: kernel gradients, line %d, ld.global.u32, block (0,0,0), warp 0, lane", line)
	if s.code != 1 || !strings.Contains(s.err, want) {
		t.Errorf("exit %d, want %q in\n%s", s.code, want, s.err)
	}
}

func noMemory(asked, free, total int64) error {
	return &cuda.MemoryError{Asked: asked, Free: free, Total: total, Err: &cuda.Error{Code: cuda.OutOfMemory, Name: "CUDA_ERROR_OUT_OF_MEMORY"}}
}

func TestOutOfMemory(t *testing.T) {
	m := toyOnGPU()
	m.Train.Batch, m.Train.MicroBatch = 48, 16
	for _, c := range []struct {
		from int // the allocation that fails
		want string
	}{
		{1, "out of GPU memory: asked for 4.8 KiB, 100 bytes of 1.0 KiB are free, for the arenas of 1173 parameters: " +
			"end other programs on the GPU, train a smaller model, or use --device cpu"},
		{6, "step 1 failed: out of GPU memory: asked for 14.2 KiB, 100 bytes of 1.0 KiB are free, for the gradients of 3 parts of a batch: " +
			"make the model or train.batch smaller"},
		{7, "are free, for activations of a launch: make train.microbatch in the spec smaller"},
		{10, "for data on its way"},
	} {
		n := 0
		f := &faulty{Driver: simulatedGPU(t), alloc: func(bytes int64) error {
			if n++; n < c.from {
				return nil
			}
			return noMemory(bytes, 100, 1024)
		}}
		s := callGPU(t, m, func() (cuda.Driver, error) { return f, nil }, "bench", "--steps", "1", "--device", "cuda")
		if s.code != 1 || !strings.Contains(s.err, c.want) {
			t.Errorf("allocation %d: exit %d, want %q in\n%s", c.from, s.code, c.want, s.err)
		}
	}
}

// TestLittleMemory has room for only some of the replicas: the bits are the same.
func TestLittleMemory(t *testing.T) {
	m := toyOnGPU()
	m.Train.Batch, m.Train.MicroBatch = 64, 16
	const others = 16 << 10 // bytes: gradients and data in transfer take as much, and have room
	bits := map[string]bool{}
	for _, c := range []struct {
		free, block int64 // bytes in total, and in one block
		launches    int   // of two steps, four chunks each; the second may use the memory of the first
	}{
		{1 << 30, 1 << 30, 2}, {1 << 30, 8 << 10, 4}, {7 << 10, 1 << 30, 3}, {0, 1 << 30, 8}, {1 << 30, 0, 0},
	} {
		f := &faulty{Driver: simulatedGPU(t), limited: true, free: c.free}
		tr := trainerOf(t, m, newToyGPU(t, &m, f))
		f.alloc = func(bytes int64) error {
			if bytes > c.block && bytes < others {
				return noMemory(bytes, c.block, c.free)
			}
			return nil
		}
		for range 2 {
			if _, err := tr.Step(0.01); err != nil && c.launches > 0 {
				t.Fatal(err)
			}
		}
		if c.launches > 0 {
			bits[parameterBits(tr)] = true
		}
		if n := f.launched["gradients"]; n != c.launches {
			t.Errorf("%+v: gradients are launched %d times", c, n)
		}
	}
	if len(bits) != 1 {
		t.Error("the number of replicas matters")
	}
}

func TestPTXThatCannotBeLoaded(t *testing.T) {
	m := toyOnGPU()
	m.GPU.PTX = "rubbish"
	s := call(t, m, "", "bench", "--device", "sim")
	if s.code != 1 || !strings.Contains(s.err, "the model's kernels cannot be loaded on simulated sm_80: load PTX: CUDA_ERROR_INVALID_PTX (218)\nsim: load: line 1") {
		t.Errorf("exit %d\n%s", s.code, s.err)
	}
	f := &faulty{Driver: simulatedGPU(t), load: func(string) error {
		return &cuda.Error{Code: cuda.UnsupportedPTXVersion, Name: "CUDA_ERROR_UNSUPPORTED_PTX_VERSION", Doing: "load PTX", Log: "ptxas fatal: Unsupported .version 7.8",
			Help: "update the driver"}
	}}
	m = toyOnGPU()
	dir := filepath.Join(t.TempDir(), "run")
	s = callGPU(t, m, func() (cuda.Driver, error) { return f, nil }, "train", "--out", dir, "--device", "cuda")
	if s.code != 1 || !strings.Contains(s.err, "UNSUPPORTED_PTX_VERSION (222)\nptxas fatal: Unsupported .version 7.8\nupdate the driver") {
		t.Errorf("exit %d\n%s", s.code, s.err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Error("there is a run directory although nothing can be trained")
	}
	m.GPU.Kernels[toyUpdate].Scalars[0] = "Q"
	s = call(t, m, "", "bench", "--device", "sim")
	if s.code != 1 || !strings.Contains(s.err, `kernel update: no parameter of a launch is called "Q": build the program again, for this version of the runtime`) {
		t.Errorf("exit %d\n%s", s.code, s.err)
	}
	m = toyOnGPU()
	m.GPU.Kernels[toyUpdate].Name = "downdate"
	s = call(t, m, "", "bench", "--device", "sim")
	if s.code != 1 || !strings.Contains(s.err, "find kernel downdate: CUDA_ERROR_NOT_FOUND") {
		t.Errorf("exit %d\n%s", s.code, s.err)
	}
}
