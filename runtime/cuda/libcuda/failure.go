//go:build !nogpu && (linux || windows) && (amd64 || arm64)

package libcuda

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/arithlang/mlc/runtime/cuda"
)

// Codes that only this package distinguishes.
const (
	invalidValue       cuda.Code = 1
	stubLibrary        cuda.Code = 34
	deviceUnavailable  cuda.Code = 46
	jitCompilerMissing cuda.Code = 221
	driverMismatch     cuda.Code = 803
	compatUnsupported  cuda.Code = 804
	invalidHandle      cuda.Code = 400
	notReady           cuda.Code = 600
	unknown            cuda.Code = 999
)

// help has remedies by code.
var help = map[cuda.Code]string{
	stubLibrary:        "this is the CUDA toolkit's stub of the driver's library; install NVIDIA's driver, or let MLC_LIBCUDA name its library",
	deviceUnavailable:  "another process has the GPU for itself; see nvidia-smi",
	cuda.NoDevice:      "see whether nvidia-smi lists a GPU, whether CUDA_VISIBLE_DEVICES hides it, and whether a container was started with access to it",
	jitCompilerMissing: "install the driver's libnvidia-ptxjitcompiler; in a container, ask for the compute capability of the driver",
	driverMismatch:     "the driver's library and its kernel module differ in version; restart the machine after an update of the driver",
	compatUnsupported:  "the library of a newer driver does not work on this GPU with the driver that is installed; update the driver",
	unknown:            "load the driver's kernel modules (nvidia-smi does it), or restart the machine",
}

// failure returns the error of a call, and marks the device as lost if the code is fatal.
func (d *driver) failure(c cuda.Code, doing string, args ...any) error {
	name, text := d.describe(c)
	e := &cuda.Error{
		Code:  c,
		Name:  cmp.Or(name, "unknown CUDA error"),
		Text:  text,
		Doing: fmt.Sprintf(doing, args...),
		Help:  help[c],
	}
	if e.Lost() {
		e.Help = blame(d.pending)
		d.lost = e
	}
	return e
}

// blame names the kernels that may have lost the device.
func blame(pending []string) string {
	const most = 12
	if len(pending) == 0 || os.Getenv("CUDA_LAUNCH_BLOCKING") == "1" {
		return "" // the call itself has failed
	}
	kernels := slices.Sorted(slices.Values(pending))
	kernels = slices.Compact(kernels)
	more := ""
	if n := len(kernels) - most; n > 0 {
		kernels, more = kernels[:most], fmt.Sprintf(" and %d more", n)
	}
	return fmt.Sprintf("one of the kernels that were running failed: %s%s; CUDA_LAUNCH_BLOCKING=1 in the environment finds out which",
		strings.Join(kernels, ", "), more)
}

// shortage turns an error of Alloc about too little memory into one with the sizes.
func (d *driver) shortage(err error, asked int64) error {
	var e *cuda.Error
	if !errors.As(err, &e) || e.Code != cuda.OutOfMemory {
		return err
	}
	free, total, infoErr := d.MemInfo()
	if infoErr != nil {
		return err
	}
	return &cuda.MemoryError{Asked: asked, Free: free, Total: total, Err: e}
}

func hostShortage(err error, asked int64) error {
	var e *cuda.Error
	if !errors.As(err, &e) || e.Code != cuda.OutOfMemory {
		return err
	}
	return &cuda.MemoryError{Asked: asked, Err: e}
}

// withLog adds the compiler's output to an error of Load. If the driver is too old for the PTX, it
// adds the driver that the PTX needs.
func withLog(err error, ptx, log string, version int) error {
	var e *cuda.Error
	if !errors.As(err, &e) {
		return err
	}
	e.Log = log
	if e.Code == cuda.UnsupportedPTXVersion {
		e.Help = fmt.Sprintf("NVIDIA's driver is too old: it implements CUDA %s, and %s; update the driver",
			versionText(version), needs(ptx))
	}
	return err
}

// needs returns the CUDA version of a module's PTX version: CUDA 11.8 for PTX 7.8, 12.4 for 8.4,
// and so on.
func needs(ptx string) string {
	for line := range strings.Lines(ptx) {
		var major, minor int
		if n, _ := fmt.Sscanf(strings.TrimSpace(line), ".version %d.%d", &major, &minor); n == 2 {
			return fmt.Sprintf("PTX %d.%d needs CUDA %d.%d or later", major, minor, major+4, minor)
		}
	}
	return "the PTX needs a later one"
}

// amount formats a number of bytes when an error is printed.
type amount int64

func (a amount) String() string { return cuda.Bytes(int64(a)) }
