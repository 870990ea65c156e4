package vector

import (
	"fmt"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"github.com/arithlang/mlc/compiler/expr"
)

// An isa describes an instruction set.
type isa struct {
	name  string // suffix of the functions
	lanes int    // of the widest register
	regs  int    // vector registers
	masks int    // opmask registers for conditions; none: conditions are vectors

	streams int // of random words that a loop carries along
}

var (
	avx512 = &isa{"AVX512", 16, 32, 5, 2}
	avx2   = &isa{"AVX2", 8, 16, 0, 1}
)

// logic names a bitwise instruction, which AVX-512 has by lane.
func (s *isa) logic(name string) string {
	if s == avx512 {
		return name + "D"
	}
	return name
}

// mnemonics are the instructions with two operands by op and operand type.
var mnemonics = map[expr.Op]map[expr.Type]string{
	expr.Add: {expr.F32: "VADDPS", expr.I32: "VPADDD", expr.U32: "VPADDD"},
	expr.Sub: {expr.F32: "VSUBPS", expr.I32: "VPSUBD", expr.U32: "VPSUBD"},
	expr.Mul: {expr.F32: "VMULPS", expr.I32: "VPMULLD", expr.U32: "VPMULLD"},
	expr.Div: {expr.F32: "VDIVPS"},
	expr.Min: {expr.F32: "VMINPS", expr.I32: "VPMINSD", expr.U32: "VPMINUD"},
	expr.Max: {expr.F32: "VMAXPS", expr.I32: "VPMAXSD", expr.U32: "VPMAXUD"},
}

var logicals = map[expr.Op]string{expr.And: "VPAND", expr.Or: "VPOR", expr.Xor: "VPXOR"}

// maskLogicals are the same for opmasks.
var maskLogicals = map[expr.Op]string{expr.And: "KANDW", expr.Or: "KORW", expr.Xor: "KXORW"}

// commutes says whether operands of an op may be exchanged. Min and Max are not
// symmetric for NaN and zeros.
func commutes(op expr.Op, t expr.Type) bool {
	switch op {
	case expr.Add, expr.Mul, expr.And, expr.Or, expr.Xor, expr.Eq, expr.Ne:
		return true
	case expr.Min, expr.Max:
		return t != expr.F32
	}
	return false
}

// predicates are the codes of comparisons; xor 4 negates one.
var predicates = map[expr.Op]uint8{expr.Eq: 0, expr.Lt: 1, expr.Le: 2, expr.Ne: 4}

// comparisons are the instructions with a predicate by operand type (AVX-512).
var comparisons = map[expr.Type]string{expr.F32: "VCMPPS", expr.I32: "VPCMPD", expr.U32: "VPCMPUD"}

var vectorRegs = [...]reg.VecPhysical{
	reg.Z0, reg.Z1, reg.Z2, reg.Z3, reg.Z4, reg.Z5, reg.Z6, reg.Z7,
	reg.Z8, reg.Z9, reg.Z10, reg.Z11, reg.Z12, reg.Z13, reg.Z14, reg.Z15,
	reg.Z16, reg.Z17, reg.Z18, reg.Z19, reg.Z20, reg.Z21, reg.Z22, reg.Z23,
	reg.Z24, reg.Z25, reg.Z26, reg.Z27, reg.Z28, reg.Z29, reg.Z30, reg.Z31,
}

// vec is vector register n with a number of lanes.
func vec(n, lanes int) reg.Register {
	switch lanes {
	case 4:
		return vectorRegs[n].AsX()
	case 8:
		return vectorRegs[n].AsY()
	case 16:
		return vectorRegs[n]
	}
	panic(fmt.Sprintf("BUG: no register has %d lanes", lanes))
}

var maskRegs = [...]reg.Register{reg.K1, reg.K2, reg.K3, reg.K4, reg.K5, reg.K6, reg.K7}

// tailMask is the opmask of the lanes that exist in the last vector of a loop,
// tempMask serves within an instruction of a block.
var tailMask, tempMask = maskRegs[6], maskRegs[5]

// General registers. Pointers into rows live as long as a loop, the others within
// one expression. BP and SP are the caller's.
var (
	frameReg    = reg.RDI
	indexReg    = reg.RBX // element of the loop
	limitReg    = reg.RDX // its last value with whole vectors
	countReg    = reg.RCX
	tempReg     = reg.RAX
	evalRegs    = []reg.GPPhysical{reg.R8, reg.R9, reg.R10, reg.R11}
	pointerRegs = []reg.GPPhysical{reg.RSI, reg.R12, reg.R13, reg.R14, reg.R15}
)

func imm(n int) operand.Op { return operand.I32(n) }

// A pool holds the constants of a file: words for broadcasting operands, whole
// vectors where there are none.
type pool struct {
	words   []uint32
	vectors [][8]uint32
	wordAt  map[uint32]int
	vecAt   map[[8]uint32]int
}

func newPool() *pool { return &pool{wordAt: map[uint32]int{}, vecAt: map[[8]uint32]int{}} }

const wordsName, vectorsName = "leafWords", "leafVectors"

// word is a constant for a broadcasting operand.
func (p *pool) word(bits uint32) operand.Mem {
	at, ok := p.wordAt[bits]
	if !ok {
		at = 4 * len(p.words)
		p.wordAt[bits] = at
		p.words = append(p.words, bits)
	}
	return operand.NewDataAddr(operand.NewStaticSymbol(wordsName), at)
}

// vector is a constant of 32 bytes.
func (p *pool) vector(words [8]uint32) operand.Mem {
	at, ok := p.vecAt[words]
	if !ok {
		at = 32 * len(p.vectors)
		p.vecAt[words] = at
		p.vectors = append(p.vectors, words)
	}
	return operand.NewDataAddr(operand.NewStaticSymbol(vectorsName), at)
}

// all is a vector of one word.
func (p *pool) all(bits uint32) operand.Mem {
	return p.vector([8]uint32{bits, bits, bits, bits, bits, bits, bits, bits})
}

// wide is a constant of 64 bytes: two vectors in a row.
func (p *pool) wide(lo, hi [8]uint32) operand.Mem {
	if at, ok := p.vecAt[lo]; ok && at/32+1 < len(p.vectors) && p.vectors[at/32+1] == hi {
		return p.vector(lo)
	}
	at := 32 * len(p.vectors)
	p.vectors = append(p.vectors, lo, hi)
	p.vecAt[lo] = at
	return p.vector(lo)
}
