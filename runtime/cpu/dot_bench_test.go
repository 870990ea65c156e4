package cpu

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/arithlang/mlc/runtime/cpu/producttest"
)

// A benchProduct is C = A*B of m x k and k x n matrices, either stored transposed.
type benchProduct struct {
	m, k, n int
	at, bt  bool
}

func (p benchProduct) String() string {
	letter := map[bool]string{false: "N", true: "T"}
	return fmt.Sprintf("%dx%dx%d%s%s", p.m, p.k, p.n, letter[p.at], letter[p.bt])
}

// layers are a linear layer's three products: Y = X W, dX = dY Wt, dW = Xt dY.
func layers() []benchProduct {
	var out []benchProduct
	for _, s := range [][3]int{{2048, 128, 512}, {2048, 512, 128}, {2048, 128, 128}, {248, 128, 512}, {248, 512, 128}, {248, 128, 128}} {
		rows, in, to := s[0], s[1], s[2]
		out = append(out, benchProduct{rows, in, to, false, false},
			benchProduct{rows, to, in, false, true}, benchProduct{in, rows, to, true, false})
	}
	return out
}

// heads are the products of attention on blocks of queries.
func heads() []benchProduct {
	return []benchProduct{
		{32, 16, 80, false, false}, {32, 16, 80, false, true}, {32, 80, 16, false, false},
		{32, 80, 16, true, false}, {16, 16, 18, false, true}, {16, 18, 16, false, false},
		{62, 16, 62, false, true}, {62, 62, 16, false, false}, {62, 62, 16, true, false},
	}
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

// run returns a function that computes the product once.
func (p benchProduct) run(w *Worker, packed bool) func() {
	a, b, c := producttest.Fill(p.m*p.k, rand.Float32), producttest.Fill(p.k*p.n, rand.Float32), make([]float32, p.m*p.n)
	ars, acs, brs, bcs := p.strides()
	if packed {
		y := w.Pack(p.m, p.k, p.n, b, brs, bcs)
		return func() { w.ProductPacked(p.m, a, ars, acs, y, c, p.n) }
	}
	return func() { w.Product(p.m, p.n, p.k, a, ars, acs, b, brs, bcs, c, p.n) }
}

// slice is about how long one measurement lasts: short compared with the time slice of a
// thread.
const slice = 300 * time.Microsecond

// speeds alternates between products and bare multiply-adds. It returns the speed of the
// products and their share of the peak, as medians of rounds.
func speeds(p benchProduct, isa ISA, packed bool, rounds int) (gflops, share float64) {
	w := NewWorker(nil, isa, Memory{})
	run, flops := p.run(w, packed), 2*p.m*p.k*p.n
	calls := max(1, int(slice.Seconds()*100e9)/flops)
	var speed, shares []float64
	for range rounds {
		start := time.Now()
		most := float64(isa.Saturate(50_000)) / float64(time.Since(start))
		start = time.Now()
		for range calls {
			run()
		}
		s := float64(calls*flops) / float64(time.Since(start))
		speed, shares = append(speed, s), append(shares, s/most)
	}
	return median(speed), median(shares)
}

func median(x []float64) float64 {
	slices.Sort(x)
	return x[len(x)/2]
}

// BenchmarkProduct reports the speed of products, and their share of the peak of bare
// multiply-adds.
func BenchmarkProduct(b *testing.B) {
	for _, isa := range isas()[1:] {
		for _, p := range append(layers(), heads()...) {
			for _, packed := range []bool{false, true} {
				for threads := 1; threads <= 2; threads++ {
					b.Run(fmt.Sprintf("%s/%s/packed=%t/threads=%d", isa, p, packed, threads), func(b *testing.B) {
						benchmarkProduct(b, p, isa, packed, threads)
					})
				}
			}
		}
	}
}

func benchmarkProduct(b *testing.B, p benchProduct, isa ISA, packed bool, threads int) {
	var mu sync.Mutex
	var all sync.WaitGroup
	var gflops, share float64
	for range threads {
		all.Go(func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			g, s := speeds(p, isa, packed, b.N)
			mu.Lock()
			defer mu.Unlock()
			gflops, share = gflops+g, share+s/float64(threads)
		})
	}
	all.Wait()
	b.ReportMetric(gflops, "GFLOP/s")
	b.ReportMetric(100*share, "%peak")
	b.ReportMetric(0, "ns/op")
}
