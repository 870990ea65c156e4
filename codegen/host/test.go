package host

import "github.com/dave/jennifer/jen"

// Test prints kernels_test.go, which holds every kernel to the kernel IR of
// kernels.kir on every instruction set that the processor has.
func Test(f *jen.File) {
	const testPath = "github.com/arithlang/mlc/codegen/cpu/cputest"
	f.ImportName(testPath, "cputest")
	text := embed(f, "kernelText", "kernels.kir")
	f.Func().Id("TestKernels").Params(jen.Id("t").Op("*").Qual("testing", "T")).Block(
		jen.Qual(testPath, "Compare").Call(jen.Id("t"), text, jen.Id("kernels")),
	)
}
