package device

import (
	"math"
	"reflect"

	"github.com/arithlang/mlc/runtime/abi"
)

// An access reads a scalar of package abi from an Env, and writes it.
type access struct {
	field int    // of Env
	shift int    // where the scalar's bits begin in the field
	rows  bool   // read through Rows
	mask  uint64 // of the field's other bits
}

// accessOf finds the field that the table names.
func accessOf(s abi.Scalar) access {
	a := access{rows: s.Field == "Rows()"}
	name := s.Field
	if a.rows {
		name = "R"
	}
	f, ok := reflect.TypeFor[Env]().FieldByName(name)
	if !ok {
		panic("BUG: an Env has no field " + name)
	}
	a.field = f.Index[0]
	switch s.Half {
	case abi.Low:
		a.mask = math.MaxUint32 << 32
	case abi.High:
		a.shift, a.mask = 32, math.MaxUint32
	}
	return a
}

func (a access) of(e *Env) reflect.Value { return reflect.ValueOf(e).Elem().Field(a.field) }

// Bits returns what reads a scalar of package abi from an Env, as 32 bits.
func Bits(s abi.Scalar) func(e *Env) uint32 {
	a := accessOf(s)
	if a.rows {
		return func(e *Env) uint32 { return uint32(e.Rows()) }
	}
	return func(e *Env) uint32 {
		switch f := a.of(e); {
		case f.CanInt():
			return uint32(f.Int())
		case f.CanFloat():
			return math.Float32bits(float32(f.Float()))
		default:
			return uint32(f.Uint() >> a.shift)
		}
	}
}

// SetBits sets a scalar of package abi in an Env.
func SetBits(e *Env, s abi.Scalar, bits uint32) {
	a := accessOf(s)
	switch f := a.of(e); {
	case f.CanInt():
		f.SetInt(int64(int32(bits)))
	case f.CanFloat():
		f.SetFloat(float64(math.Float32frombits(bits)))
	default:
		f.SetUint(f.Uint()&a.mask | uint64(bits)<<a.shift)
	}
}
