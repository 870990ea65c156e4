// Package ptx reads PTX, NVIDIA's assembly text, into a checked Module: the kernels with their
// parameters, registers, variables and instructions. Every name is resolved. The text may come
// from any compiler; the simulator runs the module.
//
// The package rejects unknown text and names its line. It accepts an instruction only if a form
// of the instruction table matches its opcode, modifiers, types and operands.
package ptx

import (
	"fmt"
	"math/bits"
	"slices"
)

// Parse reads and checks a module. Its error is an *Error.
func Parse(text []byte) (*Module, error) {
	p := &parser{lex: lexer{text: text, line: 1}}
	return p.module()
}

// Error is a mistake in the text, and its line.
type Error struct {
	Line int
	Msg  string
}

func (e *Error) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.Msg) }

// Version is the .version of a module: a version of the PTX language, not of a GPU.
type Version struct{ Major, Minor int }

// Module is a whole file.
type Module struct {
	Version Version
	Arch    int    // of .target: 80 for sm_80
	Suffix  string // of .target: "a" for sm_90a
	Files   map[int]string
	Vars    []*Var // module scope, in order: global, const and shared
	Kernels []*Kernel
}

// Kernel is an .entry.
type Kernel struct {
	Name   string
	Line   int
	Params []*Var
	// Regs are the registers in the body. Operands refer to them by index.
	Regs []Reg
	// Vars are the shared and local variables, with their offsets in the windows of the kernel.
	// Shared variables of the module are copied into the kernel if it uses them.
	Vars       []*Var
	ParamSize  int64
	StaticSize int64 // bytes of static shared memory
	LocalSize  int64 // bytes of local memory per thread
	// DynamicOffset is where all .extern .shared arrays start.
	DynamicOffset int64
	Instrs        []Instr
	Labels        []Label // in the order of the instructions that they mark

	MaxThreads      [3]int // .maxntid; zero if missing
	RequiredThreads [3]int // .reqntid; zero if missing
	MinCTAs         int    // .minnctapersm
	MaxRegs         int    // .maxnreg
}

// Label names the instruction with the index At.
type Label struct {
	Name string
	At   int
}

// Reg is a declared register.
type Reg struct {
	Name string
	Type Type
}

// Var is a variable or a parameter.
type Var struct {
	Name   string
	Line   int
	Space  Space // Param, Global, Const, Shared or Local
	Type   Type  // of an element
	Align  int64
	Size   int64 // bytes; 0 for an .extern array without a size
	Offset int64 // in the parameter block, or the kernel's shared or local window
	Extern bool
	Frame  bool // a variable of a call or a function: .param in the text, but in local memory
	// Init holds the Size initial bytes of a global or const variable; nil means zeros.
	Init   []byte
	Relocs []Reloc
	Dims   []int64 // of an array; the first is 0 if the initialiser sets the length
}

// Reloc adds the address of Var plus Addend at Offset of an initialiser.
type Reloc struct {
	Offset  int64
	Size    int // bytes: 4 or 8, or with a Mask the size of the element
	Var     *Var
	Addend  int64
	Generic bool   // use the generic address, not the address in the variable's space
	Mask    uint64 // the byte of the address to use, as 0xff00; 0: the whole address
}

// Of returns the value of the Reloc, given the address of Var.
func (r *Reloc) Of(address uint64) uint64 {
	address += uint64(r.Addend)
	if r.Mask != 0 {
		address = address & r.Mask >> bits.TrailingZeros64(r.Mask)
	}
	return address
}

// Instr is an instruction.
type Instr struct {
	// Op is the name in the instruction table: the opcode and the modifiers that distinguish
	// instructions, such as "add", "cp.async", "bar.sync".
	Op string
	// Mods are the other modifiers, in the order of the table, without dots. They include types
	// and the state space: "rn", "ftz", "f32".
	Mods  []string
	Types []Type // the type modifiers in order
	Space Space  // the state space; Generic without one
	Guard Guard
	Args  []Operand // destinations first, as written
	Form  *Form     // the matching row of the instruction table
	Line  int       // in the PTX text
	Loc   Loc       // in the source, by .loc
}

// Has reports whether the instruction has a modifier, such as "ftz".
func (in *Instr) Has(mod string) bool {
	return slices.Contains(in.Mods, mod)
}

// Pick returns the modifier of the instruction that is among mods, or "".
func (in *Instr) Pick(mods ...string) string {
	for _, m := range mods {
		if in.Has(m) {
			return m
		}
	}
	return ""
}

// Guard is the predicate of an instruction: @p or @!p.
type Guard struct {
	Used bool
	Not  bool
	Reg  int // index in Kernel.Regs
}

// Loc is a place in the source, given by the compiler. The zero Loc means no place.
type Loc struct{ File, Line, Col int }

// OperandKind tells which fields of an Operand count.
type OperandKind uint8

// The kinds of operands.
const (
	RegArg     OperandKind = iota // Reg; Not for !p
	ImmArg                        // Imm: the bits, in the width of Type
	SpecialArg                    // Special
	SymArg                        // the address of Var, plus Off
	MemArg                        // [base+Off]: the base is Reg if not NoReg, else Var if not nil, else 0
	VecArg                        // {Elems}
	PairArg                       // Elems[0]|Elems[1]
	SinkArg                       // _
	LabelArg                      // Targets[0], an index in Kernel.Instrs
	TableArg                      // Targets: a .branchtargets list
)

// NoReg is the Reg of a memory operand without a base register.
const NoReg = -1

// Operand is an argument of an instruction.
type Operand struct {
	Kind    OperandKind
	Type    Type // for reading or writing; of each element for VecArg
	Reg     int
	Not     bool
	Imm     uint64
	Special Special
	Var     *Var
	Off     int64
	Elems   []Operand
	Targets []int
}
