package cpu

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/arithlang/mlc/internal/full"
)

// isas are the instruction sets that this machine can test.
func isas() []ISA {
	var out []ISA
	for i := Go; i < numISA; i++ {
		if i.supported() {
			out = append(out, i)
		}
	}
	return out
}

// special returns a random float32, often one that matters for rounding or ranges.
func special(r *rand.Rand) float32 {
	switch r.IntN(24) {
	case 0:
		return math.Float32frombits(r.Uint32()) // any class
	case 1:
		return math.Float32frombits(r.Uint32() & 0x807FFFFF) // subnormal
	case 2:
		return float32(math.Inf(r.IntN(2)*2 - 1))
	case 3:
		return math.Float32frombits(uint32(r.IntN(2)) << 31) // zero
	case 4:
		return float32(r.NormFloat64() * 1e-20)
	case 5:
		return float32(math.NaN())
	}
	return float32(r.NormFloat64())
}

func fill(n int, f func() float32) []float32 {
	s := make([]float32, n)
	for i := range s {
		s[i] = f()
	}
	return s
}

// sameBits compares values; all NaNs are equal.
func sameBits(a, b float32) bool {
	return math.Float32bits(a) == math.Float32bits(b) || a != a && b != b
}

func firstDifference(got, want []float32) string {
	for i := range want {
		if !sameBits(got[i], want[i]) {
			return fmt.Sprintf("element %d is %v (%#x), want %v (%#x)", i, got[i], math.Float32bits(got[i]), want[i], math.Float32bits(want[i]))
		}
	}
	return ""
}

// layouts are the strides of operands.
var layouts = []struct {
	name    string
	strides func(rows, cols int) (rs, cs int)
}{
	{"rows", func(_, cols int) (int, int) { return cols, 1 }},
	{"columns", func(rows, _ int) (int, int) { return 1, rows }},
	{"wide", func(_, cols int) (int, int) { return cols + 3, 1 }},
	{"spread", func(rows, cols int) (int, int) { return 2*cols + 1, 2 }},
	{"repeated", func(_, _ int) (int, int) { return 0, 1 }},
}

// A testProduct holds the operands of a product, and the expected C.
type testProduct struct {
	m, n, k, ldc       int
	ars, acs, brs, bcs int
	name               string
	a, b, c            []float32
	sum, product       []float32 // after Dot and after Product
	splitSum, split    []float32 // after DotSplit and after ProductSplit
}

// newTestProduct makes operands of random layouts, and computes the expected results by
// definition: one Fma after another.
func newTestProduct(r *rand.Rand, m, n, k int) testProduct {
	la, lb := layouts[r.IntN(len(layouts))], layouts[r.IntN(len(layouts))]
	p := testProduct{m: m, n: n, k: k, ldc: n + r.IntN(3)}
	p.name = fmt.Sprintf("m=%d n=%d k=%d, a by %s, b by %s", m, n, k, la.name, lb.name)
	p.ars, p.acs = la.strides(m, k)
	p.brs, p.bcs = lb.strides(k, n)
	value := func() float32 { return special(r) }
	if r.IntN(2) == 0 {
		value = func() float32 { return float32(r.NormFloat64()) }
	}
	p.a = fill((m-1)*p.ars+(k-1)*p.acs+1, value)
	p.b = fill((k-1)*p.brs+(n-1)*p.bcs+1, value)
	p.c = fill((m-1)*p.ldc+n, value)
	p.sum, p.product = slices.Clone(p.c), slices.Clone(p.c)
	p.splitSum, p.split = slices.Clone(p.c), slices.Clone(p.c)
	for i := range m {
		for j := range n {
			p.sum[i*p.ldc+j] = p.chain(i, j, p.c[i*p.ldc+j])
			p.product[i*p.ldc+j] = p.chain(i, j, 0)
			p.splitSum[i*p.ldc+j] = p.splitChain(i, j, p.c[i*p.ldc+j])
			p.split[i*p.ldc+j] = p.splitChain(i, j, 0)
		}
	}
	return p
}

func (p *testProduct) chain(i, j int, sum float32) float32 {
	for l := range p.k {
		sum = Fma(p.a[i*p.ars+l*p.acs], p.b[l*p.brs+j*p.bcs], sum)
	}
	return sum
}

// splitChain is chain with three products of halves for each product.
func (p *testProduct) splitChain(i, j int, sum float32) float32 {
	for l := range p.k {
		xHigh, xLow := twoTF32(p.a[i*p.ars+l*p.acs])
		yHigh, yLow := twoTF32(p.b[l*p.brs+j*p.bcs])
		sum = Fma(xHigh, yHigh, Fma(xHigh, yLow, Fma(xLow, yHigh, sum)))
	}
	return sum
}

// twoTF32 splits x into the nearest TF32 and the rest, truncated to TF32. It uses the generated
// rounding and float64 arithmetic.
func twoTF32(x float32) (high, low float32) {
	high = RoundTF32(x)
	left := float64(x - high)
	if left == 0 || math.IsNaN(left) || math.IsInf(left, 0) {
		return high, float32(left)
	}
	_, exp := math.Frexp(left)
	unit := math.Ldexp(1, max(exp-11, -126-10))
	return high, float32(math.Copysign(math.Floor(math.Abs(left)/unit)*unit, left))
}

// try compares the six forms of a product with the definition. Rows use a packed operand in two
// parts.
func (p *testProduct) try(t *testing.T, w *Worker) {
	t.Helper()
	expect := func(form string, got, want []float32) {
		t.Helper()
		if diff := firstDifference(got, want); diff != "" {
			t.Fatalf("%s on %s: %s: %s", form, w.isa, p.name, diff)
		}
	}
	got := slices.Clone(p.c)
	w.Dot(p.m, p.n, p.k, p.a, p.ars, p.acs, p.b, p.brs, p.bcs, got, p.ldc)
	expect("Dot", got, p.sum)
	got = slices.Clone(p.c)
	w.Product(p.m, p.n, p.k, p.a, p.ars, p.acs, p.b, p.brs, p.bcs, got, p.ldc)
	expect("Product", got, p.product)

	got = slices.Clone(p.c)
	w.DotSplit(p.m, p.n, p.k, p.a, p.ars, p.acs, p.b, p.brs, p.bcs, got, p.ldc)
	expect("DotSplit", got, p.splitSum)
	got = slices.Clone(p.c)
	w.ProductSplit(p.m, p.n, p.k, p.a, p.ars, p.acs, p.b, p.brs, p.bcs, got, p.ldc)
	expect("ProductSplit", got, p.split)

	half := p.m / 2
	for _, rows := range []int{1, 1000} {
		b := w.Pack(rows, p.k, p.n, p.b, p.brs, p.bcs)
		got = slices.Clone(p.c)
		w.DotPacked(half, p.a, p.ars, p.acs, b, got, p.ldc)
		w.DotPacked(p.m-half, p.a[half*p.ars:], p.ars, p.acs, b, got[half*p.ldc:], p.ldc)
		expect("DotPacked", got, p.sum)
		got = slices.Clone(p.c)
		w.ProductPacked(half, p.a, p.ars, p.acs, b, got, p.ldc)
		w.ProductPacked(p.m-half, p.a[half*p.ars:], p.ars, p.acs, b, got[half*p.ldc:], p.ldc)
		expect("ProductPacked", got, p.product)
	}
	w.Release(Mark{})
}

func TestProductsAgree(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	workers := map[ISA]*Worker{}
	for _, isa := range isas() {
		workers[isa] = NewWorker(nil, isa, Memory{})
	}
	try := func(m, n, k int) {
		p := newTestProduct(r, m, n, k)
		for isa, w := range workers {
			if isa != Go || m*n*k < 1<<20 {
				p.try(t, w)
			}
		}
	}
	for range rounds(400) {
		try(1+r.IntN(50), 1+r.IntN(80), 1+r.IntN(40))
	}
	// Beyond each of the block sizes of products.
	for range rounds(12) {
		try(1+r.IntN(20), 1+r.IntN(40), 250+r.IntN(300))
		try(60+r.IntN(250), 1+r.IntN(70), 1+r.IntN(20))
		try(600+r.IntN(40), 1+r.IntN(20), 1+r.IntN(20))
	}
	if !full.Tests {
		try(135, 35, 600)
		try(70, 257, 260)
		return
	}
	try(601, 70, 600)
	try(600, 257, 300)
}

// rounds returns n, or fewer in short tests, as on an emulated processor.
func rounds(n int) int {
	return full.Either((n+19)/20, n)
}

// TestProductsOfNothing wants empty sums to be 0, or to leave C unchanged.
func TestProductsOfNothing(t *testing.T) {
	for _, isa := range isas() {
		w := NewWorker(nil, isa, Memory{})
		c := []float32{1, 2, 3, 4, 5}
		w.Dot(2, 2, 0, nil, 1, 1, nil, 1, 1, c, 3)
		w.DotPacked(2, nil, 1, 1, w.Pack(2, 0, 2, nil, 1, 1), c, 3)
		w.Product(0, 2, 3, nil, 1, 1, make([]float32, 6), 2, 1, c, 3)
		w.ProductPacked(0, nil, 1, 1, w.Pack(2, 3, 2, make([]float32, 6), 2, 1), c, 3)
		w.ProductPacked(2, nil, 1, 1, w.Pack(2, 3, 0, nil, 1, 1), c, 3)
		if want := []float32{1, 2, 3, 4, 5}; !slices.Equal(c, want) {
			t.Errorf("%s: c is %v, want %v", isa, c, want)
		}
		w.Product(2, 2, 0, nil, 1, 1, nil, 1, 1, c, 3)
		if want := []float32{0, 0, 3, 0, 0}; !slices.Equal(c, want) {
			t.Errorf("%s: c is %v, want %v", isa, c, want)
		}
		c = []float32{1, 2, 3, 4, 5}
		w.ProductPacked(2, nil, 1, 1, w.Pack(2, 0, 2, nil, 1, 1), c, 3)
		if want := []float32{0, 0, 3, 0, 0}; !slices.Equal(c, want) {
			t.Errorf("%s, packed: c is %v, want %v", isa, c, want)
		}
	}
}

// TestProductsAllocateNothing counts allocations after the first call, for operands that are
// packed in every way.
func TestProductsAllocateNothing(t *testing.T) {
	const m, n, k = 700, 72, 300
	a, b, c := make([]float32, m*k), make([]float32, k*n), make([]float32, m*n)
	for _, isa := range isas()[1:] {
		w := NewWorker(nil, isa, Memory{})
		allocs := testing.AllocsPerRun(10, func() {
			w.Release(Mark{})
			w.Dot(m, n, k, a, k, 1, b, n, 1, c, n)
			w.Product(100, n, k, a, 1, m, b, 1, k, c, n)
			w.ProductPacked(m, a, k, 1, w.Pack(m, k, n, b, 1, k), c, n)
		})
		if allocs > 0 || w.packed.b.used > 2*k*n || w.packed.a.used > 2*m*k {
			t.Errorf("%s: %v allocations, room for %d and %d elements", isa, allocs, w.packed.a.used, w.packed.b.used)
		}
	}
}

func TestDotVecAgrees(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 300 {
		k, as, bs := r.IntN(40), 1+r.IntN(3), 1+r.IntN(3)
		a, b := fill(k*as, func() float32 { return special(r) }), fill(k*bs, func() float32 { return special(r) })
		c := special(r)
		want := c
		for i := range k {
			want = Fma(a[i*as], b[i*bs], want)
		}
		for _, isa := range isas() {
			if got := NewWorker(nil, isa, Memory{}).DotVec(k, a, as, b, bs, c); !sameBits(got, want) {
				t.Fatalf("%s: k=%d: %v, want %v", isa, k, got, want)
			}
		}
	}
}

// TestProductsCheckBounds passes slices one element too short.
func TestProductsCheckBounds(t *testing.T) {
	full, short := make([]float32, 16), make([]float32, 15)
	for _, isa := range isas() {
		w := NewWorker(nil, isa, Memory{})
		b := w.Pack(4, 4, 4, full, 4, 1)
		for name, call := range map[string]func(){
			"Dot a":           func() { w.Dot(4, 4, 4, short, 4, 1, full, 4, 1, full, 4) },
			"Dot b":           func() { w.Dot(4, 4, 4, full, 4, 1, short, 4, 1, full, 4) },
			"Dot c":           func() { w.Dot(4, 4, 4, full, 4, 1, full, 4, 1, short, 4) },
			"Dot stride":      func() { w.Dot(4, 4, 4, full, 4, 1, full, 4, 1, full, -4) },
			"Product a":       func() { w.Product(4, 4, 4, short, 4, 1, full, 4, 1, full, 4) },
			"Product b":       func() { w.Product(4, 4, 4, full, 4, 1, short, 4, 1, full, 4) },
			"Product c":       func() { w.Product(4, 4, 4, full, 4, 1, full, 4, 1, short, 4) },
			"Product 0":       func() { w.Product(4, 4, 0, nil, 4, 1, nil, 4, 1, short, 4) },
			"Pack":            func() { w.Pack(4, 4, 4, short, 4, 1) },
			"ProductPacked a": func() { w.ProductPacked(4, short, 4, 1, b, full, 4) },
			"ProductPacked c": func() { w.ProductPacked(4, full, 4, 1, b, short, 4) },
			"DotPacked a":     func() { w.DotPacked(4, short, 4, 1, b, full, 4) },
			"DotPacked c":     func() { w.DotPacked(4, full, 4, 1, b, short, 4) },
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

func TestAddTo(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for n := range 200 {
		dst, src := fill(n+2, func() float32 { return special(r) }), fill(n+1, func() float32 { return special(r) })
		want := slices.Clone(dst)
		for i := range n {
			want[1+i] += src[i]
		}
		AddTo(dst[1:1+n], src)
		if diff := firstDifference(dst, want); diff != "" {
			t.Fatalf("%d elements: %s", n, diff)
		}
	}
	defer func() {
		if recover() == nil {
			t.Error("AddTo read beyond src")
		}
	}()
	AddTo(make([]float32, 64), make([]float32, 63))
}

func TestSaturate(t *testing.T) {
	for _, isa := range isas() {
		if flops := isa.Saturate(3); (flops > 0) != (isa != Go) {
			t.Errorf("%s: %d operations", isa, flops)
		}
		if n := isa.Begin(3); (n > 0) != (isa != Go) {
			t.Errorf("%s: %d instructions", isa, n)
		}
		if flops := isa.SaturateNarrow(3); (flops > 0) != (isa == AVX512BF16) {
			t.Errorf("%s: %d operations on BF16", isa, flops)
		}
	}
}
