package expr

import "fmt"

// A row of the op table has the properties of an op, apart from its derivative (diff.go) and its expansion (expand.go).
type row struct {
	name  string // operator symbol if prec > 0, else name of the call
	prec  int    // binding strength as in Go, 1 (loosest) to 6 (unary); 0 for calls
	arity int    // -1: any
	typ   rule
	impl  impl
}

// precUnary is the binding strength of unary operators.
const precUnary = 6

// ops is indexed by Op. The rows of Const, Var and Elem are only names, because each leaf has its own type and value.
var ops = [numOps]row{
	Const: {name: "const"},
	Var:   {name: "var"},
	Elem:  {name: "elem", arity: -1},

	Add: {"+", 4, 2, alike(f32 | i32 | u32), impl{addF[float64], addF[float32], addI[int32], addI[uint32], nil}},
	Sub: {"-", 4, 2, alike(f32 | i32 | u32), impl{subF[float64], subF[float32], subI[int32], subI[uint32], nil}},
	Mul: {"*", 5, 2, alike(f32 | i32 | u32), impl{mulF[float64], mulF[float32], mulI[int32], mulI[uint32], nil}},
	Div: {"/", 5, 2, alike(f32 | i32 | u32), impl{divF[float64], divF[float32], divI[int32], divI[uint32], nil}},
	Mod: {"%", 5, 2, alike(i32 | u32), impl{nil, nil, modI[int32], modI[uint32], nil}},
	Neg: {"-", precUnary, 1, alike(f32 | i32), impl{negF, negF, negI, nil, nil}},
	Abs: {"abs", 0, 1, alike(f32 | i32), impl{absF, absF, absI, nil, nil}},
	Min: {"min", 0, 2, alike(f32 | i32 | u32), impl{minF, minF, minI, minI, nil}},
	Max: {"max", 0, 2, alike(f32 | i32 | u32), impl{maxF, maxF, maxI, maxI, nil}},

	Floor: {"floor", 0, 1, alike(f32), impl{floorF, floorF, nil, nil, nil}},
	Sqrt:  {"sqrt", 0, 1, alike(f32), impl{sqrt[float64], sqrt[float32], nil, nil, nil}},
	Fma:   {"fma", 0, 3, alike(f32), impl{fmaF64, fmaF32, nil, nil, nil}},

	Lt:  {"<", 3, 2, compare(f32 | i32 | u32), impl{ltF, ltF, ltI, ltI, nil}},
	Le:  {"<=", 3, 2, compare(f32 | i32 | u32), impl{leF, leF, leI, leI, nil}},
	Eq:  {"==", 3, 2, compare(f32 | i32 | u32 | boolean), impl{eqF, eqF, eqI, eqI, eqI}},
	Ne:  {"!=", 3, 2, compare(f32 | i32 | u32 | boolean), impl{neF, neF, neI, neI, neI}},
	And: {"&", 5, 2, alike(i32 | u32 | boolean), impl{nil, nil, and, and, and}},
	Or:  {"|", 4, 2, alike(i32 | u32 | boolean), impl{nil, nil, or, or, or}},
	Xor: {"^", 4, 2, alike(i32 | u32 | boolean), impl{nil, nil, xor, xor, xor}},
	Not: {"!", precUnary, 1, alike(i32 | u32 | boolean), impl{nil, nil, not[int32], not[uint32], notB}},

	Where: {"where", 0, 3, choose, impl{pick, pick, pick, pick, pick}},

	ToF32: {"f32", 0, 1, convert(i32|u32|narrow, F32), impl{nil, nil, toF, toF, nil}},
	ToI32: {"i32", 0, 1, convert(f32, I32), impl{toI, toI, nil, nil, nil}},
	BitsF: {"bits_f32", 0, 1, convert(u32, F32), impl{nil, nil, nil, bitsF, nil}},
	FBits: {"f32_bits", 0, 1, convert(f32, U32), impl{fBits, fBits, nil, nil, nil}},
	Shl:   {"<<", 5, 2, shift, impl{nil, nil, shl[int32], shl[uint32], nil}},
	Shr:   {">>", 5, 2, shift, impl{nil, nil, shr[int32], shr[uint32], nil}},
	AsU32: {"as_u32", 0, 1, convert(i32|narrow, U32), impl{nil, nil, cast[uint32], nil, nil}},
	AsI32: {"as_i32", 0, 1, convert(u32, I32), impl{nil, nil, nil, cast[int32], nil}},

	AsBF16: {"as_bf16", 0, 1, convert(u32, BF16), impl{nil, nil, nil, cast[uint16], nil}},
	AsF16:  {"as_f16", 0, 1, convert(u32, F16), impl{nil, nil, nil, cast[uint16], nil}},

	ToBF16: {"bf16", 0, 1, convert(f32, BF16), impl{}},
	ToF16:  {"f16", 0, 1, convert(f32, F16), impl{}},
	ToTF32: {"tf32", 0, 1, alike(f32), impl{}},

	Exp:     {"exp", 0, 1, alike(f32), impl{expF, nil, nil, nil, nil}},
	Log:     {"log", 0, 1, alike(f32), impl{logF, nil, nil, nil, nil}},
	Tanh:    {"tanh", 0, 1, alike(f32), impl{tanhF, nil, nil, nil, nil}},
	Sigmoid: {"sigmoid", 0, 1, alike(f32), impl{sigmoidF, nil, nil, nil, nil}},
	Erf:     {"erf", 0, 1, alike(f32), impl{erfF, nil, nil, nil, nil}},
	Sin:     {"sin", 0, 1, alike(f32), impl{sinF, nil, nil, nil, nil}},
	Cos:     {"cos", 0, 1, alike(f32), impl{cosF, nil, nil, nil, nil}},

	Softplus: {"softplus", 0, 1, alike(f32), impl{softplusF, nil, nil, nil, nil}},
}

// String returns the operator symbol or the name of the call.
func (op Op) String() string {
	if op >= numOps {
		return fmt.Sprintf("op(%d)", uint8(op))
	}
	return ops[op].name
}

// Transcendental reports whether op is a function that Expand replaces by a series.
func (op Op) Transcendental() bool { return op >= Exp && op < numOps }

// FuncByName returns the op whose text is a call of name.
func FuncByName(name string) (Op, bool) {
	for op := Add; op < numOps; op++ {
		if ops[op].prec == 0 && ops[op].name == name {
			return op, true
		}
	}
	return 0, false
}

// operator returns the op whose text has the symbol between two operands (arity 2) or before one (arity 1).
func operator(symbol string, arity int) (Op, bool) {
	switch symbol {
	case "&&":
		symbol = "&"
	case "||":
		symbol = "|"
	}
	for op := Add; op < numOps; op++ {
		if r := &ops[op]; r.prec > 0 && r.arity == arity && r.name == symbol {
			return op, true
		}
	}
	return 0, false
}
