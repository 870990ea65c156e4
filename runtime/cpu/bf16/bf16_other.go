//go:build !amd64 && !arm64

package bf16

import "github.com/arithlang/mlc/runtime/cpu"

// formOf returns the form of a Worker's instruction set.
func formOf(*cpu.Worker) *form { return &plain }
