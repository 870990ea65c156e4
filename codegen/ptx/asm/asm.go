// Package asm is the low-level IR of kernels for a GPU: instructions over typed values, in a tree
// of loops and regions. Package codegen/ptx builds it. Verify checks it, passes (passes.go) make
// it smaller, and a Module prints it as PTX for ptxas, the driver or the simulator.
package asm

import (
	"fmt"
	"math"
	"strings"
)

// A Class is a kind of register.
type Class uint8

// The classes, by the letter that forms use.
const (
	Pred  Class = 'p'
	Word  Class = 'r' // 32 bits: integers of any sign
	Float Class = 'f' // 32 bits: a float
	Half  Class = 'h' // 16 bits: a narrow float
	Wide  Class = 'd' // 64 bits: addresses
)

// classes gives each class the type of its declarations and copies, the prefix of its registers,
// and its bytes in memory (0 if it is not stored).
var classes = map[Class]struct {
	typ, prefix string
	bytes       int
}{
	Pred:  {"pred", "%p", 0},
	Word:  {"b32", "%r", 4},
	Float: {"f32", "%f", 4},
	Half:  {"b16", "%h", 2},
	Wide:  {"b64", "%d", 8},
}

// A Value is an operand: a constant, the result of one instruction, or a variable, which several
// instructions may set.
type Value struct {
	class Class
	kind  kind
	n     int64 // a constant, the bits of a float; else a number within the function
}

type kind uint8

const (
	none kind = iota
	constant
	single // the result of one instruction
	variable
)

// Valid reports whether v is not the zero Value.
func (v Value) Valid() bool { return v.kind != none }

// Class returns the class of a value.
func (v Value) Class() Class { return v.class }

// Const returns the value of an integer constant, and whether v is one.
func (v Value) Const() (int64, bool) { return v.n, v.kind == constant && v.class != Float }

// Zero returns the constant of a class with all bits 0.
func (c Class) Zero() Value { return Value{c, constant, 0} }

// MinusZero returns -0 of a class of floats.
func (c Class) MinusZero() Value { return Value{c, constant, 1 << (8*classes[c].bytes - 1)} }

// Int returns an integer constant.
func Int[N int | int64](n N) Value { return Value{Word, constant, int64(n)} }

// WideInt returns a 64-bit constant.
func WideInt(n int64) Value { return Value{Wide, constant, n} }

// F32 returns a float constant, exact to the bit.
func F32(x float32) Value { return Value{Float, constant, int64(math.Float32bits(x))} }

// Bool returns a constant predicate.
func Bool(b bool) Value {
	if b {
		return Value{Pred, constant, 1}
	}
	return Value{Pred, constant, 0}
}

// Space is a state space. Addresses of shared memory have 32 bits.
type Space string

// The spaces.
const (
	Global  Space = "global"
	Shared  Space = "shared"
	Generic Space = ""
	Params  Space = "param" // launch parameters: read-only
)

// A Memory is a part of a space. Memories with different names do not overlap.
type Memory struct {
	Space Space
	Name  string
}

// An Address is a base and an offset in bytes in a memory.
type Address struct {
	Memory Memory
	Base   Value
	Bytes  int
}

// At returns an address in the named part of a space.
func (s Space) At(name string, base Value) Address { return Address{Memory{s, name}, base, 0} }

// Plus returns the address bytes further.
func (a Address) Plus(bytes int) Address { return Address{a.Memory, a.Base, a.Bytes + bytes} }

// An Instr is an instruction, or a region with a body of instructions. An opIf runs its body
// if its operand holds. An opLoop runs its body once, and again while its operand, which the
// body computes, holds.
type Instr struct {
	op     string
	dst    []Value
	args   []Value
	text   string // operands that are no values; the text of a comment
	guard  Value  // runs only where it holds
	memory Memory // a load's or store's; the first operand is the address
	bytes  int    // offset from the address
	from   Memory // a copy's source; the second operand is its address
	behind int    // offset from that address
	body   []*Instr
}

// A Func is an entry under construction.
type Func struct {
	Name    string
	Threads int // of a block
	Beside  int // blocks that a multiprocessor must have registers for; 0: ptxas decides

	params []string
	shared []string
	static int // bytes of shared
	body   []*Instr
	at     *[]*Instr // where instructions go
	guard  Value
	values int64
}

// NewFunc begins an entry whose blocks have a number of threads.
func NewFunc(name string, threads int) *Func {
	f := &Func{Name: name, Threads: threads}
	f.at = &f.body
	return f
}

// emit adds an instruction.
func (f *Func) emit(i *Instr) {
	i.guard = f.guard
	if err := i.check(); err != nil {
		panic("BUG: " + err.Error())
	}
	*f.at = append(*f.at, i)
}

// compute adds an instruction with a result.
func (f *Func) compute(c Class, i Instr) Value {
	i.dst = f.fresh(c, single, 1)
	f.emit(&i)
	return i.dst[0]
}

func (f *Func) fresh(c Class, k kind, n int) []Value {
	vs := make([]Value, n)
	for i := range vs {
		f.values++
		vs[i] = Value{c, k, f.values}
	}
	return vs
}

// Param declares the next parameter, of a type such as u64, and returns its value. Its name
// begins with _: ptxas of CUDA 12.4 crashes if a parameter has the name of an entry.
func (f *Func) Param(typ, name string) Value {
	name = "_" + identifier(name)
	f.params = append(f.params, fmt.Sprintf(".param .%s %s", typ, name))
	class := map[string]Class{"u64": Wide, "u32": Word, "f32": Float}[typ]
	return f.compute(class, Instr{op: "ld.param." + typ, text: "[" + name + "]"})
}

// ParamArray declares the next parameter, bytes at a multiple of 16, and returns their address
// in the space Params.
func (f *Func) ParamArray(name string, bytes int) Value {
	name = "_" + identifier(name)
	f.params = append(f.params, fmt.Sprintf(".param .align 16 .b8 %s[%d]", name, bytes))
	return f.compute(Wide, Instr{op: "mov.u64", text: name})
}

// SharedArray declares bytes of static shared memory and returns their address.
func (f *Func) SharedArray(name string, bytes int) Value {
	name = identifier(name)
	f.static = (f.static+15)/16*16 + bytes
	f.shared = append(f.shared, fmt.Sprintf(".shared .align 16 .b8 %s[%d];", name, bytes))
	return f.Special(name)
}

// identifier returns a name in the letters of PTX.
func identifier(name string) string { return strings.ReplaceAll(name, ".", "$") }

// DynamicShared returns the address of the dynamic shared memory, which the module
// declares.
func (f *Func) DynamicShared() Value { return f.Special(dynamicShared) }

// Special returns a special register, such as %tid.x.
func (f *Func) Special(name string) Value { return f.compute(Word, Instr{op: "mov.u32", text: name}) }

// Do computes an instruction of the table that has one form. It folds constant integers.
func (f *Func) Do(op string, args ...Value) Value {
	if len(forms[op]) != 1 {
		panic("BUG: no instruction " + op)
	}
	c := Class(forms[op][0][0])
	if v, ok := folded(op, c, args); ok {
		return v
	}
	return f.compute(c, Instr{op: op, args: args})
}

// New returns a variable without a value.
func (f *Func) New(c Class) Value { return f.fresh(c, variable, 1)[0] }

// Variable returns a variable with an initial value.
func (f *Func) Variable(v Value) Value {
	x := f.New(v.class)
	f.Move(x, v)
	return x
}

// Variables returns n variables with one initial value.
func (f *Func) Variables(n int, v Value) []Value {
	all := make([]Value, n)
	for i := range all {
		all[i] = f.Variable(v)
	}
	return all
}

// Into computes an instruction of the table into a variable.
func (f *Func) Into(dst Value, op string, args ...Value) {
	f.emit(&Instr{op: op, dst: []Value{dst}, args: args})
}

// Move sets a variable.
func (f *Func) Move(dst, src Value) { f.Into(dst, "mov."+classes[dst.class].typ, src) }

// Copy returns the present value of v, which stays the same if the variable v changes.
func (f *Func) Copy(v Value) Value {
	return f.compute(v.class, Instr{op: "mov." + classes[v.class].typ, args: []Value{v}})
}

// As returns the Word or the Float of the same 32 bits.
func (f *Func) As(c Class, v Value) Value {
	return f.compute(c, Instr{op: "mov.b32", args: []Value{v}})
}

// Load reads an element.
func (f *Func) Load(at Address, c Class) Value { return f.Loads(at, c, 1)[0] }

// Loads reads n adjacent elements (1, 2 or 4).
func (f *Func) Loads(at Address, c Class, n int) []Value {
	vs := f.fresh(c, single, n)
	f.LoadInto(at, vs...)
	return vs
}

// LoadInto reads adjacent elements into variables.
func (f *Func) LoadInto(at Address, dst ...Value) {
	f.emit(&Instr{op: opLoad, dst: dst, args: []Value{at.Base}, memory: at.Memory, bytes: at.Bytes})
}

// Store writes 1, 2 or 4 values of one class to adjacent elements.
func (f *Func) Store(at Address, src ...Value) {
	f.emit(&Instr{op: opStore, args: append([]Value{at.Base}, src...), memory: at.Memory, bytes: at.Bytes})
}

// Shuffle returns another lane's value to each lane of a warp. Mode bfly takes the lane whose
// number differs in the bits of by, mode idx lane by.
func (f *Func) Shuffle(mode string, v Value, by int) Value {
	op := "shfl.sync." + mode + ".b32"
	return f.compute(v.class, Instr{op: op, args: []Value{v}, text: fmt.Sprintf("%d, 31, -1", by)})
}

// Ballot returns a bit for each lane of the warp, set where a predicate holds.
func (f *Func) Ballot(p Value) Value {
	return f.compute(Word, Instr{op: opBallot, args: []Value{p}, text: "-1"})
}

// Barrier waits for all threads of the block.
func (f *Func) Barrier() { f.emit(&Instr{op: opBarrier, text: "0"}) }

// WarpSync waits for all lanes of the warp, and orders their memory accesses.
func (f *Func) WarpSync() { f.emit(&Instr{op: opWarpSync, text: "-1"}) }

// If runs the instructions of do where a predicate holds.
func (f *Func) If(p Value, do func()) {
	f.region(opIf, func() Value {
		do()
		return p
	})
}

// Loop runs the instructions of do once, and again while the returned predicate holds.
func (f *Func) Loop(do func() (again Value)) { f.region(opLoop, do) }

func (f *Func) region(op string, do func() Value) {
	i, outer := &Instr{op: op}, f.at
	f.at = &i.body
	i.args = []Value{do()}
	f.at = outer
	f.emit(i)
}

// Rolled, at the start of a loop's body, asks not to unroll the loop.
func (f *Func) Rolled() { f.emit(&Instr{op: opPragma, text: `"nounroll";`}) }

// Return ends the thread.
func (f *Func) Return() { f.emit(&Instr{op: opReturn}) }

// Guarded puts each instruction of do under a predicate.
func (f *Func) Guarded(p Value, do func()) {
	if p.class != Pred || f.guard.Valid() {
		panic("BUG: a guard within a guard, or no predicate")
	}
	f.guard = p
	do()
	f.guard = Value{}
}

// Comment adds a comment line.
func (f *Func) Comment(text string) { f.emit(&Instr{op: opComment, text: text}) }

// Loc assigns the following instructions to a line of a source file, by its number in the module.
func (f *Func) Loc(file, line, column int) {
	f.emit(&Instr{op: opLoc, text: fmt.Sprintf("%d %d %d", file, line, column)})
}
