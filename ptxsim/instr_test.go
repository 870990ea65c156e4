package ptxsim_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/big"
	"math/bits"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/arithlang/mlc/ptxsim"
)

// instrTest is an instruction with the operands D, A, B, C, their widths in this order, and its
// result computed in another way.
type instrTest struct {
	text   string
	widths []int
	want   func(a, b, c uint64) uint64
}

// interesting are values at the corners of the integers and of each float format.
var interesting = []uint64{
	0, 1, 2, 3, 7, 31, 32, 33, 63, 64, 65, 0x7f, 0x80, 0xff, 0x3c00, 0x7bff, 0x7c00, 0x7e00, 0x8000, 0xfc00, 0x3f80, 0xffff,
	0x7fffffff, 0x80000000, 0xffffffff, 0x3f800000, 0xbf800000, 0x7f800000, 0xff800000, 0x00000001, 0x007fffff, 0x00800000,
	0x7f7fffff, 0x4f000000, 0xcf000000, 0x3f7fffff, 0x40490fdb, 0x3ff0000000000000, 0xbff8000000000000, 0x7ff0000000000000,
	0x7fefffffffffffff, 0x0010000000000000, 0x8000000000000000, 0x7fffffffffffffff, 0xffffffffffffffff, 0x41dfffffffc00000,
}

func regName(width, i int) string {
	return fmt.Sprintf("%s%d", map[int]string{16: "%h", 32: "%r", 64: "%q"}[width], i)
}

// module returns a module that runs the instruction for all lanes, and again for odd lanes only.
func (x *instrTest) module() string {
	names := map[string]string{"D": regName(x.widths[0], 0), "E": regName(x.widths[0], 4)}
	var b strings.Builder
	b.WriteString(`.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 in, .param .u64 out)
{
	.reg .pred %p<8>;
	.reg .b16 %h<8>;
	.reg .b32 %r<16>;
	.reg .b64 %q<16>;
	mov.u32 %r10, %ctaid.x;
	mov.u32 %r11, %tid.x;
	mad.lo.u32 %r12, %r10, 32, %r11;
	ld.param.u64 %q10, [in];
	ld.param.u64 %q11, [out];
	mad.wide.u32 %q10, %r12, 24, %q10;
	mad.wide.u32 %q11, %r12, 16, %q11;
	and.b32 %r13, %r11, 1;
	setp.eq.u32 %p7, %r13, 1;
	mov.b16 %h4, 0x1234;
	mov.b32 %r4, 0x1234;
	mov.b64 %q4, 0x1234;
`)
	for i, w := range x.widths[1:] {
		reg := regName(w, i+1)
		names[string(rune('A'+i))] = reg
		fmt.Fprintf(&b, "\tld.global.u64 %%q9, [%%q10+%d];\n", 8*i)
		if w == 64 {
			fmt.Fprintf(&b, "\tmov.b64 %s, %%q9;\n", reg)
		} else {
			fmt.Fprintf(&b, "\tcvt.u%d.u64 %s, %%q9;\n", w, reg)
		}
	}
	for i, guard := range []string{"", "@%p7 "} {
		text := x.text
		if i == 1 {
			text = regexp.MustCompile(`\bD\b`).ReplaceAllString(text, "E")
		}
		for _, line := range strings.Split(text, ";") {
			if line = strings.TrimSpace(line); line == "" {
				continue
			}
			op, args, _ := strings.Cut(line, " ")
			args = regexp.MustCompile(`\b[A-E]\b`).ReplaceAllStringFunc(args, func(name string) string { return names[name] })
			fmt.Fprintf(&b, "\t%s%s %s;\n", guard, op, args)
		}
	}
	for i, d := range []string{names["D"], names["E"]} {
		if x.widths[0] != 64 {
			fmt.Fprintf(&b, "\tcvt.u64.u%d %%q8, %s;\n", x.widths[0], d)
			d = "%q8"
		}
		fmt.Fprintf(&b, "\tst.global.u64 [%%q11+%d], %s;\n", 8*i, d)
	}
	b.WriteString("\tret;\n}\n")
	return b.String()
}

func (x *instrTest) operands(rng *rand.Rand, n int) []uint64 {
	v := make([]uint64, 3*n)
	for i := range v {
		switch rng.IntN(4) {
		case 0:
			v[i] = interesting[rng.IntN(len(interesting))]
		case 1:
			v[i] = rng.Uint64() >> rng.IntN(64)
		case 2:
			v[i] = uint64(math.Float32bits(float32(rng.NormFloat64())))
		default:
			v[i] = rng.Uint64()
		}
	}
	return v
}

func (x *instrTest) run(t *testing.T) {
	const blocks = 16
	rng := rand.New(rand.NewPCG(5, 6))
	in := x.operands(rng, 32*blocks)
	var data []byte
	for _, v := range in {
		data = binary.LittleEndian.AppendUint64(data, v)
	}
	j := job{text: x.module(), kernel: "k", grid: [3]int{blocks}, block: [3]int{32}, args: []any{data, out(16 * 32 * blocks)}}
	bufs, err := j.run(ptxsim.Options{Arch: 90})
	if err != nil {
		t.Fatalf("%s: %v", x.text, err)
	}
	for i := range 32 * blocks {
		var a [3]uint64
		for k, w := range x.widths[1:] {
			a[k] = in[3*i+k] & (^uint64(0) >> (64 - w))
		}
		want := x.want(a[0], a[1], a[2]) & (^uint64(0) >> (64 - x.widths[0]))
		got := binary.LittleEndian.Uint64(bufs[1][16*i:])
		guarded := binary.LittleEndian.Uint64(bufs[1][16*i+8:])
		if got != want {
			t.Fatalf("%s of %#x, %#x, %#x is %#x, want %#x", x.text, a[0], a[1], a[2], got, want)
		}
		if i%2 == 0 {
			want = 0x1234
		}
		if guarded != want {
			t.Fatalf("%s under a predicate is %#x, want %#x", x.text, guarded, want)
		}
	}
}

func s16(x uint64) int64           { return int64(int16(x)) }
func s32(x uint64) int64           { return int64(int32(x)) }
func f32(x uint64) float32         { return math.Float32frombits(uint32(x)) }
func f64(x uint64) float64         { return math.Float64frombits(x) }
func b(yes bool) uint64            { return map[bool]uint64{true: 1}[yes] }
func clamp(v, lo, hi int64) uint64 { return uint64(min(max(v, lo), hi)) }

// o32 and o64 return the patterns of floats, with the GPU's NaN.
func o32(v float32) uint64 {
	if v != v {
		return 0x7fffffff
	}
	return uint64(math.Float32bits(v))
}

func o64(v float64) uint64 {
	if v != v {
		return 0xfff8000000000000
	}
	return math.Float64bits(v)
}

// bigFMA rounds once, after exact arithmetic.
func bigFMA(a, b, c float32) float32 {
	for _, v := range []float32{a, b, c} {
		if v != v || math.IsInf(float64(v), 0) {
			return float32(float64(a)*float64(b) + float64(c))
		}
	}
	x := func(v float32) *big.Float { return new(big.Float).SetPrec(2000).SetFloat64(float64(v)) }
	s := new(big.Float).SetPrec(2000).Add(new(big.Float).SetPrec(2000).Mul(x(a), x(b)), x(c))
	if s.Sign() == 0 {
		return float32(float64(a)*float64(b) + float64(c))
	}
	r, _ := s.Float32()
	return r
}

// ftz replaces a subnormal number by zero.
func ftz(v float32) float32 {
	if math.Abs(float64(v)) < 0x1p-126 {
		return float32(math.Copysign(0, float64(v)))
	}
	return v
}

// toInt saturates like cvt.
func toInt(v float64, lo, hi float64) uint64 {
	switch {
	case v != v:
		return 0
	case v <= lo:
		return uint64(int64(lo))
	case v >= hi:
		if hi > math.MaxInt64 {
			return math.MaxUint64
		}
		return uint64(int64(hi))
	}
	if v >= 0 {
		return uint64(v)
	}
	return uint64(int64(v))
}

var instrTests = []instrTest{
	{"add.u16 D, A, B", []int{16, 16, 16}, func(a, b, _ uint64) uint64 { return a + b }},
	{"add.s32 D, A, B", []int{32, 32, 32}, func(a, b, _ uint64) uint64 { return a + b }},
	{"add.sat.s32 D, A, B", []int{32, 32, 32}, func(a, b, _ uint64) uint64 { return clamp(s32(a)+s32(b), -1<<31, 1<<31-1) }},
	{"add.u64 D, A, B", []int{64, 64, 64}, func(a, b, _ uint64) uint64 { return a + b }},
	{"sub.u32 D, A, B", []int{32, 32, 32}, func(a, b, _ uint64) uint64 { return a - b }},
	{"sub.sat.s32 D, A, B", []int{32, 32, 32}, func(a, b, _ uint64) uint64 { return clamp(s32(a)-s32(b), -1<<31, 1<<31-1) }},
	{"mul.lo.s16 D, A, B", []int{16, 16, 16}, func(a, b, _ uint64) uint64 { return a * b }},
	{"mul.lo.u32 D, A, B", []int{32, 32, 32}, func(a, b, _ uint64) uint64 { return a * b }},
	{"mul.lo.s64 D, A, B", []int{64, 64, 64}, func(a, b, _ uint64) uint64 { return a * b }},
	{"mul.hi.u32 D, A, B", []int{32, 32, 32}, func(a, b, _ uint64) uint64 { return a * b >> 32 }},
	{"mul.hi.s32 D, A, B", []int{32, 32, 32}, func(a, b, _ uint64) uint64 { return uint64(s32(a) * s32(b) >> 32) }},
	{"mul.hi.u64 D, A, B", []int{64, 64, 64}, func(a, b, _ uint64) uint64 { hi, _ := bits.Mul64(a, b); return hi }},
	{"mul.wide.u16 D, A, B", []int{32, 16, 16}, func(a, b, _ uint64) uint64 { return a * b }},
	{"mul.wide.s32 D, A, B", []int{64, 32, 32}, func(a, b, _ uint64) uint64 { return uint64(s32(a) * s32(b)) }},
	{"mul.wide.u32 D, A, B", []int{64, 32, 32}, func(a, b, _ uint64) uint64 { return a * b }},
	{"mad.lo.s32 D, A, B, C", []int{32, 32, 32, 32}, func(a, b, c uint64) uint64 { return a*b + c }},
	{"mad.hi.u32 D, A, B, C", []int{32, 32, 32, 32}, func(a, b, c uint64) uint64 { return a*b>>32 + c }},
	{"mad.wide.s32 D, A, B, C", []int{64, 32, 32, 64}, func(a, b, c uint64) uint64 { return uint64(s32(a)*s32(b)) + c }},
	{"mad.wide.u16 D, A, B, C", []int{32, 16, 16, 32}, func(a, b, c uint64) uint64 { return a*b + c }},
	{"mul24.lo.u32 D, A, B", []int{32, 32, 32}, func(a, b, _ uint64) uint64 { return a & 0xffffff * (b & 0xffffff) }},
	{"mad24.hi.u32 D, A, B, C", []int{32, 32, 32, 32}, func(a, b, c uint64) uint64 { return a&0xffffff*(b&0xffffff)>>16 + c }},
	{"add.cc.u32 D, A, B; addc.u32 D, C, 0", []int{32, 32, 32, 32}, func(a, b, c uint64) uint64 { return (a+b)>>32 + c }},
	{"sub.cc.u32 D, A, B; subc.u32 D, C, 0", []int{32, 32, 32, 32}, func(a, b, c uint64) uint64 { return c - (a-b)>>63 }},
	{"mad.lo.cc.u32 D, A, B, C; madc.hi.u32 D, A, B, 0", []int{32, 32, 32, 32}, func(a, b, c uint64) uint64 { return (a*b + c) >> 32 }},
	{"sad.s32 D, A, B, C", []int{32, 32, 32, 32}, func(a, b, c uint64) uint64 {
		return uint64(max(s32(a), s32(b))-min(s32(a), s32(b))) + c
	}},
	{"or.b32 A, A, 1; div.s32 D, B, A", []int{32, 32, 32}, func(a, b, _ uint64) uint64 { return uint64(s32(b) / s32(a|1)) }},
	{"or.b32 A, A, 1; rem.s32 D, B, A", []int{32, 32, 32}, func(a, b, _ uint64) uint64 { return uint64(s32(b) % s32(a|1)) }},
	{"or.b64 A, A, 1; div.u64 D, B, A", []int{64, 64, 64}, func(a, b, _ uint64) uint64 { return b / (a | 1) }},
	{"abs.s16 D, A", []int{16, 16}, func(a, _, _ uint64) uint64 { return uint64(max(s16(a), -s16(a))) }},
	{"neg.s32 D, A", []int{32, 32}, func(a, _, _ uint64) uint64 { return -a }},
	{"min.s32 D, A, B", []int{32, 32, 32}, func(a, b, _ uint64) uint64 { return uint64(min(s32(a), s32(b))) }},
	{"max.u32 D, A, B", []int{32, 32, 32}, func(a, b, _ uint64) uint64 { return max(a, b) }},
	{"popc.b64 D, A", []int{32, 64}, func(a, _, _ uint64) uint64 { return uint64(bits.OnesCount64(a)) }},
	{"clz.b32 D, A", []int{32, 32}, func(a, _, _ uint64) uint64 { return uint64(bits.LeadingZeros32(uint32(a))) }},
	{"bfind.u32 D, A", []int{32, 32}, func(a, _, _ uint64) uint64 { return uint64(bits.Len32(uint32(a)) - 1) }},
	{"brev.b32 D, A", []int{32, 32}, func(a, _, _ uint64) uint64 { return uint64(bits.Reverse32(uint32(a))) }},
	{"bfe.u32 D, A, 4, 9", []int{32, 32}, func(a, _, _ uint64) uint64 { return a >> 4 & 511 }},
	{"bfe.s32 D, A, 4, 9", []int{32, 32}, func(a, _, _ uint64) uint64 { return uint64(int32(a<<19) >> 23) }},
	{"bfi.b32 D, A, B, 5, 6", []int{32, 32, 32}, func(a, b, _ uint64) uint64 { return b&^(63<<5) | a&63<<5 }},
	{"dp4a.s32.u32 D, A, B, C", []int{32, 32, 32, 32}, func(a, b, c uint64) uint64 {
		for i := range 4 {
			c += uint64(int64(int8(a>>(8*i))) * int64(uint8(b>>(8*i))))
		}
		return c
	}},
	{"prmt.b32 D, A, B, 0x6240", []int{32, 32, 32}, func(a, b, _ uint64) uint64 {
		return a&0xff | b&0xff<<8 | a>>16&0xff<<16 | b>>16&0xff<<24
	}},
	{"shf.l.wrap.b32 D, A, B, 7", []int{32, 32, 32}, func(a, b, _ uint64) uint64 { return b<<7 | a>>25 }},
	{"shf.r.clamp.b32 D, A, B, 40", []int{32, 32, 32}, func(a, b, _ uint64) uint64 { return b }},
	{"lop3.b32 D, A, B, C, 0xca", []int{32, 32, 32, 32}, func(a, b, c uint64) uint64 { return a&b | ^a&c }},
	{"and.b64 D, A, B", []int{64, 64, 64}, func(a, b, _ uint64) uint64 { return a & b }},
	{"or.b16 D, A, B", []int{16, 16, 16}, func(a, b, _ uint64) uint64 { return a | b }},
	{"xor.b32 D, A, B", []int{32, 32, 32}, func(a, b, _ uint64) uint64 { return a ^ b }},
	{"not.b16 D, A", []int{16, 16}, func(a, _, _ uint64) uint64 { return ^a }},
	{"cnot.b32 D, A", []int{32, 32}, func(a, _, _ uint64) uint64 { return b(a == 0) }},
	{"shl.b32 D, A, B", []int{32, 32, 32}, func(a, b, _ uint64) uint64 { return a << min(b, 32) }},
	{"shr.u32 D, A, B", []int{32, 32, 32}, func(a, b, _ uint64) uint64 { return a >> min(b, 32) }},
	{"shr.s32 D, A, B", []int{32, 32, 32}, func(a, b, _ uint64) uint64 { return uint64(s32(a) >> min(b, 32)) }},
	{"shr.b64 D, A, B", []int{64, 64, 32}, func(a, b, _ uint64) uint64 { return a >> min(b, 64) }},
	{"shr.s16 D, A, B", []int{16, 16, 32}, func(a, b, _ uint64) uint64 { return uint64(s16(a) >> min(b, 16)) }},

	{"setp.lt.s32 %p1, A, B; selp.u32 D, 1, 0, %p1", []int{32, 32, 32}, func(x, y, _ uint64) uint64 { return b(s32(x) < s32(y)) }},
	{"setp.ge.u32 %p1, A, B; selp.u32 D, 1, 0, %p1", []int{32, 32, 32}, func(x, y, _ uint64) uint64 { return b(x >= y) }},
	{"setp.hi.u16 %p1, A, B; selp.u32 D, 1, 0, %p1", []int{32, 16, 16}, func(x, y, _ uint64) uint64 { return b(x > y) }},
	{"setp.le.s64 %p1, A, B; selp.u32 D, 1, 0, %p1", []int{32, 64, 64}, func(x, y, _ uint64) uint64 { return b(int64(x) <= int64(y)) }},
	{"setp.ne.b32 %p1|%p2, A, B; selp.u32 D, 1, 0, %p2", []int{32, 32, 32}, func(x, y, _ uint64) uint64 { return b(x == y) }},
	{"setp.gt.f32 %p1, A, B; selp.u32 D, 1, 0, %p1", []int{32, 32, 32}, func(x, y, _ uint64) uint64 { return b(f32(x) > f32(y)) }},
	{"setp.leu.f32 %p1, A, B; selp.u32 D, 1, 0, %p1", []int{32, 32, 32}, func(x, y, _ uint64) uint64 { return b(!(f32(x) > f32(y))) }},
	{"setp.nan.f64 %p1, A, B; selp.u32 D, 1, 0, %p1", []int{32, 64, 64}, func(x, y, _ uint64) uint64 { return b(f64(x) != f64(x) || f64(y) != f64(y)) }},
	{"setp.eq.u32 %p1, A, 0; setp.lt.xor.u32 %p2, A, B, !%p1; selp.u32 D, 1, 0, %p2", []int{32, 32, 32}, func(x, y, _ uint64) uint64 {
		return b((x < y) != (x != 0))
	}},
	{"set.ge.f32.s32 D, A, B", []int{32, 32, 32}, func(x, y, _ uint64) uint64 { return b(s32(x) >= s32(y)) * 0x3f800000 }},
	{"set.lt.u32.f32 D, A, B", []int{32, 32, 32}, func(x, y, _ uint64) uint64 { return -b(f32(x) < f32(y)) }},
	{"set.eq.f16x2.f16x2 D, A, A", []int{32, 32}, func(x, _, _ uint64) uint64 {
		number := func(h uint64) uint64 { return b(h&0x7fff <= 0x7c00) * 0x3c00 }
		return number(x>>16)<<16 | number(x&0xffff)
	}},
	{"set.eq.f16x2.f16x2 D, A, B", []int{32, 32, 32}, func(x, y, _ uint64) uint64 {
		return eachHalf(x, y, func(x, y uint64) uint64 { return b(half(x) == half(y)) * 0x3c00 })
	}},
	{"set.gtu.u32.f16x2 D, A, B", []int{32, 32, 32}, func(x, y, _ uint64) uint64 {
		return eachHalf(x, y, func(x, y uint64) uint64 { return b(!(half(x) <= half(y))) * 0xffff })
	}},
	{"setp.lt.u32 %p1, A, B; set.ne.xor.s32.bf16x2 D, A, B, !%p1", []int{32, 32, 32}, func(x, y, _ uint64) uint64 {
		below := x < y
		return eachHalf(x, y, func(x, y uint64) uint64 {
			l, r := f32(x<<16), f32(y<<16)
			return b((l < r || l > r) != !below) * 0xffff
		})
	}},
	{"setp.gt.u16 %p1, A, 5; set.lt.and.bf16x2.bf16x2 D, C, B, %p1", []int{32, 16, 32, 32}, func(a, y, x uint64) uint64 {
		return eachHalf(x, y, func(x, y uint64) uint64 { return b(f32(x<<16) < f32(y<<16) && a > 5) * 0x3f80 })
	}},
	{"set.ge.f16.s16 D, A, B", []int{16, 16, 16}, func(x, y, _ uint64) uint64 { return b(int16(x) >= int16(y)) * 0x3c00 }},
	{"set.hi.bf16.u32 D, A, B", []int{16, 32, 32}, func(x, y, _ uint64) uint64 { return b(x > y) * 0x3f80 }},
	{"set.lt.f16.f64 D, A, B", []int{16, 64, 64}, func(x, y, _ uint64) uint64 { return b(f64(x) < f64(y)) * 0x3c00 }},
	{"set.le.u16.f16 D, A, B", []int{16, 16, 16}, func(x, y, _ uint64) uint64 { return b(half(x) <= half(y)) * 0xffff }},
	{"set.equ.s32.bf16 D, A, B", []int{32, 16, 16}, func(x, y, _ uint64) uint64 {
		l, r := f32(x<<16), f32(y<<16)
		return b(!(l < r || l > r)) * 0xffffffff
	}},
	{"vadd.u32.s32.u32.sat D, A, B", []int{32, 32, 32}, func(x, y, _ uint64) uint64 {
		return uint64(max(0, min(int64(s32(x))+int64(uint32(y)), 0xffffffff)))
	}},
	{"vsub.s32.u32.u32.sat D, A, B", []int{32, 32, 32}, func(x, y, _ uint64) uint64 {
		return uint64(uint32(max(-1<<31, min(int64(x)-int64(y), 1<<31-1))))
	}},
	{"vabsdiff.u32.s32.s32.add D, A, B, C", []int{32, 32, 32, 32}, func(x, y, z uint64) uint64 {
		if s32(x) < s32(y) {
			x, y = y, x
		}
		return uint64(uint32(x) - uint32(y) + uint32(z))
	}},
	{"vmax.s32.s32.s32.min D, A, B, C", []int{32, 32, 32, 32}, func(x, y, z uint64) uint64 {
		return uint64(uint32(min(s32(z), max(s32(x), s32(y)))))
	}},
	{"vset.s32.u32.ge.add D, A, B, C", []int{32, 32, 32, 32}, func(x, y, z uint64) uint64 {
		return uint64(uint32(z) + uint32(b(int64(s32(x)) >= int64(y))))
	}},
	{"vadd4.u32.u32.u32 D, A, B, C", []int{32, 32, 32, 32}, func(x, y, _ uint64) uint64 { // without carries
		return (x&0x7f7f7f7f + y&0x7f7f7f7f) ^ (x^y)&0x80808080
	}},
	{"vsub2.s32.s32.s32.sat D, A, B, C", []int{32, 32, 32, 32}, func(x, y, _ uint64) uint64 {
		return eachHalf(x, y, func(x, y uint64) uint64 {
			return uint64(uint16(max(-1<<15, min(int(int16(x))-int(int16(y)), 1<<15-1))))
		})
	}},
	{"vabsdiff4.u32.u32.u32.add D, A, B, C", []int{32, 32, 32, 32}, func(x, y, z uint64) uint64 {
		for range 4 {
			z += uint64(math.Abs(float64(x&0xff) - float64(y&0xff)))
			x, y = x>>8, y>>8
		}
		return z & 0xffffffff
	}},
	{"vavrg2.s32.s32.s32 D, A, B, C", []int{32, 32, 32, 32}, func(x, y, _ uint64) uint64 {
		return eachHalf(x, y, func(x, y uint64) uint64 {
			return uint64(uint16(int16(math.Round((float64(int16(x)) + float64(int16(y))) / 2))))
		})
	}},
	{"vmin4.s32.s32.u32.add D, A, B, C", []int{32, 32, 32, 32}, func(x, y, z uint64) uint64 {
		for i := range 4 {
			z += uint64(min(int64(int8(x>>(8*i))), int64(uint8(y>>(8*i)))))
		}
		return z & 0xffffffff
	}},
	{"vset4.u32.u32.lt D, A, B, C", []int{32, 32, 32, 32}, func(x, y, _ uint64) (r uint64) {
		for i := range 4 {
			r |= b(uint8(x>>(8*i)) < uint8(y>>(8*i))) << (8 * i)
		}
		return r
	}},
	{"slct.u32.s32 D, A, B, C", []int{32, 32, 32, 32}, func(a, b, c uint64) uint64 {
		if s32(c) >= 0 {
			return a
		}
		return b
	}},

	{"add.f32 D, A, B", []int{32, 32, 32}, func(a, b, _ uint64) uint64 { return o32(f32(a) + f32(b)) }},
	{"add.ftz.f32 D, A, B", []int{32, 32, 32}, func(a, b, _ uint64) uint64 { return o32(ftz(ftz(f32(a)) + ftz(f32(b)))) }},
	{"sub.rn.f32 D, A, B", []int{32, 32, 32}, func(a, b, _ uint64) uint64 { return o32(f32(a) - f32(b)) }},
	{"mul.f32 D, A, B", []int{32, 32, 32}, func(a, b, _ uint64) uint64 { return o32(f32(a) * f32(b)) }},
	{"mul.sat.f32 D, A, B", []int{32, 32, 32}, func(a, b, _ uint64) uint64 {
		v := f32(a) * f32(b)
		if !(v > 0) {
			return 0
		}
		return o32(min(v, 1))
	}},
	{"fma.rn.f32 D, A, B, C", []int{32, 32, 32, 32}, func(a, b, c uint64) uint64 { return o32(bigFMA(f32(a), f32(b), f32(c))) }},
	{"div.rn.f32 D, A, B", []int{32, 32, 32}, func(a, b, _ uint64) uint64 { return o32(f32(a) / f32(b)) }},
	{"sqrt.rn.f32 D, A", []int{32, 32}, func(a, _, _ uint64) uint64 { return o32(float32(math.Sqrt(float64(f32(a))))) }},
	{"rcp.rn.f32 D, A", []int{32, 32}, func(a, _, _ uint64) uint64 { return o32(1 / f32(a)) }},
	{"rcp.rn.f64 D, A", []int{64, 64}, func(a, _, _ uint64) uint64 {
		if f64(a) != f64(a) {
			return a | 1<<51 // doubles keep their payload
		}
		return o64(1 / f64(a))
	}},
	{"neg.f32 D, A; add.f32 D, D, 0fBF800000", []int{32, 32}, func(a, _, _ uint64) uint64 { return o32(-f32(a) + -1) }},
	{"abs.f32 D, A; add.f32 D, D, 0f3F800000", []int{32, 32}, func(a, _, _ uint64) uint64 { return o32(float32(math.Abs(float64(f32(a)))) + 1) }},
	{"min.f32 D, A, B", []int{32, 32, 32}, func(a, b, _ uint64) uint64 { return leastOf(f32(a), f32(b)) }},
	{"copysign.f32 D, A, B", []int{32, 32, 32}, func(a, b, _ uint64) uint64 { return a&(1<<31) | b&^(1<<31) }},
	{"testp.subnormal.f32 %p1, A; selp.u32 D, 1, 0, %p1", []int{32, 32}, func(x, _, _ uint64) uint64 { return b(x<<1&0xffffffff != 0 && x>>23&255 == 0) }},

	{"mov.b64 D, {A, B}", []int{64, 32, 32}, func(a, b, _ uint64) uint64 { return b<<32 | a }},
	{"mov.b32 {_, D}, A", []int{16, 32}, func(a, _, _ uint64) uint64 { return a >> 16 }},
	{"cvt.s64.s32 D, A", []int{64, 32}, func(a, _, _ uint64) uint64 { return uint64(s32(a)) }},
	{"cvt.u64.u32 D, A", []int{64, 32}, func(a, _, _ uint64) uint64 { return a }},
	{"cvt.s32.s8 D, A", []int{32, 32}, func(a, _, _ uint64) uint64 { return uint64(int64(int8(a))) }},
	{"cvt.s8.s32 D, A", []int{32, 32}, func(a, _, _ uint64) uint64 { return uint64(int64(int8(a))) }},
	{"cvt.u8.u32 D, A", []int{32, 32}, func(a, _, _ uint64) uint64 { return a & 255 }},
	{"cvt.sat.s16.s32 D, A", []int{16, 32}, func(a, _, _ uint64) uint64 { return clamp(s32(a), -1<<15, 1<<15-1) }},
	{"cvt.sat.u8.s32 D, A", []int{32, 32}, func(a, _, _ uint64) uint64 { return clamp(s32(a), 0, 255) }},
	{"cvt.rn.f32.s32 D, A", []int{32, 32}, func(a, _, _ uint64) uint64 { return o32(float32(int32(a))) }},
	{"cvt.rn.f32.u64 D, A", []int{32, 64}, func(a, _, _ uint64) uint64 { return o32(float32(a)) }},
	{"cvt.rn.f64.s64 D, A", []int{64, 64}, func(a, _, _ uint64) uint64 { return o64(float64(int64(a))) }},
	{"cvt.rzi.s32.f32 D, A", []int{32, 32}, func(a, _, _ uint64) uint64 { return toInt(math.Trunc(float64(f32(a))), -1<<31, 1<<31-1) }},
	{"cvt.rni.u32.f32 D, A", []int{32, 32}, func(a, _, _ uint64) uint64 { return toInt(math.RoundToEven(float64(f32(a))), 0, 1<<32-1) }},
	{"cvt.rmi.s32.f64 D, A", []int{32, 64}, func(a, _, _ uint64) uint64 {
		if f64(a) != f64(a) {
			return 1 << 31 // only from doubles
		}
		return toInt(math.Floor(f64(a)), -1<<31, 1<<31-1)
	}},
	{"cvt.rpi.f32.f32 D, A", []int{32, 32}, func(a, _, _ uint64) uint64 { return o32(float32(math.Ceil(float64(f32(a))))) }},
	{"cvt.rn.f32.f64 D, A", []int{32, 64}, func(a, _, _ uint64) uint64 {
		if f64(a) != f64(a) { // keep sign and payload
			return a>>63<<31 | 0x7fc00000 | a>>29&0x3fffff
		}
		return o32(float32(f64(a)))
	}},
	{"cvt.rn.bf16x2.f32 D, A, B; and.b32 D, D, 0xffff0000", []int{32, 32, 32}, func(a, _, _ uint64) uint64 { return bf16(a) << 16 }},
	{"cvt.rn.bf16.f32 D, A", []int{16, 32}, func(a, _, _ uint64) uint64 { return bf16(a) }},
}

func leastOf(a, b float32) uint64 {
	switch {
	case a != a:
		return o32(b)
	case b != b:
		return o32(a)
	}
	return o32(min(a, b))
}

// bf16 rounds a single to nearest even by arithmetic on its pattern.
func bf16(a uint64) uint64 {
	if v := f32(a); v != v {
		return 0x7fff
	}
	return (a + 0x7fff + a>>16&1) >> 16
}

func TestInstructions(t *testing.T) {
	for _, x := range instrTests {
		t.Run(x.text, x.run)
	}
}

// TestWarpInstructions checks the values that lanes exchange, by lane.
func TestWarpInstructions(t *testing.T) {
	cases := []struct {
		body string
		want func(lane int) uint32
	}{
		{"activemask.b32 %r4;", func(int) uint32 { return math.MaxUint32 }},
		{"and.b32 %r5, %r0, 1; setp.eq.u32 %p1, %r5, 1; vote.sync.ballot.b32 %r4, %p1, -1;", func(int) uint32 { return 0xaaaaaaaa }},
		{"setp.lt.u32 %p1, %r0, 31; vote.sync.all.pred %p2, %p1, -1; selp.u32 %r4, 1, 0, %p2;", func(int) uint32 { return 0 }},
		{"setp.lt.u32 %p1, %r0, 31; vote.sync.any.pred %p2, !%p1, -1; selp.u32 %r4, 1, 0, %p2;", func(int) uint32 { return 1 }},
		{"setp.lt.u32 %p1, %r0, 99; vote.sync.uni.pred %p2, %p1, -1; selp.u32 %r4, 1, 0, %p2;", func(int) uint32 { return 1 }},
		{"shfl.sync.up.b32 %r4, %r0, 3, 0, -1;", func(l int) uint32 {
			if l < 3 {
				return uint32(l)
			}
			return uint32(l - 3)
		}},
		{"shfl.sync.down.b32 %r5|%p1, %r0, 3, 31, -1; selp.u32 %r4, %r5, 99, %p1;", func(l int) uint32 {
			if l > 28 {
				return 99
			}
			return uint32(l + 3)
		}},
		{"shfl.sync.bfly.b32 %r4, %r0, 5, 31, -1;", func(l int) uint32 { return uint32(l ^ 5) }},
		{"shfl.sync.idx.b32 %r4, %r0, 2, 0x181f, -1;", func(l int) uint32 { return uint32(l&^7 | 2) }},
		{"shfl.sync.down.b32 %r4, %r0, 6, 0x181f, -1;", func(l int) uint32 {
			if l%8 < 2 {
				return uint32(l + 6)
			}
			return uint32(l)
		}},
		{"shr.u32 %r5, %r0, 3; match.any.sync.b32 %r4, %r5, -1;", func(l int) uint32 { return 255 << (l &^ 7) }},
		{"shr.u32 %r5, %r0, 3; match.all.sync.b32 %r4, %r5, -1;", func(int) uint32 { return 0 }},
		{"mov.u32 %r5, 4; match.all.sync.b32 %r4|%p1, %r5, -1; @!%p1 trap;", func(int) uint32 { return math.MaxUint32 }},
		{"redux.sync.add.u32 %r4, %r0, -1;", func(int) uint32 { return 496 }},
		{"neg.s32 %r5, %r0; redux.sync.min.s32 %r4, %r5, -1;", func(int) uint32 { return 0xffffffe1 }},
		{"redux.sync.xor.b32 %r4, %r0, -1;", func(int) uint32 { return 0 }},
		{"mov.u32 %r4, %lanemask_lt;", func(l int) uint32 { return 1<<l - 1 }},
		{"mov.u32 %r4, %lanemask_ge;", func(l int) uint32 { return math.MaxUint32 << l }},
		{"and.b32 %r5, %r0, 3; brx.idx %r5, T;\nT0: mov.u32 %r4, 10; bra E;\nT1: mov.u32 %r4, 11; bra E;\nT2: mov.u32 %r4, 12;\nE:",
			func(l int) uint32 { return []uint32{10, 11, 12, 10}[l%4] }},
	}
	for _, c := range cases {
		body := c.body
		if strings.Contains(body, "brx") {
			body = strings.Replace(body, "and.b32", "T: .branchtargets T0, T1, T2, T0;\nand.b32", 1)
		}
		got, err := runSnippet(ptxsim.Options{}, body+"\nst.global.u32 [%rd3], %r4;", 1, 32, nil)
		if err != nil {
			t.Errorf("%s: %v", c.body, err)
			continue
		}
		for lane := range 32 {
			if want := c.want(lane); got[lane] != want {
				t.Errorf("%s: lane %d has %#x, want %#x", c.body, lane, got[lane], want)
				break
			}
		}
	}
}

// TestAtomics checks each operation by its sequence of old values.
func TestAtomics(t *testing.T) {
	cases := []struct {
		text       string
		start, end uint32
	}{
		{"atom.shared.add.u32 %r4, [sh], 3;", 1, 97},
		{"atom.shared.add.f32 %f4, [sh], 0f40000000;", 0, math.Float32bits(64)},
		{"atom.shared.inc.u32 %r4, [sh], 4;", 0, 2},
		{"atom.shared.dec.u32 %r4, [sh], 4;", 0, 3},
		{"atom.shared.min.s32 %r4, [sh], %r0;", 7, 0},
		{"atom.shared.max.u32 %r4, [sh], %r0;", 7, 31},
		{"atom.shared.and.b32 %r4, [sh], %r0;", 255, 0},
		{"atom.shared.or.b32 %r4, [sh], %r0;", 32, 63},
		{"atom.shared.xor.b32 %r4, [sh], %r0;", 5, 5},
		{"atom.shared.exch.b32 %r4, [sh], %r0;", 5, 31},
		{"add.u32 %r6, %r0, 1; atom.shared.cas.b32 %r4, [sh], %r0, %r6;", 0, 32},
		{"red.shared.add.u32 [sh], %r0;", 0, 496},
		{"red.global.add.noftz.f16x2 [%rd0+512], %r7; st.shared.u32 [%r3], 5; @%p1 ld.global.u32 %r8, [%rd0+512];", 9, 9},
	}
	for _, c := range cases {
		body := fmt.Sprintf("mov.u32 %%r7, 0x3c004000;\nsetp.eq.u32 %%p1, %%r0, 99;\nsetp.eq.u32 %%p2, %%r0, 0;\n@%%p2 st.shared.u32 [sh], %d;\nbar.sync 0;\n%s\nbar.sync 0;\n@%%p2 ld.shared.u32 %%r5, [sh];\n@%%p2 st.global.u32 [%%rd3], %%r5;", c.start, c.text)
		if strings.Contains(c.text, "f16x2") {
			body = "mov.u32 %r7, 0x3c004000;\nred.global.add.noftz.f16x2 [%rd0], %r7;"
			c.end = 0x50005400
		}
		got, err := runSnippet(ptxsim.Options{}, body, 1, 32, nil)
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
		} else if got[0] != c.end {
			t.Errorf("%s: ends at %#x, want %#x", c.text, got[0], c.end)
		}
	}
}

// half returns the value of an f16.
func half(h uint64) float64 {
	sign, e, m := 1-2*float64(h>>15&1), int(h>>10&31), float64(h&0x3ff)
	switch {
	case e == 31 && m > 0:
		return math.NaN()
	case e == 31:
		return sign * math.Inf(1)
	case e == 0:
		return sign * math.Ldexp(m, -24)
	}
	return sign * math.Ldexp(1024+m, e-25)
}

// eachHalf applies a function to both halves of words.
func eachHalf(x, y uint64, f func(x, y uint64) uint64) uint64 {
	return f(x>>16, y>>16)<<16 | f(x&0xffff, y&0xffff)
}
