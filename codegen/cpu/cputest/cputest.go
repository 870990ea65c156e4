// Package cputest runs generated kernels on the buffers of package kerneltest.
// The tests of package codegen/cpu and of generated programs use it.
package cputest

import (
	"fmt"
	"slices"

	"github.com/arithlang/mlc/compiler/kernel"
	"github.com/arithlang/mlc/compiler/kernel/kerneltest"
	"github.com/arithlang/mlc/runtime/abi"
	"github.com/arithlang/mlc/runtime/cpu"
	"github.com/arithlang/mlc/runtime/device"
)

// Runner returns a kerneltest.Runner for a kernel table on an instruction set.
func Runner(kernels []cpu.Kernel, isa cpu.ISA) kerneltest.Runner {
	return func(name string, s kernel.Scalars, bufs []kernel.Buffer) error {
		for i, k := range kernels {
			if k.Name == name {
				return launch(kernels, i, isa, s, bufs)
			}
		}
		return fmt.Errorf("the table has no kernel %s", name)
	}
}

// gap is how many elements lie between the buffers of a launch. They show stray stores.
const gap = 64

// launch runs a kernel with all buffers in one space for each type.
func launch(kernels []cpu.Kernel, index int, isa cpu.ISA, s kernel.Scalars, bufs []kernel.Buffer) error {
	var mem cpu.Memory
	refs := make([]device.Ref, len(bufs))
	for i, b := range bufs {
		if b.I != nil {
			refs[i] = device.Ref{Space: device.Ints, Off: len(mem.Ints)}
			mem.Ints = append(mem.Ints, make([]int32, len(b.I)+gap)...)
		} else {
			refs[i] = device.Ref{Space: device.Work, Off: len(mem.F32[device.Work])}
			mem.F32[device.Work] = append(mem.F32[device.Work], make([]float32, len(b.F)+(len(b.H)+1)/2+gap)...)
		}
	}
	w := cpu.NewWorker(kernels, isa, mem)
	inMemory := func(i int) kernel.Buffer {
		switch r := refs[i]; {
		case bufs[i].I != nil:
			return kernel.Buffer{I: w.I32(r)}
		case bufs[i].H != nil:
			return kernel.Buffer{H: w.U16(r)}
		default:
			return kernel.Buffer{F: w.F32(r)}
		}
	}
	for i, b := range bufs {
		inMemory(i).Copy(b)
	}
	w.Launch(index, env(s), refs...)
	for i, b := range bufs {
		after := inMemory(i)
		b.Copy(after)
		if !zero(after.I, len(b.I)) || !zero(after.H, len(b.H)) || !zero(after.F, len(b.F)) {
			return fmt.Errorf("buffer %d is written beyond its end", i)
		}
	}
	return nil
}

// zero reports whether the gap after the first n elements is 0, or s is nil.
func zero[T int32 | uint16 | float32](s []T, n int) bool {
	return s == nil || !slices.ContainsFunc(s[n:][:gap], func(v T) bool { return v != 0 })
}

// env returns the launch environment with the scalars.
func env(s kernel.Scalars) *device.Env {
	var e device.Env
	for _, of := range abi.Scalars() {
		device.SetBits(&e, of, s.Bits(of))
	}
	return &e
}
