package vector

import (
	"maps"

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
	shared    int    // bytes of a word in the frame that all lanes read

	// The mask of the lanes that exist in the last vector of a loop, and the
	// instructions that load and store only these.
	tail               reg.Register
	loadSome, saveSome string

	own table // instructions that the other set does not have, or calls otherwise
}

// A table names the instruction of an op by the type of its operands: F32, I32,
// U32, Bool, BF16 and F16.
type table map[expr.Op][6]string

var avx512 = &isa{"AVX512", 16, 32, 5, 2, ".BCST", 8, reg.K7, "VMOVUPS.Z", "VMOVUPS", table{
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

var avx2 = &isa{"AVX2", 8, 16, 0, 1, "", 32, reg.Y15, "VMASKMOVPS", "VMASKMOVPS", table{
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
	expr.Fma:   {"VFMADD"}, // with the order of operands behind it: see block.fma
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

// commutes says for which types operands of an op may be exchanged. Min and Max are not
// symmetric for NaN and zeros.
var commutes = map[expr.Op][4]bool{
	expr.Add: {true, true, true}, expr.Mul: {true, true, true},
	expr.And: {false, true, true}, expr.Or: {false, true, true}, expr.Xor: {false, true, true},
	expr.Min: {false, true, true}, expr.Max: {false, true, true},
}

// predicates are the codes of comparisons; xor 4 negates one.
var predicates = map[expr.Op]int{expr.Eq: 0, expr.Lt: 1, expr.Le: 2, expr.Ne: 4}

// Registers for values have numbers: vectors from 0 on, opmasks from firstMask on.
const firstMask = 32

// registers are those for values, by the lanes of vectors and by number.
var registers = func() (rs [17][firstMask + 5]reg.Register) {
	for lanes, width := range map[int]reg.Spec{4: reg.S128, 8: reg.S256, 16: reg.S512} {
		for n := range firstMask {
			rs[lanes][n] = reg.Vector.Lookup(reg.Index(n), width)
		}
		copy(rs[lanes][firstMask:], []reg.Register{reg.K1, reg.K2, reg.K3, reg.K4, reg.K5})
	}
	return rs
}()

// vec is register n, with a number of lanes.
func vec(n, lanes int) reg.Register { return registers[lanes][n] }

// tempMask is an opmask that serves within an instruction of a block.
var tempMask reg.Register = reg.K6

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

// A pool holds the constants of a file, those of a size in one section.
type pool map[int]*section // by the words of a constant

type section struct {
	words []uint32
	at    map[[16]uint32]int
}

// constant is the place of a constant of 1, 8 or 16 words.
func (p pool) constant(words ...uint32) operand.Mem {
	s := p[len(words)]
	if s == nil {
		s = &section{at: map[[16]uint32]int{}}
		p[len(words)] = s
	}
	var key [16]uint32
	copy(key[:], words)
	at, ok := s.at[key]
	if !ok {
		at = 4 * len(s.words)
		s.at[key] = at
		s.words = append(s.words, words...)
	}
	return operand.NewDataAddr(sections[len(words)], at)
}

// sizes are how many words the sections have.
func (p pool) sizes() map[int]int {
	n := map[int]int{}
	for size, s := range p {
		n[size] = len(s.words)
	}
	return n
}

// cut takes out what came after the sections had so many words.
func (p pool) cut(n map[int]int) {
	maps.DeleteFunc(p, func(size int, _ *section) bool { return n[size] == 0 })
	for size, s := range p {
		s.words = s.words[:n[size]]
		maps.DeleteFunc(s.at, func(_ [16]uint32, at int) bool { return at >= 4*n[size] })
	}
}

// sections are the names of the sections.
var sections = map[int]operand.Symbol{
	1:  operand.NewStaticSymbol("vectorWords"),
	8:  operand.NewStaticSymbol("vectorVectors"),
	16: operand.NewStaticSymbol("vectorWideVectors"),
}

// all is a vector of one word.
func (p pool) all(w uint32) operand.Mem { return p.constant(w, w, w, w, w, w, w, w) }
