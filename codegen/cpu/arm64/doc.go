// Package arm64 is a small assembler of ARM64. It prints instructions as Go assembly, with
// declarations in Go. avo does the same for AVX.
//
// Package codegen/cpu/vector chooses the instructions for the kernels of a spec, and
// codegen/cpu/dotgen/arm for matrix products. Go's assembler reads the result. Package arm64
// checks that an instruction takes its operands and encodes them. It chooses no registers and
// reorders nothing.
//
// An instruction has ARM's name, with the arrangement of its destination after a dot
// ("fadd.4s", "xtn.4h", "ldr.q"). Names of instructions on the low 32 bits of general
// registers end in ".w" ("add.w"). Conditions are part of the name ("b.lt", "csel.lt.w").
// Operands are in ARM's order, destination first; a store's first operand is the value.
//
// Go's assembler lacks most arithmetic on vectors. Instructions that it has are printed in its
// mnemonics, others as words with ARM's text in a comment.
package arm64
