//go:build !nogpu && linux && (amd64 || arm64)

package nccl

import (
	"runtime"
	"strings"
	"unsafe"

	"github.com/ebitengine/purego"

	"github.com/arithlang/mlc/runtime/cuda"
)

// A result is an ncclResult_t of nccl.h.
type result int32

const (
	success      result = 0
	systemError  result = 2
	invalidUsage result = 5
	remoteError  result = 6
	inProgress   result = 7
)

// asBytes is ncclUint8 of nccl.h.
const asBytes = 1

// An id is an ncclUniqueId of nccl.h, of 128 bytes.
type id [16]uint64

// A config is the ncclConfig_t of nccl.h in NCCL 2.14. Later versions accept it and take defaults
// for their additional fields.
type config struct {
	size     uint64
	magic    uint32
	version  uint32
	blocking int32
	_        int32
}

func newConfig() *config {
	c := &config{magic: 0xcafebeef, version: oldest}
	c.size = uint64(unsafe.Sizeof(*c))
	return c
}

// A handle is an ncclComm_t of nccl.h, an address in the library's memory.
type handle uintptr

func (t *table) uniqueID() (x id, r result) {
	r = t.call(getUniqueId, uintptr(unsafe.Pointer(&x)))
	return x, r
}

// initRank starts to join the communicator of an id. The library may write the handle later.
func (t *table) initRank(h *handle, x *id, rank, size int) result {
	c := newConfig()
	if t.address[commInitRankScalable] != 0 {
		const one = 1
		return t.call(commInitRankScalable, uintptr(unsafe.Pointer(h)), uintptr(size), uintptr(rank), one,
			uintptr(unsafe.Pointer(x)), uintptr(unsafe.Pointer(c)))
	}
	if runtime.GOARCH == "arm64" { // a large struct is passed as the address of a copy
		own := *x
		return t.call(commInitRankConfig, uintptr(unsafe.Pointer(h)), uintptr(size), uintptr(unsafe.Pointer(&own)), uintptr(rank), uintptr(unsafe.Pointer(c)))
	}
	// The id is passed on the stack, after the arguments in registers: 0, 0 fill the last two.
	w := (*[len(x)]uintptr)(unsafe.Pointer(x))
	return t.call(commInitRankConfig, uintptr(unsafe.Pointer(h)), uintptr(size), uintptr(rank), uintptr(unsafe.Pointer(c)), 0, 0,
		w[0], w[1], w[2], w[3], w[4], w[5], w[6], w[7], w[8], w[9], w[10], w[11], w[12], w[13], w[14], w[15])
}

// state returns the communicator's state, which is inProgress until its calls have ended.
func (t *table) state(h handle) result {
	var state result
	if r := t.call(commGetAsyncError, uintptr(h), uintptr(unsafe.Pointer(&state))); r != success {
		return r
	}
	return state
}

func (t *table) send(h handle, p cuda.DevicePart, stream uintptr) result {
	return t.call(send, uintptr(p.At), uintptr(p.Bytes), asBytes, uintptr(p.Rank), uintptr(h), stream)
}

func (t *table) recv(h handle, p cuda.DevicePart, stream uintptr) result {
	return t.call(recv, uintptr(p.At), uintptr(p.Bytes), asBytes, uintptr(p.Rank), uintptr(h), stream)
}

// gather fills in all. Each rank has that many bytes of it.
func (t *table) gather(h handle, own, all cuda.Ptr, bytes int64, stream uintptr) result {
	return t.call(allGather, uintptr(own), uintptr(all), uintptr(bytes), asBytes, uintptr(h), stream)
}

func (t *table) broadcast(h handle, at cuda.Ptr, bytes int, stream uintptr) result {
	const root = 0
	return t.call(broadcast, uintptr(at), uintptr(at), uintptr(bytes), asBytes, root, uintptr(h), stream)
}

// describe returns a result's meaning and the library's last warning.
func (t *table) describe(r result) (meaning, last string) {
	text := func(s symbol, arg uintptr) string {
		p, _, _ := purego.SyscallN(t.address[s], arg)
		at := *(**byte)(unsafe.Pointer(&p)) // in the library's memory
		if at == nil {
			return ""
		}
		n := 0
		for *(*byte)(unsafe.Add(unsafe.Pointer(at), n)) != 0 {
			n++
		}
		return strings.TrimSpace(string(unsafe.Slice(at, n)))
	}
	return text(getErrorString, uintptr(r)), text(getLastError, 0)
}
