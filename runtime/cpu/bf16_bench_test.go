package cpu

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

// narrowShapes are the products of layers and of attention: queries with keys, weights with
// values, and gradients with rows that are columns in memory.
func narrowShapes() []benchProduct {
	var out []benchProduct
	for _, s := range [][3]int{{256, 128, 128}, {256, 512, 512}, {256, 1024, 1024}, {256, 1024, 4096}} {
		rows, in, to := s[0], s[1], s[2]
		out = append(out, benchProduct{rows, in, to, false, false},
			benchProduct{rows, to, in, false, true}, benchProduct{in, rows, to, true, false})
	}
	return append(out, benchProduct{32, 64, 96, false, true}, benchProduct{32, 96, 64, false, false}, benchProduct{96, 32, 64, true, false})
}

// runNarrow is run for BF16.
func (p benchProduct) runNarrow(w *Worker, packed bool) func() {
	random := func() uint16 { return RoundBF16(rand.Float32()) }
	a, b, c := make([]uint16, p.m*p.k), make([]uint16, p.k*p.n), make([]float32, p.m*p.n)
	for _, x := range [][]uint16{a, b} {
		for i := range x {
			x[i] = random()
		}
	}
	ars, acs, brs, bcs := p.strides()
	if packed {
		y := w.PackBF16(p.m, p.k, p.n, b, brs, bcs)
		return func() { w.ProductPackedBF16(p.m, a, ars, acs, y, c, p.n) }
	}
	return func() { w.ProductBF16(p.m, p.n, p.k, a, ars, acs, b, brs, bcs, c, p.n) }
}

// BenchmarkNarrow reports the speed of products of F32, of widened BF16, and of pairs: the best
// of many interleaved rounds.
func BenchmarkNarrow(b *testing.B) {
	if !AVX512BF16.supported() {
		b.Skipf("this processor does not have %s", AVX512BF16)
	}
	for _, p := range narrowShapes() {
		for _, packed := range []bool{false, true} {
			b.Run(fmt.Sprintf("%s/packed=%t", p, packed), func(b *testing.B) {
				runs := []func(){
					p.run(NewWorker(nil, AVX512, Memory{}), packed),
					p.runNarrow(NewWorker(nil, AVX512, Memory{}), packed),
					p.runNarrow(NewWorker(nil, AVX512BF16, Memory{}), packed),
				}
				flops := 2 * p.m * p.k * p.n
				calls := max(1, int(slice.Seconds()*100e9)/flops)
				var best [3]float64
				for range b.N {
					for i, run := range runs {
						start := time.Now()
						for range calls {
							run()
						}
						best[i] = max(best[i], float64(calls*flops)/float64(time.Since(start)))
					}
				}
				b.ReportMetric(best[0], "f32-GFLOP/s")
				b.ReportMetric(best[1]/best[0], "widened/f32")
				b.ReportMetric(best[2]/best[0], "pairs/f32")
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}
