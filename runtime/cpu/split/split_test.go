package split

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/arithlang/mlc/runtime/cpu"
	"github.com/arithlang/mlc/runtime/cpu/producttest"
)

// isas are the instruction sets that this machine can test.
func isas() (all []cpu.ISA) {
	for _, name := range []string{"go", "avx2", "avx512", "neon"} {
		if isa, err := cpu.ParseISA(name); err == nil {
			all = append(all, isa)
		}
	}
	return all
}

// newWorker returns a Worker without kernels.
func newWorker(isa cpu.ISA) *cpu.Worker { return cpu.NewWorker(nil, isa, cpu.Memory{}) }

// twoTF32 splits x into the nearest TF32 and the rest, truncated to TF32. It uses the generated
// rounding and float64 arithmetic.
func twoTF32(x float32) (high, low float32) {
	high = cpu.RoundTF32(x)
	left := float64(x - high)
	if left == 0 || math.IsNaN(left) || math.IsInf(left, 0) {
		return high, float32(left)
	}
	_, exp := math.Frexp(left)
	unit := math.Ldexp(1, max(exp-11, -126-10))
	return high, float32(math.Copysign(math.Floor(math.Abs(left)/unit)*unit, left))
}

// A testProduct holds the operands of a product, and the expected C.
type testProduct struct {
	producttest.Shape
	a, b, c      []float32
	sum, product []float32 // after Dot and after Product
}

// newTestProduct makes operands of random layouts, and computes the expected results by
// definition: three products of halves for each product.
func newTestProduct(r *rand.Rand, m, n, k int) testProduct {
	p := testProduct{Shape: producttest.NewShape(r, m, n, k)}
	value := producttest.Value(r)
	na, nb, nc := p.Elements()
	p.a, p.b, p.c = producttest.Fill(na, value), producttest.Fill(nb, value), producttest.Fill(nc, value)
	p.sum, p.product = slices.Clone(p.c), slices.Clone(p.c)
	term := func(a, b int, sum float32) float32 {
		xHigh, xLow := twoTF32(p.a[a])
		yHigh, yLow := twoTF32(p.b[b])
		return cpu.Fma(xHigh, yHigh, cpu.Fma(xHigh, yLow, cpu.Fma(xLow, yHigh, sum)))
	}
	p.Define(p.sum, true, term)
	p.Define(p.product, false, term)
	return p
}

// try compares both forms of a product, of operands that may lie elsewhere, with the definition.
func (p *testProduct) try(t *testing.T, isa cpu.ISA, w *cpu.Worker, a, b, c []float32) {
	t.Helper()
	Dot(w, p.M, p.N, p.K, a, p.Ars, p.Acs, b, p.Brs, p.Bcs, c, p.Ldc)
	if diff := producttest.Difference(c, p.sum); diff != "" {
		t.Fatalf("Dot on %s: %s: %s", isa, p.Name, diff)
	}
	Product(w, p.M, p.N, p.K, a, p.Ars, p.Acs, b, p.Brs, p.Bcs, c, p.Ldc)
	if diff := producttest.Difference(c, p.product); diff != "" {
		t.Fatalf("Product on %s: %s: %s", isa, p.Name, diff)
	}
}

// TestProductsAgree compares products with the definition on each instruction set. Plain Go
// computes only small ones.
func TestProductsAgree(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	try := func(m, n, k int) {
		p := newTestProduct(r, m, n, k)
		for _, isa := range isas() {
			if isa != cpu.Go || m*n*k < 1<<20 {
				p.try(t, isa, newWorker(isa), p.a, p.b, slices.Clone(p.c))
			}
		}
	}
	for range producttest.Rounds(400) {
		try(1+r.IntN(50), 1+r.IntN(80), 1+r.IntN(40))
	}
	// Beyond each of the block sizes of products.
	for range producttest.Rounds(12) {
		try(1+r.IntN(20), 1+r.IntN(40), 250+r.IntN(300))
		try(60+r.IntN(250), 1+r.IntN(70), 1+r.IntN(20))
		try(600+r.IntN(40), 1+r.IntN(20), 1+r.IntN(20))
	}
	try(135, 35, 600)
	try(70, 257, 260)
}

// TestProductsOfNothing wants empty sums to be 0, or to leave C unchanged.
func TestProductsOfNothing(t *testing.T) {
	for _, isa := range isas() {
		w, c := newWorker(isa), []float32{1, 2, 3, 4, 5}
		Dot(w, 2, 2, 0, nil, 1, 1, nil, 1, 1, c, 3)
		Product(w, 0, 2, 3, nil, 1, 1, make([]float32, 6), 2, 1, c, 3)
		if want := []float32{1, 2, 3, 4, 5}; !slices.Equal(c, want) {
			t.Errorf("%s: c is %v, want %v", isa, c, want)
		}
		Product(w, 2, 2, 0, nil, 1, 1, nil, 1, 1, c, 3)
		if want := []float32{0, 0, 3, 0, 0}; !slices.Equal(c, want) {
			t.Errorf("%s: c is %v, want %v", isa, c, want)
		}
	}
}

// TestProductsAllocateNothing counts allocations after the first call.
func TestProductsAllocateNothing(t *testing.T) {
	const m, n, k = 200, 72, 100
	a, b, c := make([]float32, m*k), make([]float32, k*n), make([]float32, m*n)
	for _, isa := range isas()[1:] {
		w := newWorker(isa)
		if allocs := testing.AllocsPerRun(2, func() {
			Dot(w, m, n, k, a, k, 1, b, n, 1, c, n)
			Product(w, 100, n, k, a, 1, m, b, 1, k, c, n)
		}); allocs > 0 {
			t.Errorf("%s: %v allocations", isa, allocs)
		}
	}
}

// TestProductsCheckBounds passes slices one element too short.
func TestProductsCheckBounds(t *testing.T) {
	full, short := make([]float32, 16), make([]float32, 15)
	for _, isa := range isas() {
		w := newWorker(isa)
		for name, call := range map[string]func(){
			"Dot a":         func() { Dot(w, 4, 4, 4, short, 4, 1, full, 4, 1, full, 4) },
			"Dot a columns": func() { Dot(w, 4, 4, 4, short, 1, 4, full, 4, 1, full, 4) },
			"Dot b":         func() { Dot(w, 4, 4, 4, full, 4, 1, short, 4, 1, full, 4) },
			"Dot b spread":  func() { Dot(w, 2, 2, 4, full, 4, 1, short, 4, 3, full, 4) },
			"Dot c":         func() { Dot(w, 4, 4, 4, full, 4, 1, full, 4, 1, short, 4) },
			"Product a":     func() { Product(w, 4, 4, 4, short, 4, 1, full, 4, 1, full, 4) },
			"Product c":     func() { Product(w, 4, 4, 4, full, 4, 1, full, 4, 1, short, 4) },
			"Product 0":     func() { Product(w, 4, 4, 0, nil, 4, 1, nil, 4, 1, short, 4) },
		} {
			t.Run(isa.String()+" "+name, func(t *testing.T) {
				defer func() {
					if recover() == nil {
						t.Error("took a slice that is too short")
					}
				}()
				call()
			})
		}
	}
}
