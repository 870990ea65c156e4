package fragment

import "strings"

// integerProbes are instructions with pseudocode in the manual.
func integerProbes() []*Probe {
	const (
		extract = "a field of bits by position and length"
		shift   = "a shift by an amount that may exceed the width"
	)
	all := family("integer", 1, []row{
		{pattern: "prmt.b32{,.f4e,.b4e,.rc8,.ecl,.ecr,.rc16}", in: "3*b32", out: "b32",
			doc: "four bytes of eight, chosen by a selector"},
		{pattern: "bfe.u32", in: "3*u32", out: "u32", doc: extract},
		{pattern: "bfe.s32", in: "s32 2*u32", out: "s32", doc: extract},
		{pattern: "bfe.u64", in: "u64 2*u32", out: "u64", doc: extract},
		{pattern: "bfe.s64", in: "s64 2*u32", out: "s64", doc: extract},
		{pattern: "bfi.b32", in: "2*b32 2*u32", out: "b32", doc: "a field of bits put into another word"},
		{pattern: "bfi.b64", in: "2*b64 2*u32", out: "b64", doc: "a field of bits put into another word"},
		{pattern: "shf.{l,r}.{clamp,wrap}.b32", in: "2*b32 u32", out: "b32", doc: "a shift of two words"},
		{pattern: "shl.b32", in: "b32 u32", out: "b32", doc: shift},
		{pattern: "shl.b64", in: "b64 u32", out: "b64", doc: shift},
		{pattern: "shr.u32", in: "2*u32", out: "u32", doc: shift},
		{pattern: "shr.s32", in: "s32 u32", out: "s32", doc: shift},
		{pattern: "shr.s64", in: "s64 u32", out: "s64", doc: shift},
		{pattern: "{popc,clz}.b32", in: "b32", out: "u32", doc: "ones, or leading zeros"},
		{pattern: "{popc,clz}.b64", in: "b64", out: "u32", doc: "ones, or leading zeros"},
		{pattern: "brev.b32", in: "b32", out: "b32", doc: "the bits in reverse"},
		{pattern: "bfind{,.shiftamt}.u32", in: "u32", out: "u32", doc: "the place of the leading bit"},
		{pattern: "bfind{,.shiftamt}.s32", in: "s32", out: "u32", doc: "the place of the leading bit that is not a sign"},
		{pattern: "fns.b32", in: "2*b32 s32", out: "b32",
			doc: "the n-th bit that is set, from a base", body: "and.b32 %a1, %a1, 31;\nNAME %d0, %a0, %a1, %a2;"},
		{pattern: "bmsk.{clamp,wrap}.b32", in: "2*b32", out: "b32", doc: "a mask by position and length"},
		{pattern: "szext.{clamp,wrap}.s32", in: "s32 u32", out: "s32", doc: "the low bits extended by their sign"},
		{pattern: "{add,sub}.sat.s32", in: "2*s32", out: "s32", doc: "a sum or difference, clamped"},
		{pattern: "mul.hi.{s32,u32}", in: "2*b32", out: "b32", doc: "the upper half of a product"},
		{pattern: "mad.hi.sat.s32", in: "3*s32", out: "s32", doc: "the upper half of a product plus a word, clamped"},
		{pattern: "mul.hi.{s64,u64}", in: "2*b64", out: "b64", doc: "the upper half of a product"},
		{pattern: "{mul24.lo,mul24.hi}.{s32,u32}", in: "2*b32", out: "b32", doc: "a product of 24 bits by 24"},
		{pattern: "dp4a.{u32,s32}.{u32,s32}", in: "3*b32", out: "b32", doc: "a dot product of four bytes"},
		{pattern: "dp2a.{lo,hi}.{u32,s32}.{u32,s32}", in: "3*b32", out: "b32", doc: "a dot product of halves and bytes"},
		{pattern: "lop3.b32 {0x80,0x96,0xca,0x1b,0xfe}", in: "3*b32", out: "b32", doc: "a function of three bits by its table",
			body: "lop3.b32 %d0, %a0, %a1, %a2, TABLE;"},
		{pattern: "sad.{u32,s32}", in: "3*b32", out: "b32", doc: "a difference without its sign, added"},
	})
	for _, p := range all {
		_, table, _ := strings.Cut(p.Name, " ")
		p.body = strings.Replace(p.body, "TABLE", table, 1)
	}
	return all
}

// atomicProbes are read-modify-write instructions on a word of the thread.
func atomicProbes() []*Probe {
	const global, shared = `st.global.BITS [%out], %a0;
OP %d0, [%out], REST;
ld.global.BITS %d1, [%out];`, `.shared .align 8 .b64 cells[32];
.reg .b32 %cell, %cells;
mov.u32 %cells, cells;
mov.u32 %cell, %tid.x;
mad.lo.u32 %cell, %cell, 8, %cells;
st.shared.BITS [%cell], %a0;
OP %d0, [%cell], REST;
ld.shared.BITS %d1, [%cell];`
	var all []*Probe
	for _, space := range []struct{ name, body string }{{"global", global}, {"shared", shared}} {
		const doc = "what was there and what is there after an atomic operation"
		probes := family("atomic", 1, []row{
			{pattern: "atom." + space.name + ".add.f32", in: "2*f32", out: "2*f32", doc: doc},
			{pattern: "atom." + space.name + ".add.noftz.f16x2", in: "2*f16x2", out: "2*f16x2", doc: doc},
			{pattern: "atom." + space.name + ".add.noftz.bf16x2", in: "2*bf16x2", out: "2*bf16x2", target: "sm_90", doc: doc},
			{pattern: "atom." + space.name + ".add.f64", in: "2*f64", out: "2*f64", doc: doc},
			{pattern: "atom." + space.name + ".{add,min,max,inc,dec}.u32", in: "2*u32", out: "2*u32", doc: doc},
			{pattern: "atom." + space.name + ".{min,max}.s32", in: "2*s32", out: "2*s32", doc: doc},
			{pattern: "atom." + space.name + ".{min,max}.s64", in: "2*s64", out: "2*s64", doc: doc},
			{pattern: "atom." + space.name + ".{and,or,xor,exch}.b32", in: "2*b32", out: "2*b32", doc: doc},
			{pattern: "atom." + space.name + ".cas.b32", in: "3*b32", out: "2*b32", doc: doc, draw: draw{"swaps", swaps}},
		})
		for _, p := range probes {
			rest := "%a1"
			if len(p.In) == 3 {
				rest = "%a1, %a2"
			}
			p.thin = 4
			p.body = strings.NewReplacer("BITS", p.In[0].register(), "OP", p.Name, "REST", rest).Replace(space.body)
		}
		all = append(all, probes...)
	}
	return all
}

// swaps draws words. The first two are often equal.
func swaps(p *Probe, s *source, number int, in [][]uint64) {
	for k := range in {
		in[k][0] = s.word() & 0xffffffff
	}
	if s.chance(2) {
		in[1][0] = in[0][0]
	}
}
