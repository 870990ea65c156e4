package expr

import "math"

// A Value is a scalar. F holds an F32. I holds an I32, a U32 (0 to 1<<32-1), a Bool (0 or 1) or the bits
// of a BF16 or F16 (0 to 1<<16-1). In 32-bit evaluation F is always a float32 value.
type Value struct {
	F float64
	I int64
}

// fn computes an op on values. Missing operands are zero.
type fn func(a, b, c Value) Value

// impl holds an op's functions by the type of its last operand. F32 has one in float64 and one in float32 arithmetic.
type impl struct{ f64, f32, i32, u32, boolean fn }

// at returns the function for operands of type t.
func (v *impl) at(t Type, wide bool) fn {
	switch {
	case t == F32 && wide:
		return v.f64
	case t == F32:
		return v.f32
	}
	return [...]fn{I32: v.i32, U32: v.u32, Bool: v.boolean}[t]
}

func truth(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// The conversion around each float operation keeps compilers from fusing two operations.

func addF[T float32 | float64](a, b, _ Value) Value { return Value{F: float64(T(T(a.F) + T(b.F)))} }
func subF[T float32 | float64](a, b, _ Value) Value { return Value{F: float64(T(T(a.F) - T(b.F)))} }
func mulF[T float32 | float64](a, b, _ Value) Value { return Value{F: float64(T(T(a.F) * T(b.F)))} }
func divF[T float32 | float64](a, b, _ Value) Value { return Value{F: float64(T(T(a.F) / T(b.F)))} }

func addI[T int32 | uint32](a, b, _ Value) Value { return Value{I: int64(T(a.I) + T(b.I))} }
func subI[T int32 | uint32](a, b, _ Value) Value { return Value{I: int64(T(a.I) - T(b.I))} }
func mulI[T int32 | uint32](a, b, _ Value) Value { return Value{I: int64(T(a.I) * T(b.I))} }
func divI[T int32 | uint32](a, b, _ Value) Value { return Value{I: int64(T(a.I) / T(b.I))} }
func modI[T int32 | uint32](a, b, _ Value) Value { return Value{I: int64(T(a.I) % T(b.I))} }

func not[T int32 | uint32](a, _, _ Value) Value { return Value{I: int64(^T(a.I))} }
func shl[T int32 | uint32](a, b, _ Value) Value { return Value{I: int64(T(a.I) << (b.I & 31))} }
func shr[T int32 | uint32](a, b, _ Value) Value { return Value{I: int64(T(a.I) >> (b.I & 31))} }

func cast[T int32 | uint32 | uint16](a, _, _ Value) Value { return Value{I: int64(T(a.I))} }

func sqrt[T float32 | float64](a, _, _ Value) Value { return Value{F: float64(T(math.Sqrt(a.F)))} }

func fmaF64(a, b, c Value) Value { return Value{F: math.FMA(a.F, b.F, c.F)} }
func fmaF32(a, b, c Value) Value {
	return Value{F: float64(FMA32(float32(a.F), float32(b.F), float32(c.F)))}
}

func negF(a, _, _ Value) Value   { return Value{F: -a.F} }
func absF(a, _, _ Value) Value   { return Value{F: math.Abs(a.F)} }
func floorF(a, _, _ Value) Value { return Value{F: math.Floor(a.F)} }

func negI(a, _, _ Value) Value { return Value{I: int64(int32(-a.I))} }
func absI(a, _, _ Value) Value { return Value{I: int64(int32(max(a.I, -a.I)))} }

func minF(a, b, _ Value) Value { return pick(ltF(a, b, b), a, b) }
func minI(a, b, _ Value) Value { return Value{I: min(a.I, b.I)} }
func maxF(a, b, _ Value) Value { return pick(ltF(b, a, a), a, b) }
func maxI(a, b, _ Value) Value { return Value{I: max(a.I, b.I)} }

func ltF(a, b, _ Value) Value { return Value{I: truth(a.F < b.F)} }
func ltI(a, b, _ Value) Value { return Value{I: truth(a.I < b.I)} }
func leF(a, b, _ Value) Value { return Value{I: truth(a.F <= b.F)} }
func leI(a, b, _ Value) Value { return Value{I: truth(a.I <= b.I)} }
func eqF(a, b, _ Value) Value { return Value{I: truth(a.F == b.F)} }
func eqI(a, b, _ Value) Value { return Value{I: truth(a.I == b.I)} }
func neF(a, b, _ Value) Value { return Value{I: truth(a.F != b.F)} }
func neI(a, b, _ Value) Value { return Value{I: truth(a.I != b.I)} }

// Bitwise operations are independent of the type. A stored integer is sign- or zero-extended, and they preserve this.
func and(a, b, _ Value) Value  { return Value{I: a.I & b.I} }
func or(a, b, _ Value) Value   { return Value{I: a.I | b.I} }
func xor(a, b, _ Value) Value  { return Value{I: a.I ^ b.I} }
func notB(a, _, _ Value) Value { return Value{I: a.I ^ 1} }

func pick(c, a, b Value) Value {
	if c.I != 0 {
		return a
	}
	return b
}

// toF rounds to float32 in float64 evaluation, too. Large integers are rounded wherever they become F32.
func toF(a, _, _ Value) Value   { return Value{F: float64(float32(a.I))} }
func toI(a, _, _ Value) Value   { return Value{I: int64(int32(a.F))} }
func bitsF(a, _, _ Value) Value { return Value{F: float64(math.Float32frombits(uint32(a.I)))} }
func fBits(a, _, _ Value) Value { return Value{I: int64(math.Float32bits(float32(a.F)))} }

func expF(a, _, _ Value) Value     { return Value{F: math.Exp(a.F)} }
func logF(a, _, _ Value) Value     { return Value{F: math.Log(a.F)} }
func tanhF(a, _, _ Value) Value    { return Value{F: math.Tanh(a.F)} }
func sigmoidF(a, _, _ Value) Value { return Value{F: 1 / (1 + math.Exp(-a.F))} }
func erfF(a, _, _ Value) Value     { return Value{F: math.Erf(a.F)} }
func sinF(a, _, _ Value) Value     { return Value{F: math.Sin(a.F)} }
func cosF(a, _, _ Value) Value     { return Value{F: math.Cos(a.F)} }

func softplusF(a, _, _ Value) Value {
	return Value{F: math.Max(a.F, 0) + math.Log1p(math.Exp(-math.Abs(a.F)))}
}
