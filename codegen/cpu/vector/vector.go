// Package vector compiles vector kernels, the stretches of kernels without matrix products, to
// assembly for AVX-512, AVX2 and NEON. Package codegen/cpu cuts kernels into vector kernels, after
// the passes of package flat, and prints the calls.
//
// The assembly computes the bits of the kernel interpreter. Scalars of the kernel
// are in general registers or slots of the worker's frame, elements in vector
// registers over the innermost axis.
package vector

import (
	"fmt"
	"maps"

	"github.com/arithlang/mlc/codegen/cost"
	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/kernel"
)

// A Kernel is a stretch of a kernel without matrix products. It becomes a function
//
//	func NAME_ISA(frame *byte, slices…, values…)
//
// for each instruction set. ISA is AVX512, AVX2 or NEON, and the underscore is left out. The
// frame has FrameBytes on a 64-byte boundary. No index may be out of range or depend on loaded
// data. Elements of 16 bits lie in rows.
type Kernel struct {
	Name   string        // Go name without the suffix of the instruction set
	Doc    string        // one line
	Body   []kernel.Stmt // no Tile and no Dot
	Slices []Slice       // slices that Body indexes, in order of the parameters
	Values []Value       // scalars that Body reads but does not bind

	// Instructions counts the instructions that a call executes, by the suffix of the
	// instruction set, over the names of Values. Assembly.Add sets it.
	Instructions map[string]cost.Tally
}

// A Slice is a buffer or tile: *float32, *int32, *uint32 or, for BF16 and F16, *uint16 in Go.
type Slice struct {
	Name string
	Type expr.Type
}

// A Value is a scalar: int (I32), uint32 or float32 in Go.
type Value struct {
	Name string
	Type expr.Type
}

// FrameBytes bounds the bytes that a vector kernel uses of its frame.
const FrameBytes = 1 << 14

// An Assembly is the code of vector kernels in one file for each architecture.
type Assembly struct{ architectures []architecture }

// An architecture collects the functions of its instruction sets.
type architecture interface {
	// machines returns a function for each instruction set that begins the machine of a
	// kernel.
	machines(name, doc string) []func(*fn) machine
	// keep adds the functions of the last kernel. If there is an error, it drops them all.
	keep(err error)
	// files prints all functions.
	files(pkg, header, name string) (map[string][]byte, error)
}

// NewAssembly returns an Assembly without code.
func NewAssembly() *Assembly { return &Assembly{[]architecture{newAMD64(), newARM()}} }

// Add compiles a vector kernel. A kernel that cannot be compiled leaves nothing behind.
func (a *Assembly) Add(l *Kernel) error {
	var machines []func(*fn) machine
	for _, to := range a.architectures {
		machines = append(machines, to.machines(l.Name, l.Doc)...)
	}
	l.Instructions = map[string]cost.Tally{}
	err := compile(l, machines)
	for _, to := range a.architectures {
		to.keep(err)
	}
	if err != nil {
		return fmt.Errorf("vector kernel %s: %w", l.Name, err)
	}
	return nil
}

// Files prints for each architecture the assembly, its declarations, and stand-ins for other
// processors. File names begin with name. An architecture without code has no files.
func (a *Assembly) Files(pkg, header, name string) (map[string][]byte, error) {
	all := map[string][]byte{}
	for _, from := range a.architectures {
		files, err := from.files(pkg, header, name)
		if err != nil {
			return nil, err
		}
		maps.Copy(all, files)
	}
	return all, nil
}
