package cpu

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/arithlang/mlc/runtime/cpu/producttest"
)

// TestLanes compares the combinations with the full butterfly: in each round every lane
// combines with the lane whose number differs in one bit.
func TestLanes(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	for _, op := range []struct {
		name    string
		start   float32
		combine func(*[Lanes]float32, int) float32
		of      func(value, partial float32) float32
	}{
		{"sum", 0, SumLanes, func(a, b float32) float32 { return a + b }},
		{"max", float32(math.Inf(-1)), MaxLanes, Max},
		{"min", float32(math.Inf(1)), MinLanes, Min},
	} {
		for n := range 300 {
			for range 20 {
				p := AllLanes(op.start)
				for e := range n {
					lane := &p[e/4%Lanes]
					*lane = op.of(producttest.Special(r), *lane)
				}
				want := p
				for _, d := range []int{16, 8, 4, 2, 1} {
					from := want
					for l := range want {
						want[l] = op.of(from[l^d], from[l])
					}
				}
				if got := op.combine(&p, n); !producttest.Same(got, want[0]+0) {
					t.Fatalf("%s of %d: %v, want %v", op.name, n, got, want[0]+0)
				}
			}
		}
	}
}
