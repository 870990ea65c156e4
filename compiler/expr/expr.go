// Package expr is the language of scalar computation: attention masks and biases, activations, optimizer updates,
// kernel indices. Package check translates specs to it, tensor and kernel IR contain it, and back ends print it.
//
// An Expr is an immutable DAG node. Transcendental functions are ordinary nodes until
// Expand replaces them by IEEE operations, so that every back end computes the same bits.
package expr

// Type is the type of a scalar. I32 is for indices and positions, U32 for random bits and bit patterns. BF16 and F16
// are types of elements, which can only be loaded, stored and converted. Everything else is computed in F32.
type Type uint8

// The scalar types.
const (
	F32 Type = iota
	I32
	U32
	Bool
	BF16 // bfloat16: the upper half of an F32
	F16  // IEEE binary16
)

// Op is a node's operation. The table ops (ops.go) has each op's name, arity, typing rule and value.
type Op uint8

// The operations. Operands of arithmetic have one type. F32 arithmetic rounds to nearest even after every
// operation and never fuses, except Fma. Min(a, b) is Where(a < b, a, b) and Max(a, b) is Where(a > b, a,
// b), also for NaN and signed zeros. Integer Div and Mod truncate towards zero as in Go.
const (
	Const Op = iota // F (F32) or I (other types)
	Var             // Name: an index, a length, a scalar parameter or a let
	Elem            // Name[Args...]: an element of a tile or a learned parameter

	Add
	Sub
	Mul
	Div
	Mod
	Neg
	Abs
	Min
	Max
	Floor
	Sqrt
	Fma // Fma(a, b, c) is a * b + c, rounded once

	Lt
	Le
	Eq
	Ne
	And // Bool, or bitwise on I32 and U32
	Or
	Xor
	Not
	Where // Where(cond, a, b)

	ToF32  // from I32 or U32, rounded to nearest even; from BF16 or F16, exact
	ToI32  // from F32: truncates towards zero
	BitsF  // bit pattern U32 -> F32
	FBits  // bit pattern F32 -> U32
	Shl    // U32 or I32, amount in 0..31
	Shr    // logical on U32, arithmetic on I32
	AsU32  // I32 -> U32, same bits; BF16 or F16 -> U32, the lower half
	AsI32  // U32 -> I32, same bits
	AsBF16 // U32 -> BF16, its lower half
	AsF16  // U32 -> F16, its lower half

	// Roundings of F32 to nearest even, in which all NaNs become one (narrow.go). Expand removes them.
	ToBF16
	ToF16
	ToTF32 // to an F32 whose significand has 10 bits after the point

	// Transcendental functions. Expand removes them.
	Exp
	Log
	Tanh
	Sigmoid
	Erf
	Sin
	Cos
	Softplus

	numOps
)

// An Expr is one node. It is immutable; share it freely.
type Expr struct {
	Op   Op
	Type Type
	Args []*Expr
	F    float64 // value of an F32 constant (exactly representable in float32 once rounded)
	I    int64   // value of an I32, U32 or Bool (0 or 1) constant; BF16 and F16 have no constants
	Name string  // of a Var or Elem
}
