// Package ptx reads PTX, NVIDIA's assembly text, into a checked Module: which
// kernels there are, their parameters, registers and variables, and their
// instructions with every name resolved. Before it is any compiler that writes
// PTX; after it is the simulator, which runs the module.
//
// What the package does not know it rejects, naming the line: an instruction
// is accepted only when a form of the instruction table matches all of it,
// opcode, modifiers, types and operands.
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

// Error says what is wrong with the text and where.
type Error struct {
	Line int
	Msg  string
}

func (e *Error) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.Msg) }

// Version is the .version of a module: of the PTX language, not of a GPU.
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
	// Regs are the registers that the body uses; an operand names one by its index.
	Regs []Reg
	// Vars are the shared and local variables, with their offsets in the windows
	// of the kernel. One of module scope that the kernel uses is copied into it.
	Vars       []*Var
	ParamSize  int64
	StaticSize int64 // bytes of static shared memory
	LocalSize  int64 // bytes of local memory a thread
	// DynamicOffset is where .extern .shared arrays start, all of them.
	DynamicOffset int64
	Instrs        []Instr
	Labels        []Label // in order of the instructions they mark

	MaxThreads      [3]int // .maxntid; zero where none is given
	RequiredThreads [3]int // .reqntid; zero where none is given
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
	Size   int64 // bytes; 0 for an .extern array of no size
	Offset int64 // in the parameter block, or the kernel's shared or local window
	Extern bool
	Frame  bool // in local memory, but .param to the text: of a call or a function
	// Init is what a global or const variable starts with, Size bytes; nil is zeros.
	Init   []byte
	Relocs []Reloc
	Dims   []int64 // of an array; the first is 0 where the initialiser has the length
}

// Reloc asks for the address of Var plus Addend at Offset of an initialiser.
type Reloc struct {
	Offset  int64
	Size    int // bytes: 4 or 8, or those of an element with a Mask
	Var     *Var
	Addend  int64
	Generic bool   // the generic address, not the one in the variable's space
	Mask    uint64 // the byte of the address that is asked for, as 0xff00; 0: all of it
}

// Of is what an initialiser has of the address of Var.
func (r *Reloc) Of(address uint64) uint64 {
	address += uint64(r.Addend)
	if r.Mask != 0 {
		address = address & r.Mask >> bits.TrailingZeros64(r.Mask)
	}
	return address
}

// Instr is an instruction.
type Instr struct {
	// Op is the name in the instruction table: the opcode and those modifiers
	// that make it another instruction, such as "add", "cp.async", "bar.sync".
	Op string
	// Mods are the other modifiers in the order of the table, without dots, types
	// and state space included: "rn", "ftz", "f32".
	Mods  []string
	Types []Type // the type modifiers in order
	Space Space  // the state space; Generic when none is written
	Guard Guard
	Args  []Operand // destinations first, as written
	Form  *Form     // the row of the instruction table that matched
	Line  int       // in the PTX text
	Loc   Loc       // in the source, by .loc
}

// Has says whether the instruction has a modifier, such as "ftz".
func (in *Instr) Has(mod string) bool {
	return slices.Contains(in.Mods, mod)
}

// Pick returns the one of some exclusive modifiers that the instruction has, or "".
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

// Loc is a place in the source that a compiler named; the zero Loc is none.
type Loc struct{ File, Line, Col int }

// OperandKind says which fields of an Operand count.
type OperandKind uint8

// The operands.
const (
	RegArg     OperandKind = iota // Reg; Not for !p
	ImmArg                        // Imm: the bits, in the width of Type
	SpecialArg                    // Special
	SymArg                        // the address of Var, plus Off
	MemArg                        // [base+Off]: the base is Reg if not NoReg, else Var if not nil, else nothing
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
	Type    Type // that the instruction reads or writes it as; of each element for VecArg
	Reg     int
	Not     bool
	Imm     uint64
	Special Special
	Var     *Var
	Off     int64
	Elems   []Operand
	Targets []int
}
