package cpu

import (
	"fmt"
	"runtime"
	"strings"

	"golang.org/x/sys/cpu"
)

// An ISA is a set of instructions for matrix products and random words. Results do not depend
// on it, with one exception: AVX512BF16 flushes subnormals (below 2^-126) to 0 in products of
// BF16.
type ISA uint8

// The instruction sets. Go is plain Go code and runs everywhere.
const (
	Go ISA = iota
	AVX2
	AVX512
	AVX512BF16
	NEON // of ARM64, always present there
	numISA
)

var isaNames = [numISA]string{"go", "avx2", "avx512", "avx512bf16", "neon"}

// vectors returns the instruction set for everything except products of BF16.
func (i ISA) vectors() ISA {
	if i == AVX512BF16 {
		return AVX512
	}
	return i
}

// String returns the name that ParseISA takes.
func (i ISA) String() string { return isaNames[i] }

// supported reports whether this machine can run code for the ISA.
func (i ISA) supported() bool {
	x := &cpu.X86
	switch i {
	case AVX2:
		return x.HasAVX2 && x.HasFMA
	case AVX512:
		return x.HasAVX2 && x.HasFMA && x.HasBMI2 && x.HasAVX512F && x.HasAVX512VL && x.HasAVX512DQ && x.HasAVX512BW
	case AVX512BF16:
		return AVX512.supported() && x.HasAVX512BF16 && pairsAsDefined()
	case NEON:
		return runtime.GOARCH == "arm64"
	}
	return i == Go
}

// Detect returns the fastest ISA of this machine.
func Detect() ISA {
	for i := numISA - 1; i > Go; i-- {
		if i.supported() {
			return i
		}
	}
	return Go
}

// ParseISA returns the ISA of a name: "go", "avx2", "avx512", "avx512bf16", "neon", or "auto"
// for the fastest. It returns an error for one that this machine lacks.
func ParseISA(name string) (ISA, error) {
	if name == "auto" {
		return Detect(), nil
	}
	for i := Go; i < numISA; i++ {
		if name != isaNames[i] {
			continue
		}
		if !i.supported() {
			return Go, fmt.Errorf("this processor does not have %s; the best it has is %s", name, Detect())
		}
		return i, nil
	}
	return Go, fmt.Errorf("unknown instruction set %q: want auto, %s", name, strings.Join(isaNames[:], ", "))
}
