package fragment

import (
	"math"
	"math/big"
	"slices"
	"strings"
	"testing"
)

// The results of exact instructions, computed with rational numbers. Recordings of every device
// are compared with them, the simulator's included.

// mode is how an instruction rounds.
type mode struct {
	round          string // rn, rz, rm, rp or rna
	ftz, sat, relu bool
	satfinite      bool
	ftzIn          bool // in a conversion: the operand is flushed
}

func modeOf(words []string) mode {
	m := mode{round: "rn", ftz: slices.Contains(words, "ftz"), sat: slices.Contains(words, "sat"), relu: slices.Contains(words, "relu"), satfinite: slices.Contains(words, "satfinite")}
	for _, w := range words {
		switch w {
		case "rn", "rz", "rm", "rp", "rna":
			m.round = w
		case "rni", "rzi", "rmi", "rpi":
			m.round = w[:2]
		}
	}
	return m
}

// integer rounds a nonnegative rational number to an integer.
func (m mode) integer(r *big.Rat, neg bool) *big.Int {
	q, rest := new(big.Int).QuoRem(r.Num(), r.Denom(), new(big.Int))
	twice := new(big.Int).Lsh(rest, 1).Cmp(r.Denom())
	up := false
	switch m.round {
	case "rn":
		up = twice > 0 || twice == 0 && q.Bit(0) == 1
	case "rna":
		up = twice >= 0
	case "rm":
		up = neg && rest.Sign() != 0
	case "rp":
		up = !neg && rest.Sign() != 0
	}
	if up {
		q.Add(q, big.NewInt(1))
	}
	return q
}

// power returns 2^e.
func power(e int) *big.Rat {
	p := new(big.Rat).SetInt(new(big.Int).Lsh(big.NewInt(1), uint(max(e, -e))))
	if e < 0 {
		p.Inv(p)
	}
	return p
}

// pack rounds a number to a format. A zero gets the given sign.
func (m mode) pack(t Type, r *big.Rat, neg bool) uint64 {
	if r.Sign() != 0 {
		neg = r.Sign() < 0
	}
	a := new(big.Rat).Abs(r)
	e := 1 - t.bias()
	if a.Sign() != 0 {
		e = max(e, a.Num().BitLen()-a.Denom().BitLen()-1)
		for a.Cmp(power(e+1)) >= 0 {
			e++
		}
	}
	q := m.integer(new(big.Rat).Mul(a, power(t.frac-e)), neg)
	x := q.Uint64() + uint64(e+t.bias()-1)<<t.frac // the leading bit adds one to the exponent
	if x >= t.inf() {
		x = t.inf()
		if m.round == "rz" || m.round == "rm" && !neg || m.round == "rp" && neg {
			x--
		}
	}
	if neg {
		x |= t.sign()
	}
	return m.finish(t, x)
}

// finish applies an instruction's modifiers to a rounded result.
func (m mode) finish(t Type, x uint64) uint64 {
	one := uint64(t.bias()) << t.frac
	switch {
	case m.sat && (t.isNaN(x) || x&t.sign() != 0):
		return 0
	case t.isNaN(x):
		return nan(t)
	case m.relu && x&t.sign() != 0:
		return 0
	case m.sat && x > one:
		return one
	case m.satfinite && x&^t.sign() == t.inf():
		return x - 1
	case m.ftz && x&t.inf() == 0 && t.width == 32, m.ftz && x&t.inf() == 0 && t.name == "f16x2":
		return x & t.sign()
	}
	return x
}

// nan returns the NaN that instructions make.
func nan(t Type) uint64 {
	if t.width == 64 {
		return 0xfff8 << 48
	}
	return t.mask() &^ t.sign()
}

func (m mode) flush(t Type, x uint64) uint64 {
	if m.ftz && x&t.inf() == 0 {
		return x & t.sign()
	}
	return x
}

func rat(t Type, x uint64) *big.Rat { return new(big.Rat).SetFloat64(t.value(x)) }

// nanOrder lists the operands whose NaN a double-precision instruction returns, the preferred one
// first.
var nanOrder = map[string][]int{"add": {1, 0}, "sub": {1, 0}, "mul": {1, 0}, "fma": {1, 0, 2}, "div": {0, 1}, "rcp": {1}, "sqrt": {0}}

// quiet makes a double-precision NaN quiet.
func quiet(x uint64) uint64 { return x | 1<<51 }

// arithmetic computes an instruction on elements of one float type.
func arithmetic(name string, t Type, in []uint64) uint64 {
	words := strings.Split(name, ".")
	m := modeOf(words)
	var v []float64
	finite := true
	for i := range in {
		in[i] = m.flush(t, in[i])
		v = append(v, t.value(in[i]))
		finite = finite && !math.IsInf(v[i], 0) && !math.IsNaN(v[i])
	}
	special := func(x float64) uint64 {
		for _, i := range nanOrder[words[0]] {
			if t.width == 64 && math.IsNaN(v[i]) {
				return quiet(in[i])
			}
		}
		if math.IsNaN(x) {
			return m.finish(t, nan(t))
		}
		return m.finish(t, t.nearest(x))
	}
	neg := func(i int) bool { return in[i]&t.sign() != 0 }
	switch words[0] {
	case "add", "sub", "fma":
		a, b, c := v[0], 1.0, v[1]
		sign, other := neg(0), neg(1)
		if words[0] == "fma" {
			b, c, sign, other = v[1], v[2], neg(0) != neg(1), neg(2)
		}
		if words[0] == "sub" {
			c, other = -c, !other
		}
		if !finite {
			return special(a*b + c)
		}
		r := new(big.Rat).Mul(new(big.Rat).SetFloat64(a), new(big.Rat).SetFloat64(b))
		both := r.Sign() == 0 && c == 0 && sign == other
		return m.pack(t, r.Add(r, new(big.Rat).SetFloat64(c)), both && sign || !both && m.round == "rm")
	case "mul":
		if !finite {
			return special(v[0] * v[1])
		}
		return m.pack(t, new(big.Rat).Mul(rat(t, in[0]), rat(t, in[1])), neg(0) != neg(1))
	case "div", "rcp":
		if words[0] == "rcp" {
			in, v = []uint64{t.nearest(1), in[0]}, []float64{1, v[0]}
		}
		if !finite || v[1] == 0 {
			return special(v[0] / v[1])
		}
		q := new(big.Rat).Quo(rat(t, in[0]), rat(t, in[1]))
		if words[0] == "rcp" && m.ftz && new(big.Rat).Abs(q).Cmp(power(-126)) < 0 {
			return in[1] & t.sign()
		}
		return m.pack(t, q, neg(1) != neg(0))
	case "sqrt":
		if !finite || v[0] < 0 {
			return special(math.Sqrt(v[0]))
		}
		root, _ := new(big.Float).SetPrec(300).Sqrt(big.NewFloat(v[0]).SetPrec(300)).Rat(nil)
		return m.pack(t, root, neg(0))
	case "neg", "abs":
		if t.isNaN(in[0]) && (t.width == 32 || t.name == "f16x2" || t.name == "bf16x2") {
			return nan(t)
		}
		if words[0] == "abs" {
			return in[0] &^ t.sign()
		}
		return in[0] ^ t.sign()
	case "copysign":
		return in[1]&^t.sign() | in[0]&t.sign()
	case "min", "max":
		return extreme(words, t, in)
	}
	panic("no oracle for " + name)
}

// extreme computes min and max.
func extreme(words []string, t Type, in []uint64) uint64 {
	a, b := in[0], in[1]
	sign := (a ^ b) & t.sign()
	xor := slices.Contains(words, "xorsign")
	if xor {
		a, b = a&^t.sign(), b&^t.sign()
	}
	r := a
	switch {
	case t.isNaN(a) && t.isNaN(b) && t.width == 64:
		return quiet(b)
	case slices.Contains(words, "NaN") && (t.isNaN(a) || t.isNaN(b)), t.isNaN(a) && t.isNaN(b):
		return nan(t)
	case t.isNaN(a):
		r = b
	case t.isNaN(b):
	case t.value(a) == t.value(b): // zeros, by sign
		if r = a | b; words[0] == "max" {
			r = a & b
		}
	case (t.value(b) < t.value(a)) == (words[0] == "min"):
		r = b
	}
	if xor {
		r |= sign
	}
	return r
}

// comparison32 computes set and testp.
func comparison32(name string, t Type, in []uint64) uint64 {
	words := strings.Split(name, ".")
	m := modeOf(words)
	a := t.value(m.flush(t, in[0]))
	if words[0] == "testp" {
		subnormal := in[0]&t.inf() == 0 && in[0]&^t.sign() != 0
		is := map[string]bool{"finite": !math.IsNaN(a) && !math.IsInf(a, 0), "infinite": math.IsInf(a, 0), "number": !math.IsNaN(a), "notanumber": math.IsNaN(a),
			"subnormal": subnormal, "normal": !subnormal && !math.IsNaN(a) && !math.IsInf(a, 0)}[words[1]]
		if is {
			return 1
		}
		return 0
	}
	b := t.value(m.flush(t, in[1]))
	op, open := strings.CutSuffix(words[1], "u")
	unordered := math.IsNaN(a) || math.IsNaN(b)
	is := map[string]bool{"eq": a == b, "ne": a < b || a > b, "lt": a < b, "le": a <= b, "gt": a > b, "ge": a >= b, "num": !unordered, "nan": unordered}[op]
	if is || open && unordered {
		return 0xffffffff
	}
	return 0
}

// conversion computes cvt on one element.
func conversion(name, to, from string, x uint64) uint64 {
	words := strings.Split(name, ".")
	m := modeOf(words)
	source, _ := typeOf(from)
	if source.name == "" { // cvt to and from 8 bits: not among sources
		panic("no type " + from)
	}
	if source.kind == 'f' && source.width == 32 {
		x = m.flush(source, x)
		m.ftzIn = m.ftz
	}
	if to != "f32" {
		m.ftz = false
	}
	switch to {
	case "f16", "bf16", "f32", "f64":
		t, _ := typeOf(to)
		return convertFloat(m, t, source, x, strings.HasSuffix(words[1], "i"))
	case "tf32":
		short := Type{"tf32", 'f', 19, 1, 10, 8}
		if source.isNaN(x) && m.round == "rna" {
			return x >> 13 << 13
		}
		return convertFloat(m, short, source, x, false) << 13
	}
	return convertInteger(m, to, source, x)
}

func convertFloat(m mode, t, source Type, x uint64, integral bool) uint64 {
	if source.kind != 'f' {
		i := new(big.Int).SetUint64(x)
		if source.kind == 's' {
			i.SetInt64(int64(x<<(64-source.width)) >> (64 - source.width))
		}
		return m.pack(t, new(big.Rat).SetInt(i), false)
	}
	neg := x&source.sign() != 0
	v := source.value(x)
	switch {
	case math.IsNaN(v) && !m.sat:
		return convertNaN(m, t, source, x)
	case math.IsNaN(v):
		return 0
	case math.IsInf(v, 0):
		r := t.inf()
		if neg {
			r |= t.sign()
		}
		return m.finish(t, r)
	}
	r := rat(source, x)
	if integral {
		r = new(big.Rat).SetInt(m.integer(new(big.Rat).Abs(r), neg))
		if neg {
			r.Neg(r)
		}
	}
	return m.pack(t, r, neg)
}

// convertNaN converts a NaN to another type: it keeps the bits that both types have, in
// conversions that pass a NaN on. From a flushed single to a double, the result is the NaN that
// instructions make.
func convertNaN(m mode, t, source Type, x uint64) uint64 {
	if source.width == 32 && m.ftzIn {
		x = nan(source)
	}
	top := x << (64 - source.width) // sign, exponent and payload from the top bit on
	sign, payload := top>>63<<(t.width-1), top<<(1+source.exp)>>(1+t.exp)>>(64-t.width)
	switch {
	case source.name == "bf16" && t.name == "f32":
		return x << 16
	case source.width == 64 || t.width == 64:
		return sign | t.inf() | 1<<(t.frac-1) | payload
	}
	return nan(t)
}

func convertInteger(m mode, to string, source Type, x uint64) uint64 {
	width := map[string]int{"s8": 8, "u8": 8, "s16": 16, "u16": 16, "s32": 32, "u32": 32, "s64": 64, "u64": 64}[to]
	low, high := new(big.Int), new(big.Int).Lsh(big.NewInt(1), uint(width))
	if to[0] == 's' {
		high.Rsh(high, 1)
		low.Neg(high)
	}
	high.Sub(high, big.NewInt(1))
	i := new(big.Int)
	switch v := source.value(x); {
	case source.kind != 'f':
		i.SetInt64(int64(int32(x)))
	case math.IsNaN(v):
		if width == 64 || source.width == 64 {
			return 1 << (width - 1)
		}
		return 0
	case math.IsInf(v, 1):
		i = high
	case math.IsInf(v, -1):
		i = low
	default:
		i = m.integer(new(big.Rat).Abs(rat(source, x)), v < 0)
		if v < 0 {
			i.Neg(i)
		}
	}
	if i.Cmp(low) < 0 {
		i = low
	} else if i.Cmp(high) > 0 {
		i = high
	}
	r := new(big.Int).And(i, new(big.Int).SetUint64(^uint64(0)>>(64-max(width, 32))))
	return r.Uint64()
}

// TestFloats compares every probe of arithmetic with the oracle, in every case.
func TestFloats(t *testing.T) {
	eachCase(t, "float", func(p *Probe, in [][]uint64, thread int) []uint64 {
		if strings.HasPrefix(p.Name, "set.") || strings.HasPrefix(p.Name, "testp.") {
			operands := []uint64{in[0][thread], 0}
			if len(in) == 2 {
				operands[1] = in[1][thread]
			}
			return []uint64{comparison32(p.Name, p.In[0], operands)}
		}
		var elements []uint64
		for e := range p.Out[0].count {
			var operands []uint64
			for k := range in {
				operands = append(operands, p.In[k].element(in[k][thread], e))
			}
			elements = append(elements, arithmetic(p.Name, p.In[0], operands))
		}
		return []uint64{p.Out[0].pack(elements)}
	})
}

// TestConversions compares every conversion with the oracle.
func TestConversions(t *testing.T) {
	eachCase(t, "convert", func(p *Probe, in [][]uint64, thread int) []uint64 {
		words := strings.Split(p.Name, ".")
		to, from := words[len(words)-2], words[len(words)-1]
		if half, pair := strings.CutSuffix(to, "x2"); pair {
			return []uint64{conversion(p.Name, half, from, in[0][thread])<<16 | conversion(p.Name, half, from, in[1][thread])}
		}
		return []uint64{conversion(p.Name, to, from, in[0][thread])}
	})
}
