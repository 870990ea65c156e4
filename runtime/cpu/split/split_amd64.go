package split

import "github.com/arithlang/mlc/runtime/cpu"

// A vectors splits whole registers: see codegen/cpu/dotgen/split.go.
type vectors struct {
	lanes    int
	down     func(low, high, again, src *float32, registers int)
	along    func(dst, src *float32, registers int, places *uint32)
	placings [2][]uint32 // of the registers that along writes, by the place of the low half
}

var onAVX2, onAVX512 = newHalver(8, halveDownAVX2, halveAlongAVX2), newHalver(16, halveDownAVX512, halveAlongAVX512)

// halverOf returns the halver of an instruction set.
func halverOf(isa cpu.ISA) *halver {
	switch isa {
	case cpu.AVX512:
		return &onAVX512
	case cpu.AVX2:
		return &onAVX2
	}
	return &plain
}

func newHalver(lanes int, down func(low, high, again, src *float32, registers int), along func(dst, src *float32, registers int, places *uint32)) halver {
	v := &vectors{lanes: lanes, down: down, along: along}
	for low := range v.placings {
		for i := range parts * lanes {
			place := uint32(i / parts)
			if i%parts != low {
				place |= 1 << 31
			}
			v.placings[low] = append(v.placings[low], place)
		}
	}
	return halver{v.halveDown, v.halveAlong}
}

func (v *vectors) halveDown(low, high, again, src []float32) {
	n := len(src) / v.lanes
	if n > 0 {
		v.down(&low[0], &high[0], &again[0], &src[0], n)
	}
	n *= v.lanes
	halveDownGo(low[n:], high[n:], again[n:], src[n:])
}

func (v *vectors) halveAlong(dst, src []float32, low int) {
	n := len(src) / v.lanes
	if n > 0 {
		v.along(&dst[0], &src[0], n, &v.placings[low][0])
	}
	n *= v.lanes
	halveAlongGo(dst[parts*n:], src[n:], low)
}
