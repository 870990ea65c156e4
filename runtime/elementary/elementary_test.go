package elementary

import (
	"hash/fnv"
	"math"
	"math/rand/v2"
	"testing"
)

func bytesOf(x float64) []byte {
	b := make([]byte, 8)
	for i, u := 0, math.Float64bits(x); i < len(b); i, u = i+1, u>>8 {
		b[i] = byte(u)
	}
	return b
}

// TestFunctions compares with package math, and wants the same bits on every processor.
func TestFunctions(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	h := fnv.New64a()
	for range 200_000 {
		x := r.Float64() + 0x1p-54
		if r.IntN(4) == 0 {
			x = math.Ldexp(x, r.IntN(200)-100)
		}
		got, want := Log(x), math.Log(x)
		if d := math.Abs(got - want); d > 3*math.Abs(want)*0x1p-53 {
			t.Errorf("log(%x) = %x, want %x", x, got, want)
		}
		h.Write(bytesOf(got))

		x = 2 * math.Pi * r.Float64()
		got, want = Cos(x), math.Cos(x)
		if d := math.Abs(got - want); d > 0x1p-52 {
			t.Errorf("cos(%x) = %x, want %x", x, got, want)
		}
		h.Write(bytesOf(got))
	}
	const bits = 0xea51052a6134e932
	if got := h.Sum64(); got != bits {
		t.Errorf("the results are others: %#x, want %#x", got, uint64(bits))
	}
}

func TestExact(t *testing.T) {
	for _, c := range []struct{ got, want float64 }{
		{Log(1), 0}, {Cos(0), 1}, {Cos(math.Pi), -1}, {Cos(2 * math.Pi), 1},
	} {
		if c.got != c.want {
			t.Errorf("%x, want %x", c.got, c.want)
		}
	}
}
