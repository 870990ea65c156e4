//go:build !nogpu && (linux || windows) && (amd64 || arm64)

package libcuda

import (
	"bytes"
	"runtime"
	"unsafe"

	"github.com/arithlang/mlc/runtime/cuda"
)

// api is the part of the driver used here. With -tags gorgonia it has methods that hide the
// table's.
type api struct{ *table }

// Handles of the driver.
type (
	device  int32
	context uintptr
	stream  uintptr
	handle  uintptr // of a module, function, graph, executable graph or event
)

// Attributes by their numbers in cuda.h.
const (
	deviceShared       = 8
	deviceClock        = 13
	deviceSMs          = 16
	devicePCIBus       = 33
	devicePCIDevice    = 34
	deviceMemoryClock  = 36
	deviceBusWidth     = 37
	deviceL2           = 38
	deviceSMThreads    = 39
	devicePCIDomain    = 50
	deviceMajor        = 75
	deviceMinor        = 76
	deviceSMShared     = 81
	deviceSMRegisters  = 82
	deviceSharedOptIn  = 97
	deviceSMBlocks     = 106
	functionMaxThreads = 0
	functionShared     = 1
	functionLocal      = 3
	functionRegisters  = 4
	functionDynamic    = 8 // the largest dynamic shared memory

	streamNonBlocking = 1
	captureRelaxed    = 2
)

func (t *table) initialise() cuda.Code { return t.call(cuInit, 0) }

func (t *table) version() (int, cuda.Code) {
	var v int32
	c := t.call(cuDriverGetVersion, uintptr(unsafe.Pointer(&v)))
	return int(v), c
}

// describe returns a code's name and the driver's explanation.
func (t *table) describe(c cuda.Code) (name, text string) {
	return t.errorText(cuGetErrorName, c), t.errorText(cuGetErrorString, c)
}

func (t *table) errorText(s symbol, c cuda.Code) string {
	var p *byte // a string constant of the library
	if t.call(s, uintptr(c), uintptr(unsafe.Pointer(&p))) != 0 || p == nil {
		return ""
	}
	n := 0
	for *(*byte)(unsafe.Add(unsafe.Pointer(p), n)) != 0 {
		n++
	}
	return string(unsafe.Slice(p, n))
}

func (t *table) deviceCount() (int, cuda.Code) {
	var n int32
	c := t.call(cuDeviceGetCount, uintptr(unsafe.Pointer(&n)))
	return int(n), c
}

func (t *table) device(ordinal int) (device, cuda.Code) {
	var d device
	c := t.call(cuDeviceGet, uintptr(unsafe.Pointer(&d)), uintptr(ordinal))
	return d, c
}

func (t *table) deviceName(d device) (string, cuda.Code) {
	var name [256]byte
	c := t.call(cuDeviceGetName, uintptr(unsafe.Pointer(&name)), uintptr(len(name)), uintptr(d))
	return untilNUL(name[:]), c
}

func (t *table) deviceMemory(d device) (int64, cuda.Code) {
	var n int64
	c := t.call(cuDeviceTotalMem, uintptr(unsafe.Pointer(&n)), uintptr(d))
	return n, c
}

func (t *table) deviceAttribute(d device, attribute int) (int, cuda.Code) {
	var v int32
	c := t.call(cuDeviceGetAttribute, uintptr(unsafe.Pointer(&v)), uintptr(attribute), uintptr(d))
	return int(v), c
}

func (t *table) retain(d device) (context, cuda.Code) {
	var ctx context
	c := t.call(cuDevicePrimaryCtxRetain, uintptr(unsafe.Pointer(&ctx)), uintptr(d))
	return ctx, c
}

func (t *table) release(d device) cuda.Code { return t.call(cuDevicePrimaryCtxRelease, uintptr(d)) }

func (t *table) setCurrent(ctx context) cuda.Code { return t.call(cuCtxSetCurrent, uintptr(ctx)) }

func (t *table) streamCreate() (stream, cuda.Code) {
	var s stream
	c := t.call(cuStreamCreate, uintptr(unsafe.Pointer(&s)), streamNonBlocking)
	return s, c
}

func (t *table) streamDestroy(s stream) cuda.Code { return t.call(cuStreamDestroy, uintptr(s)) }

func (t *table) streamSynchronize(s stream) cuda.Code {
	return t.call(cuStreamSynchronize, uintptr(s))
}

func (t *table) streamQuery(s stream) cuda.Code { return t.call(cuStreamQuery, uintptr(s)) }

func (t *table) memAlloc(bytes int64) (cuda.Ptr, cuda.Code) {
	var p cuda.Ptr
	c := t.call(cuMemAlloc, uintptr(unsafe.Pointer(&p)), uintptr(bytes))
	return p, c
}

func (t *table) memFree(p cuda.Ptr) cuda.Code { return t.call(cuMemFree, uintptr(p)) }

func (t *table) memInfo() (free, total int64, c cuda.Code) {
	c = t.call(cuMemGetInfo, uintptr(unsafe.Pointer(&free)), uintptr(unsafe.Pointer(&total)))
	return free, total, c
}

func (t *table) hostAlloc(bytes int) ([]byte, cuda.Code) {
	var p *byte
	c := t.call(cuMemHostAlloc, uintptr(unsafe.Pointer(&p)), uintptr(bytes), 0)
	if c != 0 {
		return nil, c
	}
	return unsafe.Slice(p, bytes), 0
}

func (t *table) hostFree(b []byte) cuda.Code {
	return t.call(cuMemFreeHost, uintptr(unsafe.Pointer(unsafe.SliceData(b))))
}

func (t *table) copyToDevice(dst cuda.Ptr, src []byte, s stream) cuda.Code {
	return t.call(cuMemcpyHtoDAsync, uintptr(dst), uintptr(unsafe.Pointer(unsafe.SliceData(src))), uintptr(len(src)), uintptr(s))
}

func (t *table) copyToHost(dst []byte, src cuda.Ptr, s stream) cuda.Code {
	return t.call(cuMemcpyDtoHAsync, uintptr(unsafe.Pointer(unsafe.SliceData(dst))), uintptr(src), uintptr(len(dst)), uintptr(s))
}

func (t *table) copyWithin(dst, src cuda.Ptr, bytes int64, s stream) cuda.Code {
	return t.call(cuMemcpyDtoDAsync, uintptr(dst), uintptr(src), uintptr(bytes), uintptr(s))
}

func (t *table) zero(dst cuda.Ptr, bytes int64, s stream) cuda.Code {
	return t.call(cuMemsetD8Async, uintptr(dst), 0, uintptr(bytes), uintptr(s))
}

// Options of cuModuleLoadDataEx by their numbers in cuda.h.
const (
	jitInfoLog      = 3
	jitInfoLogSize  = 4
	jitErrorLog     = 5
	jitErrorLogSize = 6
	jitLineInfo     = 13

	logSize = 16 << 10
)

// moduleLoad compiles PTX. log is the compiler's output.
func (t *table) moduleLoad(ptx string) (module handle, log string, c cuda.Code) {
	var pinner runtime.Pinner // the array of values hides two addresses from the compiler
	defer pinner.Unpin()
	errors, infos := make([]byte, logSize), make([]byte, logSize)
	pinner.Pin(&errors[0])
	pinner.Pin(&infos[0])
	options := [...]int32{jitErrorLog, jitErrorLogSize, jitInfoLog, jitInfoLogSize, jitLineInfo}
	values := [...]uintptr{uintptr(unsafe.Pointer(&errors[0])), logSize, uintptr(unsafe.Pointer(&infos[0])), logSize, 1}
	c = t.call(cuModuleLoadDataEx, uintptr(unsafe.Pointer(&module)), uintptr(unsafe.Pointer(cString(ptx))),
		uintptr(len(options)), uintptr(unsafe.Pointer(&options)), uintptr(unsafe.Pointer(&values)))
	return module, untilNUL(errors) + untilNUL(infos), c
}

func (t *table) moduleUnload(m handle) cuda.Code { return t.call(cuModuleUnload, uintptr(m)) }

func (t *table) moduleFunction(m handle, name string) (handle, cuda.Code) {
	var f handle
	c := t.call(cuModuleGetFunction, uintptr(unsafe.Pointer(&f)), uintptr(m), uintptr(unsafe.Pointer(cString(name))))
	return f, c
}

func (t *table) functionAttribute(f handle, attribute int) (int, cuda.Code) {
	var v int32
	c := t.call(cuFuncGetAttribute, uintptr(unsafe.Pointer(&v)), uintptr(attribute), uintptr(f))
	return int(v), c
}

func (t *table) functionSet(f handle, attribute, value int) cuda.Code {
	return t.call(cuFuncSetAttribute, uintptr(f), uintptr(attribute), uintptr(value))
}

func (t *table) beginCapture(s stream) cuda.Code {
	return t.call(cuStreamBeginCapture, uintptr(s), captureRelaxed)
}

func (t *table) endCapture(s stream) (handle, cuda.Code) {
	var g handle
	c := t.call(cuStreamEndCapture, uintptr(s), uintptr(unsafe.Pointer(&g)))
	return g, c
}

func (t *table) graphInstantiate(g handle) (handle, cuda.Code) {
	var exec handle
	c := t.call(cuGraphInstantiateWithFlags, uintptr(unsafe.Pointer(&exec)), uintptr(g), 0)
	return exec, c
}

func (t *table) graphDestroy(g handle) cuda.Code { return t.call(cuGraphDestroy, uintptr(g)) }

func (t *table) graphExecDestroy(exec handle) cuda.Code {
	return t.call(cuGraphExecDestroy, uintptr(exec))
}

func (t *table) graphLaunch(exec handle, s stream) cuda.Code {
	return t.call(cuGraphLaunch, uintptr(exec), uintptr(s))
}

func (t *table) eventCreate() (handle, cuda.Code) {
	var e handle
	c := t.call(cuEventCreate, uintptr(unsafe.Pointer(&e)), 0)
	return e, c
}

func (t *table) eventRecord(e handle, s stream) cuda.Code {
	return t.call(cuEventRecord, uintptr(e), uintptr(s))
}

func (t *table) eventSynchronize(e handle) cuda.Code { return t.call(cuEventSynchronize, uintptr(e)) }

// eventElapsed returns milliseconds.
func (t *table) eventElapsed(start, end handle) (float32, cuda.Code) {
	var ms float32
	c := t.call(cuEventElapsedTime, uintptr(unsafe.Pointer(&ms)), uintptr(start), uintptr(end))
	return ms, c
}

func (t *table) eventDestroy(e handle) cuda.Code { return t.call(cuEventDestroy, uintptr(e)) }

// A launch is the arguments of cuLaunchKernel. It is made once and kept in place, so that a launch
// costs only the call.
type launch struct {
	words [11]uintptr
	extra [5]uintptr
	size  uint64
	args  [maxArgs]byte
}

// maxArgs is the most bytes of a kernel's parameters.
const maxArgs = 4096

// pin fills in the addresses, which stay valid until Unpin.
func (l *launch) pin(p *runtime.Pinner) {
	p.Pin(l)
	const buffer, bufferSize, end = 1, 2, 0 // CU_LAUNCH_PARAM_…
	l.extra = [5]uintptr{buffer, uintptr(unsafe.Pointer(&l.args)), bufferSize, uintptr(unsafe.Pointer(&l.size)), end}
	l.words[10] = uintptr(unsafe.Pointer(&l.extra))
}

func (t *table) launch(l *launch, f handle, grid, block [3]int, shared int, s stream, args []byte) cuda.Code {
	w := &l.words
	w[0] = uintptr(f)
	w[1], w[2], w[3] = uintptr(grid[0]), uintptr(grid[1]), uintptr(grid[2])
	w[4], w[5], w[6] = uintptr(block[0]), uintptr(block[1]), uintptr(block[2])
	w[7], w[8] = uintptr(shared), uintptr(s)
	l.size = uint64(copy(l.args[:], args))
	return t.call(cuLaunchKernel, w[:]...)
}

// cString adds the NUL that ends a string in C.
func cString(s string) *byte { return &append([]byte(s), 0)[0] }

func untilNUL(b []byte) string {
	s, _, _ := bytes.Cut(b, []byte{0})
	return string(s)
}
