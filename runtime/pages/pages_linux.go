package pages

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// advise asks for large pages within x. A system without large pages ignores it.
func advise(x []float32) {
	first, size := uintptr(unsafe.Pointer(unsafe.SliceData(x))), uintptr(len(x))*4
	skip := -first & (Large - 1)
	if size < skip+Large {
		return
	}
	whole := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(x))), size)[skip:]
	_ = unix.Madvise(whole[:len(whole)&^(Large-1)], unix.MADV_HUGEPAGE)
}
