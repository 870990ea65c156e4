package ptxsim

import (
	"math/bits"

	"github.com/arithlang/mlc/ptxsim/num"
	"github.com/arithlang/mlc/ptxsim/ptx"
)

// comparisons are the relations by name. Each lists the outcomes (less, equal, greater,
// unordered) that make it true.
var comparisons = map[string]struct{ less, equal, greater, unordered bool }{
	"eq": {equal: true}, "ne": {less: true, greater: true},
	"lt": {less: true}, "le": {less: true, equal: true},
	"gt": {greater: true}, "ge": {greater: true, equal: true},
	"lo": {less: true}, "ls": {less: true, equal: true},
	"hi": {greater: true}, "hs": {greater: true, equal: true},
	"equ": {equal: true, unordered: true}, "neu": {less: true, greater: true, unordered: true},
	"ltu": {less: true, unordered: true}, "leu": {less: true, equal: true, unordered: true},
	"gtu": {greater: true, unordered: true}, "geu": {greater: true, equal: true, unordered: true},
	"num": {less: true, equal: true, greater: true}, "nan": {unordered: true},
}

// comparison returns the relation among the modifiers.
func (d *decoder) comparison() string {
	for _, m := range d.in.Mods {
		if _, ok := comparisons[m]; ok {
			return m
		}
	}
	d.fail("it has no comparison")
	return "eq"
}

// relation is a comparison of two values of a type.
func relation(name string, t ptx.Type, ftz bool) func(a, b uint64) bool {
	c := comparisons[name]
	if isFloat(t) {
		f, _ := formatOf(t)
		return func(a, b uint64) bool {
			less, equal, unordered := f.Compare(ftz, a, b)
			switch {
			case unordered:
				return c.unordered
			case less:
				return c.less
			case equal:
				return c.equal
			}
			return c.greater
		}
	}
	n, signed := t.Bits(), isSigned(t) && name != "lo" && name != "ls" && name != "hi" && name != "hs"
	return func(a, b uint64) bool {
		a, b = a&mask(n), b&mask(n)
		if signed { // flipping the sign bit gives the unsigned order
			a, b = a^1<<(n-1), b^1<<(n-1)
		}
		switch {
		case a < b:
			return c.less
		case a == b:
			return c.equal
		}
		return c.greater
	}
}

// setp compares, and may combine the result with a predicate.
func (d *decoder) setp() exec {
	args := d.in.Args
	t := d.typ(0)
	name := d.comparison()
	var p [2]int32
	p[1] = -1
	for i := range elems(&args[0]) {
		p[i] = d.predDst(&elems(&args[0])[i])
	}
	a, b := d.src(1), d.src(2)
	var c predicate
	op := d.in.Pick("and", "or", "xor")
	if op != "" {
		c = d.pred(&args[3])
	}
	if f, pair := formatOf(t); pair {
		return d.setpPair(f, name, p, a, b, op, c)
	}
	outcome := outcomes(name, t, d.in.Has("ftz"))
	return func(w *warp, m uint32) {
		v := outcome(&w.cols[a], &w.cols[b], m)
		first, second := v, ^v
		if op != "" {
			first, second = combine(op, v, c.of(w)), combine(op, ^v, c.of(w))
		}
		w.setPred(p[0], m, first)
		w.setPred(p[1], m, second)
	}
}

// setpPair compares both halves. The predicates belong to the lower and the upper half.
func (d *decoder) setpPair(f num.Format, name string, p [2]int32, a, b int, op string, c predicate) exec {
	t := ptx.F16
	if f == num.BF16 {
		t = ptx.BF16
	}
	rel := relation(name, t, d.in.Has("ftz"))
	return func(w *warp, m uint32) {
		var v [2]uint32
		forLanes(m, func(i int) {
			x, y := w.cols[a][i], w.cols[b][i]
			for h := range v {
				if rel(x>>(16*h)&0xffff, y>>(16*h)&0xffff) {
					v[h] |= 1 << i
				}
			}
		})
		for h := range v {
			if op != "" {
				v[h] = combine(op, v[h], c.of(w))
			}
			w.setPred(p[h], m, v[h])
		}
	}
}

func combine(op string, a, b uint32) uint32 {
	switch op {
	case "and":
		return a & b
	case "or":
		return a | b
	}
	return a ^ b
}

// outcomes compares columns. Comparisons of words, the most frequent ones, have loops of their
// own.
func outcomes(name string, t ptx.Type, ftz bool) func(a, b *column, m uint32) uint32 {
	if t.Bits() == 32 && !isFloat(t) {
		flip := uint32(0)
		if isSigned(t) && (name == "lt" || name == "le" || name == "gt" || name == "ge") {
			flip = 1 << 31
		}
		less := func(a, b *column) (v uint32) {
			for i := range a {
				v |= bit(uint32(a[i])^flip < uint32(b[i])^flip) << i
			}
			return v
		}
		equal := func(a, b *column) (v uint32) {
			for i := range a {
				v |= bit(uint32(a[i]) == uint32(b[i])) << i
			}
			return v
		}
		switch name {
		case "lt", "lo":
			return func(a, b *column, m uint32) uint32 { return less(a, b) }
		case "ge", "hs":
			return func(a, b *column, m uint32) uint32 { return ^less(a, b) }
		case "gt", "hi":
			return func(a, b *column, m uint32) uint32 { return less(b, a) }
		case "le", "ls":
			return func(a, b *column, m uint32) uint32 { return ^less(b, a) }
		case "eq":
			return func(a, b *column, m uint32) uint32 { return equal(a, b) }
		case "ne":
			return func(a, b *column, m uint32) uint32 { return ^equal(a, b) }
		}
	}
	rel := relation(name, t, ftz)
	return func(a, b *column, m uint32) (v uint32) {
		for ; m != 0; m &= m - 1 {
			i := bits.TrailingZeros32(m) & 31
			if rel(a[i], b[i]) {
				v |= 1 << i
			}
		}
		return v
	}
}

func bit(b bool) uint32 {
	if b {
		return 1
	}
	return 0
}

// truths are the values of set for true, for float types. Other types have all ones.
var truths = map[ptx.Type]uint64{ptx.F32: 0x3f800000, ptx.F16: 0x3c00, ptx.F16x2: 0x3c00, ptx.BF16: 0x3f80, ptx.BF16x2: 0x3f80}

// set compares and returns a number; for pairs, one in each half.
func (d *decoder) set() exec {
	to, from := d.typ(0), d.typ(1)
	parts, part := 1, mask(64)
	switch from {
	case ptx.F16x2:
		from, parts, part = ptx.F16, 2, 0xffff
	case ptx.BF16x2:
		from, parts, part = ptx.BF16, 2, 0xffff
	}
	yes, float := truths[to]
	if !float {
		yes = mask(to.Bits() / parts)
	}
	holds := relation(d.comparison(), from, d.in.Has("ftz"))
	o, a, b := d.dst(0), d.src(1), d.src(2)
	op := d.in.Pick("and", "or", "xor")
	var c predicate
	if op != "" {
		c = d.pred(&d.in.Args[3])
	}
	return func(w *warp, m uint32) {
		with := c.of(w)
		forLanes(m, func(i int) {
			x, y, out := w.cols[a][i], w.cols[b][i], uint64(0)
			for h := range parts {
				v := bit(holds(x>>(16*h)&part, y>>(16*h)&part))
				if op != "" {
					v = combine(op, v, with>>i&1)
				}
				out |= uint64(v) * yes << (16 * h)
			}
			w.cols[o][i] = out
		})
	}
}
