//go:build !nogpu && (linux || windows) && (amd64 || arm64)

package libcuda

import (
	"fmt"
	"unsafe"

	"github.com/arithlang/mlc/runtime/cuda"
)

// swizzles has the patterns' numbers in cuda.h.
var swizzles = map[int]uintptr{0: 0, 32: 1, 64: 2, 128: 3}

// Describe asks the driver for the descriptor of a tensor. The function came with CUDA 12.0 and is
// looked up at its first use.
func (d *driver) Describe(t cuda.Tensor) (descriptor [128]byte, err error) {
	const doing = "describe a tensor"
	swizzle, known := swizzles[t.Swizzle]
	if !known || min(t.Size[0], t.Size[1], t.Box[0], t.Box[1]) < 1 {
		return descriptor, d.failure(invalidValue, doing)
	}
	if d.find(cuTensorMapEncodeTiled, cuTensorMapEncodeTiled+1) != nil {
		return descriptor, fmt.Errorf("%s: NVIDIA's driver has no function %s, which came with CUDA 12.0; update the driver",
			doing, names[cuTensorMapEncodeTiled])
	}
	err = d.wait(func() cuda.Code { return d.tensorMap(&descriptor, t, swizzle) }, doing)
	return descriptor, err
}

// tensorMap fills a descriptor. The driver wants its address to be a multiple of 64.
func (t *table) tensorMap(descriptor *[128]byte, x cuda.Tensor, swizzle uintptr) cuda.Code {
	const rank, interleave, promotion, fill = 2, 0, 0, 0
	room := make([]byte, len(descriptor)+63)
	aligned := room[-uintptr(unsafe.Pointer(unsafe.SliceData(room)))%64:][:len(descriptor)]
	size, stride := [rank]uint64{uint64(x.Size[0]), uint64(x.Size[1])}, [rank - 1]uint64{uint64(x.Stride)}
	box, step := [rank]uint32{uint32(x.Box[0]), uint32(x.Box[1])}, [rank]uint32{1, 1}
	c := t.call(cuTensorMapEncodeTiled, uintptr(unsafe.Pointer(&aligned[0])), uintptr(x.Element), rank, uintptr(x.Address),
		uintptr(unsafe.Pointer(&size)), uintptr(unsafe.Pointer(&stride)), uintptr(unsafe.Pointer(&box)), uintptr(unsafe.Pointer(&step)),
		interleave, swizzle, promotion, fill)
	copy(descriptor[:], aligned)
	return c
}
