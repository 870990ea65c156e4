package lanes_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/arithlang/mlc/compiler/kernel"
	"github.com/arithlang/mlc/compiler/kernel/kerneltest"
	"github.com/arithlang/mlc/compiler/kernel/lanes"
	"github.com/arithlang/mlc/internal/full"
)

// TestRandom compares each lane of random kernels of many models with the kernel of one.
func TestRandom(t *testing.T) {
	made := 0
	kernels := full.Either(110, 200)
	for seed := range uint64(kernels) {
		k := kerneltest.Random(seed)
		many, err := lanes.Of(k, 5)
		if err != nil {
			if !strings.Contains(err.Error(), "16 bits") && !strings.Contains(err.Error(), "rounded") && !strings.Contains(err.Error(), "each model") {
				t.Error(err)
			}
			continue
		}
		made++
		one, err := kernel.NewRunner(k, nil)
		if err != nil {
			t.Fatal(err)
		}
		all, err := kernel.NewRunner(many, nil)
		if err != nil {
			t.Fatalf("%v in\n%s", err, many)
		}
		for _, s := range kerneltest.Launches() {
			if err := compare(k, many, one, all, s, seed, 5); err != nil {
				t.Fatalf("%v: %v\n%s%s", s, err, k, many)
			}
		}
	}
	if made < kernels/2 {
		t.Errorf("only %d kernels are of many models", made)
	}
}

// compare compares the kernel of n models with n launches of the kernel of one.
func compare(k, many *kernel.Kernel, one, all *kernel.Runner, s kernel.Scalars, seed uint64, n int) error {
	s = k.Suited(s)
	var starts, ends [][]kernel.Buffer
	for m := range n {
		start, end, err := kerneltest.InterpretBy(one, k, s, kerneltest.Signed, seed*uint64(n)+uint64(m))
		if errors.Is(err, kerneltest.ErrNotFor) {
			return nil
		}
		if err != nil {
			return err
		}
		if m > 0 { // all models share integers
			for i := range start {
				start[i].I = starts[0][i].I
				end[i] = start[i].Clone()
			}
			if err := one.Run(s, end); err != nil {
				return err
			}
		}
		starts, ends = append(starts, start), append(ends, end)
	}
	got, want := join(starts), join(ends)
	if err := all.Run(s, got); err != nil {
		return fmt.Errorf("of many models: %w", err)
	}
	for i := range want {
		if err := kerneltest.Differ(many.Params[i].Name, got[i], want[i]); err != nil {
			return err
		}
	}
	return nil
}

// join interleaves the buffers of models.
func join(of [][]kernel.Buffer) []kernel.Buffer {
	out := make([]kernel.Buffer, len(of[0]))
	for i := range out {
		out[i] = of[0][i].Clone()
		if of[0][i].F == nil {
			continue
		}
		out[i].F = nil
		for e := range of[0][i].F {
			for m := range of {
				out[i].F = append(out[i].F, of[m][i].F[e])
			}
		}
	}
	return out
}

// TestOwn turns a scalar in Own into a buffer.
func TestOwn(t *testing.T) {
	k, err := kernel.Parse("kernel scaled map\n  in x f32[N]\n  out y f32[N]\n  scalar N, clip\n  grid r < N\n\n  set y[r] = x[r] * clip\nend\n")
	if err != nil {
		t.Fatal(err)
	}
	many, err := lanes.Of(k[0], 2)
	if err != nil {
		t.Fatal(err)
	}
	if err := kernel.Verify(many); err != nil {
		t.Fatal(err)
	}
	buffers := []kernel.Buffer{{F: []float32{1, 2, 3, 4}}, {F: make([]float32, 4)}, {F: []float32{10, 100}}}
	if err := kernel.RunSums(many, kernel.Scalars{"N": 2}, buffers, nil); err != nil {
		t.Fatal(err)
	}
	if err := kerneltest.Differ("y", buffers[1], kernel.Buffer{F: []float32{10, 200, 30, 400}}); err != nil {
		t.Error(err)
	}
}

// TestRefused wants an error that names a condition or bound that models do not share.
func TestRefused(t *testing.T) {
	for text, want := range map[string]string{
		"  if x[0] < 1.0\n    set y[0] = 2.0\n  end\n":                          "a condition, x[0] < 1.0, may be another for each model",
		"  let n = i32(x[0])\n  for i = 0 until n\n    set y[0] = 2.0\n  end\n": "where a loop ends, n, may be another for each model",
	} {
		ks, err := kernel.Parse("kernel odd map\n  in x f32[1]\n  out y f32[1]\n\n" + text + "end\n")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := lanes.Of(ks[0], 8); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
