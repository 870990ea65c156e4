package split

import "github.com/arithlang/mlc/runtime/cpu"

const neonLanes = 4 // of a register

var onNEON = halver{halveDownInNEON, halveAlongInNEON}

// halverOf returns the halver of an instruction set.
func halverOf(isa cpu.ISA) *halver {
	if isa == cpu.NEON {
		return &onNEON
	}
	return &plain
}

// halveDownInNEON is halveDownGo, with NEON for whole registers.
func halveDownInNEON(low, high, again, src []float32) {
	n := len(src) / neonLanes
	if n > 0 {
		halveDownNEON(&low[0], &high[0], &again[0], &src[0], n)
	}
	n *= neonLanes
	halveDownGo(low[n:], high[n:], again[n:], src[n:])
}

// halveAlongInNEON is halveAlongGo, with NEON for whole registers.
func halveAlongInNEON(dst, src []float32, low int) {
	n := len(src) / neonLanes
	if n > 0 {
		halveAlongNEON(&dst[0], &src[0], n, low)
	}
	n *= neonLanes
	halveAlongGo(dst[parts*n:], src[n:], low)
}
