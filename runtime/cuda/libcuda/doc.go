// Package libcuda implements cuda.Driver with the NVIDIA driver. It opens the driver's library
// when a program first asks for it. So one program runs on machines with and without a GPU, and
// building it needs neither cgo nor the CUDA toolkit.
//
// Package cuda defines a Driver. Package world decides whether to open one. From the bottom there
// are three layers:
//
//   - table: the functions of the library by their versioned names, and how to call them;
//   - api: one method a function, with Go types; built with -tags gorgonia, most of
//     them go through gorgonia.org/cu instead;
//   - driver, module, function, graph, event: package cuda's interfaces.
//
// Built with -tags nogpu, or for a platform without such a driver, Open returns an error that
// wraps cuda.ErrUnavailable, and nothing else is linked.
//
// Facts to know before changing it:
//
//   - Names without a version, such as cuMemAlloc, are exported too, with the 32-bit interface of
//     CUDA 3. The table has the names that cuda.h maps to.
//   - The context is the primary one, which every library of a process shares.
//   - The current context belongs to a thread, and a goroutine changes threads. So every call
//     fixes the thread and sets the context first, which costs a tenth of a microsecond.
//   - After a call has returned, the driver only reads memory that is pinned, and so not Go's. All
//     other memory is Go's, and stays alive and in place during the call.
package libcuda
