// Package export writes a trained model for other programs: as Python with PyTorch or
// NumPy, as a folder for Hugging Face transformers, as ONNX. It comes after package
// model, whose tensor functions and programs it walks, so that whatever a spec can say
// is exported; nothing comes after it. It does no input or output.
//
// Numbers are F32, and functions those of the library in question: results differ from
// those of mlc by roundings. A table (ops.go) has a row for each op of the tensor IR,
// another one (scalar.go) for each operation of expressions, with a column for each of
// the two printers, Python (python.go) and ONNX (onnx.go).
package export

import (
	"fmt"
	"slices"

	"github.com/arithlang/mlc/compiler/check"
	"github.com/arithlang/mlc/runtime/ckpt"
	"github.com/arithlang/mlc/runtime/device"
	"github.com/arithlang/mlc/runtime/eval"
	"github.com/arithlang/mlc/runtime/task"
)

// A Run is a trained model.
type Run struct {
	Spec     *check.Spec          // of the training
	Stage    string               // of a spec with stages, which Spec is of; "" of others
	Text     string               // the spec in the run directory
	Params   map[string][]float32 // row-major, by the names of a checkpoint
	Seed     uint64
	InitSeed *uint64 // of the initial weights; nil: Seed
	Steps    int
	Times    int    // runs of the loop; 0: those of training, or as the length of a problem says
	Command  string // that exports it
}

// A File is a file of an export.
type File struct {
	Path string // below the folder that is exported to; "" for the one file that is
	Data []byte
}

// A Model is a Run taken apart for printers.
type Model struct {
	Run
	Name    string
	runs    int // of the loop: Times, or the most in training
	program *program
	tensors []ckpt.Tensor // in arena order
	trained int           // numbers that were trained, each once
	task    *task.Task
	reach   eval.Reach
}

// New takes a run apart. The error says what cannot be exported.
func New(r Run) (*Model, error) {
	m := &Model{Run: r, Name: r.Spec.Name}
	if r.Stage != "" {
		m.Name += "/" + r.Stage
	}
	if m.runs = m.Times; m.runs == 0 && r.Spec.Model.Loop != nil {
		m.runs = r.Spec.Model.Loop.Times
	}
	problems, err := task.New(task.Config(r.Spec.Task.Task), r.Seed)
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
			return nil, fmt.Errorf("it has %d numbers of parameter %s, which has the shape %v: it is of another model", len(values), p.Name, p.Shape)
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

// said is the number of tokens that have a logit.
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

// Parameters is the number of all that the model has, trained and fixed.
func (m *Model) Parameters() int {
	n := 0
	for _, t := range m.tensors {
		n += len(t.Data)
	}
	return n
}

// reachOf is how far the model's tables of positions go.
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
