package vector

import "github.com/arithlang/mlc/compiler/expr"

// An isa describes an instruction set to the code that all sets share.
type isa struct {
	name     string // suffix of the functions
	lanes    int    // lanes of the widest register
	regs     int    // vector registers
	reserved int    // vector registers that a loop keeps for itself
	masks    int    // opmask registers for conditions; 0: conditions are vectors

	random randomness

	own, common table // instructions; own takes precedence over common
}

// InstructionSets returns the suffixes of a vector kernel's functions.
func InstructionSets() []string { return []string{avx512.name, avx2.name, neon.name} }

// A randomness says how random words are computed in registers.
type randomness struct {
	streams int // streams that a loop carries along
	words   int // vectors of words in a group of counters
	state   int // registers that compute a group
}

// carried returns how many registers a stream keeps: the words of a group, and the counters.
func (r randomness) carried() int { return r.words + 1 }

// A table names the instruction of an op by the type of its operands: F32, I32,
// U32, Bool, BF16 and F16.
type table map[expr.Op][6]string

// instruction names the instruction of an op on operands of a type, or returns "".
func (s *isa) instruction(op expr.Op, t expr.Type) string {
	if row, ok := s.own[op]; ok {
		return row[t]
	}
	return s.common[op][t]
}

// commutes tells, by type, whether the operands of an op may be exchanged. Min and Max are not
// symmetric for NaN and zeros.
var commutes = map[expr.Op][4]bool{
	expr.Add: {true, true, true}, expr.Mul: {true, true, true},
	expr.And: {false, true, true}, expr.Or: {false, true, true}, expr.Xor: {false, true, true},
	expr.Min: {false, true, true}, expr.Max: {false, true, true},
}

// compares reports whether an op is a comparison.
func compares(op expr.Op) bool {
	return op == expr.Eq || op == expr.Ne || op == expr.Lt || op == expr.Le
}

// Registers for values have numbers: vectors from 0 on, opmasks from firstMask on.
const (
	firstMask = 32
	maxMasks  = 5
)
