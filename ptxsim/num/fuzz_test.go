package num

import (
	"math/big"
	"testing"
)

// FuzzArithmetic compares every operation of every format and mode with exact
// arithmetic, and the fast paths with the general ones.
func FuzzArithmetic(f *testing.F) {
	f.Add(uint8(2), uint8(0), uint64(0x33800001), uint64(0x3f7ffffe), uint64(0x3f800001))
	f.Add(uint8(3), uint8(1), uint64(1), uint64(0x3ff0000000000001), uint64(1)<<63)
	f.Fuzz(func(t *testing.T, format, mode uint8, a, b, c uint64) {
		form := Format(format % 4)
		mask := form.sign() | form.abs()
		a, b, c = a&mask, b&mask, c&mask
		m := modes[int(mode)%len(modes)]
		checkOps(t, form, m, a, b, c)
		if form != F32 {
			return
		}
		if got, want := uint64(FmaF32(uint32(a), uint32(b), uint32(c))), F32.Fma(Mode{}, a, b, c); got != want {
			t.Fatalf("fma %x %x %x = %x, want %x", a, b, c, got, want)
		}
		r := FmaF32(uint32(a), uint32(b), uint32(c))
		finite(t, F32, Mode{}, "fast fma", uint64(r), []uint64{a, b, c}, func(v []*big.Rat) *big.Rat {
			p := new(big.Rat).Mul(v[0], v[1])
			return p.Add(p, v[2])
		})
	})
}
