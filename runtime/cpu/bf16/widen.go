//go:build amd64 || arm64

package bf16

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
