package device

import (
	"math"
	"reflect"
	"slices"
	"testing"

	"github.com/arithlang/mlc/runtime/abi"
)

// TestScalars sets each scalar and finds it only in the field that the table names.
func TestScalars(t *testing.T) {
	for _, s := range abi.Scalars() {
		const bits = 0x40490fdb
		var e, want Env
		SetBits(&e, s, bits)
		name := s.Field
		if name == "Rows()" {
			name = "R"
		}
		switch f := reflect.ValueOf(&want).Elem().FieldByName(name); {
		case s.Half == abi.High:
			f.SetUint(bits << 32)
		case s.Type == abi.F32:
			f.SetFloat(float64(math.Float32frombits(bits)))
		case f.CanInt():
			f.SetInt(bits)
		default:
			f.SetUint(bits)
		}
		if e != want || Bits(s)(&e) != bits {
			t.Errorf("%s: %+v, %#x", s.Name, e, Bits(s)(&e))
		}
	}
}

// TestRows counts the rows of equally long examples if R is not set.
func TestRows(t *testing.T) {
	all := abi.Scalars()
	r := all[slices.IndexFunc(all, func(s abi.Scalar) bool { return s.Name == "R" })]
	for _, e := range []Env{{B: 3, T: 5}, {B: 3, T: 7, R: 15}} {
		if e.Rows() != 15 || Bits(r)(&e) != 15 {
			t.Errorf("%+v has %d rows", e, e.Rows())
		}
	}
}
