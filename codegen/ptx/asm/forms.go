package asm

import (
	"maps"
	"slices"
	"strings"
)

// A form is the classes of an instruction's result and operands.
type form struct {
	dst  Class
	args []Class
}

// formTexts are the instructions that kernels are written with, by their classes:
// result, then operands. A shift's amount is a word; bfe and the like have words
// throughout.
var formTexts = map[string]string{
	"r=rr": `add.s32 sub.s32 mul.lo.s32 div.s32 div.u32 rem.s32 rem.u32 min.s32 max.s32 min.u32 max.u32
		mul.hi.u32 and.b32 or.b32 xor.b32 shl.b32 shr.s32 shr.u32`,
	"r=rrr": "mad.lo.s32",
	"r=r":   "neg.s32 abs.s32 not.b32",
	"d=rr":  "mul.wide.s32 mul.wide.u32",
	"d=rrd": "mad.wide.s32 mad.wide.u32",
	"d=dd":  "add.s64 mul.lo.s64",
	"d=ddd": "mad.lo.s64",
	"d=r":   "cvt.u64.u32 cvt.s64.s32",
	"d=d":   "cvta.shared.u64 cvta.to.global.u64",
	"d=ddp": "selp.b64",
	"p=dd":  "setp.eq.s64",

	"f=ff":  "add.rn.f32 sub.rn.f32 mul.rn.f32 div.rn.f32",
	"f=fff": "fma.rn.f32",
	"f=f":   "neg.f32 abs.f32 sqrt.rn.f32 cvt.rmi.f32.f32",
	"f=r":   "cvt.rn.f32.s32 cvt.rn.f32.u32",
	"r=f":   "cvt.rzi.s32.f32",

	"p=rr":  "setp.lt.s32 setp.le.s32 setp.eq.s32 setp.ne.s32 setp.ge.s32 setp.lt.u32 setp.le.u32 setp.gt.s32",
	"p=ff":  "setp.lt.f32 setp.le.f32 setp.eq.f32 setp.neu.f32 setp.gt.f32",
	"p=pp":  "and.pred or.pred xor.pred",
	"p=p":   "not.pred",
	"f=ffp": "selp.f32",
	"r=rrp": "selp.b32",
}

var forms = parseForms()

func parseForms() map[string]form {
	all := map[string]form{}
	for classes, ops := range formTexts {
		dst, args, _ := strings.Cut(classes, "=")
		f := form{dst: Class(dst[0])}
		for _, c := range []byte(args) {
			f.args = append(f.args, Class(c))
		}
		for _, op := range strings.Fields(ops) {
			all[op] = f
		}
	}
	return all
}

func formOf(op string) form {
	f, ok := forms[op]
	if !ok {
		panic("BUG: no instruction " + op)
	}
	return f
}

// Bits is the bit pattern of a float.
func (f *Func) Bits(v Value) Value {
	if v.class != Float {
		panic("BUG: bits of " + v.text)
	}
	w := f.New(Word)
	f.line("mov.b32 %s, %s;", w.text, v.text)
	return w
}

// FloatOf is the float with a bit pattern.
func (f *Func) FloatOf(v Value) Value {
	if v.class != Word {
		panic("BUG: float of " + v.text)
	}
	x := f.New(Float)
	f.line("mov.b32 %s, %s;", x.text, v.text)
	return x
}

// Ops lists the instructions of the table.
func Ops() []string { return slices.Sorted(maps.Keys(forms)) }

// ArgClasses are the classes of an instruction's operands.
func ArgClasses(op string) []Class { return formOf(op).args }
