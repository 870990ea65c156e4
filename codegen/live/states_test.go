package live_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/arithlang/mlc/codegen/live"
	"github.com/arithlang/mlc/runtime/ckpt"
	"github.com/arithlang/mlc/runtime/cuda/sim"
	"github.com/arithlang/mlc/runtime/cuda/simulated"
	trainer "github.com/arithlang/mlc/runtime/train"
)

// TestStatesAreSaved has in a checkpoint, of every parameter, what the optimizer keeps
// of it and nothing else, and goes on from there to the same bytes.
func TestStatesAreSaved(t *testing.T) {
	for optimizer, states := range map[string][]string{
		"adamw": {"moment1", "moment2"}, "lion": {"momentum"}, "muon": {"moment1", "moment2"},
	} {
		t.Run(optimizer, func(t *testing.T) {
			m, err := live.New(compile(t, "tiny", []string{"train.optimizer=" + optimizer, "train.batch=2"}))
			if err != nil {
				t.Fatal(err)
			}
			saved, _ := trained(t, m, nil, 2)
			_, want := trained(t, m, nil, 3)
			from, err := trainer.Read(saved)
			if err != nil {
				t.Fatal(err)
			}
			if _, got := trained(t, m, from, 1); !bytes.Equal(got, want) {
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

// trained trains on a simulated GPU, from the start or a checkpoint on, and saves.
func trained(t *testing.T, m *live.Model, from *trainer.Checkpoint, n int) (path string, file []byte) {
	t.Helper()
	tr := simulatedTrainer(t, m)
	tr.Dir = t.TempDir()
	if from != nil {
		tr.Dir = filepath.Dir(filepath.Dir(from.Path))
		if err := tr.Resume(from); err != nil {
			t.Fatal(err)
		}
	}
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

// simulatedTrainer is ready for the first step on a simulated GPU.
func simulatedTrainer(t *testing.T, m *live.Model) *trainer.Trainer {
	t.Helper()
	driver, err := simulated.Open(sim.Options{})
	if err != nil {
		t.Fatal(err)
	}
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
