package arm64

import "fmt"

func isMem(o Operand) (Mem, bool) {
	m, ok := o.(Mem)
	ok = ok && m.Base.usable() && m.Base != ZR
	if ok && m.Indexed {
		return m, m.Index.usable() && m.Off == 0 && !(m.Post && m.Scaled)
	}
	return m, ok && m.Index == 0 && !m.Scaled
}

func memory(takes string, fits func(Mem) bool, bits func(Mem) uint32, arm, golang func(Mem) string) slot {
	return slot{takes,
		func(o Operand) bool { m, ok := isMem(o); return ok && fits(m) },
		func(o Operand) uint32 { m := o.(Mem); return uint32(m.Base)<<5 | bits(m) },
		func(o Operand) string { return arm(o.(Mem)) },
		func(o Operand) string { return golang(o.(Mem)) },
	}
}

func armOffset(m Mem) string {
	switch {
	case m.Post && m.Indexed:
		return fmt.Sprintf("[x%d], x%d", m.Base, m.Index)
	case m.Post:
		return fmt.Sprintf("[x%d], #%d", m.Base, m.Off)
	case m.Off == 0:
		return fmt.Sprintf("[x%d]", m.Base)
	}
	return fmt.Sprintf("[x%d, #%d]", m.Base, m.Off)
}

func goOffset(m Mem) string {
	switch {
	case m.Post && m.Indexed:
		return fmt.Sprintf("(%v)(%v)", m.Base, m.Index)
	case m.Off == 0:
		return fmt.Sprintf("(%v)", m.Base)
	}
	return fmt.Sprintf("%d(%v)", m.Off, m.Base)
}

// scaled is base + a multiple of the size of the access.
func scaled(size int) slot {
	bytes := 1 << size
	return memory(fmt.Sprintf("base + a multiple of %d up to %d", bytes, 4095*bytes),
		func(m Mem) bool {
			return !m.Post && !m.Indexed && m.Off >= 0 && m.Off%bytes == 0 && m.Off/bytes <= 4095
		},
		func(m Mem) uint32 { return uint32(m.Off/bytes) << 10 }, armOffset, goOffset)
}

// unscaled is base + a 9-bit offset that the scaled form does not take.
func unscaled(size int) slot {
	return memory("base + an offset from -256 to 255",
		func(m Mem) bool {
			other := m.Off < 0 || m.Off%(1<<size) != 0
			return !m.Post && !m.Indexed && m.Off >= -256 && m.Off <= 255 && other
		},
		func(m Mem) uint32 { return uint32(m.Off&0x1FF) << 12 }, armOffset, goOffset)
}

// post is base, which then grows by a 9-bit offset.
func post() slot {
	return memory("base, then += a constant from -256 to 255",
		func(m Mem) bool { return m.Post && !m.Indexed && m.Off >= -256 && m.Off <= 255 },
		func(m Mem) uint32 { return uint32(m.Off&0x1FF) << 12 }, armOffset, goOffset)
}

// indexed is base + register, scaled by 1 << size or not.
func indexed(size int) slot {
	return memory("base + index",
		func(m Mem) bool { return !m.Post && m.Indexed && m.Index != ZR && (!m.Scaled || size > 0) },
		func(m Mem) uint32 {
			w := uint32(m.Index) << 16
			if m.Scaled {
				w |= 1 << 12
			}
			return w
		},
		func(m Mem) string {
			if m.Scaled {
				return fmt.Sprintf("[x%d, x%d, lsl #%d]", m.Base, m.Index, size)
			}
			return fmt.Sprintf("[x%d, x%d]", m.Base, m.Index)
		},
		func(m Mem) string {
			if m.Scaled {
				return fmt.Sprintf("(%v)(%v<<%d)", m.Base, m.Index, size)
			}
			return fmt.Sprintf("(%v)(%v)", m.Base, m.Index)
		})
}

// pairOffset is base + a 7-bit multiple of the bytes of one register, with post or without.
func pairOffset(size int, post bool) slot {
	bytes := 1 << size
	return memory(fmt.Sprintf("base + (or with Post +=) a multiple of %d from %d to %d", bytes, -64*bytes, 63*bytes),
		func(m Mem) bool {
			return m.Post == post && !m.Indexed && m.Off%bytes == 0 && m.Off >= -64*bytes && m.Off <= 63*bytes
		},
		func(m Mem) uint32 { return uint32(m.Off/bytes&0x7F) << 15 }, armOffset, goOffset)
}

// base is a place without offset.
func base() slot {
	return memory("base", func(m Mem) bool { return m == Mem{Base: m.Base} },
		func(Mem) uint32 { return 0 }, armOffset, goOffset)
}

// postBytes is base, which then grows by the bytes of the access.
func postBytes(bytes int) slot {
	return memory(fmt.Sprintf("base, then += %d", bytes),
		func(m Mem) bool { return m == Mem{Base: m.Base, Off: bytes, Post: true} },
		func(Mem) uint32 { return 0x1F << 16 }, armOffset, goOffset)
}

// postRegister is base, which then grows by a register.
func postRegister() slot {
	return memory("base, then += register",
		func(m Mem) bool { return m.Post && m.Indexed && m.Index != ZR },
		func(m Mem) uint32 { return uint32(m.Index) << 16 }, armOffset, goOffset)
}
