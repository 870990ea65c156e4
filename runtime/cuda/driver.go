package cuda

import "time"

// Ptr is an address in the memory of a device, not a pointer of this process.
type Ptr uint64

// Info describes a device.
type Info struct {
	Name         string
	Major, Minor int   // compute capability: 8, 0 for sm_80
	Version      int   // the CUDA version that the driver implements: 12040 for 12.4
	SMs          int   // streaming multiprocessors
	Memory       int64 // bytes
	Shared       int   // bytes of shared memory that any block may take
	SharedOptIn  int   // bytes of shared memory that a block may take after AllowShared

	// For reports and bounds; 0 if the driver does not tell.
	Clock       int // kHz at most, of the multiprocessors
	MemoryClock int // kHz at most
	BusWidth    int // bits between memory and the device
	L2          int // bytes
	SMShared    int // bytes of shared memory per multiprocessor
	SMRegisters int // 32-bit registers per multiprocessor
	SMThreads   int // resident threads per multiprocessor
	SMBlocks    int // resident blocks per multiprocessor
	Place       int // number of the PCI device, bus and domain, plus 1
}

// A Driver is one device and one stream of work on it. ToDevice, ToHost, Copy, Zero and the
// launches of functions and graphs queue their work, which runs in the order of the calls.
// Synchronize waits for it; copies of pageable memory wait, too. If queued work fails, a later
// call returns the error. After a failed launch the device is lost: every further call returns the
// error again (see Error.Lost).
//
// Sizes are in bytes. Errors of the device are *Error or *MemoryError. Only one goroutine at a
// time may use a Driver and the objects that it made, on any thread.
type Driver interface {
	Info() Info

	// Alloc reserves memory with undefined content, aligned to 256 bytes. The error is a
	// *MemoryError if there is too little memory.
	Alloc(bytes int64) (Ptr, error)
	// Free waits for the device if necessary. Freeing 0 does nothing.
	Free(Ptr) error
	// MemInfo returns the device's memory. Memory of other programs is not free.
	MemInfo() (free, total int64, err error)

	// AllocHost reserves pinned host memory, which the device copies without help from the
	// processor. The garbage collector does not manage it: FreeHost or Close frees it, and its
	// slices may not be used afterwards.
	AllocHost(bytes int) ([]byte, error)
	FreeHost([]byte) error

	// ToDevice copies to the device, ToHost from it. A copy of pinned memory (any part of an
	// AllocHost slice) is only queued: leave the memory alone until Synchronize. A copy of other
	// memory has ended when the call returns.
	ToDevice(dst Ptr, src []byte) error
	ToHost(dst []byte, src Ptr) error
	// Copy copies within the device. The ranges may not overlap.
	Copy(dst, src Ptr, bytes int64) error
	Zero(dst Ptr, bytes int64) error

	// Synchronize waits for all queued work.
	Synchronize() error

	// Load compiles PTX for the device. On failure Error.Log holds the compiler's output.
	Load(ptx string) (Module, error)

	// Capture calls record and puts the work that record queues into a graph instead of running
	// it. record may only launch functions, Copy, Zero and copy pinned memory. If record fails,
	// there is no graph, and nothing has run.
	Capture(record func() error) (Graph, error)

	// NewEvent makes an event. While Capture records, events can neither be made nor used.
	NewEvent() (Event, error)

	// Close frees everything that came from the driver. No other call may follow.
	Close() error
}

// A Module is loaded PTX.
type Module interface {
	// Function finds an entry of the module.
	Function(name string) (Function, error)
	// Unload ends the module and its functions; no work with them may be pending.
	Unload() error
}

// A Function is an entry of a module: a kernel.
type Function interface {
	// Attributes returns the resources that the compiled function needs.
	Attributes() (Attributes, error)
	// AllowShared lets launches take that many bytes of dynamic shared memory. The default limit
	// is Info.Shared less Attributes.Shared, and the highest is Info.SharedOptIn less
	// Attributes.Shared.
	AllowShared(bytes int) error
	// Launch queues the function for a grid of blocks. grid and block are x, y, z. shared is the
	// bytes of dynamic shared memory of a block. args are the parameters as the PTX declares them,
	// little-endian and each aligned to its size. args is copied: the caller may change it at
	// once.
	Launch(grid, block [3]int, shared int, args []byte) error
}

// Attributes of a compiled function.
type Attributes struct {
	Registers  int // per thread
	Local      int // bytes of local memory per thread: spilled registers and local arrays
	Shared     int // bytes of static shared memory per block
	MaxThreads int // threads per block
}

// A Graph is recorded work. Its launch queues all of the work with the recorded arguments. Copies
// use the current content of pinned memory.
type Graph interface {
	Launch() error
	// Close frees the graph when its launches have ended.
	Close() error
}

// An Event marks a place in a device's work and reads the device's clock there.
type Event interface {
	// Record puts the mark after all work queued so far, and forgets an earlier mark.
	Record() error
	// Wait waits until the device passes the mark. It does not wait for later work. The event must
	// be recorded.
	Wait() error
	// Since waits until the device passes both marks, and returns the device's time from start to
	// this mark. Both events must be recorded and of one Driver.
	Since(start Event) (time.Duration, error)
	// Close ends the event, even before the device passes its mark.
	Close() error
}
