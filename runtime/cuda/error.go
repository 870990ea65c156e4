package cuda

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Code is a CUresult of the driver.
type Code int32

// The codes that callers distinguish.
const (
	OutOfMemory           Code = 2
	NoDevice              Code = 100
	InvalidDevice         Code = 101
	InvalidPTX            Code = 218
	UnsupportedPTXVersion Code = 222
	NotFound              Code = 500
	IllegalAddress        Code = 700
	LaunchOutOfResources  Code = 701
	LaunchTimeout         Code = 702
	IllegalInstruction    Code = 715
	MisalignedAddress     Code = 716
	LaunchFailed          Code = 719
	CaptureUnsupported    Code = 900
)

// ErrUnavailable is in every error that means: this machine, or this build of the program, has no
// GPU. Failures of a GPU are other errors.
var ErrUnavailable = errors.New("no usable NVIDIA GPU")

// An Error is a call that the driver refused, or a failure on the device.
type Error struct {
	Code  Code
	Name  string // of the code: CUDA_ERROR_ILLEGAL_ADDRESS
	Text  string // the driver's explanation, if any
	Doing string // the action: "launch kernel k3"
	Log   string // the output of the PTX compiler, if it ran
	Help  string // a remedy, if one is known
	Err   error  // a more precise cause, such as a report of the simulator
}

func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s", e.Doing, e.Name)
	if e.Text != "" {
		fmt.Fprintf(&b, " (%d: %s)", e.Code, e.Text)
	} else {
		fmt.Fprintf(&b, " (%d)", e.Code)
	}
	if e.Err != nil {
		fmt.Fprintf(&b, ": %v", e.Err)
	}
	if e.Log != "" {
		b.WriteString("\n" + strings.TrimRight(e.Log, "\n"))
	}
	if e.Help != "" {
		b.WriteString("\n" + e.Help)
	}
	return b.String()
}

func (e *Error) Unwrap() error { return e.Err }

// Lost reports whether the device can do no more work for this process: its work has failed,
// perhaps in an earlier call.
func (e *Error) Lost() bool { return slices.Contains(fatal, e.Code) }

// fatal lists the codes that make a context unusable: errors of running code, and uncorrectable
// errors of memory and links.
var fatal = []Code{214, 220, IllegalAddress, LaunchTimeout, 710, 714, IllegalInstruction, MisalignedAddress, 717, 718, LaunchFailed}

// A MemoryError reports a lack of memory.
type MemoryError struct {
	Asked       int64
	Free, Total int64  // of the device at that moment; 0 if pinned memory was asked for
	Err         *Error // the driver's error
}

func (e *MemoryError) Error() string {
	if e.Total == 0 {
		return fmt.Sprintf("out of host memory: asked for %s of pinned memory", Bytes(e.Asked))
	}
	return fmt.Sprintf("out of GPU memory: asked for %s, %s of %s are free", Bytes(e.Asked), Bytes(e.Free), Bytes(e.Total))
}

func (e *MemoryError) Unwrap() error {
	if e.Err == nil {
		return nil
	}
	return e.Err
}

// Bytes formats a number of bytes for people.
func Bytes(n int64) string {
	switch {
	case n >= 1<<30:
		return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	case n >= 1<<10:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%d bytes", n)
}
