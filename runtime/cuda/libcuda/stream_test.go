//go:build !nogpu && linux && (amd64 || arm64)

package libcuda_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/arithlang/mlc/runtime/cuda"
	"github.com/arithlang/mlc/runtime/cuda/libcuda"
	"github.com/arithlang/mlc/runtime/cuda/libcuda/fakecuda"
)

// TestEnqueue checks that another library gets the stream, that its errors are returned, and that
// a lost device's error blames it with the kernels.
func TestEnqueue(t *testing.T) {
	lib := fakecuda.Build(t)
	d, err := libcuda.Open(libcuda.Options{Library: lib.Path})
	ok(t, err)
	s := d.(cuda.Streamer)
	var stream uintptr
	ok(t, s.Enqueue("library", func(handle uintptr) error {
		stream = handle
		return nil
	}))
	if stream == 0 {
		t.Error("the stream is the one that waits for all others")
	}
	refused := errors.New("refused")
	if err := s.Enqueue("another", func(uintptr) error { return refused }); !errors.Is(err, refused) {
		t.Error(err)
	}
	f := function(t, d, "none")
	lib.Poison(719)
	ok(t, f.Launch(one, one, 0, nil))
	if err := d.Synchronize(); err == nil || !strings.Contains(err.Error(), "library, none;") {
		t.Errorf("blamed: %v", err)
	}
	called := false
	if again := s.Enqueue("library", func(uintptr) error { called = true; return nil }); again == nil || called {
		t.Errorf("a lost device: %v", again)
	}
}

// TestBusy asks a device before and after its work ends, and a lost device.
func TestBusy(t *testing.T) {
	lib := fakecuda.Build(t)
	d, err := libcuda.Open(libcuda.Options{Library: lib.Path})
	ok(t, err)
	s := d.(cuda.Streamer)
	f := function(t, d, "none")
	for i, queued := range []bool{false, true, false} {
		if queued {
			ok(t, f.Launch(one, one, 0, nil))
		}
		if busy, err := s.Busy(); err != nil || busy != queued {
			t.Errorf("%d: busy %t, %v", i, busy, err)
		}
	}
	lib.Poison(719)
	ok(t, f.Launch(one, one, 0, nil))
	if busy, err := s.Busy(); busy || err == nil || !strings.Contains(err.Error(), "LAUNCH_FAILED") {
		t.Errorf("a lost device: busy %t, %v", busy, err)
	}
}
