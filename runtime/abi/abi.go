// Package abi defines the parameters of a launch: the scalars that a kernel may take, and the
// field of each in the launch's environment. It also defines the layout of an entry's
// parameters on a GPU. Lowering, the printers of package codegen, runtime/cuda and the tools
// that run single kernels all use it. It imports only the standard library.
package abi

import (
	"encoding/binary"
	"fmt"
	"slices"
)

// A Type is the type of a scalar, a parameter or an element in memory.
type Type uint8

// The types.
const (
	I32 Type = iota
	U32
	F32
	U64
	BF16
	F16
)

// Bytes is the size, and the alignment of a parameter or element.
func (t Type) Bytes() int {
	switch t {
	case U64:
		return 8
	case BF16, F16:
		return 2
	}
	return 4
}

// PTX names the type of a parameter. PTX needs no signed types here.
func (t Type) PTX() string { return [...]string{"u32", "u32", "f32", "u64"}[t] }

// A Scalar is a value that a kernel can take from its launch, by name.
type Scalar struct {
	Name   string
	Type   Type
	Field  string // field of runtime/device.Env, or a method without arguments
	Half   Half   // part of the field
	Of     Scope
	Sample float64 // a plausible value, for checks of single kernels
	Hidden bool    // for lowering only; tensor functions cannot use it
}

// A Half says which part of a field a scalar is.
type Half uint8

// The halves: a field of 64 bits is two scalars.
const (
	Whole Half = iota
	Low
	High
)

// A Scope says which launches share the value of a scalar.
type Scope uint8

// The scopes. Scalars of a step lie in device memory, so that a recorded graph can be replayed
// with new values. Scalars of a shape and of a replica also lie there if entries take shapes
// (Signature.Shapes). All others are parameters.
const (
	OfLaunch  Scope = iota
	OfShape         // replicas may differ in it if entries take shapes
	OfReplica       // without shapes, a second parameter is the increment to the next replica
	OfStep
)

// scalars is the only list of scalars: all that binds, prints or checks scalars uses it.
// Scalars of a step lie in memory in this order.
var scalars = [...]Scalar{
	{"B", I32, "B", Whole, OfShape, 2, false},
	{"T", I32, "T", Whole, OfShape, 7, false},
	{"S", I32, "S", Whole, OfShape, 8, false},
	{"R", I32, "Rows()", Whole, OfShape, 0, true},
	{"C", I32, "C", Whole, OfShape, 7, false},
	{"P", I32, "P", Whole, OfLaunch, 0, false},
	{"N", I32, "N", Whole, OfLaunch, 485, false},
	{"recurrences", I32, "WithGrad", Whole, OfLaunch, 2, false},
	{"layer", I32, "Layer", Whole, OfLaunch, 0, false},
	{"step", U32, "Step", Whole, OfStep, 3, false},
	{"example", U32, "Example", Whole, OfReplica, 40, true},
	{"seed0", U32, "Seed", Low, OfStep, 9, true},
	{"seed1", U32, "Seed", High, OfStep, 8, true},
	{"scale", F32, "Scale", Whole, OfStep, 0.05, false},
	{"lr", F32, "LR", Whole, OfStep, 0.01, false},
	{"bias_correction1", F32, "BiasCorrection1", Whole, OfStep, 1.5, false},
	{"bias_correction2", F32, "BiasCorrection2", Whole, OfStep, 20, false},
	{"clip", F32, "Clip", Whole, OfStep, 0.5, false},
	{"decay", F32, "Decay", Whole, OfLaunch, 0.1, false},
	{"bound", F32, "Bound", Whole, OfLaunch, -0.25, false},
}

// Scalars lists all scalars of a trainer's launches, in the order in which kernels take them.
func Scalars() []Scalar { return scalars[:] }

// Find returns the scalar of a name.
func Find(name string) (Scalar, bool) {
	if i := slices.IndexFunc(scalars[:], func(s Scalar) bool { return s.Name == name }); i >= 0 {
		return scalars[i], true
	}
	return Scalar{}, false
}

// Sizes in bytes or words.
const (
	WordBytes = 4  // bytes of a word, the unit of spaces
	TileAlign = 16 // alignment of tiles and of a block's scratch memory
	StepWords = 8  // words in the block of a step's scalars
	// ShapeWords is the size of a replica's shape: its scalars in the order of the table, and
	// the number of the replica in the last word.
	ShapeWords = 8
	RefBytes   = 16 // bytes of a buffer's parameters
)

// ScratchBytes returns the scratch memory of a block that needs n bytes of tiles.
func ScratchBytes(n int64) int64 { return (n + TileAlign - 1) / TileAlign * TileAlign }

// ofStep and ofShape are the scalars of a step's block and of a shape, in order.
var (
	ofStep  = within(OfStep)
	ofShape = within(OfShape, OfReplica)
)

func within(scopes ...Scope) []Scalar {
	return slices.DeleteFunc(slices.Clone(scalars[:]), func(s Scalar) bool { return !slices.Contains(scopes, s.Of) })
}

// StepWord returns the word of a scalar in the step's block, or -1.
func StepWord(name string) int { return word(ofStep, name) }

// ShapeWord returns the word of a scalar in a shape, or -1.
func ShapeWord(name string) int { return word(ofShape, name) }

func word(of []Scalar, name string) int {
	return slices.IndexFunc(of, func(s Scalar) bool { return s.Name == name })
}

// A Shape distinguishes a replica from others: the bits of its scalars and its number.
type Shape [ShapeWords]uint32

// NewShape returns the shape of a replica. The bits function gives each scalar.
func NewShape(replica int, bits func(s Scalar) uint32) Shape {
	shape := Shape{ShapeWords - 1: uint32(replica)}
	for i, s := range ofShape {
		shape[i] = bits(s)
	}
	return shape
}

// Append appends the shape to b.
func (s *Shape) Append(b []byte) []byte {
	for _, w := range s {
		b = AppendU32(b, w)
	}
	return b
}

// A Signature lists the parameters that the entry of a kernel takes in addition to its buffers.
// In order, the parameters are:
//
//   - for each buffer, the address of element 0 for replica 0 and the bytes from one
//     replica to the next (u64, u64); an entry that takes several sets of buffers has
//     the sets one after the other in one array (align 16);
//   - with Shapes, the address of the array of shapes of the launch's replicas (u64);
//   - each of Scalars; for a scalar OfReplica, its value for replica 0 and the increment to
//     the next replica;
//   - with Step, the address of the step's scalars (u64);
//   - with Scratch, the address of scratch memory and the bytes that a block has of it
//     (u64, u64). Address 0 means dynamic shared memory.
//
// Block (x, y, z) of a grid computes cells of replica y on the buffers of set z. With
// Shapes, the replica is the number in shape y.
type Signature struct {
	Scalars               []Scalar // scalars that are parameters
	Shapes, Step, Scratch bool
	Sets                  int // most sets of buffers in a launch, with the same scalars; 0: 1
}

// Sign makes the signature of an entry that takes the named scalars, which find finds.
func Sign(find func(name string) (Scalar, bool), scalars []string, shapes, step, scratch bool) (Signature, error) {
	s := Signature{Shapes: shapes, Step: step, Scratch: scratch}
	for _, name := range scalars {
		scalar, known := find(name)
		if !known || scalar.Of == OfStep || shapes && ShapeWord(name) >= 0 {
			return s, fmt.Errorf("no parameter of a launch is called %q", name)
		}
		s.Scalars = append(s.Scalars, scalar)
	}
	return s, nil
}

// Types lists the parameter types of an entry with the given number of buffers in a set.
func (s *Signature) Types(buffers int) []Type {
	var all []Type
	for range buffers {
		all = append(all, U64, U64)
	}
	if s.Shapes {
		all = append(all, U64)
	}
	for _, scalar := range s.Scalars {
		all = append(all, scalar.Type)
		if scalar.Of == OfReplica {
			all = append(all, scalar.Type)
		}
	}
	if s.Step {
		all = append(all, U64)
	}
	if s.Scratch {
		all = append(all, U64, U64)
	}
	return all
}

// Args are the values of the parameters of a launch.
type Args struct {
	Buffers []Buffer // one set after the other
	Sets    int      // number of sets in Buffers; 0: 1
	Shapes  uint64   // address
	Words   []uint32 // the bits of Scalars
	Further uint32   // increment of a scalar OfReplica to the next replica
	Step    uint64   // address
	Scratch uint64   // address
	Bytes   uint64   // scratch bytes of a block
}

// A Buffer is the place of a buffer on the device.
type Buffer struct{ At, Stride uint64 } // Stride is the bytes from one replica to the next

// Append appends packed parameters to b, whose length is a multiple of 8.
func (s *Signature) Append(b []byte, a *Args) []byte {
	for _, x := range a.Buffers {
		b = AppendU64(AppendU64(b, x.At), x.Stride)
	}
	if have := max(a.Sets, 1); s.Sets > have {
		b = append(b, make([]byte, (s.Sets-have)*len(a.Buffers)/have*RefBytes)...)
	}
	if s.Shapes {
		b = AppendU64(b, a.Shapes)
	}
	for i, scalar := range s.Scalars {
		b = AppendU32(b, a.Words[i])
		if scalar.Of == OfReplica {
			b = AppendU32(b, a.Further)
		}
	}
	if s.Step {
		b = AppendU64(b, a.Step)
	}
	if s.Scratch {
		b = AppendU64(AppendU64(b, a.Scratch), a.Bytes)
	}
	return b
}

// AppendU32 appends a parameter of 4 bytes.
func AppendU32(b []byte, x uint32) []byte { return binary.LittleEndian.AppendUint32(b, x) }

// AppendU64 appends an 8-byte parameter, aligned to 8 bytes.
func AppendU64(b []byte, x uint64) []byte {
	for len(b)%8 != 0 {
		b = append(b, 0)
	}
	return binary.LittleEndian.AppendUint64(b, x)
}
