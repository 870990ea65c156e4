package live_test

import (
	"math"
	"testing"

	"github.com/arithlang/mlc/codegen/live"
	"github.com/arithlang/mlc/internal/full"
	"github.com/arithlang/mlc/ptxsim"
	"github.com/arithlang/mlc/runtime/cuda"
	"github.com/arithlang/mlc/runtime/device"
	"github.com/arithlang/mlc/sim/simulated"
)

// listener records the products of a Multiplier.
type listener struct {
	*simulated.Multiplier
	products []cuda.Product
}

func (l *listener) Multiply(p *cuda.Product) error {
	l.products = append(l.products, *p)
	return l.Multiplier.Multiply(p)
}

// TestProductsOfALibrary trains on the simulated GPU with the kernels' products and with a
// library's, which sums in float64. Gradients are the same up to rounding. Values rounded to BF16
// in between may differ by one unit in the last place, and so may all that depends on them.
func TestProductsOfALibrary(t *testing.T) {
	for _, c := range full.Some([]struct {
		name, spec string
		set        []string
		off        float64 // error allowed, relative to the largest gradient
		batches    bool    // replicas with equally many rows, or sets, are one product
		narrow     bool
	}{
		{"replicas", "tiny", []string{"train.batch=8", "train.microbatch=2"}, 1e-5, true, false},
		{"narrow", "small/looped", []string{"train.batch=2", "train.microbatch=2", "task.operands=digits(1..6)", "model.width=32", "model.heads=2", "model.ffn=geglu(hidden = 64)", "model.head=none", "train.precision=bf16"}, 0x1p-6, false, true},
		{"sets", "successor", []string{"train.batch=2", "train.microbatch=2", "model.width=32", "model.ffn=relu(hidden = 64)"}, 1e-5, true, false},
	}, 2) {
		t.Run(c.name, func(t *testing.T) {
			m, err := live.New(compile(t, c.spec, c.set))
			if err != nil {
				t.Fatal(err)
			}
			want, _, _ := gradients(t, m, false)
			got, library, _ := gradients(t, m, true)
			largest := 0.0
			for _, g := range want {
				largest = max(largest, math.Abs(float64(g)))
			}
			differ := false
			for i := range want {
				if off := math.Abs(float64(want[i] - got[i])); !(off <= c.off*largest) {
					t.Fatalf("gradient %d is %g, with the library's products %g; the largest is %g", i, want[i], got[i], largest)
				}
				differ = differ || want[i] != got[i]
			}
			if !differ {
				t.Error("the library's products have the kernels' bits: nothing shows that they are used")
			}
			batches, narrow := false, false
			for _, p := range library.products {
				batches, narrow = batches || p.Batch > 1, narrow || p.Left.Narrow
			}
			if batches != c.batches || narrow != c.narrow {
				t.Errorf("batches: %t, narrow factors: %t of %d products", batches, narrow, len(library.products))
			}
		})
	}
}

// gradients returns the gradients of the first step.
func gradients(t *testing.T, m *live.Model, by bool) ([]float32, *listener, *cuda.Machine) {
	t.Helper()
	driver, err := gpus.Open(ptxsim.Options{})
	if err != nil {
		t.Fatal(err)
	}
	library := &listener{Multiplier: simulated.NewMultiplier(driver)}
	var multiplier cuda.Multiplier
	if by {
		multiplier = library
	}
	machine, err := m.Multiplied(driver, multiplier)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { machine.Close() })
	trainer, err := m.Trainer(machine)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := trainer.Step(m.Train.LR); err != nil {
		t.Fatal(err)
	}
	grads := make([]float32, m.Plan.NumParams)
	machine.Root().GetFloats(grads, device.Ref{Space: device.Grads})
	if err := machine.Err(); err != nil {
		t.Fatal(err)
	}
	return grads, library, machine
}

// TestProductsAreRecorded repeats steps of one shape. Once they are a graph, the library is not
// called. When the Multiplier is off, a step uses the kernels' products.
func TestProductsAreRecorded(t *testing.T) {
	m, err := live.New(compile(t, "tiny", []string{"train.batch=4", "train.microbatch=4"}))
	if err != nil {
		t.Fatal(err)
	}
	_, library, machine := gradients(t, m, true)
	trainer, err := m.Trainer(machine)
	if err != nil {
		t.Fatal(err)
	}
	var calls []int
	step := func() {
		if _, err := trainer.Step(m.Train.LR); err != nil {
			t.Fatal(err)
		}
		calls = append(calls, library.Calls)
	}
	for range 5 {
		step()
	}
	if calls[0] == 0 || calls[3] == calls[0] || calls[4] != calls[3] {
		t.Errorf("calls of the library after each step: %v", calls)
	}
	machine.Multiply(false)
	step()
	if calls[5] != calls[4] {
		t.Error("the library computes products that it is not asked for")
	}
}
