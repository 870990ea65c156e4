// Package libcuda is the NVIDIA driver as a cuda.Driver. It opens the driver's
// library when a program first asks for it, so that one program runs on machines
// with and without a GPU, and needs neither cgo nor the CUDA toolkit to build.
//
// Package cuda, before it, says what a driver does; package world, after it,
// decides whether to open one. Three layers, from the bottom:
//
//   - table: the functions of the library by their versioned names, and how to call them;
//   - api: one method a function, with Go types; built with -tags gorgonia, most of
//     them go through gorgonia.org/cu instead;
//   - driver, module, function, graph, event: the rules of package cuda on top.
//
// Built with -tags nogpu, or for a platform that has no such driver, Open gives an
// error that wraps cuda.ErrUnavailable, and nothing else is linked.
//
// What one has to know to change it:
//
//   - Names without a version, such as cuMemAlloc, are exported too, but with the
//     32-bit interface of CUDA 3. The names in the table are what cuda.h maps to.
//   - It is the primary context, which every library of a process shares.
//   - The current context is a thread's, and a goroutine changes threads: every call
//     fixes the thread and sets the context first, which costs a tenth of a
//     microsecond.
//   - The driver reads memory by address after the call has returned only if it is
//     pinned and thus not Go's; whatever else it gets is Go memory that is kept alive
//     and in place during the call.
package libcuda
