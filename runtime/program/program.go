// Package program describes a generated program by values: a Model. Generated code fills them
// in. Package rundir, which keeps runs of a program, and package stages, which has several
// models, build on it.
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
	SpecHash string   // hex SHA-256 of Spec and of the content it reads from files
	Version  string   // of the compiler
	Axes     []string // attributes that the axes of a sweep set, if this is one of its trainings
	Task     task.Config
	Kit      task.Kit // the parts of package task that Task needs
	Train    train.Config
	Eval     eval.Config
	Think    eval.Thinker   // nil: the model has no loop
	Reader   eval.Reader    // nil: the model is not of text
	Params   []device.Param // in arena order
	Plan     device.Plan
	CPU      []cpu.Kernel // the kernel table, indexed by Queue.Launch's kernel
	GPU      cuda.Program // the same kernels for GPUs; empty without PTX
	Lanes    Lanes        // the same kernels for several models at once
	Given    []Table      // values of fixed parameters that are known at compile time
	Files    []File       // files that Spec reads
}

// A File is a file that a spec reads, as its runs store it: problems, or tables.
type File struct {
	Path    string   // in the run directory, with forward slashes, as Spec names it
	Text    string   // problems
	Stage   string   // the calibration that made the tables; "" for other tables
	Tensors []Tensor // tables
}

// A Tensor is a table in a File: the values of a fixed parameter.
type Tensor struct {
	Name  string
	Shape []int
	Param string // name in Given
}

// Lanes are the kernels that train N models at once, each in a lane of vectors; empty if N is
// 0.
type Lanes struct {
	N   int
	CPU []cpu.Kernel // numbered like the kernels of one model; kernels that training does not use have no Run
}

// A Table is the values of a fixed parameter.
type Table struct {
	Param  string // its name
	Values string // float32, little endian, row-major: content of an embedded file
}

// NewTask returns the task with a seed.
func (m *Model) NewTask(seed uint64) (*task.Task, error) { return task.New(m.Task, seed, m.Kit) }

// Tables returns the values of fixed parameters that the program contains.
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

// Complete returns an error unless given has values for every parameter that needs them.
func (m *Model) Complete(given map[string][]float32) error {
	for _, p := range m.Params {
		if p.Init.Kind == "given" && len(given[p.Name]) != p.Elems() {
			return fmt.Errorf("parameter %s of shape %v is given %d values: the run belongs to another program", p.Name, p.Shape, len(given[p.Name]))
		}
	}
	return nil
}
