package cputest

import (
	"testing"

	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/kernel"
	"github.com/arithlang/mlc/compiler/kernel/kerneltest"
	"github.com/arithlang/mlc/runtime/abi"
	"github.com/arithlang/mlc/runtime/cpu"
	"github.com/arithlang/mlc/runtime/device"
)

// Allocations checks that the kernels of a text take no memory from the heap once the worker
// has its scratch.
func Allocations(t *testing.T, text string, kernels []cpu.Kernel) {
	ks, err := kernel.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	for _, isa := range []cpu.ISA{cpu.Go, cpu.Detect()} {
		for i, k := range ks {
			scalars := k.Suited(kerneltest.Launches()[1])
			mem, refs := zeros(t, k, scalars)
			w, e := cpu.NewWorker(kernels, isa, mem), env(scalars)
			if n := testing.AllocsPerRun(3, func() { w.Launch(i, e, refs...) }); n > 0 {
				t.Errorf("%s on %s: %v allocations a launch", k.Name, isa, n)
			}
		}
	}
}

// zeros returns memory of zeros for the buffers of a kernel.
func zeros(t *testing.T, k *kernel.Kernel, s kernel.Scalars) (mem cpu.Memory, refs []device.Ref) {
	shapes, err := kernel.Extents(k, s)
	if err != nil {
		t.Fatal(err)
	}
	for i, shape := range shapes {
		n := 1
		for _, d := range shape {
			n *= d
		}
		n = (n*kernel.Bytes(k.Params[i].Type) + abi.WordBytes - 1) / abi.WordBytes
		if k.Params[i].Type == expr.I32 {
			refs = append(refs, device.Ref{Space: device.Ints, Off: len(mem.Ints)})
			mem.Ints = append(mem.Ints, make([]int32, n)...)
		} else {
			refs = append(refs, device.Ref{Space: device.Work, Off: len(mem.F32[device.Work])})
			mem.F32[device.Work] = append(mem.F32[device.Work], make([]float32, n)...)
		}
	}
	return mem, refs
}
