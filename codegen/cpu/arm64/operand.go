package arm64

import "fmt"

// Reg is a general register: R0 to R26 without R18, or ZR, which reads as zero.
// The platform and Go keep the others (R18, R27 to R30): an instruction that
// names one of them is refused.
type Reg uint8

// General registers.
const (
	R0 Reg = iota
	R1
	R2
	R3
	R4
	R5
	R6
	R7
	R8
	R9
	R10
	R11
	R12
	R13
	R14
	R15
	R16
	R17
	R18
	R19
	R20
	R21
	R22
	R23
	R24
	R25
	R26
	R27
	R28
	R29
	R30
	ZR
)

// usable reports whether functions may use the register.
func (r Reg) usable() bool { return r <= R26 && r != R18 || r == ZR }

// Vec is a vector register of 128 bits. All of them are free in a function.
type Vec uint8

// Vector registers.
const (
	V0 Vec = iota
	V1
	V2
	V3
	V4
	V5
	V6
	V7
	V8
	V9
	V10
	V11
	V12
	V13
	V14
	V15
	V16
	V17
	V18
	V19
	V20
	V21
	V22
	V23
	V24
	V25
	V26
	V27
	V28
	V29
	V30
	V31
)

// Elem is element I of a vector. Its width is the instruction's.
type Elem struct {
	V Vec
	I int
}

// List is N consecutive vector registers (V0 follows V31).
type List struct {
	First Vec
	N     int
}

// Imm is a constant.
type Imm int64

// Mem is a place in memory: Base + Off. If Indexed is set, it is Base + Index; if Scaled is
// set, too, it is Base + Index * (bytes of the access). With Post the place is Base, and Base
// grows by Off (or by Index) after the access.
type Mem struct {
	Base    Reg
	Off     int
	Index   Reg
	Indexed bool
	Scaled  bool
	Post    bool
}

// At is the place base + off.
func At(base Reg, off int) Mem { return Mem{Base: base, Off: off} }

// AtScaled is element index of the array at base. Elements are as wide as the access.
func AtScaled(base, index Reg) Mem {
	return Mem{Base: base, Index: index, Indexed: true, Scaled: true}
}

// Post is the place base, which then grows by off bytes.
func Post(base Reg, off int) Mem { return Mem{Base: base, Off: off, Post: true} }

// PostIndex is the place base, which then grows by the bytes in index.
func PostIndex(base, index Reg) Mem {
	return Mem{Base: base, Index: index, Indexed: true, Post: true}
}

// Param is a parameter or the result of the function, by name.
type Param string

// Sym is the address of static data of the file, Off bytes into it.
type Sym struct {
	Name string
	Off  int
}

// Label is the target of a jump.
type Label string

// Operand is one of Reg, Vec, Elem, List, Imm, Mem, Param, Sym and Label.
type Operand interface{ operand() }

func (Reg) operand()   {}
func (Vec) operand()   {}
func (Elem) operand()  {}
func (List) operand()  {}
func (Imm) operand()   {}
func (Mem) operand()   {}
func (Param) operand() {}
func (Sym) operand()   {}
func (Label) operand() {}

// argument is a Param whose place in the argument area is known.
type argument struct {
	name       string
	off, bytes int
}

func (argument) operand() {}

func (r Reg) String() string {
	if r == ZR {
		return "ZR"
	}
	return fmt.Sprintf("R%d", uint8(r))
}

func (v Vec) String() string  { return fmt.Sprintf("V%d", uint8(v)) }
func (e Elem) String() string { return fmt.Sprintf("%v[%d]", e.V, e.I) }
func (l List) String() string { return fmt.Sprintf("{%v x %d}", l.First, l.N) }
func (i Imm) String() string  { return fmt.Sprintf("#%d", int64(i)) }

func (m Mem) String() string {
	step := fmt.Sprintf("#%d", m.Off)
	if m.Indexed {
		step = m.Index.String()
	}
	if m.Scaled {
		step += " scaled"
	}
	if m.Post {
		return fmt.Sprintf("[%v], %s", m.Base, step)
	}
	return fmt.Sprintf("[%v, %s]", m.Base, step)
}
