package codegen

import (
	"github.com/dave/jennifer/jen"

	"github.com/arithlang/mlc/codegen/cpu"
	"github.com/arithlang/mlc/codegen/gocode"
	"github.com/arithlang/mlc/codegen/ptx"
)

// moduleFile is the name of the file of the kernels for the GPU.
const moduleFile = "kernels.ptx"

// gpu is gpu.go: the module and how each of its kernels is launched.
func gpu(module ptx.Output) *gocode.File {
	f := &gocode.File{}
	f.Embed("ptxText", moduleFile)
	var kernels []jen.Code
	for _, e := range module.Kernels {
		var scratch, sets jen.Code
		if e.Scratch != nil {
			scratch = cpu.OfEnv(e.Scratch)
		}
		if e.Sets > 1 {
			sets = jen.Lit(e.Sets)
		}
		kernels = append(kernels, gocode.Lines(
			gocode.Field("Blocks", cpu.OfEnv(e.Blocks)),
			gocode.Field("Name", e.Name),
			gocode.Field("Gemm", gemm(e.Gemm)),
			gocode.Field("Scratch", scratch),
			gocode.Field("Scalars", e.Scalars),
			gocode.Field("Shapes", e.Shapes),
			gocode.Field("Step", e.Step),
			gocode.Field("Tensor", e.Tensor),
			gocode.Field("Sets", sets),
			gocode.Field("Threads", e.Threads),
		))
	}
	f.Add(jen.Comment("gpu is the kernels for the GPU, in the order of kernels."))
	f.Add(jen.Var().Id("gpu").Op("=").Add(gocode.CUDA.Qual("Program"), gocode.Lines(
		gocode.Field("Kernels", jen.Index().Add(gocode.CUDA.Qual("Kernel"), gocode.Lines(kernels...))),
		gocode.Field("PTX", jen.Id("ptxText")),
		gocode.Field("Schedules", module.Schedules()),
	)))
	return f
}

// gemm is what a library needs to know of a product, nil if a kernel is none.
func gemm(g *ptx.Gemm) jen.Code {
	if g == nil {
		return nil
	}
	return jen.Op("&").Add(gocode.CUDA.Qual("Gemm"), gocode.Fields{
		"Size": cpu.SizeOfEnv(g.Size[:]...), "Left": operand(g.Left), "Right": operand(g.Right), "Out": operand(g.Out), "Plus": jen.Lit(g.Plus),
	}.Code())
}

func operand(o ptx.Operand) jen.Code {
	return gocode.CUDA.Qual("Operand").Values(
		gocode.Field("Buffer", jen.Lit(o.Buffer)), gocode.Field("Trans", o.Trans), gocode.Field("Narrow", o.Narrow),
	)
}
