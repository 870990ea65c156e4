package codegen

import (
	"fmt"
	"strconv"

	"github.com/arithlang/mlc/codegen/cpu"
	"github.com/arithlang/mlc/codegen/gotext"
	"github.com/arithlang/mlc/codegen/ptx"
	"github.com/arithlang/mlc/compiler/kernel"
)

// moduleFile is the name of the file of the kernels for the GPU.
const moduleFile = "kernels.ptx"

// gpu is gpu.go: the module and how each of its kernels is launched.
func gpu(module ptx.Output) gotext.File {
	f := &gotext.Text{}
	f.Embed("ptxText", moduleFile)
	f.Line("// gpu is the kernels for the GPU, in the order of kernels.")
	f.Line("var gpu = cuda.Program{\nKernels: []cuda.Kernel{")
	for _, e := range module.Kernels {
		f.Line("{\nBlocks: %s,\nName: %q,", cpu.OfEnv(e.Blocks), e.Name)
		if e.Gemm != nil {
			f.Line("Gemm: &cuda.Gemm%s,", gemm(e.Gemm))
		}
		if e.Scratch != nil {
			f.Line("Scratch: %s,", cpu.OfEnv(e.Scratch))
		}
		if len(e.Scalars) > 0 {
			f.Line("Scalars: %#v,", e.Scalars)
		}
		if e.Step {
			f.Line("Step: true,")
		}
		if e.Tensor {
			f.Line("Tensor: true,")
		}
		if e.Sets > 1 {
			f.Line("Sets: %d,", e.Sets)
		}
		f.Line("Threads: %d,\n},", e.Threads)
	}
	f.Line("},\nPTX: ptxText,\nSchedules: %q,\n}", module.Schedules())
	return gotext.File{Decls: f.String()}
}

// gemm is what a library needs to know of a product.
func gemm(g *kernel.Gemm) gotext.Fields {
	return gotext.Fields{
		"Size": cpu.SizeOfEnv(g.Size[:]...), "Left": operand(g.Left), "Right": operand(g.Right), "Out": operand(g.Out), "Plus": strconv.Itoa(g.Plus),
	}
}

func operand(o kernel.Operand) string {
	text := fmt.Sprintf("cuda.Operand{Buffer: %d", o.Buffer)
	if o.Trans {
		text += ", Trans: true"
	}
	if o.Narrow {
		text += ", Narrow: true"
	}
	return text + "}"
}
