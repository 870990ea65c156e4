package live_test

import (
	"bytes"
	"errors"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/arithlang/mlc/codegen/live"
	"github.com/arithlang/mlc/internal/full"
	"github.com/arithlang/mlc/ptxsim"
	"github.com/arithlang/mlc/runtime/ckpt"
	"github.com/arithlang/mlc/runtime/cuda"
	"github.com/arithlang/mlc/runtime/device"
	trainer "github.com/arithlang/mlc/runtime/train"
	"github.com/arithlang/mlc/sim/simulated"
)

// TestStatesAreSaved checks that a checkpoint has exactly the optimizer's states of every
// parameter. A run that resumes from it gives the same bytes.
func TestStatesAreSaved(t *testing.T) {
	for _, c := range full.Some([]struct {
		optimizer, average, grokfast string
		states                       []string
		more                         []string
	}{
		{"adamw", "none", "none", []string{"moment1", "moment2"}, nil},
		{"lion", "none", "none", []string{"momentum"}, nil},
		{"sgd", "none", "ema()", []string{"slow", "momentum"}, nil},
		{"muon", "none", "none", []string{"moment1", "moment2"}, nil},
		{"lion", "ema()", "none", []string{"average", "momentum"}, nil},
		{"muon", "ema()", "none", []string{"average", "moment1", "moment2"}, nil},
		{"lion", "none", "ema()", []string{"slow", "momentum"}, nil},
		{"muon", "ema()", "ema()", []string{"slow", "average", "moment1", "moment2"}, nil},
		{"muon", "none", "ema()", []string{"slow", "moment1", "moment2"}, []string{"model.decoder.layers=2", "model.decoder.share=attention", "model.decoder.self.key_heads=1", "model.ffn=relu(hidden = 24, out = transposed(in))"}},
	}, 2) {
		states := c.states
		t.Run(strings.Join(append([]string{c.optimizer, c.average, c.grokfast}, c.more...), ", "), func(t *testing.T) {
			m, err := live.New(compile(t, "tiny", append(c.more, "train.optimizer="+c.optimizer, "train.average="+c.average, "train.grokfast="+c.grokfast, "train.batch=2", "train.clip=0.1")))
			if err != nil {
				t.Fatal(err)
			}
			saving, whole := simulatedTrainer(t, m), simulatedTrainer(t, m)
			saving.Dir, whole.Dir = t.TempDir(), t.TempDir()
			saved, _ := trained(t, saving, 2)
			_, want := trained(t, whole, 3)
			from, err := trainer.Read(saved)
			if err != nil {
				t.Fatal(err)
			}
			resumed := simulatedTrainer(t, m)
			resumed.Dir = saving.Dir
			if err := resumed.Resume(from); err != nil {
				t.Fatal(err)
			}
			if _, got := trained(t, resumed, 1); !bytes.Equal(got, want) {
				t.Error("a step after two that were saved leads to other bytes than three in a row")
			}

			f, err := ckpt.Read(saved)
			if err != nil {
				t.Fatal(err)
			}
			var names, wanted []string
			for _, tensor := range f.Tensors {
				names = append(names, tensor.Name)
				if slices.Max(tensor.Data) == 0 && slices.Min(tensor.Data) == 0 && !strings.HasSuffix(tensor.Name, ".b") {
					t.Errorf("%s is 0", tensor.Name)
				}
			}
			for _, prefix := range append([]string{""}, states...) {
				for _, p := range m.Params {
					if p.Matrix && prefix == "moment2" {
						continue
					}
					wanted = append(wanted, strings.TrimPrefix(prefix+"."+p.Name, "."))
				}
			}
			if !slices.Equal(names, wanted) {
				t.Errorf("tensors %q, want %q", names, wanted)
			}
		})
	}
}

// TestAverage averages the parameters after each step in float64, and compares with the training's
// average of elements and matrices. The decay is reached after two steps. The parameters have the
// bits of a training without an average.
func TestAverage(t *testing.T) {
	for _, optimizer := range full.Some([]string{"muon", "adamw"}, 1) {
		t.Run(optimizer, func(t *testing.T) {
			set := []string{"train.optimizer=" + optimizer, "train.batch=2"}
			without, err := live.New(compile(t, "tiny", set))
			if err != nil {
				t.Fatal(err)
			}
			m, err := live.New(compile(t, "tiny", append(set, "train.average=ema(decay = 0.15)")))
			if err != nil {
				t.Fatal(err)
			}
			steps := full.Either(3, 4)
			a, b := simulatedTrainer(t, m), simulatedTrainer(t, without)
			want := make([]float64, m.Plan.NumParams)
			params, plain, got := make([]float32, len(want)), make([]float32, len(want)), make([]float32, len(want))
			for n := range steps {
				for _, tr := range []*trainer.Trainer{a, b} {
					if _, err := tr.Step(0.01); err != nil {
						t.Fatal(err)
					}
				}
				a.Machine.Root().GetFloats(params, device.Ref{Space: device.Params})
				b.Machine.Root().GetFloats(plain, device.Ref{Space: device.Params})
				if err := errors.Join(a.Machine.Err(), b.Machine.Err()); err != nil || !slices.Equal(params, plain) {
					t.Fatalf("after step %d the parameters are not those without an average: %v", n+1, err)
				}
				share := min(0.15, float64(n)/float64(n+9))
				for i, x := range params {
					want[i] = share*want[i] + (1-share)*float64(x)
				}
			}
			a.Machine.Root().GetFloats(got, device.Ref{Space: m.Plan.Average()})
			if err := a.Machine.Err(); err != nil {
				t.Fatal(err)
			}
			moved := 0
			for i, x := range got[:device.Trained(m.Params, len(got))] {
				if math.Abs(float64(x)-want[i]) > 1e-6*max(math.Abs(want[i]), 1e-3) {
					t.Fatalf("average %d is %g, want %g", i, x, want[i])
				}
				if x != params[i] {
					moved++
				}
			}
			if moved < len(got)/2 {
				t.Errorf("%d of %d averages differ from the last parameters", moved, len(got))
			}
			if err := a.WithAverage(func() error {
				a.Machine.Root().GetFloats(plain, device.Ref{Space: device.Params})
				return a.Machine.Err()
			}); err != nil || !slices.Equal(plain, got) {
				t.Errorf("the parameters are not the average: %v", err)
			}
			if a.Machine.Root().GetFloats(plain, device.Ref{Space: device.Params}); !slices.Equal(plain, params) {
				t.Error("the parameters do not come back")
			}
		})
	}
}

// trained takes steps and saves a checkpoint.
func trained(t *testing.T, tr *trainer.Trainer, n int) (path string, file []byte) {
	t.Helper()
	for range n {
		if _, err := tr.Step(0.01); err != nil {
			t.Fatal(err)
		}
	}
	path, err := tr.Save()
	if err != nil {
		t.Fatal(err)
	}
	if file, err = os.ReadFile(path); err != nil {
		t.Fatal(err)
	}
	return path, file
}

// gpus are the devices of all tests, most of which load the same few programs again and again.
var gpus simulated.Library

// simulatedTrainer returns a trainer that is ready for the first step on a simulated GPU.
func simulatedTrainer(t *testing.T, m *live.Model) *trainer.Trainer {
	t.Helper()
	driver, err := gpus.Open(ptxsim.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return trainerOn(t, m, driver)
}

func trainerOn(t *testing.T, m *live.Model, driver cuda.Driver) *trainer.Trainer {
	t.Helper()
	machine, err := m.Machine(driver)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { machine.Close() })
	tr, err := m.Trainer(machine)
	if err != nil {
		t.Fatal(err)
	}
	return tr
}
