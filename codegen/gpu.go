package codegen

import (
	"github.com/dave/jennifer/jen"

	"github.com/arithlang/mlc/codegen/cpu"
	"github.com/arithlang/mlc/codegen/ptx"
)

const cudaPath = "github.com/arithlang/mlc/runtime/cuda"

// moduleFile is the name of the file of the kernels for the GPU.
const moduleFile = "kernels.ptx"

// gpu prints gpu.go: the module and how each of its kernels is launched.
func gpu(f *jen.File, entries []ptx.Entry) {
	f.ImportName(cudaPath, "cuda")
	f.ImportName("github.com/arithlang/mlc/runtime/device", "device")
	f.Anon("embed")
	f.Comment("//go:embed " + moduleFile)
	f.Var().Id("ptxText").String()
	f.Comment("gpu is the kernels for the GPU, in the order of kernels.")
	f.Var().Id("gpu").Op("=").Qual(cudaPath, "Program").Values(jen.Dict{
		jen.Id("PTX"): jen.Id("ptxText"),
		jen.Id("Kernels"): jen.Index().Qual(cudaPath, "Kernel").ValuesFunc(func(g *jen.Group) {
			for _, e := range entries {
				g.Line().Add(launch(e))
			}
			g.Line()
		}),
	})
}

// launch prints how a kernel is launched.
func launch(e ptx.Entry) jen.Code {
	d := jen.Dict{
		jen.Id("Name"):    jen.Lit(e.Name),
		jen.Id("Threads"): jen.Lit(e.Threads),
		jen.Id("Blocks"):  cpu.OfEnv(e.Blocks),
	}
	if len(e.Scalars) > 0 {
		d[jen.Id("Scalars")] = jen.Index().String().ValuesFunc(func(g *jen.Group) {
			for _, s := range e.Scalars {
				g.Lit(s)
			}
		})
	}
	if e.Step {
		d[jen.Id("Step")] = jen.True()
	}
	if e.Room != nil {
		d[jen.Id("Room")] = cpu.OfEnv(e.Room)
	}
	return jen.Values(d)
}
