package cpu

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// A narrowTest holds the operands of a product, and the expected C.
type narrowTest struct {
	m, n, k, ldc       int
	ars, acs, brs, bcs int
	name               string
	a, b               []uint16
	c, sum, product    []float32 // before, after DotBF16 and after ProductBF16
}

// newNarrowTest makes operands of random layouts.
func newNarrowTest(r *rand.Rand, m, n, k int, value func() float32) narrowTest {
	la, lb := layouts[r.IntN(len(layouts))], layouts[r.IntN(len(layouts))]
	p := narrowTest{m: m, n: n, k: k, ldc: n + r.IntN(3)}
	p.name = fmt.Sprintf("m=%d n=%d k=%d, a by %s, b by %s", m, n, k, la.name, lb.name)
	p.ars, p.acs = la.strides(m, k)
	p.brs, p.bcs = lb.strides(k, n)
	rounded := func(n int) []uint16 {
		s := make([]uint16, n)
		for i := range s {
			s[i] = RoundBF16(value())
		}
		return s
	}
	p.a, p.b = rounded((m-1)*p.ars+(k-1)*p.acs+1), rounded((k-1)*p.brs+(n-1)*p.bcs+1)
	p.c = fill((m-1)*p.ldc+n, value)
	return p
}

// define computes the expected results, one fused multiply-add after another.
func (p *narrowTest) define(fma func(a, b, c float32) float32) {
	chain := func(i, j int, sum float32) float32 {
		for l := range p.k {
			sum = fma(WidenBF16(p.a[i*p.ars+l*p.acs]), WidenBF16(p.b[l*p.brs+j*p.bcs]), sum)
		}
		return sum
	}
	p.sum, p.product = slices.Clone(p.c), slices.Clone(p.c)
	for i := range p.m {
		for j := range p.n {
			p.sum[i*p.ldc+j] = chain(i, j, p.c[i*p.ldc+j])
			p.product[i*p.ldc+j] = chain(i, j, 0)
		}
	}
}

// fmaFlushed is Fma with subnormal factors and results flushed to 0.
func fmaFlushed(a, b, c float32) float32 {
	flush := func(x float32) float32 {
		if math.Abs(float64(x)) < 0x1p-126 {
			return float32(math.Copysign(0, float64(x)))
		}
		return x
	}
	return flush(Fma(flush(a), flush(b), flush(c)))
}

// try compares the forms of a product with the definition. Rows use a packed operand in two
// parts.
func (p *narrowTest) try(t *testing.T, isa ISA, w *Worker) {
	t.Helper()
	expect := func(form string, got, want []float32) {
		t.Helper()
		if diff := firstDifference(got, want); diff != "" {
			t.Fatalf("%s on %s: %s: %s", form, isa, p.name, diff)
		}
	}
	got := slices.Clone(p.c)
	w.DotBF16(p.m, p.n, p.k, p.a, p.ars, p.acs, p.b, p.brs, p.bcs, got, p.ldc)
	expect("DotBF16", got, p.sum)
	got = slices.Clone(p.c)
	w.ProductBF16(p.m, p.n, p.k, p.a, p.ars, p.acs, p.b, p.brs, p.bcs, got, p.ldc)
	expect("ProductBF16", got, p.product)
	got = slices.Clone(p.c)
	got[0] = w.DotVecBF16(p.k, p.a, p.acs, p.b, p.brs, got[0])
	expect("DotVecBF16", got[:1], p.sum[:1])

	half := p.m / 2
	for _, rows := range []int{1, 1000} {
		b := w.PackBF16(rows, p.k, p.n, p.b, p.brs, p.bcs)
		got = slices.Clone(p.c)
		w.DotPackedBF16(half, p.a, p.ars, p.acs, b, got, p.ldc)
		w.DotPackedBF16(p.m-half, p.a[half*p.ars:], p.ars, p.acs, b, got[half*p.ldc:], p.ldc)
		expect("DotPackedBF16", got, p.sum)
		got = slices.Clone(p.c)
		w.ProductPackedBF16(half, p.a, p.ars, p.acs, b, got, p.ldc)
		w.ProductPackedBF16(p.m-half, p.a[half*p.ars:], p.ars, p.acs, b, got[half*p.ldc:], p.ldc)
		expect("ProductPackedBF16", got, p.product)
	}
	w.Release(Mark{})
}

// TestNarrowProductsAgree compares products of BF16 with the definition on each instruction
// set. Plain Go computes only small ones.
func TestNarrowProductsAgree(t *testing.T) {
	if !AVX512BF16.supported() {
		t.Logf("this processor does not have %s: it is not tested", AVX512BF16)
	}
	r := rand.New(rand.NewPCG(1, 2))
	workers := map[ISA]*Worker{}
	for _, isa := range isas() {
		workers[isa] = NewWorker(nil, isa, Memory{})
	}
	try := func(m, n, k int) {
		value := func() float32 { return special(r) }
		if r.IntN(2) == 0 {
			value = func() float32 { return float32(r.NormFloat64()) }
		}
		p := newNarrowTest(r, m, n, k, value)
		p.define(Fma)
		for isa, w := range workers {
			if isa != AVX512BF16 && (isa != Go || m*n*k < 1<<20) {
				p.try(t, isa, w)
			}
		}
		if w := workers[AVX512BF16]; w != nil {
			p.define(fmaFlushed)
			p.try(t, AVX512BF16, w)
		}
	}
	for range rounds(400) {
		try(1+r.IntN(50), 1+r.IntN(80), 1+r.IntN(40))
	}
	// Beyond each of the block sizes of products.
	for range rounds(8) {
		try(1+r.IntN(20), 1+r.IntN(40), 500+r.IntN(600))
		try(60+r.IntN(250), 1+r.IntN(70), 1+r.IntN(20))
		try(600+r.IntN(40), 1+r.IntN(20), 1+r.IntN(20))
	}
	try(401, 35, 1101)
	try(450, 257, 61)
}

// TestNarrowSigns wants sums of negative zeros to stay negative, despite the padding of an odd
// row's last pair.
func TestNarrowSigns(t *testing.T) {
	minus := float32(math.Copysign(0, -1))
	for _, isa := range isas() {
		w := NewWorker(nil, isa, Memory{})
		for k := 1; k < 6; k++ {
			a, b := make([]uint16, k), make([]uint16, k)
			for i := range a {
				a[i] = RoundBF16(minus)
			}
			c := []float32{minus}
			w.DotBF16(1, 1, k, a, k, 1, b, 1, 1, c, 1)
			if !math.Signbit(float64(c[0])) {
				t.Errorf("%s: the sum of %d negative zeros is %v", isa, k, c[0])
			}
		}
	}
}

// TestNarrowProductsOfNothing wants empty sums to be 0, or to leave C unchanged.
func TestNarrowProductsOfNothing(t *testing.T) {
	for _, isa := range isas() {
		w := NewWorker(nil, isa, Memory{})
		c := []float32{1, 2, 3, 4, 5}
		expect := func(form string, want ...float32) {
			t.Helper()
			if !slices.Equal(c, want) {
				t.Errorf("%s on %s: c is %v, want %v", form, isa, c, want)
			}
		}
		w.DotBF16(2, 2, 0, nil, 1, 1, nil, 1, 1, c, 3)
		w.DotPackedBF16(2, nil, 1, 1, w.PackBF16(2, 0, 2, nil, 1, 1), c, 3)
		w.ProductBF16(0, 2, 3, nil, 1, 1, make([]uint16, 6), 2, 1, c, 3)
		w.ProductPackedBF16(0, nil, 1, 1, w.PackBF16(2, 3, 2, make([]uint16, 6), 2, 1), c, 3)
		w.ProductPackedBF16(2, nil, 1, 1, w.PackBF16(2, 3, 0, nil, 1, 1), c, 3)
		expect("no rows, no columns or no sums", 1, 2, 3, 4, 5)
		w.ProductBF16(2, 2, 0, nil, 1, 1, nil, 1, 1, c, 3)
		expect("ProductBF16", 0, 0, 3, 0, 0)
		c = []float32{1, 2, 3, 4, 5}
		w.ProductPackedBF16(2, nil, 1, 1, w.PackBF16(2, 0, 2, nil, 1, 1), c, 3)
		expect("ProductPackedBF16", 0, 0, 3, 0, 0)
	}
}

// TestNarrowProductsAllocateNothing counts allocations after the first call.
func TestNarrowProductsAllocateNothing(t *testing.T) {
	const m, n, k = 700, 72, 301
	a, b, c := make([]uint16, m*k), make([]uint16, k*n), make([]float32, m*n)
	for _, isa := range isas()[1:] {
		w := NewWorker(nil, isa, Memory{})
		allocs := testing.AllocsPerRun(2, func() {
			w.Release(Mark{})
			w.DotBF16(m, n, k, a, k, 1, b, n, 1, c, n)
			w.ProductBF16(100, n, k, a, 1, m, b, 1, k, c, n)
			w.ProductPackedBF16(m, a, k, 1, w.PackBF16(m, k, n, b, 1, k), c, n)
		})
		if allocs > 0 {
			t.Errorf("%s: %v allocations", isa, allocs)
		}
	}
}

// TestNarrowProductsCheckBounds passes slices one element too short.
func TestNarrowProductsCheckBounds(t *testing.T) {
	full, short := make([]uint16, 20), make([]uint16, 19)
	c, shortC := make([]float32, 16), make([]float32, 15)
	for _, isa := range isas() {
		w := NewWorker(nil, isa, Memory{})
		b := w.PackBF16(4, 5, 4, full, 4, 1)
		for name, call := range map[string]func(){
			"DotBF16 a":           func() { w.DotBF16(4, 4, 5, short, 5, 1, full, 4, 1, c, 4) },
			"DotBF16 b":           func() { w.DotBF16(4, 4, 5, full, 5, 1, short, 4, 1, c, 4) },
			"DotBF16 c":           func() { w.DotBF16(4, 4, 5, full, 5, 1, full, 4, 1, shortC, 4) },
			"ProductBF16 a":       func() { w.ProductBF16(4, 4, 5, short, 1, 4, full, 4, 1, c, 4) },
			"ProductBF16 b":       func() { w.ProductBF16(4, 4, 5, full, 5, 1, short, 1, 5, c, 4) },
			"ProductBF16 c":       func() { w.ProductBF16(4, 4, 5, full, 5, 1, full, 4, 1, shortC, 4) },
			"ProductBF16 0":       func() { w.ProductBF16(4, 4, 0, nil, 5, 1, nil, 4, 1, shortC, 4) },
			"PackBF16":            func() { w.PackBF16(4, 5, 4, short, 4, 1) },
			"ProductPackedBF16 a": func() { w.ProductPackedBF16(4, short, 5, 1, b, c, 4) },
			"ProductPackedBF16 c": func() { w.ProductPackedBF16(4, full, 5, 1, b, shortC, 4) },
			"DotPackedBF16 a":     func() { w.DotPackedBF16(4, short, 5, 1, b, c, 4) },
			"DotPackedBF16 c":     func() { w.DotPackedBF16(4, full, 5, 1, b, shortC, 4) },
			"DotVecBF16 a":        func() { w.DotVecBF16(5, full[:4], 1, full, 1, 0) },
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
