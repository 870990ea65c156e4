package arm64

import (
	"fmt"
	"strconv"
)

// accessRow reads or writes one register in memory. The base word has the form with a scaled
// offset; the other forms follow from it.
type accessRow struct {
	name     string
	mnemonic string // ARM's; the form with an unscaled offset has a "u" in it
	unscaled string
	register func(at int) slot
	size     int // log2 of the bytes of the access
	base     uint32
	golang   string
	kind     Kind
}

func scalar(width string) func(int) slot  { return func(at int) slot { return low(width, at) } }
func general(width string) func(int) slot { return func(at int) slot { return reg(width, at) } }

var accessRows = []accessRow{
	{"ldr.q", "ldr", "ldur", scalar("q"), 4, 0x3DC00000, "FMOVQ", Load},
	{"str.q", "str", "stur", scalar("q"), 4, 0x3D800000, "FMOVQ", Store},
	{"ldr.d", "ldr", "ldur", scalar("d"), 3, 0xFD400000, "FMOVD", Load},
	{"str.d", "str", "stur", scalar("d"), 3, 0xFD000000, "FMOVD", Store},
	{"ldr.s", "ldr", "ldur", scalar("s"), 2, 0xBD400000, "FMOVS", Load},
	{"str.s", "str", "stur", scalar("s"), 2, 0xBD000000, "FMOVS", Store},
	{"ldr.h", "ldr", "ldur", scalar("h"), 1, 0x7D400000, "", Load},
	{"str.h", "str", "stur", scalar("h"), 1, 0x7D000000, "", Store},
	{"ldr.b", "ldr", "ldur", scalar("b"), 0, 0x3D400000, "", Load},
	{"str.b", "str", "stur", scalar("b"), 0, 0x3D000000, "", Store},

	{"ldr", "ldr", "ldur", general("x"), 3, 0xF9400000, "MOVD", Load},
	{"str", "str", "stur", general("x"), 3, 0xF9000000, "MOVD", Store},
	{"ldr.w", "ldr", "ldur", general("w"), 2, 0xB9400000, "MOVWU", Load},
	{"str.w", "str", "stur", general("w"), 2, 0xB9000000, "MOVW", Store},
	{"ldrsw", "ldrsw", "ldursw", general("x"), 2, 0xB9800000, "MOVW", Load},
	{"ldrh", "ldrh", "ldurh", general("w"), 1, 0x79400000, "MOVHU", Load},
}

// forms returns the forms of an access, by preference.
func (r accessRow) forms() []*form {
	const mode = 3 << 24 // the scaled form's bit and its neighbour
	short := r.base &^ mode
	text := func(suffix string) string { return accessText(r.golang, suffix, r.kind) }
	all := []*form{
		{mnemonic: r.mnemonic, base: r.base, slots: []slot{r.register(0), scaled(r.size)}, golang: text("")},
		{mnemonic: r.unscaled, base: short, slots: []slot{r.register(0), unscaled(r.size)}, golang: text("")},
		{mnemonic: r.mnemonic, base: short | 0x400, slots: []slot{r.register(0), post()}, golang: text(".P")},
		{mnemonic: r.mnemonic, base: short | 0x206800, slots: []slot{r.register(0), indexed(r.size)}, golang: text("")},
	}
	if r.size == 4 {
		all[3].golang = "" // Go's assembler has no index for 16 bytes
	}
	if r.golang != "" && r.size <= 3 {
		all = append(all, &form{mnemonic: r.mnemonic, slots: []slot{r.register(0), parameter(1 << r.size)}, golang: text("")})
	}
	for _, f := range all {
		f.name, f.kind = r.name, r.kind
	}
	all[2].unless = ownBase
	return all
}

// accessText returns Go's text. Its order is the order of a move: from, to.
func accessText(golang, suffix string, kind Kind) string {
	switch {
	case golang == "":
		return ""
	case kind == Load:
		return golang + suffix + " {1}, {0}"
	}
	return golang + suffix + " {0}, {1}"
}

// ownBase reports whether an access grows its base and has it as the other register, too. The
// result is then undefined.
func ownBase(operands []Operand) bool { return operands[0] == Operand(operands[1].(Mem).Base) }

// pairForms read and write two vectors at consecutive addresses.
func pairForms() []*form {
	q := func(at int) slot { return low("q", at) }
	pair := func(name string, base uint32, post bool, golang string, kind Kind) *form {
		return &form{name: name + ".q", mnemonic: name, base: base, golang: golang, kind: kind,
			slots:  []slot{q(0), q(10), pairOffset(4, post)},
			unless: func(o []Operand) bool { return kind == Load && o[0] == o[1] }}
	}
	return []*form{
		pair("ldp", 0xAD400000, false, "FLDPQ {2}, ({0}, {1})", Load),
		pair("ldp", 0xACC00000, true, "FLDPQ.P {2}, ({0}, {1})", Load),
		pair("stp", 0xAD000000, false, "FSTPQ ({0}, {1}), {2}", Store),
		pair("stp", 0xAC800000, true, "FSTPQ.P ({0}, {1}), {2}", Store),
	}
}

// placesForms returns the forms of an access that takes a base alone, or grows it by the bytes
// of the access or by a register.
func placesForms(name, mnemonic string, word uint32, what slot, bytes int, golang string, kind Kind) []*form {
	text := func(suffix string) string { return accessText(golang, suffix, kind) }
	const grows = 1 << 23
	return []*form{
		encoded(name, mnemonic, word, []slot{what, base()}, text(""), kind),
		encoded(name, mnemonic, word|grows, []slot{what, postBytes(bytes)}, text(".P"), kind),
		encoded(name, mnemonic, word|grows, []slot{what, postRegister()}, text(".P"), kind),
	}
}

// listForms read and write vectors at consecutive addresses: one after another (ld1, st1), or
// interleaved by element (ld2 to ld4, st2 to st4).
func listForms() []*form {
	var all []*form
	both := func(a arrangement, times, n int, opcode uint32) {
		name := strconv.Itoa(times)
		word, what, bytes := a.q<<30|a.size<<10|opcode, list(a, n, 0), n*8<<a.q
		all = append(all, placesForms("ld"+name+"."+a.name, "ld"+name, 0x0C400000|word, what, bytes, "VLD"+name, Load)...)
		all = append(all, placesForms("st"+name+"."+a.name, "st"+name, 0x0C000000|word, what, bytes, "VST"+name, Store)...)
	}
	for _, name := range []string{"4s", "2d", "8h", "16b"} {
		for i, opcode := range []uint32{0x7000, 0xA000, 0x6000, 0x2000} {
			both(arrangements[name], 1, i+1, opcode)
		}
	}
	for i, opcode := range []uint32{0x8000, 0x4000, 0} {
		both(arrangements["4s"], i+2, i+2, opcode)
	}
	return all
}

// elemForms read and write one element, or read one into all elements of a vector.
func elemForms() []*form {
	var all []*form
	for _, name := range []string{"4s", "2d", "8h", "16b"} {
		a := arrangements[name]
		all = append(all, placesForms("ld1r."+name, "ld1r", 0x0D40C000|a.q<<30|a.size<<10, list(a, 1, 0), 1<<a.size, "VLD1R", Load)...)
	}
	for size, opcode := range []uint32{0, 0x4000, 0x8000, 0x8400} {
		name := letter(uint32(size))
		what := elem(uint32(size), 0, func(i uint32) uint32 {
			i <<= size // in bytes: Q, S and the two bits of size
			return i>>3<<30 | i>>2&1<<12 | i&3<<10
		})
		what.arm = func(o Operand) string {
			e := o.(Elem)
			return fmt.Sprintf("{v%d.%s}[%d]", e.V, name, e.I)
		}
		all = append(all, placesForms("ld1."+name, "ld1", 0x0D400000|opcode, what, 1<<size, "VLD1", Load)...)
		all = append(all, placesForms("st1."+name, "st1", 0x0D000000|opcode, what, 1<<size, "VST1", Store)...)
	}
	return all
}
