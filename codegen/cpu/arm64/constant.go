package arm64

import (
	"fmt"
	"math"
)

// byteBits places the eight bits of a vector's constant.
func byteBits(b uint32) uint32 { return b>>5<<16 | b&0x1F<<5 }

// placed returns the byte b that gives v when shifted.
func placed(v Imm) (b, shift uint32, ok bool) {
	if v < 0 || v > math.MaxUint32 {
		return 0, 0, false
	}
	for shift := uint32(0); shift < 32; shift += 8 {
		if b := uint32(v) >> shift; b <= 0xFF && b<<shift == uint32(v) {
			return b, shift, true
		}
	}
	return 0, 0, false
}

// bytePlaced is a constant of 32 bits with at most one byte that is not 0.
func bytePlaced(a arrangement) ([]slot, uint32) {
	return []slot{vec(a, 0), {
		takes: "a constant of 32 bits with one byte that is not 0",
		fits:  func(o Operand) bool { v, ok := o.(Imm); _, _, fits := placed(v); return ok && fits },
		bits: func(o Operand) uint32 {
			b, shift, _ := placed(o.(Imm))
			return byteBits(b) | shift/8<<13
		},
		arm: func(o Operand) string {
			b, shift, _ := placed(o.(Imm))
			if shift == 0 {
				return fmt.Sprintf("#%d", b)
			}
			return fmt.Sprintf("#%d, lsl #%d", b, shift)
		},
	}}, a.q << 30
}

// byteEverywhere is a constant of 8 bits.
func byteEverywhere(a arrangement) ([]slot, uint32) {
	return []slot{vec(a, 0), imm(0, 255, byteBits)}, a.q << 30
}

// ones returns which bytes of v are 0xFF. ok is false if another byte is not 0.
func ones(v Imm) (which uint32, ok bool) {
	for i := range 8 {
		switch uint64(v) >> (8 * i) & 0xFF {
		case 0:
		case 0xFF:
			which |= 1 << i
		default:
			return 0, false
		}
	}
	return which, true
}

// bytesOfOnes is a constant of 64 bits whose bytes are 0 or 0xFF.
func bytesOfOnes(a arrangement) ([]slot, uint32) {
	return []slot{vec(a, 0), {
		takes: "a constant of 64 bits whose bytes are 0 or 255",
		fits:  func(o Operand) bool { v, ok := o.(Imm); _, fits := ones(v); return ok && fits },
		bits:  func(o Operand) uint32 { which, _ := ones(o.(Imm)); return byteBits(which) },
		arm:   func(o Operand) string { return fmt.Sprintf("#0x%x", uint64(o.(Imm))) },
	}}, a.q << 30
}
