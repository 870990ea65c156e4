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

// A widener widens numbers of BF16 on one instruction set.
type widener struct {
	lanes     int
	registers func(dst *float32, src *uint16, registers int)
}

func (v widener) widen(dst []float32, src []uint16) {
	src = src[:len(dst)]
	n := len(dst) / v.lanes
	if n > 0 {
		v.registers(&dst[0], &src[0], n)
	}
	n *= v.lanes
	widenGo(dst[n:], src[n:])
}
