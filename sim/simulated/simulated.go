// Package simulated makes the GPU simulator of package ptxsim a cuda.Driver: every program for a
// device runs on it, with every access checked. Package cuda's Machine and the tools that compare
// kernels use it.
//
// It is lazy like a device: operations are queued and run when somebody waits. So memory that is
// reused too early holds wrong values here too. A fault shows up where it would on a GPU, but
// names its exact cause.
package simulated

import (
	"cmp"
	"errors"
	"fmt"
	"unsafe"

	"github.com/arithlang/mlc/ptxsim"
	"github.com/arithlang/mlc/runtime/cuda"
)

// Open returns a simulated device of architecture o.Arch, or sm_80 if that is 0.
func Open(o ptxsim.Options) (cuda.Driver, error) { return new(Library).Open(o) }

// OpenWatched is Open with a function that is called after each launch without a fault, with the
// name of its kernel and its statistics.
func OpenWatched(o ptxsim.Options, ended func(kernel string, s ptxsim.Stats)) (cuda.Driver, error) {
	return open(o, ended, new(Library))
}

func open(o ptxsim.Options, ended func(kernel string, s ptxsim.Stats), read *Library) (cuda.Driver, error) {
	o.Arch = cmp.Or(o.Arch, 80)
	if _, ok := capacities[o.Arch]; !ok {
		return nil, fmt.Errorf("the simulator does not know sm_%d: want sm_80, 86, 89 or 90", o.Arch)
	}
	return &driver{dev: ptxsim.New(o), arch: o.Arch, ended: ended, read: read}, nil
}

type driver struct {
	dev    *ptxsim.Device
	read   *Library
	arch   int
	ended  func(kernel string, s ptxsim.Stats)
	queue  []func() error
	record *[]func() error // of a capture
	pinned [][]byte
	lost   *cuda.Error
}

// Limits shared by all simulated devices.
const (
	multiprocessors = 108
	registers       = 65536 // of a multiprocessor
	defaultShared   = 48 << 10
	version         = 12040
)

// capacities are the limits that differ between architectures, from the table of technical
// specifications by compute capability in NVIDIA's CUDA C++ Programming Guide.
var capacities = map[int]struct {
	optIn, shared   int // bytes of shared memory: limit of a block, size of a multiprocessor's
	threads, blocks int // resident on a multiprocessor, at most
}{
	80: {163 << 10, 164 << 10, 2048, 32},
	86: {99 << 10, 100 << 10, 1536, 16},
	89: {99 << 10, 100 << 10, 1536, 24},
	90: {227 << 10, 228 << 10, 2048, 32},
}

// Info describes the device. A simulator has neither clocks nor a cache.
func (d *driver) Info() cuda.Info {
	_, total := d.dev.MemInfo()
	c := capacities[d.arch]
	return cuda.Info{Name: fmt.Sprintf("simulated sm_%d", d.arch), Major: d.arch / 10, Minor: d.arch % 10, Version: version,
		SMs: multiprocessors, Memory: total, Shared: defaultShared, SharedOptIn: c.optIn,
		SMShared: c.shared, SMRegisters: registers, SMThreads: c.threads, SMBlocks: c.blocks}
}

// Codes for invalid arguments.
const (
	invalidValue  cuda.Code = 1
	invalidHandle cuda.Code = 400
)

var names = map[cuda.Code]string{
	invalidValue: "CUDA_ERROR_INVALID_VALUE", invalidHandle: "CUDA_ERROR_INVALID_HANDLE", cuda.OutOfMemory: "CUDA_ERROR_OUT_OF_MEMORY", cuda.InvalidPTX: "CUDA_ERROR_INVALID_PTX",
	cuda.NotFound: "CUDA_ERROR_NOT_FOUND", cuda.IllegalAddress: "CUDA_ERROR_ILLEGAL_ADDRESS",
	cuda.LaunchOutOfResources: "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES", cuda.MisalignedAddress: "CUDA_ERROR_MISALIGNED_ADDRESS",
	cuda.LaunchFailed: "CUDA_ERROR_LAUNCH_FAILED", cuda.CaptureUnsupported: "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED",
}

func fail(code cuda.Code, doing string, cause error) *cuda.Error {
	return &cuda.Error{Code: code, Name: names[code], Doing: doing, Err: cause}
}

// illegal returns the driver's error for a forbidden access to memory, or nil if err is.
func illegal(doing string, err error) error {
	if err == nil {
		return nil
	}
	return fail(cuda.IllegalAddress, doing, err)
}

// ready returns an error after a fault and while work is recorded: nothing can be done at once
// then.
func (d *driver) ready(doing string) error {
	if d.lost != nil {
		return d.lost
	}
	if d.record != nil {
		return fail(cuda.CaptureUnsupported, doing, nil)
	}
	return nil
}

func (d *driver) Alloc(bytes int64) (cuda.Ptr, error) {
	doing := fmt.Sprintf("allocate %s", cuda.Bytes(bytes))
	if err := d.ready(doing); err != nil {
		return 0, err
	}
	if bytes <= 0 {
		return 0, fail(invalidValue, doing, nil)
	}
	if free, total := d.dev.MemInfo(); bytes > free {
		return 0, &cuda.MemoryError{Asked: bytes, Free: free, Total: total, Err: fail(cuda.OutOfMemory, doing, nil)}
	}
	p, err := d.dev.Alloc(bytes)
	if err != nil {
		return 0, fail(invalidValue, doing, err)
	}
	return cuda.Ptr(p), nil
}

func (d *driver) Free(p cuda.Ptr) error {
	if p == 0 {
		return nil
	}
	if err := d.ready("free memory"); err != nil {
		return err
	}
	if err := d.Synchronize(); err != nil {
		return err
	}
	if err := d.dev.Free(ptxsim.Ptr(p)); err != nil {
		return fail(invalidValue, "free memory", err)
	}
	return nil
}

func (d *driver) MemInfo() (free, total int64, err error) {
	if err := d.ready("ask for free memory"); err != nil {
		return 0, 0, err
	}
	free, total = d.dev.MemInfo()
	return free, total, nil
}

func (d *driver) AllocHost(bytes int) ([]byte, error) {
	if err := d.ready("allocate pinned memory"); err != nil {
		return nil, err
	}
	if bytes <= 0 {
		return nil, fail(invalidValue, "allocate pinned memory", nil)
	}
	mem := make([]byte, bytes)
	d.pinned = append(d.pinned, mem)
	return mem, nil
}

func (d *driver) FreeHost(mem []byte) error {
	if err := d.Synchronize(); err != nil {
		return err
	}
	for i, p := range d.pinned {
		if len(mem) == len(p) && &mem[0] == &p[0] {
			d.pinned = append(d.pinned[:i], d.pinned[i+1:]...)
			clear(mem)
			return nil
		}
	}
	return fail(invalidValue, "free pinned memory", nil)
}

// isPinned reports whether memory is part of an allocation of AllocHost.
func (d *driver) isPinned(mem []byte) bool {
	at := uintptr(unsafe.Pointer(unsafe.SliceData(mem)))
	for _, p := range d.pinned {
		if lo := uintptr(unsafe.Pointer(unsafe.SliceData(p))); at >= lo && at+uintptr(len(mem)) <= lo+uintptr(len(p)) {
			return true
		}
	}
	return false
}

// do queues an operation, or records it.
func (d *driver) do(op func() error) error {
	switch {
	case d.lost != nil:
		return d.lost
	case d.record != nil:
		*d.record = append(*d.record, op)
	default:
		d.queue = append(d.queue, op)
	}
	return nil
}

// transfer queues a copy from or to the host, and waits for it if the host memory is not pinned.
func (d *driver) transfer(doing string, mem []byte, op func() error) error {
	if len(mem) == 0 {
		return d.ready(doing)
	}
	pinned := d.isPinned(mem)
	if !pinned {
		if err := d.ready(doing + ", memory that is not pinned"); err != nil {
			return err
		}
	}
	if err := d.do(op); err != nil || pinned {
		return err
	}
	return d.Synchronize()
}

func (d *driver) ToDevice(dst cuda.Ptr, src []byte) error {
	const doing = "copy to the device"
	return d.transfer(doing, src, func() error {
		return illegal(doing, d.dev.Write(ptxsim.Ptr(dst), src))
	})
}

func (d *driver) ToHost(dst []byte, src cuda.Ptr) error {
	const doing = "copy to the host"
	return d.transfer(doing, dst, func() error {
		return illegal(doing, d.dev.Read(dst, ptxsim.Ptr(src)))
	})
}

func (d *driver) Copy(dst, src cuda.Ptr, bytes int64) error {
	return d.do(func() error {
		mem := make([]byte, bytes)
		err := d.dev.Read(mem, ptxsim.Ptr(src))
		if err == nil {
			err = d.dev.Write(ptxsim.Ptr(dst), mem)
		}
		return illegal("copy within the device", err)
	})
}

func (d *driver) Zero(dst cuda.Ptr, bytes int64) error {
	return d.do(func() error { return illegal("clear memory", d.dev.Write(ptxsim.Ptr(dst), make([]byte, bytes))) })
}

// Synchronize runs the queue.
func (d *driver) Synchronize() error {
	if err := d.ready("wait for the device"); err != nil {
		return err
	}
	for _, op := range d.queue {
		if err := op(); err != nil {
			if d.lost == nil && !errors.As(err, &d.lost) {
				d.lost = fail(cuda.LaunchFailed, "wait for the device", err)
			}
			break
		}
	}
	clear(d.queue)
	d.queue = d.queue[:0]
	if d.lost != nil {
		return d.lost
	}
	return nil
}

func (d *driver) Close() error {
	*d = driver{lost: fail(invalidValue, "use a device that is closed", nil)}
	return nil
}
