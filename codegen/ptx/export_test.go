package ptx

import (
	"github.com/arithlang/mlc/codegen/ptx/asm"
	"github.com/arithlang/mlc/compiler/kernel"
)

// Build gives the instructions of a kernel before any pass.
func Build(k *kernel.Kernel, o Options) (*asm.Func, error) {
	f, _, err := build(k, &asm.Module{}, o)
	return f, err
}
