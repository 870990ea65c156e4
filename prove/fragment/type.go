package fragment

import (
	"fmt"
	"math"
	"strings"
)

// A Type gives the meaning of an operand's bits: count elements of width bits each, the first one
// lowest. Names are as in PTX: f32, bf16x2, s8x4.
type Type struct {
	name  string
	kind  byte // f for floats, s and u for integers, b for bits
	width int
	count int
	frac  int // fraction bits of a float
	exp   int // exponent bits of a float
}

// types are all types of operands. A tf32 is a single whose low 13 bits an instruction may
// ignore.
var types = []Type{
	{"f64", 'f', 64, 1, 52, 11}, {"f32", 'f', 32, 1, 23, 8}, {"tf32", 'f', 32, 1, 23, 8},
	{"f16", 'f', 16, 1, 10, 5}, {"bf16", 'f', 16, 1, 7, 8}, {"f16x2", 'f', 16, 2, 10, 5}, {"bf16x2", 'f', 16, 2, 7, 8},
	{"e4m3x4", 'f', 8, 4, 3, 4}, {"e5m2x4", 'f', 8, 4, 2, 5}, {"e4m3x2", 'f', 8, 2, 3, 4}, {"e5m2x2", 'f', 8, 2, 2, 5},
	{"b64", 'b', 64, 1, 0, 0}, {"b32", 'b', 32, 1, 0, 0}, {"b16", 'b', 16, 1, 0, 0}, {"b16x2", 'b', 16, 2, 0, 0}, {"b1x32", 'b', 1, 32, 0, 0},
	{"u64", 'u', 64, 1, 0, 0}, {"u32", 'u', 32, 1, 0, 0}, {"u16", 'u', 16, 1, 0, 0}, {"u8x4", 'u', 8, 4, 0, 0}, {"u4x8", 'u', 4, 8, 0, 0},
	{"s64", 's', 64, 1, 0, 0}, {"s32", 's', 32, 1, 0, 0}, {"s16", 's', 16, 1, 0, 0}, {"s8x4", 's', 8, 4, 0, 0}, {"s4x8", 's', 4, 8, 0, 0},
}

// typeOf finds a type by its name.
func typeOf(name string) (Type, bool) {
	for _, t := range types {
		if t.name == name {
			return t, true
		}
	}
	return Type{}, false
}

// typesOf parses a list of types separated by spaces; 4*f32 is four of them.
func typesOf(list string) []Type {
	var r []Type
	for _, word := range strings.Fields(list) {
		n := 1
		if times, name, ok := strings.Cut(word, "*"); ok {
			word = name
			if _, err := fmt.Sscan(times, &n); err != nil {
				panic("BUG: a list of types: " + list)
			}
		}
		t, ok := typeOf(word)
		if !ok {
			panic("BUG: unknown type " + word)
		}
		for range n {
			r = append(r, t)
		}
	}
	return r
}

// String returns the name of the type.
func (t Type) String() string { return t.name }

// bytes is the size of an operand in memory: 4 or 8.
func (t Type) bytes() int { return max(4, t.width*t.count/8) }

// register is the type of a PTX register that holds the operand.
func (t Type) register() string { return fmt.Sprintf("b%d", t.width*t.count) }

// mask returns the bits of one element.
func (t Type) mask() uint64 { return ^uint64(0) >> (64 - t.width) }

// element returns the i-th element of an operand.
func (t Type) element(x uint64, i int) uint64 { return x >> (i * t.width) & t.mask() }

// pack joins elements to an operand.
func (t Type) pack(elements []uint64) uint64 {
	var x uint64
	for i, e := range elements {
		x |= e & t.mask() << (i * t.width)
	}
	return x
}

func (t Type) sign() uint64 { return 1 << (t.width - 1) }

// inf is the pattern with the greatest exponent and no fraction: an infinity, except in e4m3,
// which has none.
func (t Type) inf() uint64 { return (1<<t.exp - 1) << t.frac }

func (t Type) bias() int { return 1<<(t.exp-1) - 1 }

func (t Type) isE4M3() bool { return t.exp == 4 && t.frac == 3 }

// isNaN reports whether an element of a float type is NaN.
func (t Type) isNaN(x uint64) bool {
	if t.isE4M3() {
		return x&0x7f == 0x7f
	}
	return x&^t.sign() > t.inf()
}

// value returns the number of an element; 64-bit integers are rounded.
func (t Type) value(x uint64) float64 {
	switch {
	case t.kind == 's':
		return float64(int64(x<<(64-t.width)) >> (64 - t.width))
	case t.kind != 'f':
		return float64(x)
	case t.width == 64:
		return math.Float64frombits(x)
	case t.isNaN(x):
		return math.NaN()
	}
	sig, e := x&(1<<t.frac-1), int(x&t.inf()>>t.frac)
	v := math.Inf(1)
	switch {
	case e == 0:
		v = math.Ldexp(float64(sig), 1-t.bias()-t.frac)
	case e < 1<<t.exp-1 || t.isE4M3():
		v = math.Ldexp(float64(sig|1<<t.frac), e-t.bias()-t.frac)
	}
	if x&t.sign() != 0 {
		return -v
	}
	return v
}

// nearest returns the element of a float type that is nearest to a number, or infinity if it is
// too large. It only makes inputs.
func (t Type) nearest(v float64) uint64 {
	if t.width == 64 {
		return math.Float64bits(v)
	}
	if math.IsNaN(v) {
		return t.inf() | 1<<(t.frac-1)
	}
	var sign uint64
	if math.Signbit(v) {
		sign, v = t.sign(), -v
	}
	if v == 0 {
		return sign
	}
	_, e := math.Frexp(v)
	e = max(e-1, 1-t.bias())
	if e > t.bias() {
		return sign | t.inf()
	}
	sig := uint64(math.RoundToEven(math.Ldexp(v, t.frac-e)))
	return sign | min(uint64(e+t.bias()-1)<<t.frac+sig, t.inf())
}

// order maps the patterns of a float type to integers in order of size. Neighbours are one apart
// and both zeros are equal, so the difference of two is their distance in ulp.
func (t Type) order(x uint64) int64 {
	if x&t.sign() != 0 {
		return -int64(x &^ t.sign())
	}
	return int64(x)
}

// text formats an operand: bit patterns and values.
func (t Type) text(x uint64) string {
	var parts []string
	for i := range t.count {
		parts = append(parts, t.elementText(t.element(x, i)))
	}
	return strings.Join(parts, " ")
}

func (t Type) elementText(e uint64) string {
	digits := max(1, t.width/4)
	switch t.kind {
	case 'f':
		return fmt.Sprintf("0x%0*x (%.9g)", digits, e, t.value(e))
	case 'b':
		return fmt.Sprintf("0x%0*x", digits, e)
	case 's':
		return fmt.Sprintf("%d", int64(e<<(64-t.width))>>(64-t.width))
	}
	return fmt.Sprintf("%d", e)
}

// layout returns the offsets of operands of so many threads in the memory of a case, and the size
// of that memory. An operand of all threads follows another, each aligned to its size.
func layout(ts []Type, threads int) (offsets []int, bytes int) {
	widest := 4
	for _, t := range ts {
		n := t.bytes()
		widest = max(widest, n)
		bytes = (bytes + n - 1) / n * n
		offsets = append(offsets, bytes)
		bytes += n * threads
	}
	return offsets, (bytes + widest - 1) / widest * widest
}
