//go:build gorgonia && !nogpu && linux && (amd64 || arm64)

package libcuda

import (
	"reflect"
	"unsafe"

	"gorgonia.org/cu"

	"github.com/arithlang/mlc/runtime/cuda"
)

// The methods below hide the table's: with -tags gorgonia the driver is called through
// gorgonia.org/cu. The table keeps the functions that cu lacks: pinned memory, setting attributes,
// packed parameters, graphs, texts of errors. Both use one library if the library that is opened
// was also linked. Such a program does not start without a GPU: cu ends it.

// code returns the number of an error of cu, whose type is not exported.
func code(err error) cuda.Code {
	if err == nil {
		return 0
	}
	return cuda.Code(reflect.ValueOf(err).Int())
}

// To and from the handles of cu, each a struct of one pointer.
func contextOf(ctx context) cu.CUContext { return *(*cu.CUContext)(unsafe.Pointer(&ctx)) }
func streamOf(s stream) cu.Stream        { return *(*cu.Stream)(unsafe.Pointer(&s)) }
func moduleOf(m handle) cu.Module        { return *(*cu.Module)(unsafe.Pointer(&m)) }
func functionOf(f handle) cu.Function    { return *(*cu.Function)(unsafe.Pointer(&f)) }
func eventOf(e handle) cu.Event          { return *(*cu.Event)(unsafe.Pointer(&e)) }

func (api) deviceCount() (int, cuda.Code) {
	n, err := cu.NumDevices()
	return n, code(err)
}

func (api) device(ordinal int) (device, cuda.Code) {
	d, err := cu.GetDevice(ordinal)
	return device(d), code(err)
}

func (api) deviceName(d device) (string, cuda.Code) {
	name, err := cu.Device(d).Name()
	return name, code(err)
}

func (api) deviceMemory(d device) (int64, cuda.Code) {
	n, err := cu.Device(d).TotalMem()
	return n, code(err)
}

func (api) deviceAttribute(d device, attribute int) (int, cuda.Code) {
	v, err := cu.Device(d).Attribute(cu.DeviceAttribute(attribute))
	return v, code(err)
}

func (api) retain(d device) (context, cuda.Code) {
	ctx, err := cu.Device(d).RetainPrimaryCtx()
	return *(*context)(unsafe.Pointer(&ctx)), code(err)
}

func (api) release(d device) cuda.Code { return code(cu.Device(d).ReleasePrimaryCtx()) }

func (api) setCurrent(ctx context) cuda.Code { return code(cu.SetCurrentContext(contextOf(ctx))) }

func (api) streamCreate() (stream, cuda.Code) {
	s, err := cu.MakeStream(cu.StreamFlags(streamNonBlocking))
	return *(*stream)(unsafe.Pointer(&s)), code(err)
}

func (api) streamDestroy(s stream) cuda.Code {
	c := streamOf(s)
	return code(c.Destroy())
}

func (api) streamSynchronize(s stream) cuda.Code { return code(streamOf(s).Synchronize()) }

func (api) memAlloc(bytes int64) (cuda.Ptr, cuda.Code) {
	p, err := cu.MemAlloc(bytes)
	return cuda.Ptr(p), code(err)
}

func (api) memFree(p cuda.Ptr) cuda.Code { return code(cu.MemFree(cu.DevicePtr(p))) }

func (api) memInfo() (free, total int64, c cuda.Code) {
	free, total, err := cu.MemInfo()
	return free, total, code(err)
}

func (api) hostFree(b []byte) cuda.Code {
	return code(cu.MemFreeHost(unsafe.Pointer(unsafe.SliceData(b))))
}

func (api) copyToDevice(dst cuda.Ptr, src []byte, s stream) cuda.Code {
	return code(cu.MemcpyHtoDAsync(cu.DevicePtr(dst), unsafe.Pointer(unsafe.SliceData(src)), int64(len(src)), streamOf(s)))
}

func (api) copyToHost(dst []byte, src cuda.Ptr, s stream) cuda.Code {
	return code(cu.MemcpyDtoHAsync(unsafe.Pointer(unsafe.SliceData(dst)), cu.DevicePtr(src), int64(len(dst)), streamOf(s)))
}

func (api) copyWithin(dst, src cuda.Ptr, bytes int64, s stream) cuda.Code {
	return code(cu.MemcpyDtoDAsync(cu.DevicePtr(dst), cu.DevicePtr(src), bytes, streamOf(s)))
}

func (api) zero(dst cuda.Ptr, bytes int64, s stream) cuda.Code {
	return code(cu.MemsetD8Async(cu.DevicePtr(dst), 0, bytes, streamOf(s)))
}

// moduleLoad finds the end of each log by its NUL, since cu drops the lengths.
func (api) moduleLoad(ptx string) (module handle, log string, c cuda.Code) {
	errors, infos := make([]byte, logSize), make([]byte, logSize)
	m, err := cu.LoadDataEx(ptx, &cu.JITErrorLogBuffer{Buffer: errors}, &cu.JITInfoLogBuffer{Buffer: infos},
		&cu.JITGenerateLineInfo{Enabled: true})
	return *(*handle)(unsafe.Pointer(&m)), untilNUL(errors) + untilNUL(infos), code(err)
}

func (api) moduleUnload(m handle) cuda.Code { return code(moduleOf(m).Unload()) }

func (api) moduleFunction(m handle, name string) (handle, cuda.Code) {
	f, err := moduleOf(m).Function(name)
	return *(*handle)(unsafe.Pointer(&f)), code(err)
}

func (api) functionAttribute(f handle, attribute int) (int, cuda.Code) {
	v, err := functionOf(f).Attribute(cu.FunctionAttribute(attribute))
	return v, code(err)
}

func (api) eventCreate() (handle, cuda.Code) {
	e, err := cu.MakeEvent(cu.DefaultEvent)
	return *(*handle)(unsafe.Pointer(&e)), code(err)
}

func (api) eventRecord(e handle, s stream) cuda.Code { return code(eventOf(e).Record(streamOf(s))) }

func (api) eventSynchronize(e handle) cuda.Code { return code(eventOf(e).Synchronize()) }

func (api) eventElapsed(start, end handle) (float32, cuda.Code) {
	ms, err := eventOf(start).Elapsed(eventOf(end))
	return float32(ms), code(err)
}

func (api) eventDestroy(e handle) cuda.Code {
	c := eventOf(e)
	return code(cu.DestroyEvent(&c))
}
