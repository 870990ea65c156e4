package device

import (
	"math"
	"reflect"
	"unsafe"

	"github.com/arithlang/mlc/runtime/abi"
)

// An access says where an Env has a scalar of package abi.
type access struct {
	reflect.StructField
	shift int    // position of the scalar's bits in the field
	mask  uint64 // the field's other bits
}

// accessOf finds the field that the table names. Rows() reads the field R.
func accessOf(s abi.Scalar) access {
	name := s.Field
	if name == "Rows()" {
		name = "R"
	}
	f, ok := reflect.TypeFor[Env]().FieldByName(name)
	if !ok {
		panic("BUG: an Env has no field " + name)
	}
	a := access{StructField: f}
	switch s.Half {
	case abi.Low:
		a.mask = math.MaxUint32 << 32
	case abi.High:
		a.shift, a.mask = 32, math.MaxUint32
	}
	return a
}

// Bits returns a function that reads a scalar of package abi from an Env, as 32 bits. Every
// launch calls these functions; they use the field's offset, which reflection finds once.
func Bits(s abi.Scalar) func(e *Env) uint32 {
	a := accessOf(s)
	at, shift := a.Offset, a.shift
	switch a.Type.Kind() {
	case reflect.Int:
		if s.Field == "Rows()" {
			return func(e *Env) uint32 { return uint32(e.Rows()) }
		}
		return func(e *Env) uint32 { return uint32(*(*int)(unsafe.Add(unsafe.Pointer(e), at))) }
	case reflect.Uint64:
		return func(e *Env) uint32 { return uint32(*(*uint64)(unsafe.Add(unsafe.Pointer(e), at)) >> shift) }
	case reflect.Uint32, reflect.Float32:
		return func(e *Env) uint32 { return *(*uint32)(unsafe.Add(unsafe.Pointer(e), at)) }
	}
	panic("BUG: no scalar is of type " + a.Type.String())
}

// SetBits sets a scalar of package abi in an Env.
func SetBits(e *Env, s abi.Scalar, bits uint32) {
	a := accessOf(s)
	switch f := reflect.ValueOf(e).Elem().FieldByIndex(a.Index); {
	case f.CanInt():
		f.SetInt(int64(int32(bits)))
	case f.CanFloat():
		f.SetFloat(float64(math.Float32frombits(bits)))
	default:
		f.SetUint(f.Uint()&a.mask | uint64(bits)<<a.shift)
	}
}
