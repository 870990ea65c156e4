package kernel

import (
	"fmt"
	"maps"
	"math"

	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/ir"
	"github.com/arithlang/mlc/compiler/scalars"
	"github.com/arithlang/mlc/runtime/abi"
)

// types gives the types of package abi as types of expressions.
var types = map[abi.Type]expr.Type{abi.I32: expr.I32, abi.U32: expr.U32, abi.F32: expr.F32, abi.BF16: expr.BF16, abi.F16: expr.F16}

// Bytes returns the size of an element.
func Bytes(t expr.Type) int {
	for in, typ := range types {
		if typ == t {
			return in.Bytes()
		}
	}
	panic("BUG: no array has elements of " + t.String())
}

// Scalars are the values of one launch by name. F32 scalars are rounded to
// float32; the others must be integers in the range of their type.
type Scalars map[string]float64

// Samples binds every scalar to a plausible value.
func Samples() Scalars {
	all := Scalars{}
	for _, s := range scalars.All() {
		all[s.Name] = s.Sample
	}
	return all
}

// ScalarNames lists the scalars that a launch can bind.
func ScalarNames() []string {
	var names []string
	for _, s := range scalars.All() {
		names = append(names, s.Name)
	}
	return names
}

// ScalarType returns the type of a scalar, and whether it exists.
func ScalarType(name string) (expr.Type, bool) {
	s, known := scalars.Find(name)
	return types[s.Type], known
}

// Bits returns the bits of a scalar, 0 if it is not bound.
func (s Scalars) Bits(of abi.Scalar) uint32 {
	if of.Type == abi.F32 {
		return math.Float32bits(float32(s[of.Name]))
	}
	return uint32(int64(s[of.Name]))
}

// Value returns the value of a scalar.
func (s Scalars) Value(name string) (expr.Value, error) {
	t, known := ScalarType(name)
	v, bound := s[name]
	switch {
	case !known:
		return expr.Value{}, fmt.Errorf("no scalar is called %s", name)
	case !bound:
		return expr.Value{}, fmt.Errorf("scalar %s is not bound", name)
	case t == expr.F32:
		return expr.Value{F: float64(float32(v))}, nil
	case t == expr.I32 && v == float64(int32(v)):
		return expr.Value{I: int64(v)}, nil
	case t == expr.U32 && v == float64(uint32(v)):
		return expr.Value{I: int64(v)}, nil
	}
	return expr.Value{}, fmt.Errorf("scalar %s = %v is no %s", name, v, t)
}

// Words sets dst to the random words of an example from word base on, as Random documents.
func (s Scalars) Words(dst []int32, stream, example uint32, base int64) error {
	if base < 0 {
		return fmt.Errorf("the first word is %d", base)
	}
	var launch [4]uint32
	for i, name := range []string{"seed0", "seed1", "step", "layer"} {
		v, err := s.Value(name)
		if err != nil {
			return err
		}
		launch[i] = uint32(v.I)
	}
	for e := range dst {
		n := base + int64(e)
		counter := [4]uint32{uint32(n / 4), example, launch[2], stream<<16 + launch[3]}
		dst[e] = int32(ir.Philox(counter, [2]uint32{launch[0], launch[1]})[n%4])
	}
	return nil
}

// AtMost limits a scalar to n, in addition to earlier limits.
func (k *Kernel) AtMost(scalar string, n int64) {
	if k.Most == nil {
		k.Most = map[string]int64{}
	}
	if most, bounded := k.Most[scalar]; bounded {
		n = min(n, most)
	}
	k.Most[scalar] = n
}

// shortened returns s within the bounds of Most. If C equals T, both are limited together: a
// launch of whole sequences stays one.
func (k *Kernel) shortened(s Scalars) Scalars {
	short := maps.Clone(s)
	for _, p := range k.Params {
		most, bounded := k.Most[p.Name]
		if !bounded || s[p.Name] <= float64(most) {
			continue
		}
		if p.Name == "T" && s["C"] == s["T"] {
			short["C"] = float64(most)
		}
		short[p.Name] = float64(most)
	}
	return short
}
