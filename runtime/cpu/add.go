package cpu

// AddTo adds src to dst, element by element.
func AddTo(dst, src []float32) {
	src = src[:len(dst)]
	for i := addBlocks(dst, src); i < len(dst); i++ {
		dst[i] += src[i]
	}
}
