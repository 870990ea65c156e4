package vector

import "github.com/arithlang/mlc/compiler/expr"

// An isa describes an instruction set to what is the same for all.
type isa struct {
	name     string // suffix of the functions
	lanes    int    // of the widest register
	regs     int    // vector registers
	reserved int    // of these, those that a loop keeps for itself
	masks    int    // opmask registers for conditions; none: conditions are vectors

	random randomness

	own, common table // instructions: own ones come before those of several sets
}

// InstructionSets are the suffixes of the functions of a vector kernel.
func InstructionSets() []string { return []string{avx512.name, avx2.name, neon.name} }

// A randomness says how random words are made in registers.
type randomness struct {
	streams int // that a loop carries along
	words   int // vectors of words that a group of counters makes
	state   int // registers that they are made in, for each group
}

// carried is how many registers a stream keeps: the words of a group, and the counters.
func (r randomness) carried() int { return r.words + 1 }

// A table names the instruction of an op by the type of its operands: F32, I32,
// U32, Bool, BF16 and F16.
type table map[expr.Op][6]string

// instruction names the instruction of an op on operands of a type; "": there is none.
func (s *isa) instruction(op expr.Op, t expr.Type) string {
	if row, ok := s.own[op]; ok {
		return row[t]
	}
	return s.common[op][t]
}

// commutes says for which types operands of an op may be exchanged. Min and Max are not
// symmetric for NaN and zeros.
var commutes = map[expr.Op][4]bool{
	expr.Add: {true, true, true}, expr.Mul: {true, true, true},
	expr.And: {false, true, true}, expr.Or: {false, true, true}, expr.Xor: {false, true, true},
	expr.Min: {false, true, true}, expr.Max: {false, true, true},
}

// compares says whether an op is a comparison.
func compares(op expr.Op) bool {
	return op == expr.Eq || op == expr.Ne || op == expr.Lt || op == expr.Le
}

// Registers for values have numbers: vectors from 0 on, opmasks from firstMask on.
const (
	firstMask = 32
	maxMasks  = 5
)
