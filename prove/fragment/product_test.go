package fragment

import (
	"math"
	"math/bits"
	"strings"
	"testing"

	"github.com/arithlang/mlc/internal/full"
)

// exactSum returns the exact sum of an element of D, and the sum of the sizes of its terms.
func exactSum(p *product, in [][]uint64, row, col int) (sum, size float64) {
	sum = p.c.value(p.get(in, 'c', row, col))
	size = math.Abs(sum)
	for l := range p.k {
		a, b := p.get(in, 'a', row, l), p.get(in, 'b', l, col)
		if p.a.name == "tf32" { // its low 13 bits do not count
			a, b = a&^0x1fff, b&^0x1fff
		}
		term := p.a.value(a) * p.b.value(b)
		sum, size = sum+term, size+math.Abs(term)
	}
	return sum, size
}

// integerSum computes an element of D of integers, or of single bits.
func integerSum(p *product, name string, in [][]uint64, row, col int) uint64 {
	sum := int64(p.c.value(p.get(in, 'c', row, col)))
	for l := range p.k {
		a, b := p.get(in, 'a', row, l), p.get(in, 'b', l, col)
		switch {
		case strings.HasSuffix(name, "xor.popc"):
			sum += int64(bits.OnesCount64(a ^ b))
		case strings.HasSuffix(name, "and.popc"):
			sum += int64(bits.OnesCount64(a & b))
		default:
			sum += int64(p.a.value(a)) * int64(p.b.value(b))
		}
	}
	if strings.Contains(name, "satfinite") {
		sum = max(-1<<31, min(1<<31-1, sum))
	}
	return uint64(uint32(sum))
}

// chain computes an element of D in double precision: a chain of fma.
func chain(p *product, in [][]uint64, row, col int) float64 {
	sum := p.c.value(p.get(in, 'c', row, col))
	for l := range p.k {
		sum = math.FMA(p.a.value(p.get(in, 'a', row, l)), p.b.value(p.get(in, 'b', l, col)), sum)
	}
	return sum
}

// TestProducts compares mma and wmma with sums over rows and columns. Integers must match in
// every case, and floats if sums are exact. Otherwise the bound on the error is the possible loss
// by summation order and truncation in tensor cores. Tensor cores do not normalise subnormal numbers,
// so they may lose more of terms added to them.
func TestProducts(t *testing.T) {
	known := map[string]*Probe{}
	for _, p := range Probes() {
		known[p.Name] = p
	}
	for _, arch := range full.Some([]int{90, 80}, 1) {
		r := record(t, arch, Options{Only: []string{"mma", "wmma"}, Seed: 11})
		for _, one := range r.Probes {
			if p := known[one.Name]; p.Claim == Exact {
				checkProduct(t, r, one, p)
			}
		}
	}
}

func checkProduct(t *testing.T, r *Recording, one *Recorded, probe *Probe) {
	if one.Error != "" {
		t.Errorf("%s: %s", one.Name, one.Error)
		return
	}
	p := probe.product
	_, size := layout(one.In, one.Threads)
	_, outSize := layout(one.Out, one.Threads)
	for number := range one.Cases {
		in := read(r.Inputs[one.Inputs][number*size:], one.In, one.Threads)
		out := read(one.Outputs[number*outSize:], one.Out, one.Threads)
		for row := range p.m {
			for col := range p.n {
				got := p.get(out, 'd', row, col)
				if p.d.kind != 'f' {
					if want := integerSum(p, one.Name, in, row, col); got != want {
						t.Fatalf("%s, case %d, element %d, %d: %#x, want %#x", one.Name, number, row, col, got, want)
					}
					continue
				}
				if p.d.width == 64 {
					if want := chain(p, in, row, col); math.Float64bits(want) != got && !(math.IsNaN(want) && p.d.isNaN(got)) {
						t.Fatalf("%s, case %d, element %d, %d: %#x, want %v", one.Name, number, row, col, got, want)
					}
					continue
				}
				k := style(number % styles)
				sum, terms := exactSum(p, in, row, col)
				v, lost := p.d.value(got), terms*math.Ldexp(1, -min(p.d.frac-1, 21))+math.Ldexp(1, 1-p.d.bias()-p.d.frac)
				switch {
				case k == integral && v != sum:
					t.Fatalf("%s, case %d, element %d, %d: %v, want %v", one.Name, number, row, col, v, sum)
				case math.IsNaN(sum) && !math.IsNaN(v), math.IsNaN(v) && terms < p.d.value(p.d.inf()-1):
					t.Fatalf("%s, case %d, element %d, %d: %v, want %v", one.Name, number, row, col, v, sum)
				case k != odd && k != tiny && !math.IsInf(v, 0) && !math.IsInf(sum, 0) && math.Abs(v-sum) > lost+2e-10*terms:
					t.Fatalf("%s, case %d, style %d, element %d, %d: %v, exactly %v, terms of %v", one.Name, number, k, row, col, v, sum, terms)
				}
			}
		}
	}
}

// TestPlaces checks that every element of every matrix has a unique place, and no place is left.
func TestPlaces(t *testing.T) {
	for _, probe := range Probes() {
		p := probe.product
		if p == nil {
			continue
		}
		type place struct{ operand, thread, element int }
		in, out := map[place]bool{}, map[place]bool{}
		each := func(matrix byte, rows, cols int, to map[place]bool) {
			for row := range rows {
				for col := range cols {
					o, thread, e := p.place(p, matrix, row, col)
					if to[place{o, thread, e}] {
						t.Errorf("%s: %c %d, %d lies where another element is", probe.Name, matrix, row, col)
					}
					to[place{o, thread, e}] = true
				}
			}
		}
		each('a', p.m, p.k, in)
		each('b', p.k, p.n, in)
		each('c', p.m, p.n, in)
		each('d', p.m, p.n, out)
		room := func(ts []Type) int {
			n := 0
			for _, ot := range ts {
				n += ot.count * probe.Threads
			}
			return n
		}
		if probe.Group == "wgmma" { // B takes half of its operand
			for i := range group / 2 * p.b.count {
				in[place{-1, i, 0}] = true
			}
		}
		if len(in) != room(probe.In) || len(out) != room(probe.Out) {
			t.Errorf("%s: %d elements in room for %d, %d results in room for %d", probe.Name, len(in), room(probe.In), len(out), room(probe.Out))
		}
	}
}

// TestLayout compares places with places from the figures of the manual for m16n8k16 with 16
// bits, m16n8k8 with tf32 and m16n8k32 with 8 bits.
func TestLayout(t *testing.T) {
	find := func(name string) *product {
		for _, p := range Probes() {
			if p.Name == name {
				return p.product
			}
		}
		t.Fatal("no probe " + name)
		return nil
	}
	for _, c := range []struct {
		name                     string
		matrix                   byte
		row, col                 int
		operand, thread, element int
	}{
		{"mma.m16n8k16.row.col.f32.bf16.bf16.f32", 'a', 0, 1, 0, 0, 1},
		{"mma.m16n8k16.row.col.f32.bf16.bf16.f32", 'a', 9, 2, 1, 5, 0},
		{"mma.m16n8k16.row.col.f32.bf16.bf16.f32", 'a', 1, 11, 2, 5, 1},
		{"mma.m16n8k16.row.col.f32.bf16.bf16.f32", 'a', 15, 15, 3, 31, 1},
		{"mma.m16n8k16.row.col.f32.bf16.bf16.f32", 'b', 3, 2, 4, 9, 1},
		{"mma.m16n8k16.row.col.f32.bf16.bf16.f32", 'b', 12, 7, 5, 30, 0},
		{"mma.m16n8k16.row.col.f32.bf16.bf16.f32", 'c', 8, 3, 9, 1, 0},
		{"mma.m16n8k16.row.col.f32.bf16.bf16.f32", 'd', 7, 7, 1, 31, 0},
		{"mma.m16n8k8.row.col.f32.tf32.tf32.f32", 'a', 0, 4, 2, 0, 0},
		{"mma.m16n8k8.row.col.f32.tf32.tf32.f32", 'a', 8, 3, 1, 3, 0},
		{"mma.m16n8k8.row.col.f32.tf32.tf32.f32", 'b', 5, 1, 5, 5, 0},
		{"mma.m16n8k32.row.col.s32.s8.s8.s32", 'a', 8, 21, 3, 1, 1},
		{"mma.m16n8k32.row.col.s32.s8.s8.s32", 'b', 30, 6, 5, 27, 2},
		{"mma.m16n8k16.row.col.f16.f16.f16.f16", 'd', 10, 5, 1, 10, 1},
	} {
		p := find(c.name)
		if o, thread, e := p.place(p, c.matrix, c.row, c.col); o != c.operand || thread != c.thread || e != c.element {
			t.Errorf("%s: %c %d, %d lies in %d of thread %d, element %d; want %d, %d, %d", c.name, c.matrix, c.row, c.col, o, thread, e, c.operand, c.thread, c.element)
		}
	}
}
