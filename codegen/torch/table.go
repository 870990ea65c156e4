package torch

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"

	"github.com/arithlang/mlc/codegen/ptx"
	"github.com/arithlang/mlc/compiler/check"
	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/kernel"
	"github.com/arithlang/mlc/compiler/lower"
	"github.com/arithlang/mlc/compiler/model"
)

// A Table tells Python how to launch the kernels of an attention. It is the file kernels.json.
// Formulas are Python expressions over B, T, S, C, and R and RK, the rows of packed queries and keys.
type Table struct {
	Version    int               `json:"version"`
	Name       string            `json:"name"`
	Command    string            `json:"command"` // the command that writes the package
	Heads      int               `json:"heads"`
	KeyHeads   int               `json:"key_heads"`
	Width      int               `json:"width"` // of a head
	Parameters []Parameter       `json:"parameters"`
	Table      bool              `json:"table"` // whether the bias is a table, which a program fills
	Given      bool              `json:"given"` // whether the bias is a table, which the caller gives
	Cells      string            `json:"cells"` // elements of a head in the table: T * S, or by distance C + S
	Group      int               `json:"group"` // examples of a batch that share one gradient of the table
	Modules    map[string]Module `json:"modules"`
}

// tableVersion changes with the meaning of a Table.
const tableVersion = 2

// groupExamples is the number of examples that share one gradient of a table. Each head of a group
// is a block of the GPU. The order of sums depends on it.
const groupExamples = 4

// A Parameter is a tensor that the bias reads.
type Parameter struct {
	Name      string   `json:"name"`      // in launches
	Attribute string   `json:"attribute"` // of the Python module
	Shape     []int    `json:"shape"`
	Learned   bool     `json:"learned"`
	Min       *float64 `json:"min"`
	Max       *float64 `json:"max"`
	Init      Init     `json:"init"`
}

// An Init is a parameter's initial value: uniform between Low and High, normal, or Values.
type Init struct {
	Kind   string    `json:"kind"`
	Low    float64   `json:"low,omitempty"`
	High   float64   `json:"high,omitempty"`
	Mean   float64   `json:"mean,omitempty"`
	Std    float64   `json:"std,omitempty"`
	Values []float32 `json:"values,omitempty"`
}

// A Module is the kernels for queries, keys and values of one type.
type Module struct {
	File     string             `json:"file"`
	Arch     int                `json:"arch"` // the least compute capability, such as 80
	Unit     int                `json:"unit"` // elements in which distances of rows and heads are counted
	Programs map[string]Program `json:"programs"`
}

// A Program is consecutive launches with the memory that they need in between.
type Program struct {
	Packed      bool        `json:"packed"` // sequences of several lengths have no padding
	Temporaries []Temporary `json:"temporaries"`
	Launches    []Launch    `json:"launches"`
}

// A Temporary is memory of a program.
type Temporary struct {
	Name     string `json:"name"`
	Type     string `json:"type"` // as PyTorch names it
	Elements string `json:"elements"`
}

// A Launch says how an entry is launched. Arguments are the buffers, in the order of the entry's
// parameters.
type Launch struct {
	Entry     string   `json:"entry"`
	Threads   int      `json:"threads"`
	Blocks    string   `json:"blocks"`
	Scratch   string   `json:"scratch"` // bytes of a block's tiles; "": the entry takes no scratch memory
	Static    int      `json:"static"`  // bytes of shared memory that the entry declares
	Arguments []string `json:"arguments"`
	Scalars   []string `json:"scalars"`
}

// NewTable returns the table of an attention without modules.
func NewTable(a *check.Attention, command string) (*Table, error) {
	t := &Table{Version: tableVersion, Name: a.Name, Command: command, Heads: a.Heads, KeyHeads: a.KeyHeads, Width: a.Width, Given: a.Given,
		Parameters: []Parameter{}, Group: groupExamples, Cells: "0", Modules: map[string]Module{}}
	attributes := map[string]bool{}
	for _, p := range a.Site.Params {
		init, err := initOf(p)
		if err != nil {
			return nil, err
		}
		q := Parameter{Name: p.Name, Attribute: attributeOf(p.Name, attributes), Shape: p.Shape, Learned: !p.Fixed(), Min: p.Min, Init: init}
		if q.Shape == nil {
			q.Shape = []int{}
		}
		attributes[q.Attribute] = true
		t.Parameters = append(t.Parameters, q)
	}
	return t, nil
}

// attributeOf returns the Python attribute for a parameter: its name in its bias or, if another
// bias has that name too, both names.
func attributeOf(name string, taken map[string]bool) string {
	short := name[strings.LastIndexByte(name, '.')+1:]
	if taken[short] {
		return strings.ReplaceAll(name, ".", "_")
	}
	return short
}

func initOf(p check.BiasParam) (Init, error) {
	switch i := p.Init; i.Kind {
	case "const":
		values := make([]float32, elements(p.Shape))
		for k := range values {
			values[k] = float32(i.A)
		}
		return Init{Kind: "values", Values: values}, nil
	case "uniform":
		return Init{Kind: "uniform", Low: i.A, High: i.B}, nil
	case "normal":
		return Init{Kind: "normal", Std: i.A}, nil
	case "xavier":
		bound := math.Sqrt(6 / (i.A + i.B)) // Glorot and Bengio 2010, section 4.2.1
		return Init{Kind: "uniform", Low: -bound, High: bound}, nil
	case "file":
		return Init{Kind: "values", Values: p.Values}, nil
	default:
		return Init{}, fmt.Errorf("BUG: parameter %s has an initial value of kind %s", p.Name, i.Kind)
	}
}

func elements(shape []int) int {
	n := 1
	for _, d := range shape {
		n *= d
	}
	return n
}

// Add adds a module. Kernels are in the order of the program's kernels.
func (t *Table) Add(precision string, p *lower.Program, kernels []ptx.Entry) error {
	m := Module{File: precision + ".ptx", Arch: ptx.Arch, Unit: p.Entry(model.Forward).Memory.Buffer("q").Unit(), Programs: map[string]Program{}}
	numbers := map[string]*ptx.Entry{}
	for i := range kernels {
		numbers[kernels[i].Name] = &kernels[i]
	}
	var err error
	for _, e := range p.Entries {
		out := Program{Packed: e.Memory.Packed, Temporaries: []Temporary{}, Launches: []Launch{}}
		for _, b := range e.Memory.Buffers {
			if b.Temp {
				n, err := formula(e.Memory.Elements(b))
				if err != nil {
					return err
				}
				out.Temporaries = append(out.Temporaries, Temporary{b.Name, types[b.Type.Elem], n})
			}
		}
		for _, step := range e.Steps {
			for _, l := range step.Routine.Launches {
				launch, err := newLaunch(l, numbers[l.Kernel.Name])
				if err != nil {
					return fmt.Errorf("%s: kernel %s: %w", e.Name, l.Kernel.Name, err)
				}
				out.Launches = append(out.Launches, launch)
			}
		}
		m.Programs[e.Name] = out
	}
	t.Modules[precision] = m
	if b := p.Entry(model.Forward).Memory.Buffer("table"); b != nil {
		var sizes []*expr.Expr
		for _, d := range b.Type.Shape[1:] {
			sizes = append(sizes, d.Expr())
		}
		if len(sizes) == 1 { // the gradient has a line for each example
			t.Group = 1
		}
		t.Table = !t.Given
		t.Cells, err = formula(kernel.Elements(sizes))
	}
	return err
}

// types are PyTorch's names of element types.
var types = map[expr.Type]string{expr.F32: "float32", expr.BF16: "bfloat16", expr.I32: "int32"}

func newLaunch(l lower.Launch, e *ptx.Entry) (Launch, error) {
	out := Launch{Entry: e.Name, Threads: e.Threads, Static: e.Static, Arguments: []string{}, Scalars: append([]string{}, e.Scalars...)}
	if e.Step || e.Shapes || e.Sets > 1 {
		return out, fmt.Errorf("BUG: an attention alone has no steps, shapes or sets")
	}
	for _, a := range l.Args {
		name := a.Ref.Buffer
		if a.Space == lower.InParams {
			name = a.Param
		}
		out.Arguments = append(out.Arguments, name)
	}
	var err error
	if out.Blocks, err = formula(e.Blocks); err != nil {
		return out, err
	}
	if e.Scratch != nil {
		out.Scratch, err = formula(e.Scratch)
	}
	return out, err
}

// operators are Python's operators on whole numbers that are not negative, by precedence.
var operators = map[expr.Op]struct {
	text  string
	binds int
}{
	expr.Lt: {"<", 1}, expr.Le: {"<=", 1}, expr.Eq: {"==", 1}, expr.Ne: {"!=", 1},
	expr.Add: {"+", 2}, expr.Sub: {"-", 2}, expr.Mul: {"*", 3}, expr.Div: {"//", 3}, expr.Mod: {"%", 3},
}

// formula prints an expression of whole numbers in Python, where P is 0. Only quotients of numbers that are not
// negative occur, so // rounds as Div does.
func formula(e *expr.Expr) (string, error) {
	var err error
	var text func(e *expr.Expr, binds int) string
	text = func(e *expr.Expr, binds int) string {
		arg := func(i int) string { return text(e.Args[i], 0) }
		switch e.Op {
		case expr.Const:
			return fmt.Sprint(e.I)
		case expr.Var:
			return e.Name
		case expr.Min:
			return "min(" + arg(0) + ", " + arg(1) + ")"
		case expr.Max:
			return "max(" + arg(0) + ", " + arg(1) + ")"
		case expr.Where:
			return "(" + arg(1) + " if " + arg(0) + " else " + arg(2) + ")"
		}
		o, known := operators[e.Op]
		if !known {
			err = fmt.Errorf("BUG: no Python for %s", e)
			return ""
		}
		s := text(e.Args[0], o.binds) + " " + o.text + " " + text(e.Args[1], o.binds+1)
		if o.binds < binds {
			return "(" + s + ")"
		}
		return s
	}
	s := text(expr.Simplify(expr.Subst(e, map[string]*expr.Expr{"P": expr.Int(0)})), 0)
	return s, err
}

// JSON returns the file.
func (t *Table) JSON() ([]byte, error) {
	text, err := json.MarshalIndent(t, "", " ")
	return append(text, '\n'), err
}
