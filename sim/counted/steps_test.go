package counted_test

import (
	"errors"
	"runtime"
	"testing"
)

// idle is a machine without work.
type idle struct{ err error }

func (m idle) Err() error { return m.err }

func TestSteps(t *testing.T) {
	r := newRig(t)
	r.must(r.launch(1, 1, 1, 0)) // before the first step: not counted
	got, err := r.Steps("model", idle{}, 3, func() error { return errors.Join(r.launch(1000, 1, 1, 0), r.Synchronize()) })
	r.must(err)
	if got.Name != "model" || got.Steps != 3 || got.Launches != 1 || got.Waits != 1 || got.Host <= 0 || got.Kernels[0].Flops != 3000 {
		t.Errorf("%+v", got)
	}
	if all, err := r.Steps("model", idle{}, 0, func() error { return nil }); err != nil || all.Steps != 50 {
		t.Errorf("%d quick steps, %v", all.Steps, err)
	}
	broken := errors.New("broken")
	if _, err := r.Steps("model", idle{}, 1, func() error { return broken }); !errors.Is(err, broken) {
		t.Errorf("a step that fails: %v", err)
	}
	if _, err := r.Steps("model", idle{broken}, 1, func() error { return nil }); !errors.Is(err, broken) {
		t.Errorf("a machine that failed before: %v", err)
	}
}

// TestGrowth has steps that keep 8 MiB each, and steps that keep nothing.
func TestGrowth(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("resident memory is known on Linux")
	}
	const size, steps = 8 << 20, 9
	r := newRig(t)
	var kept [][]byte
	got, err := r.Steps("model", idle{}, steps, func() error {
		mem := make([]byte, size)
		for i := range mem {
			mem[i] = 1
		}
		kept = append(kept, mem)
		return nil
	})
	r.must(err)
	if want := int64(size * (steps - 1)); got.Growth < want*9/10 || got.Growth > want*3/2 {
		t.Errorf("it grew by %d bytes, %d are kept since the first step", got.Growth, want)
	}
	runtime.KeepAlive(kept)
	if got, err = r.Steps("model", idle{}, steps, func() error {
		clear(make([]byte, size))
		return nil
	}); err != nil || got.Growth > size {
		t.Errorf("nothing is kept, and it grew by %d bytes, %v", got.Growth, err)
	}
}
