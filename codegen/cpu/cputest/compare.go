package cputest

import (
	"testing"

	"github.com/arithlang/mlc/compiler/kernel"
	"github.com/arithlang/mlc/compiler/kernel/kerneltest"
	"github.com/arithlang/mlc/runtime/cpu"
)

// Compare compares the kernels of a text with the kernel interpreter, bit for bit, on each
// instruction set of this machine. The text has the format of kernel.Format. Without launches
// it takes kerneltest.Launches.
func Compare(t *testing.T, text string, kernels []cpu.Kernel, launches ...kernel.Scalars) {
	t.Helper()
	var ends []kerneltest.Backend
	for _, name := range []string{"go", "avx2", "avx512", "avx512bf16", "neon"} {
		isa, err := cpu.ParseISA(name)
		if err != nil {
			t.Logf("left out: %v", err)
			continue
		}
		ends = append(ends, kerneltest.Backend{Name: name, Run: Runner(kernels, isa), BF16: Sums(isa)})
	}
	kerneltest.Compare(t, text, ends, launches...)
}

// Sums returns how an instruction set adds products of BF16, or nil if it adds them as
// defined.
func Sums(isa cpu.ISA) *kernel.Sums {
	if isa == cpu.AVX512BF16 {
		return &kernel.Sums{Flushed: true} // VDPBF16PS
	}
	return nil
}
