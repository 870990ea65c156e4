// Package abi packs the parameters of a launch as the entries of package
// codegen/ptx want them, for what runs single kernels: ptxtest on the simulator,
// ptxrun through a driver. Trained programs do it in package runtime/cuda.
package abi

import (
	"encoding/binary"
	"math"

	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/kernel"
)

// Params is the parameter block of a launch while it is packed, in the order that
// ptx.Entry lists.
type Params struct {
	Bytes []byte
	Types []string // as PTX names them
}

// Buffer packs the address of a buffer for replica 0 and the bytes from one
// replica to the next.
func (p *Params) Buffer(addr uint64, stride int) {
	p.pack("u64", addr)
	p.pack("u64", uint64(stride))
}

// Scalar packs a scalar of the launch by its name. The examples of a replica are
// so many behind those of the one before.
func (p *Params) Scalar(name string, s kernel.Scalars, exampleStep int) {
	t, _ := kernel.ScalarType(name)
	if t == expr.F32 {
		p.pack("f32", uint64(word(name, s)))
		return
	}
	p.pack("u32", uint64(word(name, s)))
	if name == "example" {
		p.pack("u32", uint64(exampleStep))
	}
}

// Step packs the address of the step's scalars.
func (p *Params) Step(addr uint64) { p.pack("u64", addr) }

// Room packs where the tiles lie, 0 for shared memory, and the bytes of a block.
func (p *Params) Room(addr uint64, bytes int) {
	p.pack("u64", addr)
	p.pack("u64", uint64(bytes))
}

// pack appends a parameter at a multiple of its size.
func (p *Params) pack(typ string, v uint64) {
	n := 4
	if typ == "u64" {
		n = 8
	}
	for len(p.Bytes)%n != 0 {
		p.Bytes = append(p.Bytes, 0)
	}
	p.Bytes = append(p.Bytes, binary.LittleEndian.AppendUint64(nil, v)[:n]...)
	p.Types = append(p.Types, typ)
}

// stepScalars are the words of the block that a step's scalars lie in.
var stepScalars = []string{"step", "seed0", "seed1", "scale", "lr", "correct1", "correct2", "clip"}

// StepScalars is that block.
func StepScalars(s kernel.Scalars) []byte {
	var b []byte
	for _, name := range stepScalars {
		b = binary.LittleEndian.AppendUint32(b, word(name, s))
	}
	return b
}

// word is a scalar as 32 bits.
func word(name string, s kernel.Scalars) uint32 {
	if t, _ := kernel.ScalarType(name); t == expr.F32 {
		return math.Float32bits(float32(s[name]))
	}
	return uint32(int64(s[name]))
}
