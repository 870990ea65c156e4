package num

import (
	"math"
	"math/rand/v2"
	"testing"
)

// lanes returns random ordinary numbers.
func lanes(r *rand.Rand) *[32]uint32 {
	var x [32]uint32
	for i := range x {
		x[i] = math.Float32bits(r.Float32()*4 - 2)
	}
	return &x
}

func BenchmarkFmaF32(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 1))
	x, y, z, d := lanes(r), lanes(r), lanes(r), lanes(r)
	for b.Loop() {
		for i := range d {
			d[i] = FmaF32(x[i], y[i], z[i])
		}
	}
}

// BenchmarkMma runs the m16n8k16 of a warp.
func BenchmarkMma(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 1))
	draw := func(n int, f Format) []uint64 {
		x := make([]uint64, n)
		for i := range x {
			x[i] = f.draw(r)
		}
		return x
	}
	x, y, c := draw(256, F16), draw(128, F16), draw(128, F32)
	for b.Loop() {
		Mma(90, F16, F32, 16, x, y, c)
	}
}

// BenchmarkDot16 computes one element of an m16n8k16.
func BenchmarkDot16(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 1))
	var x, y [16]uint16
	for i := range x {
		x[i], y[i] = uint16(F16.draw(r)), uint16(F16.draw(r))
	}
	for b.Loop() {
		Dot16(90, false, 0x3f800000, x[:], y[:])
	}
}
