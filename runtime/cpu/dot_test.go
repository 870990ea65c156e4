package cpu

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/arithlang/mlc/internal/full"
	"github.com/arithlang/mlc/runtime/cpu/producttest"
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

// A testProduct holds the operands of a product, and the expected C.
type testProduct struct {
	producttest.Shape
	a, b, c      []float32
	sum, product []float32 // after Dot and after Product
}

// newTestProduct makes operands of random layouts, and computes the expected results by
// definition: one Fma after another.
func newTestProduct(r *rand.Rand, m, n, k int) testProduct {
	p := testProduct{Shape: producttest.NewShape(r, m, n, k)}
	value := producttest.Value(r)
	na, nb, nc := p.Elements()
	p.a, p.b, p.c = producttest.Fill(na, value), producttest.Fill(nb, value), producttest.Fill(nc, value)
	p.sum, p.product = slices.Clone(p.c), slices.Clone(p.c)
	term := func(a, b int, sum float32) float32 { return Fma(p.a[a], p.b[b], sum) }
	p.Define(p.sum, true, term)
	p.Define(p.product, false, term)
	return p
}

// try compares the four forms of a product with the definition. Rows use a packed operand in two
// parts.
func (p *testProduct) try(t *testing.T, w *Worker) {
	t.Helper()
	expect := func(form string, got, want []float32) {
		t.Helper()
		if diff := producttest.Difference(got, want); diff != "" {
			t.Fatalf("%s on %s: %s: %s", form, w.isa, p.Name, diff)
		}
	}
	got := slices.Clone(p.c)
	w.Dot(p.M, p.N, p.K, p.a, p.Ars, p.Acs, p.b, p.Brs, p.Bcs, got, p.Ldc)
	expect("Dot", got, p.sum)
	got = slices.Clone(p.c)
	w.Product(p.M, p.N, p.K, p.a, p.Ars, p.Acs, p.b, p.Brs, p.Bcs, got, p.Ldc)
	expect("Product", got, p.product)

	half := p.M / 2
	for _, rows := range []int{1, 1000} {
		b := w.Pack(rows, p.K, p.N, p.b, p.Brs, p.Bcs)
		got = slices.Clone(p.c)
		w.DotPacked(half, p.a, p.Ars, p.Acs, b, got, p.Ldc)
		w.DotPacked(p.M-half, p.a[half*p.Ars:], p.Ars, p.Acs, b, got[half*p.Ldc:], p.Ldc)
		expect("DotPacked", got, p.sum)
		got = slices.Clone(p.c)
		w.ProductPacked(half, p.a, p.Ars, p.Acs, b, got, p.Ldc)
		w.ProductPacked(p.M-half, p.a[half*p.Ars:], p.Ars, p.Acs, b, got[half*p.Ldc:], p.Ldc)
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
	for range producttest.Rounds(400) {
		try(1+r.IntN(50), 1+r.IntN(80), 1+r.IntN(40))
	}
	// Beyond each of the block sizes of products.
	for range producttest.Rounds(12) {
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
		a, b := producttest.Fill(k*as, func() float32 { return producttest.Special(r) }), producttest.Fill(k*bs, func() float32 { return producttest.Special(r) })
		c := producttest.Special(r)
		want := c
		for i := range k {
			want = Fma(a[i*as], b[i*bs], want)
		}
		for _, isa := range isas() {
			if got := NewWorker(nil, isa, Memory{}).DotVec(k, a, as, b, bs, c); !producttest.Same(got, want) {
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
		dst, src := producttest.Fill(n+2, func() float32 { return producttest.Special(r) }), producttest.Fill(n+1, func() float32 { return producttest.Special(r) })
		want := slices.Clone(dst)
		for i := range n {
			want[1+i] += src[i]
		}
		AddTo(dst[1:1+n], src)
		if diff := producttest.Difference(dst, want); diff != "" {
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
