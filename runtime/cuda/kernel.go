// Package cuda runs a model's plan on an NVIDIA GPU. A Machine packs the plan's launches for a
// Driver: package libcuda is the real one, and package simulated interprets the same PTX on the
// processor. The PTX comes from codegen/ptx through the generated program. Package world uses a
// Machine.
//
// Work is recorded first and submitted when a result is needed. So the pieces of a batch become
// replicas of one launch, even if they differ in their numbers of rows and in some ops. Repeated
// work is replayed as a graph.
package cuda

import (
	"fmt"

	"github.com/arithlang/mlc/runtime/abi"
	"github.com/arithlang/mlc/runtime/device"
)

// A Kernel is an entry of a model's kernel table on the GPU.
//
// Its parameters follow an abi.Signature.
type Kernel struct {
	Name    string                  // of the entry in the module
	Threads int                     // of a block
	Scalars []string                // of a launch, by their names in package abi, in parameter order
	Shapes  bool                    // takes the address of its replicas' shapes
	Step    bool                    // takes the address of the step's scalars
	Sets    int                     // most sets of buffers of a launch, 0: 1
	Blocks  func(e *device.Env) int // most useful blocks of one replica; 0: nothing to do
	Scratch func(e *device.Env) int // bytes of tiles per block; nil: no scratch parameter
	Tensor  bool                    // multiplies 16-bit or split factors on tensor cores
	Gemm    *Gemm                   // nil: it is not a plain product
}

// A Program is a model's GPU code: the text of its module, and its kernels by the plan's kernel
// number.
type Program struct {
	PTX       string
	Kernels   []Kernel
	Schedules string // how the kernels use a GPU: "generic, mma, product"
}

// signature returns the entry's parameters other than its buffers.
func (k *Kernel) signature() (abi.Signature, error) {
	s, err := abi.Sign(abi.Find, k.Scalars, k.Shapes, k.Step, k.Scratch != nil)
	if err != nil {
		return s, fmt.Errorf("kernel %s: %w: build the program again, for this version of the runtime", k.Name, err)
	}
	s.Sets = k.Sets
	return s, nil
}

// shapeOf returns the shape of a replica that runs alone.
func shapeOf(e *device.Env) abi.Shape {
	launched := e.Launched()
	return abi.NewShape(0, func(s abi.Scalar) uint32 { return scalarBits[s.Name](&launched) })
}

// scalarBits has a function for each scalar's name that reads the scalar.
var scalarBits = func() map[string]func(e *device.Env) uint32 {
	all := map[string]func(e *device.Env) uint32{}
	for _, s := range abi.Scalars() {
		all[s.Name] = device.Bits(s)
	}
	return all
}()

// A stepBlock is the scalars that all launches of a step share.
type stepBlock [abi.StepWords]uint32

// stepBits has a function for each word of a stepBlock that reads it.
var stepBits = func() (all [abi.StepWords]func(e *device.Env) uint32) {
	for _, s := range abi.Scalars() {
		if i := abi.StepWord(s.Name); i >= 0 {
			all[i] = scalarBits[s.Name]
		}
	}
	return all
}()

func newStepBlock(e *device.Env) (b stepBlock) {
	for i, bits := range stepBits {
		b[i] = bits(e)
	}
	return b
}
