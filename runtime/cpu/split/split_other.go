//go:build !amd64 && !arm64

package split

import "github.com/arithlang/mlc/runtime/cpu"

// halverOf returns the halver of an instruction set.
func halverOf(cpu.ISA) *halver { return &plain }
