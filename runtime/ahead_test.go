package runtime

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/arithlang/mlc/runtime/cpu"
	"github.com/arithlang/mlc/runtime/cuda"
	"github.com/arithlang/mlc/runtime/device"
	"github.com/arithlang/mlc/runtime/processor"
	"github.com/arithlang/mlc/runtime/track"
	"github.com/arithlang/mlc/runtime/train"
)

// diverges is a learning rate at which the toy's loss soon is NaN or infinite.
const diverges = 1e18

// TestStepThatIsNotFinite queues steps far beyond the failing one. All devices report the same,
// whether or not each step is waited for, and keep the state before the failing step.
func TestStepThatIsNotFinite(t *testing.T) {
	m := toyOnGPU()
	m.Train.Batch, m.Train.MicroBatch = 48, 16
	type end struct {
		text, bits string
		state      train.State
	}
	last := func(tr *train.Trainer, step func() error) end {
		for range 10 {
			if err := step(); err != nil {
				return end{err.Error(), parameterBits(tr), tr.State}
			}
		}
		_, err := tr.Wait()
		if err == nil {
			t.Fatal("all steps are finite")
		}
		return end{err.Error(), parameterBits(tr), tr.State}
	}
	onCPU := trainerOf(t, m, processor.New(m.CPU, cpu.Go, 2, &m.Plan))
	before := onCPU.State
	bits := parameterBits(onCPU)
	want := last(onCPU, func() error {
		before, bits = onCPU.State, parameterBits(onCPU)
		_, err := onCPU.Step(diverges)
		return err
	})
	if want.state != before || want.bits != bits || want.state.Step < 1 || !strings.Contains(want.text, "is not a finite number (loss ") {
		t.Fatalf("after step %d: %s, State %+v, want %+v", before.Step, want.text, want.state, before)
	}
	for name, waits := range map[string]bool{"waiting": true, "ahead": false} {
		for on, tr := range map[string]*train.Trainer{
			"cpu": trainerOf(t, m, processor.New(m.CPU, cpu.Go, 2, &m.Plan)),
			"sim": trainerOf(t, m, newToyGPU(t, &m, simulatedGPU(t))),
		} {
			got := last(tr, func() error {
				err := tr.Enqueue(diverges)
				if waits && err == nil {
					_, err = tr.Wait()
				}
				return err
			})
			if got != want {
				t.Errorf("%s, %s: %s, %+v, want %s, %+v; equal parameters: %t", on, name, got.text, got.state, want.text, want.state, got.bits == want.bits)
			}
			// The error is reported only once.
			tr.Dir = t.TempDir()
			path, err := tr.Save()
			if err != nil {
				t.Fatal(err)
			}
			if c, err := train.Read(path); err != nil || c.State.Step != before.Step {
				t.Errorf("%s, %s: the checkpoint is %s, %v", on, name, path, err)
			}
		}
	}
}

// TestRunThatIsNotFinite trains in runs whose reports are some steps apart.
func TestRunThatIsNotFinite(t *testing.T) {
	m := toyOnGPU()
	m.Train.Batch, m.Train.MicroBatch, m.Train.LR, m.Train.Schedule = 16, 16, diverges, "constant"
	m.Train.Report.Every = 100
	var said []string
	for _, on := range []string{"cpu", "sim"} {
		dir := filepath.Join(t.TempDir(), "run")
		s := call(t, m, "", "train", "--out", dir, "--steps", "100", "--device", on, "-q")
		if s.code != 1 || !strings.Contains(s.err, "is not a finite number") {
			t.Fatalf("%s: exit %d\n%s", on, s.code, s.err)
		}
		said = append(said, strings.ReplaceAll(s.err, dir, "DIR"))
	}
	if !strings.HasSuffix(said[1], said[0]) { // the GPU's run first says that it is a simulator
		t.Errorf("on the processor:\n%son a GPU:\n%s", said[0], said[1])
	}
}

// TestInterruptedAhead interrupts a run that waits for no step. Its checkpoint is one of the
// uninterrupted run's.
func TestInterruptedAhead(t *testing.T) {
	m := toyOnGPU()
	m.Train.Batch, m.Train.MicroBatch, m.Train.Report.Every = 16, 16, 100
	m.Train.Budget = train.Budget{Steps: 9}
	stop := errors.New("stop")
	for at := 1; at <= 8; at += 3 {
		ctx, cancel := context.WithCancelCause(t.Context())
		f := &faulty{Driver: simulatedGPU(t), noCapture: &cuda.Error{Code: cuda.CaptureUnsupported}}
		f.launch = func(name string, n int) error {
			if name == "sum_squares" && n == at {
				cancel(stop)
			}
			return nil
		}
		tr := trainerOf(t, m, newToyGPU(t, &m, f))
		tr.Dir, tr.Status = t.TempDir(), track.NewStatus(os.Stderr, true)
		if err := tr.Run(ctx); !errors.Is(err, stop) || tr.State.Step != at {
			t.Fatalf("%v after step %d, want it after step %d", err, tr.State.Step, at)
		}
		other := trainerOf(t, m, processor.New(m.CPU, cpu.Go, 1, &m.Plan))
		other.Dir, other.Status = t.TempDir(), tr.Status
		ctx, cancel = context.WithCancelCause(t.Context())
		other.Machine = &cancelling{Machine: other.Machine, left: at, cancel: func() { cancel(stop) }}
		if err := other.Run(ctx); !errors.Is(err, stop) {
			t.Fatal(err)
		}
		got, err := os.ReadFile(lastCheckpoint(tr.Dir))
		want, err2 := os.ReadFile(lastCheckpoint(other.Dir))
		if err = errors.Join(err, err2); err != nil || !bytes.Equal(got, want) {
			t.Errorf("stopped after step %d: another checkpoint than the processor's (%v)", at, err)
		}
	}
}

// cancelling cancels a context in the last of some steps.
type cancelling struct {
	device.Machine
	left   int
	cancel func()
}

func (c *cancelling) Later(work, done func()) error {
	if c.left--; c.left == 0 {
		c.cancel()
	}
	return c.Machine.Later(work, done)
}
