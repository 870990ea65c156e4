// Package scalars lists all scalars that a kernel may read. Package abi describes the scalars of a
// training step. The others say where the tensors of a caller lie who is no trainer.
package scalars

import (
	"slices"

	"github.com/arithlang/mlc/runtime/abi"
)

// all lists the scalars of package abi, and then those of a caller's tensors. These belong to a
// launch and have no field. The distances from an example, a row and a head of a tensor to the next
// are in units of 16 bytes, or in elements if a head's row is no whole number of units. RK is the
// number of rows of keys if their examples have several lengths.
var all = func() []abi.Scalar {
	all := append(slices.Clone(abi.Scalars()), abi.Scalar{Name: "RK"})
	for i, tensor := range []string{"q", "k", "v", "dy"} {
		for k, distance := range Distances(tensor) {
			all = append(all, abi.Scalar{Name: distance, Sample: []float64{631, 17, 5}[k] + float64(2*i)})
		}
	}
	return all
}()

var byName = func() map[string]abi.Scalar {
	of := map[string]abi.Scalar{}
	for _, s := range all {
		of[s.Name] = s
	}
	return of
}()

// All lists the scalars that a launch can bind.
func All() []abi.Scalar { return all }

// Distances names the scalars that locate a tensor: the distances of its examples, rows and heads.
func Distances(tensor string) [3]string {
	return [3]string{tensor + "_example", tensor + "_row", tensor + "_head"}
}

// Find returns the scalar of a name.
func Find(name string) (abi.Scalar, bool) {
	s, known := byName[name]
	return s, known
}

// StepBlock returns the block of a step's scalars. The bits function gives each value.
func StepBlock(bits func(s abi.Scalar) uint32) []byte {
	var b []byte
	for _, s := range abi.Scalars() {
		if abi.StepWord(s.Name) >= 0 {
			b = abi.AppendU32(b, bits(s))
		}
	}
	return b
}
