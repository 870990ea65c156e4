package device

import (
	"math"

	"github.com/arithlang/mlc/runtime/abi"
)

// A binding is how a scalar's bits are read from an Env, and written to it.
type binding struct {
	bits func(e *Env) uint32
	set  func(e *Env, bits uint32)
}

// bindings are those of the scalars of package abi, by their names.
var bindings = map[string]binding{
	"B":                ofInt(func(e *Env) *int { return &e.B }),
	"T":                ofInt(func(e *Env) *int { return &e.T }),
	"S":                ofInt(func(e *Env) *int { return &e.S }),
	"R":                {func(e *Env) uint32 { return uint32(e.Rows()) }, func(e *Env, x uint32) { e.R = int(int32(x)) }},
	"C":                ofInt(func(e *Env) *int { return &e.C }),
	"P":                ofInt(func(e *Env) *int { return &e.P }),
	"N":                ofInt(func(e *Env) *int { return &e.N }),
	"layer":            ofInt(func(e *Env) *int { return &e.Layer }),
	"step":             ofWord(func(e *Env) *uint32 { return &e.Step }),
	"example":          ofWord(func(e *Env) *uint32 { return &e.Example }),
	"seed0":            {func(e *Env) uint32 { return uint32(e.Seed) }, func(e *Env, x uint32) { e.Seed = e.Seed&^math.MaxUint32 | uint64(x) }},
	"seed1":            {func(e *Env) uint32 { return uint32(e.Seed >> 32) }, func(e *Env, x uint32) { e.Seed = e.Seed&math.MaxUint32 | uint64(x)<<32 }},
	"scale":            ofFloat(func(e *Env) *float32 { return &e.Scale }),
	"lr":               ofFloat(func(e *Env) *float32 { return &e.LR }),
	"bias_correction1": ofFloat(func(e *Env) *float32 { return &e.BiasCorrection1 }),
	"bias_correction2": ofFloat(func(e *Env) *float32 { return &e.BiasCorrection2 }),
	"clip":             ofFloat(func(e *Env) *float32 { return &e.Clip }),
	"decay":            ofFloat(func(e *Env) *float32 { return &e.Decay }),
	"bound":            ofFloat(func(e *Env) *float32 { return &e.Bound }),
}

func ofInt(at func(e *Env) *int) binding {
	return binding{func(e *Env) uint32 { return uint32(*at(e)) }, func(e *Env, x uint32) { *at(e) = int(int32(x)) }}
}

func ofWord(at func(e *Env) *uint32) binding {
	return binding{func(e *Env) uint32 { return *at(e) }, func(e *Env, x uint32) { *at(e) = x }}
}

func ofFloat(at func(e *Env) *float32) binding {
	return binding{func(e *Env) uint32 { return math.Float32bits(*at(e)) }, func(e *Env, x uint32) { *at(e) = math.Float32frombits(x) }}
}

// Bits returns what reads a scalar of package abi from an Env, as 32 bits.
func Bits(s abi.Scalar) func(e *Env) uint32 { return bindings[s.Name].bits }

// SetBits sets a scalar of package abi in an Env.
func SetBits(e *Env, s abi.Scalar, bits uint32) { bindings[s.Name].set(e, bits) }
