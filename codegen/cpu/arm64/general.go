package arm64

import "strings"

// scalarForms compute with one float.
func scalarForms() []*form {
	var all []*form
	for i, width := range []string{"s", "d"} {
		kind := uint32(i) << 22
		add := func(name string, word uint32, golang string, k Kind, at ...int) {
			var slots []slot
			for _, bit := range at {
				slots = append(slots, low(width, bit))
			}
			mnemonic, template, _ := strings.Cut(golang, " ")
			golang = strings.TrimSpace(mnemonic + strings.ToUpper(width) + " " + template)
			all = append(all, encoded(name+"."+width, name, word|kind, slots, golang, k))
		}
		const four = " {2}, {3}, {1}, {0}"
		add("fadd", 0x1E202800, "FADD", Other, 0, 5, 16)
		add("fsub", 0x1E203800, "FSUB", Other, 0, 5, 16)
		add("fmul", 0x1E200800, "FMUL", Other, 0, 5, 16)
		add("fdiv", 0x1E201800, "FDIV", Other, 0, 5, 16)
		add("fsqrt", 0x1E21C000, "FSQRT", Other, 0, 5)
		add("fmadd", 0x1F000000, "FMADD"+four, MulAdd, 0, 5, 16, 10)
	}
	return append(all,
		encoded("scvtf.s", "scvtf", 0x1E220000, []slot{low("s", 0), reg("w", 5)}, "SCVTFWS", Other),
		encoded("scvtf.d", "scvtf", 0x9E620000, []slot{low("d", 0), reg("x", 5)}, "SCVTFD", Other),
		encoded("fcvtzs.s", "fcvtzs", 0x1E380000, []slot{reg("w", 0), low("s", 5)}, "FCVTZSSW", Other),
		encoded("fcvtzs.d", "fcvtzs", 0x9E780000, []slot{reg("x", 0), low("d", 5)}, "FCVTZSD", Other),
	)
}

// conditions are the conditions of jumps and selections, in the order of their codes.
var conditions = []string{"eq", "ne", "hs", "lo", "mi", "pl", "vs", "vc", "hi", "ls", "ge", "lt", "gt", "le"}

// generalForms compute with general registers of 64 bits, or of 32 with suffix ".w".
func generalForms() []*form {
	all := []*form{
		{name: "mov", mnemonic: "mov", slots: []slot{reg("x", 0), constant()}, golang: "MOVD"},
		{name: "adr", mnemonic: "adr", slots: []slot{reg("x", 0), symbol()}, golang: "MOVD"},
		encoded("mov", "mov", 0xAA0003E0, []slot{reg("x", 0), reg("x", 16)}, "MOVD", Other),
		encoded("mov.w", "mov", 0x2A0003E0, []slot{reg("w", 0), reg("w", 16)}, "MOVWU", Other),
		encoded("sxtw", "sxtw", 0x93407C00, []slot{reg("x", 0), nonzero("w", 5)}, "SXTW", Other),
		encoded("uxth", "uxth", 0x53003C00, []slot{reg("w", 0), nonzero("w", 5)}, "UXTHW", Other),
		encoded("umull", "umull", 0x9BA07C00, []slot{reg("x", 0), reg("w", 5), reg("w", 16)}, "UMULL", Other),
	}
	for _, half := range []bool{false, true} {
		width, wide, n := "x", uint32(1)<<31, 64
		if half {
			width, wide, n = "w", 0, 32
		}
		all = append(all, arithmeticForms(width, wide, n)...)
		all = append(all, bitForms(width, wide, n)...)
		all = append(all, selectForms(width, wide)...)
	}
	return all
}

// suffixes returns the suffixes of names of a width, ours and Go's.
func suffixes(width string) (ours, golang string) {
	if width == "w" {
		return ".w", "W"
	}
	return "", ""
}

// adder returns a function that appends forms of a width to all.
func adder(all *[]*form, width string, wide uint32) func(name string, word uint32, golang string, slots ...slot) {
	ours, gos := suffixes(width)
	return func(name string, word uint32, golang string, slots ...slot) {
		mnemonic, template, _ := strings.Cut(golang, " ")
		golang = strings.TrimSpace(mnemonic + gos + " " + template)
		*all = append(*all, encoded(name+ours, name, wide|word, slots, golang, Other))
	}
}

func arithmeticForms(width string, wide uint32, n int) []*form {
	var all []*form
	add := adder(&all, width, wide)
	r := func(at int) slot { return reg(width, at) }
	left := shiftBy(int64(n - 1))

	add("add", 0x0B000000, "ADD", r(0), r(5), r(16))
	add("add", 0x0B000000, "ADD {2}<<{3}, {1}, {0}", r(0), r(5), r(16), left)
	add("add", 0x11000000, "ADD", nonzero(width, 0), nonzero(width, 5), addend())
	add("sub", 0x4B000000, "SUB", r(0), r(5), r(16))
	add("sub", 0x4B000000, "SUB {2}<<{3}, {1}, {0}", r(0), r(5), r(16), left)
	add("sub", 0x51000000, "SUB", nonzero(width, 0), nonzero(width, 5), addend())
	add("cmp", 0x6B00001F, "CMP", r(5), r(16))
	add("cmp", 0x7100001F, "CMP", nonzero(width, 5), addend())
	add("neg", 0x4B0003E0, "NEG", r(0), r(16))
	add("mul", 0x1B007C00, "MUL", r(0), r(5), r(16))
	add("msub", 0x1B008000, "MSUB {2}, {3}, {1}, {0}", r(0), r(5), r(16), r(10))
	add("sdiv", 0x1AC00C00, "SDIV", r(0), r(5), r(16))
	add("udiv", 0x1AC00800, "UDIV", r(0), r(5), r(16))
	return all
}

// bitForms are logical instructions and shifts.
func bitForms(width string, wide uint32, n int) []*form {
	var all []*form
	add := adder(&all, width, wide)
	r := func(at int) slot { return reg(width, at) }

	add("and", 0x0A000000, "AND", r(0), r(5), r(16))
	add("and", 0x12000000, "AND", nonzero(width, 0), r(5), mask(n))
	add("orr", 0x2A000000, "ORR", r(0), r(5), r(16))
	add("orr", 0x32000000, "ORR", nonzero(width, 0), r(5), mask(n))
	add("eor", 0x4A000000, "EOR", r(0), r(5), r(16))
	add("eor", 0x52000000, "EOR", nonzero(width, 0), r(5), mask(n))
	add("bic", 0x0A200000, "BIC", r(0), r(5), r(16))
	add("mvn", 0x2A2003E0, "MVN", r(0), r(16))

	// Shifts by constants are moves of bit fields. Their word says where the field is.
	most := uint32(n - 1)
	left := imm(0, int64(most), func(i uint32) uint32 { return -i&most<<16 | (most-i)<<10 })
	right := imm(0, int64(most), func(i uint32) uint32 { return i<<16 | most<<10 })
	field := wide >> 31 << 22
	add("lsl", 0x1AC02000, "LSL", r(0), r(5), r(16))
	add("lsl", 0x53000000|field, "LSL", r(0), r(5), left)
	add("lsr", 0x1AC02400, "LSR", r(0), r(5), r(16))
	add("lsr", 0x53000000|field, "LSR", r(0), r(5), right)
	add("asr", 0x1AC02800, "ASR", r(0), r(5), r(16))
	add("asr", 0x13000000|field, "ASR", r(0), r(5), right)
	return all
}

// selectForms choose by the condition of the last comparison.
func selectForms(width string, wide uint32) []*form {
	ours, gos := suffixes(width)
	var all []*form
	for code, c := range conditions {
		yes, not := uint32(code)<<12, uint32(code^1)<<12
		upper := strings.ToUpper(c)
		r := func(at int) slot { return reg(width, at) }
		behind := func(s slot) slot { // ARM's text has the condition after the last register
			text := s.arm
			s.arm = func(o Operand) string { return text(o) + ", " + c }
			return s
		}
		all = append(all,
			encoded("csel."+c+ours, "csel", wide|0x1A800000|yes,
				[]slot{r(0), r(5), behind(r(16))}, "CSEL"+gos+" "+upper+", {1}, {2}, {0}", Other),
			encoded("csetm."+c+ours, "csetm", wide|0x5A9F03E0|not,
				[]slot{behind(r(0))}, "CSETM"+gos+" "+upper+", {0}", Other))
	}
	return all
}

// jumpForms are jumps. Only Go's assembler knows their distances.
func jumpForms() []*form {
	jump := func(name, golang string, slots ...slot) *form {
		return &form{name: name, mnemonic: strings.TrimSuffix(name, ".w"), slots: slots, golang: golang, kind: Jump}
	}
	all := []*form{
		{name: "ret", mnemonic: "ret", base: 0xD65F03C0, golang: "RET", kind: Jump},
		jump("b", "B", label()),
		jump("cbz", "CBZ {0}, {1}", reg("x", 0), label()),
		jump("cbnz", "CBNZ {0}, {1}", reg("x", 0), label()),
		jump("cbz.w", "CBZW {0}, {1}", reg("w", 0), label()),
		jump("cbnz.w", "CBNZW {0}, {1}", reg("w", 0), label()),
		jump("tbz", "TBZ {1}, {0}, {2}", reg("x", 0), imm(0, 63, at(0)), label()),
		jump("tbnz", "TBNZ {1}, {0}, {2}", reg("x", 0), imm(0, 63, at(0)), label()),
	}
	for _, c := range conditions {
		all = append(all, jump("b."+c, "B"+strings.ToUpper(c), label()))
	}
	return all
}
