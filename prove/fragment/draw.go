package fragment

import (
	"fmt"
	"hash/fnv"
	"math"

	"github.com/arithlang/mlc/runtime/philox"
)

// source draws inputs.
type source struct{ *philox.Source }

// newSource returns the source of inputs of a name. They depend only on the seed and the name.
func newSource(seed uint64, name string) *source {
	h := fnv.New64a()
	h.Write([]byte(name))
	return &source{philox.NewSource(seed, philox.Probed, h.Sum64(), 0)}
}

func (s *source) word() uint64 { return uint64(s.Uint32())<<32 | uint64(s.Uint32()) }

func (s *source) chance(n int) bool { return s.Intn(n) == 0 }

// pick returns one of several.
func pick[T any](s *source, from []T) T { return from[s.Intn(len(from))] }

// number draws an element of a float type with random sign and fraction. The exponent of its
// leading bit is between two, clamped to the type's range.
func (s *source) number(t Type, low, high int) uint64 {
	e := low + s.Intn(high-low+1)
	e = min(max(e, 1-t.bias()), t.bias())
	return s.word()&(t.sign()|1<<t.frac-1) | uint64(e+t.bias())<<t.frac
}

// special returns the values of a type at which instructions change behaviour.
func special(t Type) []uint64 {
	if t.kind == 'f' {
		return specialFloats(t)
	}
	all := t.mask()
	top := t.sign()
	r := []uint64{0, 1, 2, 3, 4, 7, 8, 15, 16, 24, 31, 32, 33, 63, 64, 127, 128, 255, 256, 0x3210, 0x7654, 0xffff,
		all, all - 1, top, top - 1, top + 1, 0x5555555555555555, 0xaaaaaaaaaaaaaaaa, 1 << 24, 1<<24 + 1, 1<<25 + 2, 1<<25 + 6}
	for i := range r {
		r[i] &= all
	}
	return r
}

func specialFloats(t Type) []uint64 {
	one := uint64(t.bias()) << t.frac
	frac := uint64(1)<<t.frac - 1
	quiet := uint64(1) << (t.frac - 1)
	r := []uint64{
		0, 1, 2, frac, frac - 1, quiet, // zero and subnormal numbers
		frac + 1, frac + 2, 2 * (frac + 1), // smallest normal numbers
		t.inf() - 1, t.inf() - 2, // largest numbers
		t.inf(), t.inf() | 1, t.inf() | quiet, t.inf() | quiet | 1, t.inf() | frac, // infinity and NaN
		one, one + 1, one - 1, one | quiet, one + (frac + 1), one - (frac + 1),
		t.nearest(math.Pi), t.nearest(math.Pi / 2), t.nearest(math.Ln2), t.nearest(126), t.nearest(127), t.nearest(128), t.nearest(-126.5),
	}
	for _, bits := range []int{7, 8, 15, 16, 23, 24, 31, 32, 63, 64} { // limits of integers and narrower formats
		p := t.nearest(math.Ldexp(1, bits))
		r = append(r, p, p-1, p+1, t.nearest(math.Ldexp(1, bits)-0.5))
	}
	for _, e := range []int{-126, -133, -134, -149, -14, -24, -25, 15} { // limits of normal and subnormal numbers of narrower formats
		p := t.nearest(math.Ldexp(1, e))
		r = append(r, p, p+1, p|quiet)
	}
	for _, x := range r {
		r = append(r, x|t.sign())
	}
	return r
}

// values draws unrelated operands, and some that nearly cancel.
var values = draw{"values", ranged(0, 0)}

// within draws values, a share of them uniform between two bounds.
func within(low, high float64) draw {
	return draw{fmt.Sprintf("values %g to %g", low, high), ranged(low, high)}
}

// ranged returns the fill of values. Equal bounds mean no range.
func ranged(low, high float64) func(p *Probe, s *source, number int, in [][]uint64) {
	return func(p *Probe, s *source, number int, in [][]uint64) {
		for thread := range p.Threads {
			n := number*p.Threads + thread
			for k, t := range p.In {
				var elements []uint64
				for e := range t.count {
					elements = append(elements, s.element(t, n/strata+e, k, stratum(n%strata), low, high))
				}
				in[k][thread] = t.pack(elements)
			}
			if stratum(n%strata) == related {
				s.relate(p.In, in, thread)
			}
		}
	}
}

// A stratum is a kind of input. The kinds alternate.
type stratum int

const (
	patterns  stratum = iota // any bits
	specials                 // only special values; the first operand goes through all of them
	mixed                    // some special values
	moderate                 // numbers near 1
	ties                     // numbers near the middle between two of a narrower format
	related                  // operands that nearly cancel
	fractions                // numbers near halves, and integers of any length
	inRange                  // uniform in the range of the instruction, or a ladder of powers of two
	strata    = iota
)

// element draws an element of the k-th operand; n counts the elements of a stratum.
func (s *source) element(t Type, n, k int, kind stratum, low, high float64) uint64 {
	switch {
	case kind == specials && k == 0:
		all := special(t)
		return all[n%len(all)]
	case kind == specials || kind == mixed && s.chance(2):
		return pick(s, special(t))
	case t.kind != 'f':
		return s.integer(t, kind)
	}
	switch kind {
	case moderate, related:
		return s.number(t, -8, 8)
	case ties:
		drop := min(pick(s, []int{12, 13, 16, 29, 42, 45}), t.frac)
		x := s.number(t, -20, 20)
		return x&^(1<<drop-1) | 1<<(drop-1) + uint64(s.Intn(3)) - 1
	case fractions:
		return t.nearest(math.Ldexp(float64(int32(s.Uint32())>>s.Intn(31)), -s.Intn(2)) + pick(s, []float64{0, 0, 0x1p-20, -0x1p-20}))
	case inRange:
		if low < high {
			return t.nearest(low + (high-low)*s.Float64())
		}
		return uint64(n%(1<<t.exp-1))<<t.frac + uint64(s.Intn(2)) | s.word()&t.sign()
	}
	return s.word() & t.mask()
}

// integer draws an element of an integer type: of any length, or small.
func (s *source) integer(t Type, kind stratum) uint64 {
	x := s.word() & t.mask()
	switch kind {
	case moderate, related:
		return x % 70 & t.mask()
	case ties, fractions:
		x >>= s.Intn(t.width)
		if s.chance(2) {
			return -x & t.mask()
		}
	}
	return x
}

// relate changes the last operand of a thread so that a sum nearly cancels. It does nothing
// unless all operands have the same float type.
func (s *source) relate(ts []Type, in [][]uint64, thread int) {
	last := len(ts) - 1
	for _, t := range ts {
		if t != ts[last] || t.kind != 'f' {
			return
		}
	}
	t := ts[last]
	var elements []uint64
	for e := range t.count {
		v := 1.0
		for k := range last {
			v *= t.value(t.element(in[k][thread], e))
		}
		if last == 0 {
			v = t.value(t.element(in[0][thread], e))
		}
		x := t.nearest(v)
		if s.chance(2) {
			x ^= t.sign()
		}
		elements = append(elements, x+uint64(s.Intn(5))-2)
	}
	in[last][thread] = t.pack(elements)
}
