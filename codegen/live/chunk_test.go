package live_test

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"testing"

	"github.com/arithlang/mlc/codegen/live"
	"github.com/arithlang/mlc/internal/full"
	"github.com/arithlang/mlc/ptxsim"
	"github.com/arithlang/mlc/runtime/cuda"
	"github.com/arithlang/mlc/runtime/device"
)

// TestChunks adds up the gradients of a batch in chunks of different sizes. The size that auto
// chooses gives auto's bits when a spec names it. Other sizes sum in another order and differ only
// by rounding. One model shares no draws. In the other, examples share Abacus offsets, recurrences
// and a table of learned biases.
func TestChunks(t *testing.T) {
	for _, c := range []struct {
		spec string
		set  []string
	}{
		{"tiny", []string{"train.batch=7", "train.microbatch=auto"}},
		{"small/looped", []string{"model.width=16", "model.heads=2", "model.ffn=geglu(hidden = 16)", "model.head=none", "model.decoder_only.layers=1", "model.decoder_only.times=3",
			"task.operands=digits(1..3)", "train.batch=7", "train.microbatch=4", "train.loss=progressive(alpha = 0.5)", "model.decoder_only.self.bias=fire(hidden = 4)"}},
	} {
		gradients := func(chunk string) ([]float32, int) {
			m, err := live.New(compile(t, c.spec, append(slices.Clone(c.set), "train.clip=none", "train.chunk="+chunk)))
			if err != nil {
				t.Fatal(err)
			}
			tr := simulatedTrainer(t, m)
			if _, err := tr.Step(0.01); err != nil {
				t.Fatal(err)
			}
			grads := make([]float32, device.Trained(m.Params, m.Plan.NumParams))
			tr.Machine.Root().GetFloats(grads, device.Ref{Space: device.Grads})
			if err := tr.Machine.Err(); err != nil {
				t.Fatal(err)
			}
			return grads, m.Train.Chunk
		}
		auto, chosen := gradients("auto")
		if got, _ := gradients(strconv.Itoa(chosen)); !slices.Equal(got, auto) {
			t.Errorf("%s: chunks of auto's size %d, and not its bits: %s", c.spec, chosen, differing(got, auto))
		}
		most := 0.0
		for _, g := range auto {
			most = max(most, math.Abs(float64(g)))
		}
		for _, chunk := range full.Some([]int{3, 1, 7}, 1) {
			got, cut := gradients(fmt.Sprint(chunk))
			if cut != chunk || chunk == chosen || slices.Equal(got, auto) {
				t.Errorf("%s: chunks of %d are %d, and auto's %d", c.spec, chunk, cut, chosen)
			}
			for i, g := range got {
				if d := math.Abs(float64(g) - float64(auto[i])); !(d <= 1e-5*most) {
					t.Errorf("%s: with chunks of %d gradient %d is %g, and %g with auto", c.spec, chunk, i, g, auto[i])
					break
				}
			}
		}
	}
}

// TestChunksBesideGroups has chunks of 6 examples and groups of 4 that share draws. The GPU's
// largest launches give the parameters of launches of one example.
func TestChunksBesideGroups(t *testing.T) {
	m, err := live.New(compile(t, "small/looped", []string{"model.width=16", "model.heads=2", "model.ffn=geglu(hidden = 16)", "model.head=none", "model.decoder_only.layers=1",
		"task.operands=digits(1..4)", "train.batch=12", "train.microbatch=4"}))
	if err != nil {
		t.Fatal(err)
	}
	if m.Train.Chunk, m.Train.MicroBatch = 6, 1; m.Train.Group != 4 {
		t.Fatalf("%d examples share draws", m.Train.Group)
	}
	step := func(launches func(device.Machine) device.Machine) []float32 {
		tr := simulatedTrainer(t, m)
		tr.Machine = launches(tr.Machine)
		if _, err := tr.Step(0.01); err != nil {
			t.Fatal(err)
		}
		params := make([]float32, m.Plan.NumParams)
		tr.Machine.Root().GetFloats(params, device.Ref{Space: device.Params})
		return params
	}
	small := step(func(m device.Machine) device.Machine { return launching{Machine: m, examples: 1} })
	if large := step(func(m device.Machine) device.Machine { return m }); !slices.Equal(small, large) {
		t.Errorf("other parameters than with launches of one example: %s", differing(large, small))
	}
}

// scarce is a driver that always reports the same free memory.
type scarce struct {
	cuda.Driver
	free int64
}

func (s scarce) MemInfo() (free, total int64, err error) { return s.free, 0, nil }

// TestMemoryDoesNotMatter takes a step of chunks with different lengths and recurrences, with
// memory for one chunk, for a third and for all in one launch. Gradients and parameters have the
// same bits.
func TestMemoryDoesNotMatter(t *testing.T) {
	m, err := live.New(compile(t, "small/looped", []string{"model.width=16", "model.heads=2", "model.ffn=geglu(hidden = 16)", "model.head=none", "model.decoder_only.layers=1", "model.decoder_only.times=3",
		"task.operands=digits(1..6)", "train.batch=12", "train.microbatch=2", "train.chunk=2"}))
	if err != nil {
		t.Fatal(err)
	}
	step := func(free int64) (bits []float32, used int64) {
		d, err := gpus.Open(ptxsim.Options{})
		if err != nil {
			t.Fatal(err)
		}
		tr := trainerOn(t, m, scarce{d, free})
		if _, err := tr.Step(0.01); err != nil {
			t.Fatal(err)
		}
		n := m.Plan.NumParams
		bits = make([]float32, 2*n)
		tr.Machine.Root().GetFloats(bits[:n], device.Ref{Space: device.Params})
		tr.Machine.Root().GetFloats(bits[n:], device.Ref{Space: device.Grads})
		if err := tr.Machine.Err(); err != nil {
			t.Fatal(err)
		}
		left, total, err := d.MemInfo()
		if err != nil {
			t.Fatal(err)
		}
		return bits, total - left
	}
	want, least := step(0)
	all, most := step(1 << 30)
	third, some := step((most - least) * 2 / 5) // two of six
	if !(least < some && some < most) {
		t.Errorf("%d bytes are used with memory for one chunk, %d for a third of all and %d for all", least, some, most)
	}
	for _, got := range [][]float32{all, third} {
		if !slices.Equal(got, want) {
			t.Errorf("other gradients or parameters than with memory for one chunk: %s", differing(got, want))
		}
	}
}
