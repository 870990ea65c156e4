// Package cuda runs a model's plan on an NVIDIA GPU. A Machine takes the launches
// that a plan makes, and packs them for a Driver: package libcuda is the real one,
// package simulated interprets the same PTX on the processor. The module comes from
// codegen/ptx, by way of the generated program; package runtime is what uses a
// Machine.
//
// Work is recorded first and handed over when a result is needed. So pieces of a
// batch that differ only in their data become replicas of one launch, and a stretch
// of work that was handed over before is replayed as a graph.
package cuda

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/arithlang/mlc/runtime/device"
)

// A Kernel is one entry of a model's kernel table on the GPU.
//
// Its parameters are, in this order: of each buffer the address of its first
// element for replica 0 and the bytes from one replica to the next, both u64; the
// Scalars, 32 bits each, of which "example" is two: its value for replica 0 and the
// step from one replica to the next; with Step the address of the step's scalars;
// with Room the address of scratch memory and the bytes of it that a block has,
// both u64, where address 0 stands for dynamic shared memory. Block (x, y) computes
// cells of replica y.
type Kernel struct {
	Name    string                  // of the entry in the module
	Threads int                     // of a block
	Scalars []string                // per-launch scalars by their names in device.Env, in parameter order
	Step    bool                    // takes the address of the step's scalars
	Blocks  func(e *device.Env) int // worth launching for one replica; 0: there is nothing to do
	Room    func(e *device.Env) int // bytes of tiles that a block needs; nil: it takes no room parameter
}

// A Program is a model's GPU code: the text of its module, and its kernels by the
// plan's kernel number.
type Program struct {
	PTX     string
	Kernels []Kernel
}

// example is the scalar that differs between replicas.
const example = "example"

// A binding is how a field of device.Env becomes the bits of a scalar, and comes back.
type binding struct {
	bits func(e *device.Env) uint32
	set  func(e *device.Env, bits uint32)
}

// scalars gives the binding of each per-launch scalar.
var scalars = map[string]binding{
	"B":     {func(e *device.Env) uint32 { return uint32(e.B) }, func(e *device.Env, x uint32) { e.B = int(int32(x)) }},
	"T":     {func(e *device.Env) uint32 { return uint32(e.T) }, func(e *device.Env, x uint32) { e.T = int(int32(x)) }},
	"S":     {func(e *device.Env) uint32 { return uint32(e.S) }, func(e *device.Env, x uint32) { e.S = int(int32(x)) }},
	"C":     {func(e *device.Env) uint32 { return uint32(e.C) }, func(e *device.Env, x uint32) { e.C = int(int32(x)) }},
	"P":     {func(e *device.Env) uint32 { return uint32(e.P) }, func(e *device.Env, x uint32) { e.P = int(int32(x)) }},
	"N":     {func(e *device.Env) uint32 { return uint32(e.N) }, func(e *device.Env, x uint32) { e.N = int(int32(x)) }},
	"layer": {func(e *device.Env) uint32 { return uint32(e.Layer) }, func(e *device.Env, x uint32) { e.Layer = int(int32(x)) }},
	"decay": {func(e *device.Env) uint32 { return math.Float32bits(e.Decay) }, func(e *device.Env, x uint32) { e.Decay = math.Float32frombits(x) }},
	example: {func(e *device.Env) uint32 { return e.Example }, func(e *device.Env, x uint32) { e.Example = x }},
}

// Env reads the scalars of a launch back from its parameters, as a Driver gets them; all
// other fields are 0. Of replicas it is that of the first.
func (k *Kernel) Env(args []byte) (e device.Env, err error) {
	words := 0
	for _, name := range k.Scalars {
		if words++; name == example {
			words++
		}
	}
	const buffer, pointer = 16, 8
	tail := words * wordBytes
	if k.Step || k.Room != nil {
		tail = int(roundUp(int64(tail), pointer))
	}
	if k.Step {
		tail += pointer
	}
	if k.Room != nil {
		tail += 2 * pointer
	}
	if len(args) < tail || (len(args)-tail)%buffer != 0 {
		return e, fmt.Errorf("kernel %s: %d bytes of parameters, of which %d are no addresses", k.Name, len(args), tail)
	}
	at := len(args) - tail
	for _, name := range k.Scalars {
		b, known := scalars[name]
		if !known {
			return e, unknownScalar(k.Name, name)
		}
		b.set(&e, binary.LittleEndian.Uint32(args[at:]))
		if at += wordBytes; name == example {
			at += wordBytes
		}
	}
	return e, nil
}

func unknownScalar(kernel, name string) error {
	return fmt.Errorf("kernel %s takes %q, which this version of the runtime does not know: build the program again", kernel, name)
}

// stepWords is the number of the step's scalars.
const stepWords = 8

// stepScalars are those that do not differ between the launches of a step. They are
// in device memory, so that a graph can be replayed with new ones.
func stepScalars(e *device.Env) [stepWords]uint32 {
	return [stepWords]uint32{e.Step, uint32(e.Seed), uint32(e.Seed >> 32), math.Float32bits(e.Scale), math.Float32bits(e.LR),
		math.Float32bits(e.Correct1), math.Float32bits(e.Correct2), math.Float32bits(e.Clip)}
}
