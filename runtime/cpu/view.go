//go:build amd64 || arm64

package cpu

import "unsafe"

// size is the size of an element in bytes.
const size = int(unsafe.Sizeof(float32(0)))

// A view is an unchecked matrix. Its strides are in bytes.
type view struct {
	p      *float32
	rs, cs int
}

func viewOf(x matrix) view {
	return view{unsafe.SliceData(x.data), x.rs * size, x.cs * size}
}

// from returns the part of x from row i and column j.
func (x view) from(i, j int) view {
	return view{(*float32)(unsafe.Add(unsafe.Pointer(x.p), i*x.rs+j*x.cs)), x.rs, x.cs}
}
