package bf16

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
	for _, name := range []string{"go", "avx2", "avx512", "avx512bf16", "neon"} {
		if isa, err := cpu.ParseISA(name); err == nil {
			all = append(all, isa)
		}
	}
	return all
}

// newWorker returns a Worker without kernels.
func newWorker(isa cpu.ISA) *cpu.Worker { return cpu.NewWorker(nil, isa, cpu.Memory{}) }

// A testProduct holds the operands of a product, and the expected C.
type testProduct struct {
	producttest.Shape
	a, b            []uint16
	c, sum, product []float32 // before, after Dot and after Product
}

// newTestProduct makes operands of random layouts.
func newTestProduct(r *rand.Rand, m, n, k int, value func() float32) testProduct {
	p := testProduct{Shape: producttest.NewShape(r, m, n, k)}
	rounded := func(n int) []uint16 {
		s := make([]uint16, n)
		for i := range s {
			s[i] = cpu.RoundBF16(value())
		}
		return s
	}
	na, nb, nc := p.Elements()
	p.a, p.b, p.c = rounded(na), rounded(nb), producttest.Fill(nc, value)
	return p
}

// define computes the expected results, one fused multiply-add after another.
func (p *testProduct) define(fma func(a, b, c float32) float32) {
	term := func(a, b int, sum float32) float32 {
		return fma(cpu.WidenBF16(p.a[a]), cpu.WidenBF16(p.b[b]), sum)
	}
	p.sum, p.product = slices.Clone(p.c), slices.Clone(p.c)
	p.Define(p.sum, true, term)
	p.Define(p.product, false, term)
}

// fmaFlushed is Fma with subnormal factors and results flushed to 0.
func fmaFlushed(a, b, c float32) float32 {
	flush := func(x float32) float32 {
		if math.Abs(float64(x)) < 0x1p-126 {
			return float32(math.Copysign(0, float64(x)))
		}
		return x
	}
	return flush(cpu.Fma(flush(a), flush(b), flush(c)))
}

// try compares the forms of a product with the definition. Rows use a packed operand in two
// parts.
func (p *testProduct) try(t *testing.T, isa cpu.ISA, w *cpu.Worker) {
	t.Helper()
	expect := func(form string, got, want []float32) {
		t.Helper()
		if diff := producttest.Difference(got, want); diff != "" {
			t.Fatalf("%s on %s: %s: %s", form, isa, p.Name, diff)
		}
	}
	got := slices.Clone(p.c)
	Dot(w, p.M, p.N, p.K, p.a, p.Ars, p.Acs, p.b, p.Brs, p.Bcs, got, p.Ldc)
	expect("Dot", got, p.sum)
	got = slices.Clone(p.c)
	Product(w, p.M, p.N, p.K, p.a, p.Ars, p.Acs, p.b, p.Brs, p.Bcs, got, p.Ldc)
	expect("Product", got, p.product)
	got = slices.Clone(p.c)
	got[0] = DotVec(w, p.K, p.a, p.Acs, p.b, p.Brs, got[0])
	expect("DotVec", got[:1], p.sum[:1])

	half := p.M / 2
	for _, rows := range []int{1, 1000} {
		b := Pack(w, rows, p.K, p.N, p.b, p.Brs, p.Bcs)
		got = slices.Clone(p.c)
		DotPacked(w, half, p.a, p.Ars, p.Acs, b, got, p.Ldc)
		DotPacked(w, p.M-half, p.a[half*p.Ars:], p.Ars, p.Acs, b, got[half*p.Ldc:], p.Ldc)
		expect("DotPacked", got, p.sum)
		got = slices.Clone(p.c)
		ProductPacked(w, half, p.a, p.Ars, p.Acs, b, got, p.Ldc)
		ProductPacked(w, p.M-half, p.a[half*p.Ars:], p.Ars, p.Acs, b, got[half*p.Ldc:], p.Ldc)
		expect("ProductPacked", got, p.product)
	}
	w.Release(cpu.Mark{})
}

// TestProductsAgree compares products of BF16 with the definition on each instruction
// set. Plain Go computes only small ones.
func TestProductsAgree(t *testing.T) {
	if !slices.Contains(isas(), cpu.AVX512BF16) {
		t.Logf("this processor does not have %s: it is not tested", cpu.AVX512BF16)
	}
	r := rand.New(rand.NewPCG(1, 2))
	workers := map[cpu.ISA]*cpu.Worker{}
	for _, isa := range isas() {
		workers[isa] = newWorker(isa)
	}
	try := func(m, n, k int) {
		p := newTestProduct(r, m, n, k, producttest.Value(r))
		p.define(cpu.Fma)
		for isa, w := range workers {
			if isa != cpu.AVX512BF16 && (isa != cpu.Go || m*n*k < 1<<20) {
				p.try(t, isa, w)
			}
		}
		if w := workers[cpu.AVX512BF16]; w != nil {
			p.define(fmaFlushed)
			p.try(t, cpu.AVX512BF16, w)
		}
	}
	for range producttest.Rounds(400) {
		try(1+r.IntN(50), 1+r.IntN(80), 1+r.IntN(40))
	}
	// Beyond each of the block sizes of products.
	for range producttest.Rounds(8) {
		try(1+r.IntN(20), 1+r.IntN(40), 500+r.IntN(600))
		try(60+r.IntN(250), 1+r.IntN(70), 1+r.IntN(20))
		try(600+r.IntN(40), 1+r.IntN(20), 1+r.IntN(20))
	}
	try(401, 35, 1101)
	try(450, 257, 61)
}

// TestSigns wants sums of negative zeros to stay negative, despite the padding of an odd
// row's last pair.
func TestSigns(t *testing.T) {
	minus := float32(math.Copysign(0, -1))
	for _, isa := range isas() {
		w := newWorker(isa)
		for k := 1; k < 6; k++ {
			a, b := make([]uint16, k), make([]uint16, k)
			for i := range a {
				a[i] = cpu.RoundBF16(minus)
			}
			c := []float32{minus}
			Dot(w, 1, 1, k, a, k, 1, b, 1, 1, c, 1)
			if !math.Signbit(float64(c[0])) {
				t.Errorf("%s: the sum of %d negative zeros is %v", isa, k, c[0])
			}
		}
	}
}

// TestProductsOfNothing wants empty sums to be 0, or to leave C unchanged.
func TestProductsOfNothing(t *testing.T) {
	for _, isa := range isas() {
		w := newWorker(isa)
		c := []float32{1, 2, 3, 4, 5}
		expect := func(form string, want ...float32) {
			t.Helper()
			if !slices.Equal(c, want) {
				t.Errorf("%s on %s: c is %v, want %v", form, isa, c, want)
			}
		}
		Dot(w, 2, 2, 0, nil, 1, 1, nil, 1, 1, c, 3)
		DotPacked(w, 2, nil, 1, 1, Pack(w, 2, 0, 2, nil, 1, 1), c, 3)
		Product(w, 0, 2, 3, nil, 1, 1, make([]uint16, 6), 2, 1, c, 3)
		ProductPacked(w, 0, nil, 1, 1, Pack(w, 2, 3, 2, make([]uint16, 6), 2, 1), c, 3)
		ProductPacked(w, 2, nil, 1, 1, Pack(w, 2, 3, 0, nil, 1, 1), c, 3)
		expect("no rows, no columns or no sums", 1, 2, 3, 4, 5)
		Product(w, 2, 2, 0, nil, 1, 1, nil, 1, 1, c, 3)
		expect("Product", 0, 0, 3, 0, 0)
		c = []float32{1, 2, 3, 4, 5}
		ProductPacked(w, 2, nil, 1, 1, Pack(w, 2, 0, 2, nil, 1, 1), c, 3)
		expect("ProductPacked", 0, 0, 3, 0, 0)
	}
}

// TestProductsAllocateNothing counts allocations after the first call.
func TestProductsAllocateNothing(t *testing.T) {
	const m, n, k = 700, 72, 301
	a, b, c := make([]uint16, m*k), make([]uint16, k*n), make([]float32, m*n)
	for _, isa := range isas()[1:] {
		w := newWorker(isa)
		allocs := testing.AllocsPerRun(2, func() {
			w.Release(cpu.Mark{})
			Dot(w, m, n, k, a, k, 1, b, n, 1, c, n)
			Product(w, 100, n, k, a, 1, m, b, 1, k, c, n)
			ProductPacked(w, m, a, k, 1, Pack(w, m, k, n, b, 1, k), c, n)
		})
		if allocs > 0 {
			t.Errorf("%s: %v allocations", isa, allocs)
		}
	}
}

// TestProductsCheckBounds passes slices one element too short.
func TestProductsCheckBounds(t *testing.T) {
	full, short := make([]uint16, 20), make([]uint16, 19)
	c, shortC := make([]float32, 16), make([]float32, 15)
	for _, isa := range isas() {
		w := newWorker(isa)
		b := Pack(w, 4, 5, 4, full, 4, 1)
		for name, call := range map[string]func(){
			"Dot a":           func() { Dot(w, 4, 4, 5, short, 5, 1, full, 4, 1, c, 4) },
			"Dot b":           func() { Dot(w, 4, 4, 5, full, 5, 1, short, 4, 1, c, 4) },
			"Dot c":           func() { Dot(w, 4, 4, 5, full, 5, 1, full, 4, 1, shortC, 4) },
			"Product a":       func() { Product(w, 4, 4, 5, short, 1, 4, full, 4, 1, c, 4) },
			"Product b":       func() { Product(w, 4, 4, 5, full, 5, 1, short, 1, 5, c, 4) },
			"Product c":       func() { Product(w, 4, 4, 5, full, 5, 1, full, 4, 1, shortC, 4) },
			"Product 0":       func() { Product(w, 4, 4, 0, nil, 5, 1, nil, 4, 1, shortC, 4) },
			"Pack":            func() { Pack(w, 4, 5, 4, short, 4, 1) },
			"ProductPacked a": func() { ProductPacked(w, 4, short, 5, 1, b, c, 4) },
			"ProductPacked c": func() { ProductPacked(w, 4, full, 5, 1, b, shortC, 4) },
			"DotPacked a":     func() { DotPacked(w, 4, short, 5, 1, b, c, 4) },
			"DotPacked c":     func() { DotPacked(w, 4, full, 5, 1, b, shortC, 4) },
			"DotVec a":        func() { DotVec(w, 5, full[:4], 1, full, 1, 0) },
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

// TestPairsFlush wants products of pairs to flush exactly the subnormal factors and sums to 0,
// as documented.
func TestPairsFlush(t *testing.T) {
	if !slices.Contains(isas(), cpu.AVX512BF16) {
		t.Skipf("this processor does not have %s", cpu.AVX512BF16)
	}
	w := newWorker(cpu.AVX512BF16)
	tiny := math.Float32frombits(1 << 22) // 2^-127
	for _, c := range []struct {
		name          string
		x, y, c, want float32
	}{
		{"a factor below", tiny, 0x1p10, 1, 1},
		{"a factor below, of a normal product", tiny, 0x1p30, 0, 0},
		{"a sum below", 0x1p-60, 0x1p-67, 0, 0},
		{"a sum below before", 1, 0, tiny, 0},
		{"a product below of a normal sum", 0x1p-74, 0x1p-74, 0x1p-125, 0x1p-125 + 0x1p-148},
		{"the smallest sum", 0x1p-60, 0x1p-66, 0, 0x1p-126},
	} {
		got := []float32{c.c}
		Dot(w, 1, 1, 1, []uint16{cpu.RoundBF16(c.x)}, 1, 1, []uint16{cpu.RoundBF16(c.y)}, 1, 1, got, 1)
		if got[0] != c.want {
			t.Errorf("%s: %g, want %g", c.name, got[0], c.want)
		}
	}
}
