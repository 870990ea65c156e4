package runtime

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/arithlang/mlc/runtime/cpu"
	"github.com/arithlang/mlc/runtime/device"
	"github.com/arithlang/mlc/runtime/processor"
	"github.com/arithlang/mlc/runtime/program"
	"github.com/arithlang/mlc/runtime/world"
)

// TestTooLittleMemory refuses a run before anything is allocated or written, with advice.
func TestTooLittleMemory(t *testing.T) {
	const gib = 1 << 30
	m := toyModel()
	small, params := m.Plan.NumParams, m.Params
	m.Train.Batch = 256 // 16 chunks
	dir := filepath.Join(t.TempDir(), "run")
	for _, c := range []struct {
		params int
		states int
		update int // elements for the update of a matrix
		have   float64
		args   []string
		want   []string
	}{
		{768 * gib / 32, 2, 0, 22 * gib, []string{"train", "--out", dir, "--threads", "1"}, // 3 + 5 arenas of 4 bytes: for 16 chunks 4 levels and one
			[]string{"this needs 768 GiB of memory, and the machine has 22 GiB available: 768 GiB for parameters, gradients and moments", "for the activations of 1 thread;", "make the model smaller: model.width"}},
		{gib / 4, 2, gib / 4, 12 * gib, []string{"train", "--out", dir, "--threads", "16"}, []string{"19.2 GiB for parameters", "16 GiB for the activations", "it fits with --threads 2"}},
		{gib / 4, 2, 0, 12 * gib, []string{"train", "--out", dir, "--threads", "16"}, []string{"19.2 GiB for parameters", "it fits with --threads 4"}},
		{gib / 4, 2, 0, 12 * gib, []string{"train", "--out", dir, "--threads", "1024"}, []string{"19.2 GiB for parameters", "the activations of 16 threads", "it fits with --threads 4"}}, // no more have a chunk
		{gib / 4, 1, 0, 12 * gib, []string{"train", "--out", dir, "--threads", "16"}, []string{"18.2 GiB for parameters", "it fits with --threads 4"}},
		{1 << 60, 2, 0, 22 * gib, []string{"bench", "--threads", "1024"}, []string{"make the model smaller"}},
		{1 << 60, 2, 0, 22 * gib, []string{"eval", trained(t, m, "-q")}, []string{"make the model smaller"}},
		{small, 2, 0, 1 << 10, []string{"train", "--out", dir}, []string{"the machine has 1 KiB available: "}},
	} {
		m.Plan.NumParams, m.Plan.States = c.params, []string{"moment1", "moment2"}[:c.states]
		layout := func(*device.Env) device.Layout { return device.Layout{Work: c.update} }
		m.Plan.Matrices, m.Params = []device.Matrix{{Update: device.Program{Layout: layout}}}, params
		if c.update > 0 {
			m.Params = slices.Repeat([]device.Param{{Matrix: true}}, 16)
		}
		s := callApp(t, world.App{Model: m, In: strings.NewReader(""), Memory: func() (float64, string) { return c.have, "the machine" }}, append([]string{"./toy"}, c.args...))
		for _, want := range c.want {
			if !strings.Contains(s.err, want) {
				t.Errorf("%v: no %q in\n%s", c.args, want, s.err)
			}
		}
		if s.code != 1 {
			t.Errorf("%v: exit code %d", c.args, s.code)
		}
	}
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a run was begun: %v", err)
	}
}

// TestUncountableTensors refuses tensors that a 32-bit index does not reach, even if memory is
// large enough.
func TestUncountableTensors(t *testing.T) {
	for want, edit := range map[string]func(m *program.Model){
		"a tensor of parameters would have 2147483648 elements, and kernels count to 2147483647: make the model smaller": func(m *program.Model) { m.Plan.NumParams = 1 << 31 },
		"a tensor of a launch of training would have 2147483648 elements, and kernels count to 2147483647: make train.microbatch or the problems smaller": func(m *program.Model) {
			layout := m.Plan.Gradients.Layout
			m.Plan.Gradients.Layout = func(e *device.Env) device.Layout {
				l := layout(e)
				l.Largest = 1 << 31
				return l
			}
		},
	} {
		m := toyModel()
		edit(&m)
		dir := filepath.Join(t.TempDir(), "run")
		s := callApp(t, world.App{Model: m, In: strings.NewReader(""), Memory: func() (float64, string) { return 1 << 60, "the machine" }}, []string{"./toy", "train", "--out", dir})
		if !strings.Contains(s.err, want) || s.code != 1 {
			t.Errorf("exit code %d, no %q in\n%s", s.code, want, s.err)
		}
		if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("a run was begun: %v", err)
		}
	}
}

// TestUncountableTest refuses a test whose launches have such tensors.
func TestUncountableTest(t *testing.T) {
	m := toyModel()
	dir := trained(t, m, "-q")
	layout := m.Plan.Forward.Layout
	m.Plan.Forward.Layout = func(e *device.Env) device.Layout {
		l := layout(e)
		l.Largest = 1 << 31
		return l
	}
	s := callApp(t, world.App{Model: m, In: strings.NewReader(""), Memory: func() (float64, string) { return 1 << 60, "the machine" }}, []string{"./toy", "eval", dir, "--mode", "verify"})
	want := "a tensor of a launch of the test would have 2147483648 elements, and kernels count to 2147483647: test shorter problems"
	if !strings.Contains(s.err, want) || s.code != 1 {
		t.Errorf("exit code %d, no %q in\n%s", s.code, want, s.err)
	}
}

// TestNeeds compares the predicted memory with the workers' memory after some steps.
func TestNeeds(t *testing.T) {
	m := toyModel()
	n, err := world.Needs(&m, true)
	if err != nil {
		t.Fatal(err)
	}
	machine := processor.New(m.CPU, cpu.Go, 1, &m.Plan)
	trainer := trainerOf(t, m, machine)
	for range 3 {
		if _, err := trainer.Step(0.01); err != nil {
			t.Fatal(err)
		}
	}
	machine.Each(1, func(w device.Worker, _ int) {
		mem := w.(interface {
			F32(device.Ref) []float32
			I32(device.Ref) []int32
		})
		if got := world.ElemBytes * float64(len(mem.F32(device.Ref{Space: device.Work}))+len(mem.I32(device.Ref{}))); got != n.Work {
			t.Errorf("a worker has %v bytes, predicted were %v", got, n.Work)
		}
	})
	if want := world.ElemBytes * float64(m.Plan.NumParams); n.All(1) != (5+3)*want+n.Batch+n.Uses+n.Work {
		t.Errorf("needs %+v", n)
	}
}
