package cuda

import "time"

// Ptr is an address in the memory of a device. It is no pointer of this process.
type Ptr uint64

// Info says what a device is.
type Info struct {
	Name         string
	Major, Minor int   // compute capability: 8, 0 for sm_80
	Version      int   // the CUDA version that the driver implements: 12040 for 12.4
	SMs          int   // streaming multiprocessors
	Memory       int64 // bytes
	Shared       int   // bytes of shared memory that any block may take
	SharedOptIn  int   // bytes that a block may take after AllowShared

	// What reports and bounds are made from; 0 where the driver does not tell.
	Clock       int // kHz at most, of the multiprocessors
	MemoryClock int // kHz at most
	BusWidth    int // bits between memory and the device
	L2          int // bytes
	SMShared    int // bytes of shared memory of a multiprocessor
	SMRegisters int // of 32 bits, of a multiprocessor
	SMThreads   int // that a multiprocessor holds at once
	SMBlocks    int // that a multiprocessor holds at once
	Place       int // on the machine: number of the PCI device, bus and domain, and 1
}

// A Driver is one device and one stream of work on it. What ToDevice, ToHost,
// Copy, Zero and the launches of functions and graphs ask for happens in the
// order of the calls, some time after each call has returned; only Synchronize,
// and copies of pageable memory, wait. What goes wrong meanwhile is the error of
// a later call. After a failed launch the device is lost: every further call
// gives the error again (see Error.Lost).
//
// Sizes are bytes. Errors of the device are *Error or *MemoryError. One goroutine
// at a time may use a Driver and what came from it, from whatever thread.
type Driver interface {
	Info() Info

	// Alloc reserves memory, of any content, aligned to 256 bytes. When there is
	// too little the error is a *MemoryError.
	Alloc(bytes int64) (Ptr, error)
	// Free waits for the device if need be. Freeing 0 does nothing.
	Free(Ptr) error
	// MemInfo gives the memory of the device, other programs' use included.
	MemInfo() (free, total int64, err error)

	// AllocHost reserves pinned host memory, which the device copies without help
	// from the processor. It is not the garbage collector's: FreeHost or Close
	// ends it, and then no slice of it may be used.
	AllocHost(bytes int) ([]byte, error)
	FreeHost([]byte) error

	// ToDevice copies to the device, ToHost from it. With pinned memory (any part
	// of what AllocHost gave) the copy is only queued: leave the memory alone until
	// Synchronize. With other memory the call waits until the copy is done.
	ToDevice(dst Ptr, src []byte) error
	ToHost(dst []byte, src Ptr) error
	// Copy copies within the device; the two ranges do not overlap.
	Copy(dst, src Ptr, bytes int64) error
	Zero(dst Ptr, bytes int64) error

	// Synchronize waits for everything that was asked for.
	Synchronize() error

	// Load compiles PTX for the device. If it cannot, Error.Log holds what the
	// compiler said.
	Load(ptx string) (Module, error)

	// Capture calls record and puts what it queues into a graph instead of running
	// it. In record only launches of functions, Copy, Zero and copies of pinned
	// memory are possible. If record fails there is no graph, and nothing has run.
	Capture(record func() error) (Graph, error)

	// NewEvent makes an event. Neither that nor anything that is done with events is
	// possible while Capture records.
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
	// Attributes says what the compiled function needs.
	Attributes() (Attributes, error)
	// AllowShared lets launches take up to so many bytes of dynamic shared memory.
	// Without it they may take Info.Shared less Attributes.Shared; with it up to
	// Info.SharedOptIn less Attributes.Shared.
	AllowShared(bytes int) error
	// Launch queues the function for a grid of blocks: grid and block are x, y, z;
	// shared is the bytes of dynamic shared memory of a block; args are the
	// parameters, little-endian and each at a multiple of its size, as the PTX
	// declares them. args is copied: the caller may change it at once.
	Launch(grid, block [3]int, shared int, args []byte) error
}

// Attributes of a compiled function.
type Attributes struct {
	Registers  int // a thread
	Local      int // bytes of local memory a thread: spilled registers and local arrays
	Shared     int // bytes of static shared memory a block
	MaxThreads int // of a block
}

// A Graph is a recorded stretch of work. A launch of it queues all of it, with
// the arguments as they were recorded; copies read and write the pinned memory
// as it is then.
type Graph interface {
	Launch() error
	// Close frees the graph once what was launched has ended.
	Close() error
}

// An Event marks a place in a device's work, where the device's clock is read.
type Event interface {
	// Record puts the mark behind everything that was asked for; a mark before is
	// forgotten.
	Record() error
	// Wait waits until the mark is passed, whatever is asked for behind it. The event
	// was recorded.
	Wait() error
	// Since waits until both marks are passed and is the time from start to this one,
	// by the device's clock. Both events are of one Driver and were recorded.
	Since(start Event) (time.Duration, error)
	// Close ends the event; its mark may still be ahead.
	Close() error
}
