package cpu

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/arithlang/mlc/runtime/device"
	"github.com/arithlang/mlc/runtime/philox"
)

// TestRandFill compares every instruction set with the definition of a random stream.
func TestRandFill(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 500 {
		e := &device.Env{Seed: r.Uint64(), Step: r.Uint32(), Layer: r.IntN(1 << 16)}
		stream, example, base := r.Uint32N(0xFF00), r.Uint32(), r.IntN(1<<30)
		want := make([]uint32, r.IntN(150))
		for i := range want {
			n := base + i
			ctr := [4]uint32{uint32(n / 4), example, e.Step, stream<<16 | uint32(e.Layer)}
			want[i] = philox.Block(philox.KeyOf(e.Seed), ctr)[n%4]
		}
		for _, isa := range isas() {
			got := make([]uint32, len(want)+1)
			NewWorker(nil, isa, Memory{}).RandFill(got[:len(want)], e, stream, example, base)
			if fmt.Sprint(got) != fmt.Sprint(append(want, 0)) {
				t.Fatalf("%s: %d words from %d:\n%x, want\n%x", isa, len(want), base, got, want)
			}
		}
	}
}

func BenchmarkRandFill(b *testing.B) {
	e := &device.Env{Seed: 7}
	for _, n := range []int{9, 64, 4096} {
		for _, isa := range isas() {
			w, dst := NewWorker(nil, isa, Memory{}), make([]uint32, n)
			b.Run(fmt.Sprintf("%d/%s", n, isa), func(b *testing.B) {
				for i := range b.N {
					w.RandFill(dst, e, 1, uint32(i), 0)
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n*b.N), "ns/word")
			})
		}
	}
}
