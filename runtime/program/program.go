// Package program has what a generated program is, as values: a Model. Generated code describes it;
// package rundir, which keeps a run of a program, comes after it, and package stages, which has several.
package program

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/arithlang/mlc/runtime/cpu"
	"github.com/arithlang/mlc/runtime/cuda"
	"github.com/arithlang/mlc/runtime/device"
	"github.com/arithlang/mlc/runtime/eval"
	"github.com/arithlang/mlc/runtime/task"
	"github.com/arithlang/mlc/runtime/train"
)

// A Model is a compiled spec.
type Model struct {
	Name     string   // of the spec
	Spec     string   // the resolved spec text
	SpecHash string   // hex SHA-256 of Spec and of what it reads of files
	Version  string   // of the compiler
	Axes     []string // attributes that axes of a sweep set, of which this is one training
	Task     task.Config
	Train    train.Config
	Eval     eval.Config
	Params   []device.Param // in arena order
	Plan     device.Plan
	CPU      []cpu.Kernel // the kernel table, indexed by Queue.Launch's kernel
	GPU      cuda.Program // the same kernels for GPUs; without PTX there are none
	Lanes    Lanes        // the same kernels for several models at once
	Given    []Table      // values of fixed parameters that were known when the program was made
	Files    []File       // that Spec reads
}

// A File is one that a spec reads, as its runs have it: problems, or tables.
type File struct {
	Path    string   // in the run directory, with forward slashes, as Spec names it
	Text    string   // of problems
	Stage   string   // of tables: the calibration that left them; "" for others
	Tensors []Tensor // of tables
}

// A Tensor is a table in a File: the values of a fixed parameter.
type Tensor struct {
	Name  string
	Shape []int
	Param string // in Given
}

// Lanes are the kernels of a training of N models at once, each in a lane of vectors; none
// if N is 0.
type Lanes struct {
	N   int
	CPU []cpu.Kernel // by the numbers of those of one model; a kernel that trains nothing has no Run
}

// A Table is the values of a fixed parameter.
type Table struct {
	Param  string // its name
	Values string // float32, little endian, row-major: what an embedded file is
}

// Tables are the values of fixed parameters that the program brings along.
func (m *Model) Tables() map[string][]float32 {
	given := make(map[string][]float32, len(m.Given))
	for _, t := range m.Given {
		values := make([]float32, len(t.Values)/4)
		for e := range values {
			values[e] = math.Float32frombits(binary.LittleEndian.Uint32([]byte(t.Values[4*e : 4*e+4])))
		}
		given[t.Param] = values
	}
	return given
}

// Complete makes sure that every parameter that is to be given is.
func (m *Model) Complete(given map[string][]float32) error {
	for _, p := range m.Params {
		if p.Init.Kind == "given" && len(given[p.Name]) != p.Elems() {
			return fmt.Errorf("parameter %s of shape %v is given %d values: the run is of another program", p.Name, p.Shape, len(given[p.Name]))
		}
	}
	return nil
}
