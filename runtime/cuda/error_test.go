package cuda

import (
	"errors"
	"testing"
)

func TestErrorText(t *testing.T) {
	fault := errors.New("line 7")
	tests := map[string]error{
		"launch kernel k: CUDA_ERROR_ILLEGAL_ADDRESS (700: an illegal memory access was encountered)\ndo it better": &Error{
			Code: 700, Name: "CUDA_ERROR_ILLEGAL_ADDRESS", Text: "an illegal memory access was encountered", Doing: "launch kernel k", Help: "do it better"},
		"wait: X (719): line 7":       &Error{Code: 719, Name: "X", Doing: "wait", Err: fault},
		"load PTX: X (218)\nbad line": &Error{Code: 218, Name: "X", Doing: "load PTX", Log: "bad line\n\n"},
		"out of GPU memory: asked for 3.5 GiB, 512.0 MiB of 8.0 GiB are free": &MemoryError{Asked: 7 << 29, Free: 512 << 20, Total: 8 << 30},
		"out of host memory: asked for 1.5 KiB of pinned memory":              &MemoryError{Asked: 1536},
	}
	for want, err := range tests {
		if got := err.Error(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if err := error(&MemoryError{Err: &Error{Code: OutOfMemory, Err: fault}}); !errors.Is(err, fault) {
		t.Error("the cause is not in the chain of errors")
	}
	if err := error(&MemoryError{}); errors.Is(err, fault) {
		t.Error("a cause was made up")
	}
}

func TestLost(t *testing.T) {
	for code, want := range map[Code]bool{1: false, OutOfMemory: false, InvalidPTX: false, IllegalAddress: true, LaunchOutOfResources: false,
		MisalignedAddress: true, LaunchFailed: true, CaptureUnsupported: false, 999: false} {
		if got := (&Error{Code: code}).Lost(); got != want {
			t.Errorf("%d: %v", code, got)
		}
	}
}
