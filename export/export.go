// Package export writes a trained model for other programs: as Python with PyTorch or
// NumPy, as a folder for Hugging Face transformers, and as ONNX. It comes after package
// model and walks the tensor functions and programs of a spec, so it exports every spec. No
// package comes after it. It does no input or output.
//
// Numbers are F32. Functions are the other library's, so results differ from mlc's by
// roundings. A table (ops.go) has a row for each op of the tensor IR, and another
// (scalar.go) for each operation of expressions. Each has a column for each of the two
// printers, Python (python.go) and ONNX (onnx.go).
package export

import (
	"fmt"
	"slices"

	"github.com/arithlang/mlc/compiler/check"
	"github.com/arithlang/mlc/compiler/tasks"
	"github.com/arithlang/mlc/runtime/ckpt"
	"github.com/arithlang/mlc/runtime/device"
	"github.com/arithlang/mlc/runtime/eval"
	"github.com/arithlang/mlc/runtime/task"
)

// A Run is a trained model.
type Run struct {
	Spec     *check.Spec          // the spec of the training
	Stage    string               // the stage that Spec is, in a pipeline; or ""
	Text     string               // the spec in the run directory
	Params   map[string][]float32 // row-major, by name in a checkpoint
	Seed     uint64
	InitSeed *uint64 // seed of the initial weights; nil: Seed
	Steps    int
	Times    int    // runs of the loop; 0: as in training, or by the length of a problem
	Command  string // the command that exports it
}

// A File is a file of an export.
type File struct {
	Path string // below the export's folder; "" for an export of one file
	Data []byte
}

// A Model is a Run prepared for the printers.
type Model struct {
	Run
	Name    string
	runs    int // runs of the loop: Times, or the most in training
	program *program
	tensors []ckpt.Tensor // in arena order
	trained int           // numbers that were trained, shared ones once
	task    *task.Task
	reach   eval.Reach
}

// New prepares a run. It returns an error if parameters do not fit the spec or are not
// finite, or if the task cannot be exported.
func New(r Run) (*Model, error) {
	m := &Model{Run: r, Name: r.Spec.Name}
	if r.Stage != "" {
		m.Name += "/" + r.Stage
	}
	if m.runs = m.Times; m.runs == 0 && r.Spec.Model.Loop != nil {
		m.runs = r.Spec.Model.Loop.Times
	}
	if r.Spec.Task.Kind == "text" {
		return nil, fmt.Errorf("a model of text has no export yet; its checkpoint is a safetensors file with the parameters by name")
	}
	problems, err := tasks.New(task.Config(r.Spec.Task.Task), r.Seed)
	if err != nil {
		return nil, err
	}
	m.task = problems.WithPad(r.Spec.Eval.Pad)
	m.reach = reachOf(&r.Spec.Model)
	built, err := forward(r.Spec)
	if err != nil {
		return nil, err
	}
	m.trained = built.Trained()
	var groups []*device.Group
	for _, g := range built.Groups {
		groups = append(groups, (*device.Group)(g))
	}
	for _, p := range device.Flat(groups...) {
		values := r.Params[p.Name]
		if len(values) != p.Elems() {
			return nil, fmt.Errorf("it has %d numbers of parameter %s, which has the shape %v: it belongs to another model", len(values), p.Name, p.Shape)
		}
		t := ckpt.Tensor{Name: p.Name, Shape: p.Shape, Data: values}
		if err := t.Finite(); err != nil && !p.Fixed {
			return nil, err
		}
		m.tensors = append(m.tensors, t)
	}
	m.program, err = newProgram(built)
	return m, err
}

// said returns the number of tokens that have a logit.
func (m *Model) said() int {
	for _, f := range m.program.funcs {
		for _, r := range f.Results {
			if r.Name == logits {
				return r.Value.Type.Shape[2].N
			}
		}
	}
	return m.task.Vocab()
}

// Parameters returns the number of all parameters, trained and fixed.
func (m *Model) Parameters() int {
	n := 0
	for _, t := range m.tensors {
		n += len(t.Data)
	}
	return n
}

// reachOf returns the sizes of the model's tables of positions.
func reachOf(s *check.Model) eval.Reach {
	var r eval.Reach
	r.Tokens, r.Places = s.Position.Reach()
	rows, keys := s.Decoder.Self.Calibrated()
	across, source := s.Decoder.Cross.Calibrated()
	sizes := slices.DeleteFunc([]int{rows, keys, across}, func(n int) bool { return n == 0 })
	if len(sizes) > 0 {
		r.Rows = slices.Min(sizes)
	}
	r.Source = source
	return r
}
