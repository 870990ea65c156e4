package live

import (
	"github.com/arithlang/mlc/codegen/cost"
	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/kernel"
	"github.com/arithlang/mlc/runtime/abi"
	"github.com/arithlang/mlc/runtime/device"
)

// ofLaunch compiles an expression to a function of a launch's scalars.
func ofLaunch(x *expr.Expr) func(e *device.Env) int { return cost.Compile(x, integer) }

// integer returns a function that reads a scalar.
func integer(name string) func(e *device.Env) int {
	of, known := abi.Find(name)
	if !known || of.Type != abi.I32 {
		panic("BUG: no integer of a launch is called " + name)
	}
	bits := device.Bits(of)
	return func(e *device.Env) int { return int(int32(bits(e))) }
}

// scalars returns the integers of a launch.
func scalars(e *device.Env) kernel.Scalars {
	s := kernel.Scalars{}
	for _, of := range abi.Scalars() {
		if of.Type == abi.I32 {
			s[of.Name] = float64(integer(of.Name)(e))
		}
	}
	return s
}
