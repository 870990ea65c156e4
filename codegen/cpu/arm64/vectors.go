package arm64

// vectorRow is an instruction on vectors in several arrangements. The destination has the
// arrangement that its name has after the dot. The base word has arrangement 8b; the shape
// adds the bits of the others.
type vectorRow struct {
	name         string
	arrangements string
	base         uint32
	shape        func(a arrangement) ([]slot, uint32)
	golang       string
	kind         Kind
}

// vectorRows are the instructions on vectors. A "2" at the end of a name reads or
// writes the upper half of the narrower vectors.
var vectorRows = []vectorRow{
	// Floating point.
	{"fadd", "4s 2s 2d", 0x0E20D400, threeF, "", Other},
	{"fsub", "4s 2s 2d", 0x0EA0D400, threeF, "", Other},
	{"fmul", "4s 2s 2d", 0x2E20DC00, threeF, "", Other},
	{"fmul", "4s 2s 2d", 0x0F809000, byElemF, "", Other},
	{"fdiv", "4s 2s 2d", 0x2E20FC00, threeF, "", Other},
	{"fmla", "4s 2s 2d", 0x0E20CC00, threeF, "VFMLA", MulAdd},
	{"fmla", "4s 2s 2d", 0x0F801000, byElemF, "", MulAdd},
	{"fminnm", "4s 2s 2d", 0x0EA0C400, threeF, "", Other},
	{"fmaxnm", "4s 2s 2d", 0x0E20C400, threeF, "", Other},
	{"fcmgt", "4s 2s 2d", 0x2EA0E400, threeF, "", Other},
	{"fcmgt", "4s 2s 2d", 0x0EA0C800, zeroF, "", Other},
	{"fcmge", "4s 2s 2d", 0x2E20E400, threeF, "", Other},
	{"fcmge", "4s 2s 2d", 0x2EA0C800, zeroF, "", Other},
	{"fcmeq", "4s 2s 2d", 0x0E20E400, threeF, "", Other},
	{"fcmeq", "4s 2s 2d", 0x0EA0D800, zeroF, "", Other},
	{"fsqrt", "4s 2s 2d", 0x2EA1F800, twoF, "", Other},
	{"frintm", "4s 2s 2d", 0x0E219800, twoF, "", Other},
	{"scvtf", "4s 2s 2d", 0x0E21D800, twoF, "", Other},
	{"ucvtf", "4s 2s 2d", 0x2E21D800, twoF, "", Other},
	{"fcvtzs", "4s 2s 2d", 0x0EA1B800, twoF, "", Other},

	// Integers.
	{"add", "4s 2s 2d 8h 16b", 0x0E208400, three, "VADD", Other},
	{"sub", "4s 2s 2d 8h 16b", 0x2E208400, three, "VSUB", Other},
	{"mul", "4s 2s 8h 16b", 0x0E209C00, three, "", Other},
	{"mul", "4s 2s", 0x0F008000, byElem, "", Other},
	{"smin", "4s 8h 16b", 0x0E206C00, three, "", Other},
	{"smax", "4s 8h 16b", 0x0E206400, three, "", Other},
	{"umin", "4s 8h 16b", 0x2E206C00, three, "VUMIN", Other},
	{"umax", "4s 8h 16b", 0x2E206400, three, "VUMAX", Other},
	{"cmgt", "4s 2d 8h 16b", 0x0E203400, three, "", Other},
	{"cmgt", "4s 2d 8h 16b", 0x0E208800, zeroI, "", Other},
	{"cmge", "4s 2d 8h 16b", 0x0E203C00, three, "", Other},
	{"cmge", "4s 2d 8h 16b", 0x2E208800, zeroI, "", Other},
	{"cmeq", "4s 2d 8h 16b", 0x2E208C00, three, "VCMEQ", Other},
	{"cmeq", "4s 2d 8h 16b", 0x0E209800, zeroI, "", Other},
	{"cmhi", "4s 2d 8h 16b", 0x2E203400, three, "", Other},
	{"cmhs", "4s 2d 8h 16b", 0x2E203C00, three, "", Other},
	{"neg", "4s 2d 8h 16b", 0x2E20B800, two, "", Other},
	{"abs", "4s 2d 8h 16b", 0x0E20B800, two, "", Other},
	{"umull", "2d 4s 8h", 0x2E20C000, long(0), "", Other},
	{"umull2", "2d 4s 8h", 0x2E20C000, long(1), "", Other},
	{"umull", "2d", 0x2F00A000, longElem(0), "", Other},
	{"umull2", "2d", 0x2F00A000, longElem(1), "", Other},

	// Bits.
	{"and", "16b", 0x0E201C00, threeB, "VAND", Other},
	{"bic", "16b", 0x0E601C00, threeB, "", Other},
	{"orr", "16b", 0x0EA01C00, threeB, "VORR", Other},
	{"eor", "16b", 0x2E201C00, threeB, "VEOR", Other},
	{"bsl", "16b", 0x2E601C00, threeB, "VBSL", Other},
	{"bit", "16b", 0x2EA01C00, threeB, "VBIT", Other},
	{"bif", "16b", 0x2EE01C00, threeB, "VBIF", Other},
	{"mvn", "16b", 0x2E205800, two, "", Other},
	{"mov", "16b", 0x0EA01C00, copied, "VMOV", Other},
	{"ushl", "4s 2s 2d 8h 16b", 0x2E204400, three, "", Other},
	{"sshl", "4s 2s 2d 8h 16b", 0x0E204400, three, "", Other},
	{"shl", "4s 2s 2d 8h 16b", 0x0F005400, shiftLeft, "VSHL", Other},
	{"ushr", "4s 2s 2d 8h 16b", 0x2F000400, shiftRight, "VUSHR", Other},
	{"sshr", "4s 2s 2d 8h 16b", 0x0F000400, shiftRight, "", Other},

	// Wider and narrower integers.
	{"sxtl", "2d 4s 8h", 0x0F00A400, longMove(0), "", Other},
	{"sxtl2", "2d 4s 8h", 0x0F00A400, longMove(1), "", Other},
	{"uxtl", "2d 4s 8h", 0x2F00A400, longMove(0), "VUXTL", Other},
	{"xtn", "2s 4h 8b", 0x0E212800, narrow, "", Other},
	{"xtn2", "4s 8h 16b", 0x0E212800, narrow, "", Other},

	// Moves between elements.
	{"zip1", "4s 2s 2d 8h 16b", 0x0E003800, three, "VZIP1", Other},
	{"zip2", "4s 2s 2d 8h 16b", 0x0E007800, three, "VZIP2", Other},
	{"uzp1", "4s 2s 2d 8h 16b", 0x0E001800, three, "VUZP1", Other},
	{"uzp2", "4s 2s 2d 8h 16b", 0x0E005800, three, "VUZP2", Other},
	{"trn1", "4s 2s 2d 8h 16b", 0x0E002800, three, "VTRN1", Other},
	{"trn2", "4s 2s 2d 8h 16b", 0x0E006800, three, "VTRN2", Other},
	{"ext", "16b", 0x2E000000, extract, "VEXT", Other},
	{"dup", "4s 2s 2d 8h 16b", 0x0E000C00, fromReg, "VDUP", Other},
	{"dup", "4s 2s 2d 8h 16b", 0x0E000400, fromElem, "VDUP", Other},

	// Constants.
	{"movi", "4s 2s", 0x0F000400, bytePlaced, "", Other},
	{"movi", "16b", 0x0F00E400, byteEverywhere, "VMOVI", Other},
	{"movi", "2d", 0x2F00E400, bytesOfOnes, "", Other},
}

func sizeBits(a arrangement) uint32  { return a.q<<30 | a.size<<22 }
func floatBits(a arrangement) uint32 { return a.q<<30 | (a.size-2)<<22 }

func three(a arrangement) ([]slot, uint32) {
	return []slot{vec(a, 0), vec(a, 5), vec(a, 16)}, sizeBits(a)
}

func threeF(a arrangement) ([]slot, uint32) {
	return []slot{vec(a, 0), vec(a, 5), vec(a, 16)}, floatBits(a)
}

func threeB(a arrangement) ([]slot, uint32) {
	return []slot{vec(a, 0), vec(a, 5), vec(a, 16)}, a.q << 30
}

func two(a arrangement) ([]slot, uint32)  { return []slot{vec(a, 0), vec(a, 5)}, sizeBits(a) }
func twoF(a arrangement) ([]slot, uint32) { return []slot{vec(a, 0), vec(a, 5)}, floatBits(a) }

func zeroF(a arrangement) ([]slot, uint32) {
	return []slot{vec(a, 0), vec(a, 5), zero("#0.0")}, floatBits(a)
}

func zeroI(a arrangement) ([]slot, uint32) {
	return []slot{vec(a, 0), vec(a, 5), zero("#0")}, sizeBits(a)
}

// copied uses its source for both sources of the instruction.
func copied(a arrangement) ([]slot, uint32) {
	source := vec(a, 5)
	source.bits = func(o Operand) uint32 { return uint32(o.(Vec))<<5 | uint32(o.(Vec))<<16 }
	return []slot{vec(a, 0), source}, a.q << 30
}

// indexBits places the index of an element that is the last operand.
func indexBits(size uint32) func(uint32) uint32 {
	return func(i uint32) uint32 {
		if size == 3 {
			return i << 11
		}
		return i&1<<21 | i>>1<<11
	}
}

func byElemF(a arrangement) ([]slot, uint32) {
	return []slot{vec(a, 0), vec(a, 5), elem(a.size, 16, indexBits(a.size))}, floatBits(a)
}

func byElem(a arrangement) ([]slot, uint32) {
	return []slot{vec(a, 0), vec(a, 5), elem(a.size, 16, indexBits(a.size))}, sizeBits(a)
}

func long(q uint32) func(arrangement) ([]slot, uint32) {
	return func(a arrangement) ([]slot, uint32) {
		s := a.half(q)
		return []slot{vec(a, 0), vec(s, 5), vec(s, 16)}, sizeBits(s)
	}
}

func longElem(q uint32) func(arrangement) ([]slot, uint32) {
	return func(a arrangement) ([]slot, uint32) {
		s := a.half(q)
		return []slot{vec(a, 0), vec(s, 5), elem(s.size, 16, indexBits(s.size))}, sizeBits(s)
	}
}

func narrow(a arrangement) ([]slot, uint32) {
	return []slot{vec(a, 0), vec(a.wide(), 5)}, sizeBits(a)
}

func shiftLeft(a arrangement) ([]slot, uint32) {
	n := a.bitsOf()
	count := imm(0, int64(n-1), func(i uint32) uint32 { return (uint32(n) + i) << 16 })
	return []slot{vec(a, 0), vec(a, 5), count}, a.q << 30
}

func rightCount(n int) slot {
	return imm(1, int64(n), func(i uint32) uint32 { return (uint32(2*n) - i) << 16 })
}

func shiftRight(a arrangement) ([]slot, uint32) {
	return []slot{vec(a, 0), vec(a, 5), rightCount(a.bitsOf())}, a.q << 30
}

func longMove(q uint32) func(arrangement) ([]slot, uint32) {
	return func(a arrangement) ([]slot, uint32) {
		s := a.half(q)
		return []slot{vec(a, 0), vec(s, 5)}, q<<30 | uint32(s.bitsOf())<<16
	}
}

func extract(a arrangement) ([]slot, uint32) {
	return []slot{vec(a, 0), vec(a, 5), vec(a, 16), imm(0, 15, at(11))}, a.q << 30
}

// placeBits encodes the width and the index of an element in five bits.
func placeBits(size uint32) func(uint32) uint32 {
	return func(i uint32) uint32 { return (i<<(size+1) | 1<<size) << 16 }
}

// whole is the width of the general register that holds an element.
func whole(size uint32) string {
	if size == 3 {
		return "x"
	}
	return "w"
}

func fromReg(a arrangement) ([]slot, uint32) {
	return []slot{vec(a, 0), reg(whole(a.size), 5)}, a.q<<30 | placeBits(a.size)(0)
}

func fromElem(a arrangement) ([]slot, uint32) {
	return []slot{vec(a, 0), elem(a.size, 5, placeBits(a.size))}, a.q << 30
}

// elemRow is an instruction on one element of a vector, of the widths in sizes.
type elemRow struct {
	name   string
	sizes  string
	base   uint32
	shape  func(size uint32) ([]slot, uint32)
	golang string
}

var elemRows = []elemRow{
	{"ins", "bhsd", 0x4E001C00, insReg, "VMOV"},
	{"ins", "bhsd", 0x6E000400, insElem, "VMOV"},
	{"umov", "bhs", 0x0E003C00, takeOut, "VMOV"},
	{"umov", "d", 0x4E003C00, takeOut, "VMOV"},
	{"smov", "bhs", 0x4E002C00, takeOutSigned, ""},
}

func insReg(size uint32) ([]slot, uint32) {
	return []slot{elem(size, 0, placeBits(size)), reg(whole(size), 5)}, 0
}

func insElem(size uint32) ([]slot, uint32) {
	from := func(i uint32) uint32 { return i << size << 11 }
	return []slot{elem(size, 0, placeBits(size)), elem(size, 5, from)}, 0
}

func takeOut(size uint32) ([]slot, uint32) {
	return []slot{reg(whole(size), 0), elem(size, 5, placeBits(size))}, 0
}

func takeOutSigned(size uint32) ([]slot, uint32) {
	return []slot{reg("x", 0), elem(size, 5, placeBits(size))}, 0
}
