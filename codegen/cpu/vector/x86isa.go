package vector

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"github.com/arithlang/mlc/compiler/expr"
)

// An x86isa is AVX-512 or AVX2.
type x86isa struct {
	isa

	broadcast string // suffix of instructions that read one word for all lanes
	shared    int    // bytes of a word in the frame that all lanes read

	// tail is the mask of the lanes that exist in the last vector of a loop. loadSome and
	// saveSome load and store only these lanes.
	tail               reg.Register
	loadSome, saveSome string
}

var avx512 = &x86isa{isa{"AVX512", 16, 32, 0, maxMasks, randomness{2, 2, x86State}, table{
	expr.And:   {"", "VPANDD", "VPANDD", "KANDW"},
	expr.Or:    {"", "VPORD", "VPORD", "KORW"},
	expr.Xor:   {"", "VPXORD", "VPXORD", "KXORW"},
	expr.Not:   {expr.Bool: "KNOTW"},
	expr.Floor: {"VRNDSCALEPS"},
	expr.Lt:    {"VCMPPS", "VPCMPD", "VPCMPUD"},
	expr.Le:    {"VCMPPS", "VPCMPD", "VPCMPUD"},
	expr.Eq:    {"VCMPPS", "VPCMPD", "VPCMPUD"},
	expr.Ne:    {"VCMPPS", "VPCMPD", "VPCMPUD"},
	expr.ToF32: {"", "VCVTDQ2PS", "VCVTUDQ2PS"},
}, common}, ".BCST", 8, reg.K7, "VMOVUPS.Z", "VMOVUPS"}

var avx2 = &x86isa{isa{"AVX2", 8, 16, 1, 0, randomness{1, 2, x86State}, table{
	expr.And:   {"", "VPAND", "VPAND", "VPAND"},
	expr.Or:    {"", "VPOR", "VPOR", "VPOR"},
	expr.Xor:   {"", "VPXOR", "VPXOR", "VPXOR"},
	expr.Not:   {expr.Bool: "VPXOR"}, // with all ones
	expr.Floor: {"VROUNDPS"},
	expr.Lt:    {"VCMPPS", "VPCMPGTD"}, // exchanged
	expr.Le:    {"VCMPPS"},
	expr.Eq:    {"VCMPPS", "VPCMPEQD", "VPCMPEQD"},
	expr.Ne:    {"VCMPPS"},
}, common}, "", 32, reg.Y15, "VMASKMOVPS", "VMASKMOVPS"}

// common are the instructions that both sets have. Shifts lack the suffix that tells constants
// from vectors.
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
	expr.Fma:   {"VFMADD"}, // followed by the order of operands: see x86block.fma
	expr.Abs:   {"", "VPABSD"},
	expr.ToF32: {"", "VCVTDQ2PS"},
	expr.ToI32: {"VCVTTPS2DQ"},
}

// predicates are the codes of comparisons; xor 4 negates one.
var predicates = map[expr.Op]int{expr.Eq: 0, expr.Lt: 1, expr.Le: 2, expr.Ne: 4}

// registers are the registers for values, by lanes and by number.
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

// tempMask is an opmask for use within one instruction of a block.
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
