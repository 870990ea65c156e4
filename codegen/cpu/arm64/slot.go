package arm64

import (
	"fmt"
	"math"
	"math/bits"
)

// arrangement is how instructions divide a vector into elements.
type arrangement struct {
	name, golang string
	size         uint32 // log2 of the bytes of an element
	q            uint32 // 1 if all 128 bits are used
}

var arrangements = map[string]arrangement{
	"8b":  {"8b", "B8", 0, 0},
	"16b": {"16b", "B16", 0, 1},
	"4h":  {"4h", "H4", 1, 0},
	"8h":  {"8h", "H8", 1, 1},
	"2s":  {"2s", "S2", 2, 0},
	"4s":  {"4s", "S4", 2, 1},
	"2d":  {"2d", "D2", 3, 1},
}

// letter names the width of an element.
func letter(size uint32) string { return "bhsd"[size : size+1] }

// bitsOf is the number of bits of an element.
func (a arrangement) bitsOf() int { return 8 << a.size }

// wide is the arrangement of elements twice as wide that fill a vector.
func (a arrangement) wide() arrangement { return withSize(a.size+1, 1) }

// half is the arrangement of elements half as wide, in the low half (q 0) or in all of a
// vector.
func (a arrangement) half(q uint32) arrangement { return withSize(a.size-1, q) }

func withSize(size, q uint32) arrangement {
	for _, a := range arrangements {
		if a.size == size && a.q == q {
			return a
		}
	}
	panic(fmt.Sprintf("BUG: no arrangement of elements of %d bytes", 1<<size))
}

func isVec(o Operand) bool { v, ok := o.(Vec); return ok && v <= V31 }
func isReg(o Operand) bool { r, ok := o.(Reg); return ok && r.usable() }

// vec is a vector whose number is at the bits.
func vec(a arrangement, at int) slot {
	return slot{"a vector", isVec,
		func(o Operand) uint32 { return uint32(o.(Vec)) << at },
		func(o Operand) string { return fmt.Sprintf("v%d.%s", o.(Vec), a.name) },
		func(o Operand) string { return fmt.Sprintf("V%d.%s", o.(Vec), a.golang) },
	}
}

// low is the lowest element of a vector as a scalar of a width: "b", "h", "s", "d", "q".
func low(width string, at int) slot {
	return slot{"a vector", isVec,
		func(o Operand) uint32 { return uint32(o.(Vec)) << at },
		func(o Operand) string { return fmt.Sprintf("%s%d", width, o.(Vec)) },
		func(o Operand) string { return fmt.Sprintf("F%d", o.(Vec)) },
	}
}

// elem is an element of a vector; number places its index.
func elem(size uint32, at int, number func(i uint32) uint32) slot {
	return slot{"an element", func(o Operand) bool {
		e, ok := o.(Elem)
		return ok && isVec(e.V) && e.I >= 0 && e.I < 16>>size
	},
		func(o Operand) uint32 { e := o.(Elem); return uint32(e.V)<<at | number(uint32(e.I)) },
		func(o Operand) string { e := o.(Elem); return fmt.Sprintf("v%d.%s[%d]", e.V, letter(size), e.I) },
		func(o Operand) string { e := o.(Elem); return fmt.Sprintf("V%d.%c[%d]", e.V, "BHSD"[size], e.I) },
	}
}

// list is n consecutive vectors.
func list(a arrangement, n, at int) slot {
	text := func(o Operand, open, close, letter, arrangement string) string {
		l := asList(o)
		text := open
		for i := range l.N {
			if i > 0 {
				text += ", "
			}
			text += fmt.Sprintf("%s%d.%s", letter, (int(l.First)+i)%32, arrangement)
		}
		return text + close
	}
	return slot{fmt.Sprintf("a list of %d vectors", n), func(o Operand) bool {
		l := asList(o)
		return l.N == n && isVec(l.First)
	},
		func(o Operand) uint32 { return uint32(asList(o).First) << at },
		func(o Operand) string { return text(o, "{", "}", "v", a.name) },
		func(o Operand) string { return text(o, "[", "]", "V", a.golang) },
	}
}

// asList returns a list; a vector is a list of one.
func asList(o Operand) List {
	switch o := o.(type) {
	case Vec:
		return List{o, 1}
	case List:
		return o
	}
	return List{}
}

// reg is a general register of 64 bits ("x") or the low half of one ("w").
func reg(width string, at int) slot {
	return slot{"a register", isReg,
		func(o Operand) uint32 { return uint32(o.(Reg)) << at },
		func(o Operand) string {
			if o.(Reg) == ZR {
				return width + "zr"
			}
			return fmt.Sprintf("%s%d", width, o.(Reg))
		},
		func(o Operand) string { return o.(Reg).String() },
	}
}

// nonzero is a general register except ZR, whose number would mean something else here.
func nonzero(width string, at int) slot {
	s := reg(width, at)
	s.takes = "a register but ZR"
	s.fits = func(o Operand) bool { return isReg(o) && o.(Reg) != ZR }
	return s
}

// imm is a constant between two bounds.
func imm(lo, hi int64, encode func(uint32) uint32) slot {
	return slot{fmt.Sprintf("a constant from %d to %d", lo, hi), func(o Operand) bool {
		i, ok := o.(Imm)
		return ok && int64(i) >= lo && int64(i) <= hi
	},
		func(o Operand) uint32 { return encode(uint32(o.(Imm))) },
		func(o Operand) string { return fmt.Sprintf("#%d", o.(Imm)) },
		func(o Operand) string { return fmt.Sprintf("$%d", o.(Imm)) },
	}
}

// at places a constant at the bits.
func at(bit int) func(uint32) uint32 { return func(i uint32) uint32 { return i << bit } }

// shiftBy is the count of a register's shift to the left, as another operand.
func shiftBy(most int64) slot {
	s := imm(0, most, at(10))
	s.arm = func(o Operand) string { return fmt.Sprintf("lsl #%d", o.(Imm)) }
	s.golang = func(o Operand) string { return fmt.Sprint(int64(o.(Imm))) }
	return s
}

// addend is a constant of 12 bits, or one of 24 whose low 12 are zero.
func addend() slot {
	s := imm(0, 0xFFF000, nil)
	s.takes = "a constant of 12 bits, or of 24 whose low 12 are 0"
	within := s.fits
	s.fits = func(o Operand) bool { return within(o) && (o.(Imm) <= 0xFFF || o.(Imm)&0xFFF == 0) }
	s.bits = func(o Operand) uint32 {
		if i := uint32(o.(Imm)); i > 0xFFF {
			return 1<<22 | i>>12<<10
		}
		return uint32(o.(Imm)) << 10
	}
	s.arm = func(o Operand) string {
		if i := o.(Imm); i > 0xFFF {
			return fmt.Sprintf("#%d, lsl #12", i>>12)
		}
		return fmt.Sprintf("#%d", o.(Imm))
	}
	return s
}

// mask is a constant that logical instructions encode: a run of ones, rotated, and repeated
// every 2, 4, … 64 bits.
func mask(width int) slot {
	s := imm(math.MinInt64, math.MaxInt64, nil)
	s.takes = "a constant that is a repeated run of ones"
	encode := func(o Operand) (uint32, bool) {
		i, ok := o.(Imm)
		if !ok {
			return 0, false
		}
		v := uint64(i)
		if width == 32 {
			if v>>32 != 0 && int64(i)>>31 != -1 {
				return 0, false
			}
			v = v&math.MaxUint32 | v<<32
		}
		return bitmask(v)
	}
	s.fits = func(o Operand) bool { _, ok := encode(o); return ok }
	s.bits = func(o Operand) uint32 { w, _ := encode(o); return w }
	s.arm = func(o Operand) string { return fmt.Sprintf("#0x%x", uint64(o.(Imm))<<(64-width)>>(64-width)) }
	return s
}

// bitmask encodes a logical constant of 64 bits as N, immr and imms.
func bitmask(v uint64) (uint32, bool) {
	for size := 2; size <= 64; size *= 2 {
		period := v << (64 - size) >> (64 - size)
		var repeated uint64
		for i := 0; i < 64; i += size {
			repeated |= period << i
		}
		if repeated != v {
			continue
		}
		ones := bits.OnesCount64(period)
		if ones == 0 || ones == size {
			return 0, false
		}
		run := uint64(1)<<ones - 1
		for turn := range size {
			if (run>>turn|run<<(size-turn))<<(64-size)>>(64-size) == period {
				n, high := uint32(0), uint32(0x3F&^(2*size-1))
				if size == 64 {
					n, high = 1, 0
				}
				return n<<22 | uint32(turn)<<16 | (high|uint32(ones-1))<<10, true
			}
		}
		return 0, false
	}
	return 0, false
}

// constant is any constant.
func constant() slot {
	s := imm(math.MinInt64, math.MaxInt64, at(0))
	s.takes = "a constant"
	return s
}

// zero is the constant 0 of a comparison.
func zero(arm string) slot {
	s := imm(0, 0, at(0))
	s.arm = func(Operand) string { return arm }
	return s
}

// label is the target of a jump. Only Go's assembler knows its distance.
func label() slot {
	text := func(o Operand) string { return string(o.(Label)) }
	return slot{"a label", func(o Operand) bool { _, ok := o.(Label); return ok },
		func(Operand) uint32 { return 0 }, text, text}
}

// parameter is a parameter of a number of bytes.
func parameter(bytes int) slot {
	text := func(o Operand) string { a := o.(argument); return fmt.Sprintf("%s+%d(FP)", a.name, a.off) }
	return slot{fmt.Sprintf("a parameter of %d bytes", bytes), func(o Operand) bool {
		a, ok := o.(argument)
		return ok && a.bytes == bytes
	}, func(Operand) uint32 { return 0 }, text, text}
}

// symbol is the address of static data.
func symbol() slot {
	text := func(o Operand) string { s := o.(Sym); return fmt.Sprintf("$%s<>+%d(SB)", s.Name, s.Off) }
	return slot{"a symbol", func(o Operand) bool { s, ok := o.(Sym); return ok && s.Off >= 0 },
		func(Operand) uint32 { return 0 }, text, text}
}
