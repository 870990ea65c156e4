// Package plan describes the order in which a model's functions run, and the buffers they
// share, as programs of calls and loops. Package model writes forward programs.
// Differentiate adds their backward halves. Package lower turns calls into kernel
// launches.
package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/arithlang/mlc/compiler/ir"
	"github.com/arithlang/mlc/runtime/abi"
	"github.com/arithlang/mlc/runtime/config"
)

// Parameters as the trainer's configuration has them.
type (
	Init  = config.Init
	Param = config.Param
)

// A Group is the parameters of one stack of layers.
type Group config.Group

// ParamOff returns the first element of a parameter within an instance of the group, and
// whether the group has it.
func (g *Group) ParamOff(name string) (int, bool) {
	off := 0
	for _, p := range g.Params {
		if p.Name == name {
			return off, true
		}
		off += p.Elems()
	}
	return 0, false
}

// A Buffer is a tensor, or Count tensors of one shape (such as one per layer), that calls
// exchange. Calls add to a Zero buffer, which is cleared when its program starts. A
// PerTime buffer has Count tensors for each run of Times. A Kept buffer has constant
// extents and the same contents for all launches on examples that share draws.
type Buffer struct {
	Name    string
	Type    ir.Type
	Count   int
	Zero    bool
	PerTime bool
	Kept    bool

	Heads int // the heads of a row, if a launch says where they lie (scalars.Distances of Name); 0: elements are contiguous
}

// Unit returns the number of elements in which a launch counts distances: 16 bytes, or one element
// if the row of a head is no multiple of 16 bytes.
func (b *Buffer) Unit() int {
	bytes := 4
	if b.Type.Elem.Narrow() {
		bytes = 2
	}
	if b.Type.Shape[2].N/b.Heads*bytes%abi.TileAlign != 0 {
		return 1
	}
	return abi.TileAlign / bytes
}

// Runs says which of a launch's numbers is the number of passes through a stack of
// layers.
type Runs uint8

// The kinds of runs.
const (
	Once     Runs = iota // always 1
	NoGrad               // in training: the runs before those with gradients, 0 or more
	WithGrad             // in training: the runs with gradients
	Times                // in forward passes and decoding
)

// A Ref is one tensor of a buffer. Its index is Off, plus the loop variable l if InLoop,
// plus N times the launch's Runs; modulo Mod if Mod is not 0. N and Runs select the
// tensor with which a loop ends. Mod is for tensors that alternate.
type Ref struct {
	Buffer string
	InLoop bool
	Off    int
	N      int
	Runs   Runs
	Mod    int
}

// At returns tensor i of a buffer, and AtLayer tensor l+off inside a loop.
func At(buffer string, i int) Ref        { return Ref{Buffer: buffer, Off: i} }
func AtLayer(buffer string, off int) Ref { return Ref{Buffer: buffer, InLoop: true, Off: off} }

// After returns the tensor that a loop of n layers leaves, if iteration l stores tensor
// l+1.
func After(buffer string, n int, runs Runs) Ref { return Ref{Buffer: buffer, N: n, Runs: runs} }

// Turn returns r in a buffer of two tensors that alternate.
func (r Ref) Turn() Ref {
	if !r.InLoop && r.N == 0 {
		r.Off %= 2
	} else {
		r.Mod = 2
	}
	return r
}

// Index returns the tensor's index in iteration l of a launch with the given number of
// runs.
func (r Ref) Index(l, runs int) int {
	i := r.Off + r.N*runs
	if r.InLoop {
		i += l
	}
	if r.Mod > 0 {
		i %= r.Mod
	}
	return i
}

// A Stmt is a *Call or a *Loop.
type Stmt interface{ stmt() }

// Groups with a single instance for all layers: learned parameters, and fixed ones, which
// come last in the arena.
const (
	Shared = "shared"
	Fixed  = "fixed"
)

// Rounded names the result of the optimizer's functions that holds the parameters rounded
// to BF16.
const Rounded = "rounded"

// Common names the group of parameters that all layers of a stack share. The stack's own
// group has the parameters that each layer has for itself.
func Common(stack string) string { return stack + common }

// IsCommon reports whether Common named the group.
func (g *Group) IsCommon() bool { return strings.HasSuffix(g.Name, common) }

const common = "_shared"

// A Call runs a function. Weight parameters come from the group's instance for layer l
// (instance 0 outside a loop), from the group Common of the same stack, or from Shared.
// Fixed parameters come from Fixed. Args has all other parameters and Results the
// results, by name. A result without an entry is not stored. A launch with runs of the
// kind Unless skips the call.
type Call struct {
	Func    *ir.Func
	Group   string
	Args    map[string]Ref
	Results map[string]Ref
	Unless  Runs
}

// A Loop runs Body for l = 0 … N*runs-1, or backwards if Down: N layers, as many times as
// the launch says, at most Most times (0: once). A NoGrad loop has no gradient.
type Loop struct {
	N    int
	Runs Runs
	Most int
	Down bool
	Body []*Call
}

func (*Call) stmt() {}
func (*Loop) stmt() {}

// A Program is one entry point, such as gradients, forward, encode or decode. Programs
// with the same Memory share buffers of equal names.
type Program struct {
	Name    string
	Doc     string
	Memory  string
	Packed  bool // queries and keys of examples have lengths of their own, without padding
	Buffers []*Buffer
	Body    []Stmt
}

// Buffer returns the buffer of the given name, or nil.
func (p *Program) Buffer(name string) *Buffer {
	for _, b := range p.Buffers {
		if b.Name == name {
			return b
		}
	}
	return nil
}

// A Plan is a whole model.
type Plan struct {
	Groups    []*Group
	Programs  []*Program
	Optimizer []*ir.Func // on flat arenas: the sum of squares, the update, and for each matrix shape its update
	States    []string   // names of the numbers that the optimizer keeps per parameter, one arena each

	Source, Target int // tokens and rows of the longest training problems, for which Prepare and Finish run; 0: no such programs

	Varies bool // the problems of a training launch have several lengths

	// Ties maps the name that a group's functions have for a further use of a parameter
	// to the parameter's name. The parameter belongs to that group or to one for all
	// layers. So each use has its own gradient.
	Ties map[Tie]string

	MatrixStates int // the first MatrixStates of States are kept for a parameter that is a Matrix
}

// Matrices is the set of Matrix parameters of one shape.
type Matrices struct{ Rows, Cols, Count int }

// Update returns the name of the function that updates one of the matrices.
func (m Matrices) Update() string { return fmt.Sprintf("update_%dx%d", m.Rows, m.Cols) }

// Matrices lists the parameters that are updated as matrices, by shape.
func (p *Plan) Matrices() []Matrices {
	var all []Matrices
	for _, g := range p.Groups {
		for _, q := range g.Params {
			if !q.Matrix {
				continue
			}
			i := slices.IndexFunc(all, func(m Matrices) bool { return m.Rows == q.Shape[0] && m.Cols == q.Shape[1] })
			if i < 0 {
				i = len(all)
				all = append(all, Matrices{Rows: q.Shape[0], Cols: q.Shape[1]})
			}
			all[i].Count += g.Layers
		}
	}
	return all
}

// Group returns the parameter group of the given name, or nil.
func (p *Plan) Group(name string) *Group {
	for _, g := range p.Groups {
		if g.Name == name {
			return g
		}
	}
	return nil
}

// A Tie is a parameter's name in the functions of a group.
type Tie struct{ Group, Name string }

// Find returns a parameter by its name in the functions of a group. It looks in the
// group, in its Common group, in Shared and in Fixed. Off is the parameter's first
// element in an instance of g. All results are zero if no group has the parameter.
func (p *Plan) Find(group, name string) (g *Group, param *Param, off int) {
	if tied, ok := p.Ties[Tie{group, name}]; ok {
		name = tied
	}
	for _, of := range []string{group, Common(group), Shared, Fixed} {
		g := p.Group(of)
		if g == nil {
			continue
		}
		if off, ok := g.ParamOff(name); ok {
			i := slices.IndexFunc(g.Params, func(q Param) bool { return q.Name == name })
			return g, &g.Params[i], off
		}
	}
	return nil, nil, 0
}

// NumParams places the groups in the flat arena, in order, and returns its number of
// elements.
func (p *Plan) NumParams() int {
	n := 0
	for _, g := range p.Groups {
		g.Off, g.Stride = n, 0
		for _, q := range g.Params {
			g.Stride += q.Elems()
		}
		n += g.Layers * g.Stride
	}
	return n
}

// Trained returns the number of trained elements, which come first in the arena.
func (p *Plan) Trained() int {
	n := p.NumParams()
	if g := p.Group(Fixed); g != nil {
		n = g.Off
	}
	return n
}

// String returns the name of the runs in a launch.
func (r Runs) String() string { return [...]string{"once", "no_grad", "with_grad", "times"}[r] }

// Count returns the text of n layers for each run.
func (r Runs) Count(n int) string {
	if r == Once {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%d*%s", n, r)
}

func (r Ref) String() string {
	var terms []string
	if r.InLoop {
		terms = append(terms, "l")
	}
	if r.N > 0 {
		terms = append(terms, r.Runs.Count(r.N))
	}
	if r.Off != 0 {
		terms = append(terms, fmt.Sprint(r.Off))
	}
	at := strings.Join(terms, "+")
	switch {
	case at == "":
		return r.Buffer
	case r.Mod > 0 && len(terms) > 1:
		at = fmt.Sprintf("(%s) %% %d", at, r.Mod)
	case r.Mod > 0:
		at = fmt.Sprintf("%s %% %d", at, r.Mod)
	}
	return r.Buffer + "[" + at + "]"
}

// String prints the program, one call a line.
func (p *Program) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "program %s\n", p.Name)
	for _, buf := range p.Buffers {
		fmt.Fprintf(&b, "  buffer %s : %s", buf.Name, buf.Type)
		if buf.Count > 1 {
			fmt.Fprintf(&b, " x %d", buf.Count)
		}
		if buf.PerTime {
			b.WriteString(" x times")
		}
		if buf.Kept {
			b.WriteString(" kept")
		}
		if buf.Zero {
			b.WriteString(" zero")
		}
		b.WriteByte('\n')
	}
	for _, s := range p.Body {
		switch s := s.(type) {
		case *Call:
			fmt.Fprintf(&b, "  %s\n", s)
		case *Loop:
			dir := ""
			if s.Down {
				dir = " down"
			}
			fmt.Fprintf(&b, "  for l < %s%s\n", s.Runs.Count(s.N), dir)
			for _, c := range s.Body {
				fmt.Fprintf(&b, "    %s\n", c)
			}
		}
	}
	return b.String()
}

func (c *Call) String() string {
	var ins, outs []string
	for i, p := range c.Func.Params {
		if c.Func.Roles[i] == ir.Weight || c.Func.Roles[i] == ir.Fixed {
			continue
		}
		ins = append(ins, p.Attr.Name+"="+c.Args[p.Attr.Name].String())
	}
	if c.Group != "" {
		ins = append(ins, c.Group)
	}
	for _, r := range c.Func.Results {
		if ref, ok := c.Results[r.Name]; ok {
			op := "="
			if r.Accumulate {
				op = "+="
			}
			outs = append(outs, r.Name+op+ref.String())
		}
	}
	text := fmt.Sprintf("%s(%s) -> %s", c.Func.Name, strings.Join(ins, ", "), strings.Join(outs, ", "))
	if c.Unless != Once {
		text += " unless " + c.Unless.String()
	}
	return text
}

// Calls lists the calls of the program in order, and calls inside a loop once.
func (p *Program) Calls() []*Call {
	var cs []*Call
	for _, s := range p.Body {
		switch s := s.(type) {
		case *Call:
			cs = append(cs, s)
		case *Loop:
			cs = append(cs, s.Body...)
		}
	}
	return cs
}
