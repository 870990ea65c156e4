package codegen

import (
	"fmt"
	"strings"

	"github.com/arithlang/mlc/codegen/cpu"
	"github.com/arithlang/mlc/codegen/ptx"
)

// moduleFile is the name of the file of the kernels for the GPU.
const moduleFile = "kernels.ptx"

// gpu is gpu.go behind its package clause, not yet formatted: the module and how each
// of its kernels is launched.
func gpu(entries []ptx.Entry) string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("import (\n_ \"embed\"\n\"github.com/arithlang/mlc/runtime/cuda\"\n\"github.com/arithlang/mlc/runtime/device\"\n)\n")
	line("//go:embed %s\nvar ptxText string\n", moduleFile)
	line("// gpu is the kernels for the GPU, in the order of kernels.")
	line("var gpu = cuda.Program{\nKernels: []cuda.Kernel{")
	for _, e := range entries {
		line("{\nBlocks: %s,\nName: %q,", cpu.OfEnv(e.Blocks), e.Name)
		if e.Scratch != nil {
			line("Scratch: %s,", cpu.OfEnv(e.Scratch))
		}
		if len(e.Scalars) > 0 {
			line("Scalars: %#v,", e.Scalars)
		}
		if e.Step {
			line("Step: true,")
		}
		line("Threads: %d,\n},", e.Threads)
	}
	line("},\nPTX: ptxText,\n}")
	return b.String()
}
