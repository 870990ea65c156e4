package codegen

import (
	"github.com/dave/jennifer/jen"

	"github.com/arithlang/mlc/codegen/cpu"
	"github.com/arithlang/mlc/codegen/gocode"
	"github.com/arithlang/mlc/codegen/ptx"
	"github.com/arithlang/mlc/compiler/kernel"
)

// moduleFile is the name of the file of the kernels for the GPU.
const moduleFile = "kernels.ptx"

// gpu is gpu.go: the module and how each of its kernels is launched.
func gpu(module ptx.Output) *gocode.File {
	f := &gocode.File{}
	f.Embed("ptxText", moduleFile)
	var kernels []jen.Code
	for _, e := range module.Kernels {
		var fields []jen.Code
		set := func(name string, value jen.Code) { fields = append(fields, gocode.Field(name, value)) }
		set("Blocks", cpu.OfEnv(e.Blocks))
		set("Name", jen.Lit(e.Name))
		if e.Gemm != nil {
			set("Gemm", jen.Op("&").Add(gocode.CUDA.Qual("Gemm"), gemm(e.Gemm).Code()))
		}
		if e.Scratch != nil {
			set("Scratch", cpu.OfEnv(e.Scratch))
		}
		if len(e.Scalars) > 0 {
			set("Scalars", gocode.Value(e.Scalars))
		}
		if e.Step {
			set("Step", jen.True())
		}
		if e.Tensor {
			set("Tensor", jen.True())
		}
		if e.Sets > 1 {
			set("Sets", jen.Lit(e.Sets))
		}
		set("Threads", jen.Lit(e.Threads))
		kernels = append(kernels, gocode.Lines(fields...))
	}
	f.Add(jen.Comment("gpu is the kernels for the GPU, in the order of kernels."))
	f.Add(jen.Var().Id("gpu").Op("=").Add(gocode.CUDA.Qual("Program"), gocode.Lines(
		gocode.Field("Kernels", jen.Index().Add(gocode.CUDA.Qual("Kernel"), gocode.Lines(kernels...))),
		gocode.Field("PTX", jen.Id("ptxText")),
		gocode.Field("Schedules", jen.Lit(module.Schedules())),
	)))
	return f
}

// gemm is what a library needs to know of a product.
func gemm(g *kernel.Gemm) gocode.Fields {
	return gocode.Fields{
		"Size": cpu.SizeOfEnv(g.Size[:]...), "Left": operand(g.Left), "Right": operand(g.Right), "Out": operand(g.Out), "Plus": jen.Lit(g.Plus),
	}
}

func operand(o kernel.Operand) jen.Code {
	fields := []jen.Code{gocode.Field("Buffer", jen.Lit(o.Buffer))}
	if o.Trans {
		fields = append(fields, gocode.Field("Trans", jen.True()))
	}
	if o.Narrow {
		fields = append(fields, gocode.Field("Narrow", jen.True()))
	}
	return gocode.CUDA.Qual("Operand").Values(fields...)
}
