// Package plan says in which order the functions of a model run and which
// buffers they share: programs of calls and loops. Package model writes the
// forward programs, Differentiate (diff.go) adds their backward halves by
// running the calls in reverse, and package lower turns calls into kernel
// launches.
package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/arithlang/mlc/compiler/ir"
	"github.com/arithlang/mlc/runtime/config"
)

// What a program and its compiler know of parameters.
type (
	Init  = config.Init
	Param = config.Param
)

// A Group is the parameters of one stack of layers.
type Group config.Group

// ParamOff is the first element of a parameter within an instance of the group.
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

// A Buffer is a tensor, or Count of one shape (one a layer), that calls
// exchange. A Zero buffer is cleared when its program starts, because calls add
// to it. A PerTime buffer has Count tensors for each run of Times. A Kept buffer, whose
// extents are constant, is the same for all launches on examples that share their draws.
type Buffer struct {
	Name    string
	Type    ir.Type
	Count   int
	Zero    bool
	PerTime bool
	Kept    bool
}

// Runs is a number that only a launch knows: how often a stack of layers is gone
// through.
type Runs uint8

// The numbers of runs of a launch.
const (
	Once     Runs = iota // 1
	NoGrad               // training: runs before those with a gradient, 0 or more
	WithGrad             // training: runs with a gradient
	Times                // forward pass and decoding
)

// A Ref is one tensor of a buffer: number Off, plus l when InLoop where l is the
// loop variable, plus N times the launch's Runs, all of it modulo Mod if that is
// not 0. N and Runs tell where a loop ends, Mod is for tensors used in turn.
type Ref struct {
	Buffer string
	InLoop bool
	Off    int
	N      int
	Runs   Runs
	Mod    int
}

// At is tensor i of a buffer, and AtLayer tensor l+off inside a loop.
func At(buffer string, i int) Ref        { return Ref{Buffer: buffer, Off: i} }
func AtLayer(buffer string, off int) Ref { return Ref{Buffer: buffer, InLoop: true, Off: off} }

// After is the tensor that a loop of n layers leaves, if iteration l stores tensor l+1.
func After(buffer string, n int, runs Runs) Ref { return Ref{Buffer: buffer, N: n, Runs: runs} }

// Turn is the tensor of a pair that is used in turn.
func (r Ref) Turn() Ref {
	if !r.InLoop && r.N == 0 {
		r.Off %= 2
	} else {
		r.Mod = 2
	}
	return r
}

// Index is the number of the tensor in iteration l of a launch with the given runs.
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

// Groups of one instance that all layers share: of learned parameters, and of fixed
// ones, which lie behind all others in the arena.
const (
	Shared = "shared"
	Fixed  = "fixed"
)

// Rounded is the result of the optimizer's functions that is the parameters rounded to BF16.
const Rounded = "rounded"

// Common is the group of what layers of a stack have in common that have parameters of
// their own, too.
func Common(stack string) string { return stack + common }

// IsCommon reports whether a group is such a one.
func (g *Group) IsCommon() bool { return strings.HasSuffix(g.Name, common) }

const common = "_shared"

// A Call runs a function. Weight parameters come from the group's instance for layer l
// (instance 0 outside a loop), or that of what its layers have in common, or from the group
// Shared, and fixed ones from the group Fixed; all others are in Args, and results in
// Results, by name. A result without an entry is not stored. A call Unless some runs is left
// out when a launch has such runs.
type Call struct {
	Func    *ir.Func
	Group   string
	Args    map[string]Ref
	Results map[string]Ref
	Unless  Runs
}

// A Loop runs Body for l = 0 … N*runs-1, or from there to 0 when Down: N layers,
// gone through as often as the launch says, at most Most times (0: once). What runs
// NoGrad has no gradient.
type Loop struct {
	N    int
	Runs Runs
	Most int
	Down bool
	Body []*Call
}

func (*Call) stmt() {}
func (*Loop) stmt() {}

// A Program is one entry point: gradients, forward, encode, decode. Programs with
// the same Memory exchange buffers: equal names are the same tensor.
type Program struct {
	Name    string
	Doc     string
	Memory  string
	Buffers []*Buffer
	Body    []Stmt
}

// Buffer finds a buffer by name.
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
	Optimizer []*ir.Func // over flat arenas: sum of squares, update, and the update of matrices of each shape
	States    []string   // names of what the optimizer keeps of each parameter, an arena each

	Source, Target int // tokens and rows of the longest problems of training, with which Prepare and Finish run; 0: there are none

	Varies bool // problems of a launch of training have several lengths

	// Ties are names that functions have for further uses of parameters: by group and name,
	// the name of the parameter, in that group or one for all layers. So each use has a
	// gradient of its own.
	Ties map[Tie]string

	MatrixStates int // how many of them, the first ones, it keeps of a parameter that is a Matrix
}

// Matrices are all parameters of one shape that are a Matrix.
type Matrices struct{ Rows, Cols, Count int }

// Update is the name of the function that updates one of them.
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

// Group finds a parameter group by name.
func (p *Plan) Group(name string) *Group {
	for _, g := range p.Groups {
		if g.Name == name {
			return g
		}
	}
	return nil
}

// A Tie is a name for a parameter in the functions of a group.
type Tie struct{ Group, Name string }

// Find finds a parameter by the name that functions of a group have for it: in the group,
// among what its layers have in common, or among those for all layers. Off is its first element in an instance of its group g.
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

// NumParams places the groups in the flat arena, in order, and returns its size.
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

// Trained is the number of elements of the arena, the first ones, that are trained.
func (p *Plan) Trained() int {
	n := p.NumParams()
	if g := p.Group(Fixed); g != nil {
		n = g.Off
	}
	return n
}

// String names the runs as they are in a launch.
func (r Runs) String() string { return [...]string{"once", "no_grad", "with_grad", "times"}[r] }

// Count writes n layers for each run.
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

// Calls lists the calls of the program in order, those of a loop once.
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
