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

	streams   int    // of random words that a loop carries along
	broadcast string // suffix of instructions that read one word for all lanes
	own       table  // instructions that the other set does not have, or calls otherwise
}

// A table names the instruction of an op by the type of its operands: F32, I32,
// U32 and Bool.
type table map[expr.Op][4]string

var avx512 = &isa{"AVX512", 16, 32, 5, 2, ".BCST", table{
	expr.And:   {"", "VPANDD", "VPANDD", "KANDW"},
	expr.Or:    {"", "VPORD", "VPORD", "KORW"},
	expr.Xor:   {"", "VPXORD", "VPXORD", "KXORW"},
	expr.Not:   {expr.Bool: "KNOTW"},
	expr.Floor: {"VRNDSCALEPS"},
	expr.Lt:    {"VCMPPS", "VPCMPD", "VPCMPUD"},
	expr.Le:    {"VCMPPS", "VPCMPD", "VPCMPUD"},
	expr.Eq:    {"VCMPPS", "VPCMPD", "VPCMPUD"},
	expr.Ne:    {"VCMPPS", "VPCMPD", "VPCMPUD"},
}}

var avx2 = &isa{"AVX2", 8, 16, 0, 1, "", table{
	expr.And:   {"", "VPAND", "VPAND", "VPAND"},
	expr.Or:    {"", "VPOR", "VPOR", "VPOR"},
	expr.Xor:   {"", "VPXOR", "VPXOR", "VPXOR"},
	expr.Not:   {expr.Bool: "VPXOR"}, // with all ones
	expr.Floor: {"VROUNDPS"},
	expr.Lt:    {"VCMPPS", "VPCMPGTD"}, // exchanged
	expr.Le:    {"VCMPPS"},
	expr.Eq:    {"VCMPPS", "VPCMPEQD", "VPCMPEQD"},
	expr.Ne:    {"VCMPPS"},
}}

// common are the instructions that both sets have. Those of shifts lack the suffix
// that tells constants from vectors.
var common = table{
	expr.Add:   {"VADDPS", "VPADDD", "VPADDD"},
	expr.Sub:   {"VSUBPS", "VPSUBD", "VPSUBD"},
	expr.Mul:   {"VMULPS", "VPMULLD", "VPMULLD"},
	expr.Div:   {"VDIVPS", "VDIVPD"},
	expr.Min:   {"VMINPS", "VPMINSD", "VPMINUD"},
	expr.Max:   {"VMAXPS", "VPMAXSD", "VPMAXUD"},
	expr.Shl:   {"", "VPSLL", "VPSLL"},
	expr.Shr:   {"", "VPSRA", "VPSRL"},
	expr.Sqrt:  {"VSQRTPS"},
	expr.Abs:   {"", "VPABSD"},
	expr.ToF32: {"", "VCVTDQ2PS", "VCVTUDQ2PS"},
	expr.ToI32: {"VCVTTPS2DQ"},
}

// instruction names the instruction of an op on operands of a type.
func (s *isa) instruction(op expr.Op, t expr.Type) string {
	if row, ok := s.own[op]; ok {
		return row[t]
	}
	return common[op][t]
}

// commutes says whether operands of an op may be exchanged. Min and Max are not
// symmetric for NaN and zeros.
func commutes(op expr.Op, t expr.Type) bool {
	switch op {
	case expr.Add, expr.Mul, expr.And, expr.Or, expr.Xor:
		return true
	case expr.Min, expr.Max:
		return t != expr.F32
	}
	return false
}

// predicates are the codes of comparisons; xor 4 negates one.
var predicates = map[expr.Op]int{expr.Eq: 0, expr.Lt: 1, expr.Le: 2, expr.Ne: 4}

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
