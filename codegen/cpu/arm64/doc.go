// Package arm64 is a small assembler of ARM64: instructions as data, which it prints
// as Go assembly with declarations in Go. It is for NEON what avo is for AVX.
//
// Before it are those who choose instructions: codegen/cpu/vector for the kernels of
// a spec and codegen/cpu/dotgen/arm for matrix products. After it is Go's assembler.
// It knows nothing of either: it checks that an instruction takes its operands, and
// where they lie in a word. It chooses no registers and reorders nothing.
//
// An instruction is called by ARM's name, with the arrangement of its destination
// behind a dot ("fadd.4s", "xtn.4h", "ldr.q"); one on the low 32 bits of general
// registers ends in ".w" ("add.w"). Conditions are part of the name ("b.lt",
// "csel.lt.w"). Operands are in ARM's order, destination first; a store's first
// operand is what is stored.
//
// Go's assembler lacks most arithmetic on vectors. What it has is printed in its
// mnemonics; the rest as words, each with ARM's text beside it.
package arm64
