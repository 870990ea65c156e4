// Package cuda runs a model's plan on an NVIDIA GPU. A Machine takes the launches
// that a plan makes, and packs them for a Driver: package libcuda is the real one,
// package simulated interprets the same PTX on the processor. The module comes from
// codegen/ptx, by way of the generated program; package world is what uses a
// Machine.
//
// Work is recorded first and handed over when a result is needed. So pieces of a
// batch become replicas of one launch, also where they differ in how many rows they have
// and in some of what they do, and a stretch of work that was handed over before is
// replayed as a graph.
package cuda

import (
	"encoding/binary"
	"fmt"

	"github.com/arithlang/mlc/runtime/abi"
	"github.com/arithlang/mlc/runtime/device"
)

// A Kernel is one entry of a model's kernel table on the GPU.
//
// Its parameters are those of an abi.Signature.
type Kernel struct {
	Name    string                  // of the entry in the module
	Threads int                     // of a block
	Scalars []string                // of a launch, by their names in package abi, in the order of the parameters
	Shapes  bool                    // takes the address of its replicas' shapes
	Step    bool                    // takes the address of the step's scalars
	Sets    int                     // of buffers that a launch has at most, 0: 1
	Blocks  func(e *device.Env) int // worth launching for one replica; 0: there is nothing to do
	Scratch func(e *device.Env) int // bytes of tiles that a block needs; nil: it takes no scratch parameter
	Tensor  bool                    // multiplies 16-bit or split factors on tensor cores
	Gemm    *Gemm                   // nil: it is no product alone
}

// A Program is a model's GPU code: the text of its module, and its kernels by the
// plan's kernel number.
type Program struct {
	PTX       string
	Kernels   []Kernel
	Schedules string // how the kernels are spread over a GPU: "generic, mma, product"
}

// signature is what the entry takes besides its buffers.
func (k *Kernel) signature() (abi.Signature, error) {
	s, err := abi.Sign(k.Scalars, k.Shapes, k.Step, k.Scratch != nil)
	if err != nil {
		return s, fmt.Errorf("kernel %s: %w: build the program again, for this version of the runtime", k.Name, err)
	}
	s.Sets = k.Sets
	return s, nil
}

// Envs reads the scalars of a launch's replicas back from its parameters, as a Driver gets
// them; all other fields are 0. Without shapes there is one, that of the first. Memory is
// what the device has at an address.
func (k *Kernel) Envs(args []byte, replicas int, memory func(at Ptr, bytes int) []byte) ([]device.Env, error) {
	s, err := k.signature()
	if err != nil {
		return nil, err
	}
	words, shapes, err := s.Words(args)
	if err != nil {
		return nil, fmt.Errorf("kernel %s: %w", k.Name, err)
	}
	var e device.Env
	for i, scalar := range s.Scalars {
		device.SetBits(&e, scalar, words[i])
	}
	if !k.Shapes {
		return []device.Env{e}, nil
	}
	all := make([]device.Env, replicas)
	text := memory(Ptr(shapes), replicas*abi.ShapeWords*wordBytes)
	for i := range all {
		all[i] = e
		for _, scalar := range abi.Scalars() {
			if w := abi.ShapeWord(scalar.Name); w >= 0 {
				device.SetBits(&all[i], scalar, binary.LittleEndian.Uint32(text[(i*abi.ShapeWords+w)*wordBytes:]))
			}
		}
	}
	return all, nil
}

// shapeOf is the shape of a replica that is alone.
func shapeOf(e *device.Env) abi.Shape {
	launched := e.Launched()
	return abi.NewShape(0, func(s abi.Scalar) uint32 { return scalarBits[s.Name](&launched) })
}

// scalarBits read scalars, by their names.
var scalarBits = func() map[string]func(e *device.Env) uint32 {
	all := map[string]func(e *device.Env) uint32{}
	for _, s := range abi.Scalars() {
		all[s.Name] = device.Bits(s)
	}
	return all
}()

// A stepBlock is the scalars that do not differ between the launches of a step.
type stepBlock [abi.StepWords]uint32

// stepBits read them.
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
