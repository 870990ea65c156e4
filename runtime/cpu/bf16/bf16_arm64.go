package bf16

import "github.com/arithlang/mlc/runtime/cpu"

var onNEON = form{1, layWide(widener{8, widenNEON}.widen)}

// formOf returns the form of a Worker's instruction set.
func formOf(w *cpu.Worker) *form {
	if w.ISA() == cpu.NEON {
		return &onNEON
	}
	return &plain
}
