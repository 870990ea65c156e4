package bf16

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/arithlang/mlc/runtime/cpu"
	"github.com/arithlang/mlc/runtime/cpu/producttest"
)

// A benchProduct is C = A*B of m x k and k x n matrices, either stored transposed.
type benchProduct struct {
	m, k, n int
	at, bt  bool
}

// benchProducts are the products of layers and of attention: queries with keys, weights with
// values, and gradients with rows that are columns in memory.
func benchProducts() []benchProduct {
	var out []benchProduct
	for _, s := range [][3]int{{256, 128, 128}, {256, 512, 512}, {256, 1024, 1024}, {256, 1024, 4096}} {
		rows, in, to := s[0], s[1], s[2]
		out = append(out, benchProduct{rows, in, to, false, false},
			benchProduct{rows, to, in, false, true}, benchProduct{in, rows, to, true, false})
	}
	return append(out, benchProduct{32, 64, 96, false, true}, benchProduct{32, 96, 64, false, false}, benchProduct{96, 32, 64, true, false})
}

// strides returns the strides of both factors, by row and by column.
func (p benchProduct) strides() (ars, acs, brs, bcs int) {
	ars, acs, brs, bcs = p.k, 1, p.n, 1
	if p.at {
		ars, acs = 1, p.m
	}
	if p.bt {
		brs, bcs = 1, p.k
	}
	return ars, acs, brs, bcs
}

// wide returns a function that computes the product of F32 once, and narrow one of BF16.
func (p benchProduct) wide(w *cpu.Worker, packed bool) func() {
	a, b, c := producttest.Fill(p.m*p.k, rand.Float32), producttest.Fill(p.k*p.n, rand.Float32), make([]float32, p.m*p.n)
	ars, acs, brs, bcs := p.strides()
	if packed {
		y := w.Pack(p.m, p.k, p.n, b, brs, bcs)
		return func() { w.ProductPacked(p.m, a, ars, acs, y, c, p.n) }
	}
	return func() { w.Product(p.m, p.n, p.k, a, ars, acs, b, brs, bcs, c, p.n) }
}

func (p benchProduct) narrow(w *cpu.Worker, packed bool) func() {
	a, b, c := make([]uint16, p.m*p.k), make([]uint16, p.k*p.n), make([]float32, p.m*p.n)
	for _, x := range [][]uint16{a, b} {
		for i := range x {
			x[i] = cpu.RoundBF16(rand.Float32())
		}
	}
	ars, acs, brs, bcs := p.strides()
	if packed {
		y := Pack(w, p.m, p.k, p.n, b, brs, bcs)
		return func() { ProductPacked(w, p.m, a, ars, acs, y, c, p.n) }
	}
	return func() { Product(w, p.m, p.n, p.k, a, ars, acs, b, brs, bcs, c, p.n) }
}

// slice is about how long one measurement lasts: short compared with the time slice of a
// thread.
const slice = 300 * time.Microsecond

// BenchmarkProduct reports the speed of products of F32, of widened BF16, and of pairs: the best
// of many interleaved rounds.
func BenchmarkProduct(b *testing.B) {
	if !slices.Contains(isas(), cpu.AVX512BF16) {
		b.Skipf("this processor does not have %s", cpu.AVX512BF16)
	}
	for _, p := range benchProducts() {
		for _, packed := range []bool{false, true} {
			b.Run(fmt.Sprintf("%dx%dx%d,%t,%t/packed=%t", p.m, p.k, p.n, p.at, p.bt, packed), func(b *testing.B) {
				runs := []func(){
					p.wide(newWorker(cpu.AVX512), packed), p.narrow(newWorker(cpu.AVX512), packed), p.narrow(newWorker(cpu.AVX512BF16), packed),
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
