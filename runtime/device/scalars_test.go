package device

import (
	"math"
	"reflect"
	"testing"

	"github.com/arithlang/mlc/runtime/abi"
)

// TestScalars sets each scalar and finds it in the field that the table names, and
// nowhere else.
func TestScalars(t *testing.T) {
	if len(bindings) != len(abi.Scalars()) {
		t.Errorf("%d bindings of %d scalars", len(bindings), len(abi.Scalars()))
	}
	for _, s := range abi.Scalars() {
		const bits = 0x40490fdb
		var e, want Env
		SetBits(&e, s, bits)
		switch f := reflect.ValueOf(&want).Elem().FieldByName(s.Field); {
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
