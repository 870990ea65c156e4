package cpu

// A downHalver and an alongHalver split whole registers: see codegen/cpu/dotgen/split.go.
type (
	downHalver  func(low, high, again, src *float32, registers int)
	alongHalver func(dst, src *float32, registers int, places *uint32)
)

// A halver splits factors on one instruction set.
type halver struct {
	lanes   int
	down    downHalver
	along   alongHalver
	placing [2][]uint32 // of the registers that along writes, by the place of the low half
}

var (
	halverAVX2   = newHalver(8, halveDownAVX2, halveAlongAVX2)
	halverAVX512 = newHalver(16, halveDownAVX512, halveAlongAVX512)
)

func newHalver(lanes int, down downHalver, along alongHalver) *halver {
	h := &halver{lanes: lanes, down: down, along: along}
	for low := range h.placing {
		for i := range parts * lanes {
			place := uint32(i / parts)
			if i%parts != low {
				place |= 1 << 31
			}
			h.placing[low] = append(h.placing[low], place)
		}
	}
	return h
}

func (h *halver) halveDown(low, high, again, src []float32) {
	n := len(src) / h.lanes
	if n > 0 {
		h.down(&low[0], &high[0], &again[0], &src[0], n)
	}
	n *= h.lanes
	halveDownGo(low[n:], high[n:], again[n:], src[n:])
}

func (h *halver) halveAlong(dst, src []float32, low int) {
	n := len(src) / h.lanes
	if n > 0 {
		h.along(&dst[0], &src[0], n, &h.placing[low][0])
	}
	n *= h.lanes
	halveAlongGo(dst[parts*n:], src[n:], low)
}
