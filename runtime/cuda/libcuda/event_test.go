//go:build !nogpu && linux && (amd64 || arm64)

package libcuda_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/arithlang/mlc/runtime/cuda"
	"github.com/arithlang/mlc/runtime/cuda/libcuda"
	"github.com/arithlang/mlc/runtime/cuda/libcuda/fakecuda"
)

func event(t *testing.T, d cuda.Driver) cuda.Event {
	t.Helper()
	e, err := d.NewEvent()
	ok(t, err)
	return e
}

// TestEvents reads the fake driver's clock: a kernel takes a microsecond for each block.
func TestEvents(t *testing.T) {
	d, lib := open(t)
	f := function(t, d, "none")
	a, b, c := event(t, d), event(t, d), event(t, d)
	ok(t, a.Record(), f.Launch([3]int{250, 1, 1}, one, 0, nil), b.Record(), f.Launch([3]int{2, 3, 4}, one, 0, nil), c.Record())
	if n := len(lib.Launches()); n != 0 {
		t.Errorf("recording waited: %d kernels have run", n)
	}
	for _, test := range []struct {
		name       string
		start, end cuda.Event
		want       time.Duration
	}{
		{"first kernel", a, b, 250 * time.Microsecond}, {"second", b, c, 24 * time.Microsecond},
		{"both", a, c, 274 * time.Microsecond}, {"backwards", c, a, -274 * time.Microsecond}, {"nothing", a, a, 0},
	} {
		if got, err := test.end.Since(test.start); err != nil || got != test.want {
			t.Errorf("%s: %v, %v, want %v", test.name, got, err, test.want)
		}
	}
	ok(t, a.Record()) // forgets the earlier mark
	if got, err := a.Since(c); err != nil || got != 0 {
		t.Errorf("recorded again: %v, %v", got, err)
	}
	ok(t, f.Launch(one, one, 0, nil), b.Record(), b.Close(), b.Close()) // the driver's Close frees c
}

// TestEventsOfOthers uses events that were not recorded, are closed, or belong to another driver.
func TestEventsOfOthers(t *testing.T) {
	d, _ := open(t)
	recorded, fresh, closed := event(t, d), event(t, d), event(t, d)
	ok(t, recorded.Record(), closed.Record(), closed.Close())
	const handle = 400
	for name, call := range map[string]func() error{
		"record a closed one":    closed.Record,
		"from a fresh one":       func() error { _, err := recorded.Since(fresh); return err },
		"to a fresh one":         func() error { _, err := fresh.Since(recorded); return err },
		"from a closed one":      func() error { _, err := recorded.Since(closed); return err },
		"from none":              func() error { _, err := recorded.Since(nil); return err },
		"to a closed one":        func() error { _, err := closed.Since(recorded); return err },
		"from another interface": func() error { _, err := recorded.Since(foreign{recorded}); return err },
	} {
		if err := call(); !isCode(err, handle) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

type foreign struct{ cuda.Event }

// TestEventsFail makes one function after another fail. The error names the action, and everything
// can still be freed.
func TestEventsFail(t *testing.T) {
	for _, test := range []struct{ function, want string }{
		{"cuEventCreate", "make an event: CUDA_ERROR_OUT_OF_MEMORY"},
		{"cuEventRecord", "record an event: CUDA_ERROR_OUT_OF_MEMORY"},
		{"cuEventSynchronize", "ask for the time between two events: CUDA_ERROR_OUT_OF_MEMORY"},
		{"cuEventElapsedTime", "ask for the time between two events: CUDA_ERROR_OUT_OF_MEMORY"},
		{"cuEventDestroy_v2", "free an event: CUDA_ERROR_OUT_OF_MEMORY"},
	} {
		t.Run(test.function, func(t *testing.T) {
			d, lib := open(t)
			lib.Fail(test.function, 2, 0)
			err := useEvents(d)
			if !isCode(err, cuda.OutOfMemory) || !strings.HasPrefix(err.Error(), test.want) {
				t.Errorf("got %v, want %s", err, test.want)
			}
			ok(t, useEvents(d))
		})
	}
}

// useEvents calls every function once and stops at the first error.
func useEvents(d cuda.Driver) error {
	e, err := d.NewEvent()
	if err != nil {
		return err
	}
	if err := e.Record(); err != nil {
		return err
	}
	if _, err := e.Since(e); err != nil {
		return err
	}
	return e.Close()
}

// TestEventsOfALostDevice waits for a kernel that fails.
func TestEventsOfALostDevice(t *testing.T) {
	lib := fakecuda.Build(t)
	d, err := libcuda.Open(libcuda.Options{Library: lib.Path})
	ok(t, err)
	a, b := event(t, d), event(t, d)
	f := function(t, d, "none")
	lib.Poison(719)
	ok(t, a.Record(), f.Launch(one, one, 0, nil), b.Record())
	_, first := b.Since(a)
	if !isCode(first, cuda.LaunchFailed) || !strings.Contains(first.Error(), "one of the kernels that were running failed: none") {
		t.Fatalf("got %v", first)
	}
	_, made := d.NewEvent()
	for call, err := range map[string]error{"NewEvent": made, "Record": a.Record(), "Close of an event": a.Close(), "Close": d.Close()} {
		if !errors.Is(err, first) {
			t.Errorf("%s on a lost device: %v", call, err)
		}
	}
}

// TestFactsAreOptional opens a device whose driver does not know an attribute.
func TestFactsAreOptional(t *testing.T) {
	lib := fakecuda.Build(t)
	const required = 5 // attributes
	lib.Fail("cuDeviceGetAttribute", 1, required)
	d, err := libcuda.Open(libcuda.Options{Library: lib.Path})
	ok(t, err)
	if i := d.Info(); i.Clock != 0 || i.MemoryClock != 1215000 || i.Place != 1<<16|7<<8+1 {
		t.Errorf("%+v", i)
	}
	ok(t, d.Close())
	lib.Fail("cuDeviceGetAttribute", 101, required+2)
	if _, err := libcuda.Open(libcuda.Options{Library: lib.Path}); !isCode(err, cuda.InvalidDevice) {
		t.Errorf("got %v", err)
	}
}
