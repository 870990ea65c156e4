package host

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/arithlang/mlc/codegen/gotext"
	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/ir"
	"github.com/arithlang/mlc/compiler/kernel"
	"github.com/arithlang/mlc/compiler/lower"
	"github.com/arithlang/mlc/compiler/plan"
)

// Plan is plan.go: kernel and parameter constants, the memory of each program, and the
// programs as Go functions, from the whole to the parts.
func Plan(p *lower.Program) gotext.File {
	f := &planner{}
	f.Line("import %q", "github.com/arithlang/mlc/runtime/device")
	f.constants(p)
	f.plan(p)
	printed := map[*lower.Memory]bool{}
	for _, e := range p.Entries {
		if len(e.Memory.Buffers) > 0 && !printed[e.Memory] {
			printed[e.Memory] = true
			f.layout(p, e.Memory)
			f.memory(e.Memory)
		}
		f.entry(e)
		for _, s := range e.Steps {
			f.routine(e, s.Routine)
		}
	}
	return gotext.File{Decls: f.String()}
}

// A planner prints plan.go.
type planner struct{ gotext.Text }

// constants prints the numbers of kernels, and where each parameter lies within an
// instance of its group.
func (f *planner) constants(p *lower.Program) {
	f.Line("\n// Indices in the kernel table (kernels.go).")
	f.Line("const (")
	for i, k := range p.Kernels {
		name := join("k", k.Name)
		if i == 0 {
			name += " = iota"
		}
		f.Line("%s", name)
	}
	f.Line(")")
	f.Line("\n// Offsets of the parameters within one layer of their group (model.go).")
	f.Line("const (")
	for _, g := range p.Groups {
		for _, param := range g.Params {
			off, _ := g.ParamOff(param.Name)
			f.Line("%s = %d", paramConst(g, param.Name), off)
		}
	}
	f.Line(")")
}

// paramConst is the constant of a parameter: one that has the Go name of others
// before it, as b.w_1 has that of b.w1, gets a number.
func paramConst(g *plan.Group, param string) string {
	name, same := join(g.Name, "off", param), 0
	for _, p := range g.Params {
		switch {
		case p.Name == param && same > 0:
			return fmt.Sprintf("%s_%d", name, same+1)
		case p.Name == param:
			return name
		case join(g.Name, "off", p.Name) == name:
			same++
		}
	}
	panic("BUG: no parameter " + param)
}

// plan prints the table that the runtime drives.
func (f *planner) plan(p *lower.Program) {
	f.Line("\n// plan is what a trainer launches; each program is a function below.")
	f.Line("var plan = device.Plan{")
	f.Line("NumParams: %d,", p.NumParams)
	f.Line("States: %#v,", p.States)
	if p.NumUses > 0 {
		f.Line("NumUses: %d,", p.NumUses)
	}
	if len(p.Folds) > 0 {
		f.Line("Folds: []device.Fold{")
		for _, x := range p.Folds {
			f.Line("{To: %d, From: %d, N: %d},", x.To, x.From, x.N)
		}
		f.Line("},")
	}
	if p.Target > 0 {
		f.Line("Source: %d,\nTarget: %d,", p.Source, p.Target)
	}
	if p.AnyLaunch {
		f.Line("AnyLaunch: true,")
	}
	if p.Packed {
		f.Line("Packed: true,")
	}
	if p.AnyLength {
		f.Line("AnyLength: true,")
	}
	var matrices []string
	for _, e := range p.Entries {
		layout := join("layout", e.Memory.Name)
		if len(e.Memory.Buffers) == 0 {
			layout = "device.FlatLayout"
		}
		program := fmt.Sprintf("device.Program{Layout: %s, Run: %s}", layout, gotext.Name(e.Name))
		if e.Matrix != nil {
			matrices = append(matrices, fmt.Sprintf("{Rows: %d, Cols: %d, Update: %s},", e.Matrix[0], e.Matrix[1], program))
			continue
		}
		f.Line("%s: %s,", ProgramField(e.Name), program)
	}
	if len(matrices) > 0 {
		f.Line("Matrices: []device.Matrix{\n%s\n},\nMatrixStates: %d,", strings.Join(matrices, "\n"), p.MatrixStates)
	}
	f.Line("}")
}

// ProgramField is the field of device.Plan that has the program of an entry.
func ProgramField(entry string) string {
	name := gotext.Name(entry)
	return strings.ToUpper(name[:1]) + name[1:]
}

// LayoutFields are the buffers of a memory behind the fields of device.Layout, as far as
// it has them.
var LayoutFields = map[string]string{
	"Source": "source_tokens", "Target": "target_tokens",
	"Example": kernel.RowExample, "Start": kernel.ExampleStart, "Length": kernel.ExampleLength,
	"Labels": "labels", "Pred": "pred", "Loss": "loss", "Self": "self", "Cross": "cross",
}

// layout prints where the runtime meets a memory.
func (f *planner) layout(p *lower.Program, m *lower.Memory) {
	var programs []string
	for _, e := range p.Entries {
		if e.Memory.Name == m.Name {
			programs = append(programs, gotext.Name(e.Name))
		}
	}
	name := join("layout", m.Name)
	buffers, fields := "_", ""
	for _, field := range slices.Sorted(maps.Keys(LayoutFields)) {
		if b := m.Buffer(LayoutFields[field]); b != nil {
			buffers = "b"
			fields += fmt.Sprintf("%s: b.%s.At(0),\n", field, gotext.Name(b.Name))
		}
	}
	f.Line("\n// %s says where the runtime meets %s.", name, strings.Join(programs, " and "))
	f.Line("func %s(e *device.Env) device.Layout {", name)
	f.Line("%s, m := %s(e)", buffers, join("new", m.Name, "memory"))
	f.Line("return device.Layout{\nWork: m.Work,\nInts: m.Ints,\nLargest: m.Largest,\n%s}\n}", fields)
}

// memory prints the struct of a program's buffers and the function that places them.
func (f *planner) memory(m *lower.Memory) {
	typ := join(m.Name, "memory")
	f.Line("\n// %s is the memory of one launch of %s; t0, t1, … are shared by values that do not live at the same time.", typ, gotext.Name(m.Name))
	f.Line("type %s struct {", typ)
	for _, b := range m.Buffers {
		f.Line("%s device.Array // %s", gotext.Name(b.Name), describe(b))
	}
	f.Line("}")
	f.Line("\nfunc %s(e *device.Env) (b %s, m device.Allocator) {", join("new", m.Name, "memory"), typ)
	for _, b := range m.Buffers {
		if b.Kept {
			f.Line("b.%s = m.Kept(%d, %d, %d)", gotext.Name(b.Name), b.Off, b.Count, b.Stride)
			continue
		}
		f.Line("b.%s = m.%s(%s, %s)", gotext.Name(b.Name), allocators[b.Type.Elem], count(b), elements(b.Type.Shape, m.Packed))
	}
	f.Line("return b, m\n}")
}

// allocators are the methods of device.Allocator that place tensors, by their elements.
var allocators = map[expr.Type]string{expr.F32: "Floats", expr.I32: "Int32s", expr.BF16: "Halves"}

// count is the number of a buffer's tensors.
func count(b *lower.Buffer) string {
	if b.PerTime {
		return runs(b.Count, plan.Times)
	}
	return strconv.Itoa(b.Count)
}

// runs is n layers for each run of a launch.
func runs(n int, r plan.Runs) string {
	field := map[plan.Runs]string{plan.NoGrad: "NoGrad", plan.WithGrad: "WithGrad", plan.Times: "Times"}[r]
	switch {
	case field == "":
		return strconv.Itoa(n)
	case n == 1:
		return "e." + field
	}
	return fmt.Sprintf("%d*e.%s", n, field)
}

func describe(b *lower.Buffer) string {
	if b.PerTime {
		return fmt.Sprintf("%d x times x %s", b.Count, b.Type)
	}
	if b.Kept {
		return fmt.Sprintf("%d x %s, kept from launch to launch", b.Count, b.Type)
	}
	if b.Count > 1 {
		return fmt.Sprintf("%d x %s", b.Count, b.Type)
	}
	return b.Type.String()
}

// elements is the size of a tensor in memory, with C rows where the shape has T; of
// packed rows there are as many as the examples have.
func elements(shape []ir.Dim, packed bool) string {
	factors := []string{}
	if packed && lower.Rows(shape) {
		factors, shape = append(factors, "e.Rows()"), shape[2:]
	}
	for _, d := range shape {
		switch {
		case d.Sym == "":
			factors = append(factors, strconv.Itoa(d.N))
		case d.N > 0:
			factors = append(factors, fmt.Sprintf("((e.%s+%d)/%d)", d.Sym, d.N-1, d.N))
		case d.Sym == "T":
			factors = append(factors, "e.C")
		default:
			factors = append(factors, "e."+d.Sym)
		}
	}
	if len(factors) == 0 {
		return "1"
	}
	return strings.Join(factors, "*")
}

// entry prints a program: its memory, what it clears, and its routines in order. One
// of the optimizer is its routine.
func (f *planner) entry(e *lower.Entry) {
	f.Line("")
	if e.Doc != "" {
		f.Line("// %s %s.", gotext.Name(e.Name), e.Doc)
	}
	if e.Optimizer() {
		return
	}
	if len(e.Steps) == 0 {
		f.Line("func %s(device.Queue, *device.Env) {}", gotext.Name(e.Name))
		return
	}
	f.Line("func %s(q device.Queue, e *device.Env) {", gotext.Name(e.Name))
	f.Line("b, _ := %s(e)", join("new", e.Memory.Name, "memory"))
	for _, b := range e.Memory.Buffers {
		if b.Zero {
			f.Line("q.Zero(b.%[1]s.At(0), b.%[1]s.Len())", gotext.Name(b.Name))
		}
	}
	for _, s := range e.Steps {
		f.step(join(e.Name, s.Routine.Name), s)
	}
	f.Line("}")
}

func (f *planner) step(routine string, s lower.Step) {
	switch {
	case s.N > 0:
		f.Line("for %s {", iterations(s))
		f.Line("e.Layer = %s", layer(s))
		f.Line("%s(q, e, &b, l)", routine)
		f.Line("}")
		f.Line("e.Layer = 0")
	case s.Unless != plan.Once:
		f.Line("if %s == 0 {\n%s(q, e, &b)\n}", runs(1, s.Unless), routine)
	default:
		f.Line("%s(q, e, &b)", routine)
	}
}

// iterations is the head of a loop.
func iterations(s lower.Step) string {
	n := runs(s.N, s.Runs)
	switch {
	case !s.Down:
		return "l := range " + n
	case s.Runs == plan.Once:
		return fmt.Sprintf("l := %d; l >= 0; l--", s.N-1)
	}
	return fmt.Sprintf("l := %s-1; l >= 0; l--", n)
}

// layer is the layer number of an iteration: runs with gradients come after those without.
func layer(s lower.Step) string {
	if s.Runs == plan.WithGrad {
		return "l + " + runs(s.N, plan.NoGrad)
	}
	return "l"
}

// routine prints a function of the model as launches.
func (f *planner) routine(e *lower.Entry, r *lower.Routine) {
	name, params := join(e.Name, r.Name), "q device.Queue, e *device.Env"
	if e.Optimizer() {
		name = gotext.Name(e.Name)
	} else {
		params += ", b *" + join(e.Memory.Name, "memory")
		f.Line("")
	}
	if r.InLoop {
		params += ", l int"
	}
	f.Line("// %s launches %s (line %d of the spec).", name, r.Name, r.Pos.Line)
	f.Line("func %s(%s) {", name, params)
	if e.Optimizer() && len(e.Memory.Buffers) > 0 {
		f.Line("b, _ := %s(e)", join("new", e.Memory.Name, "memory"))
	}
	f.weights(r)
	for _, l := range r.Launches {
		args := []string{join("k", l.Kernel.Name), "e"}
		for _, a := range l.Args {
			args = append(args, argument(a))
		}
		note := ""
		if l.Note != "" {
			note = " // " + l.Note
		}
		do := "Launch"
		if l.Joins {
			do = "Join"
		}
		f.Line("q.%s(%s)%s", do, strings.Join(args, ", "), note)
	}
	f.Line("}")
}

// weights binds names to the parameters and gradients that the routine's layer
// uses of each group.
func (f *planner) weights(r *lower.Routine) {
	bound := map[string]bool{}
	for _, l := range r.Launches {
		for _, a := range l.Args {
			if a.Group == nil || bound[weightName(a)] {
				continue
			}
			bound[weightName(a)] = true
			layer, through := "0", "At"
			if r.InLoop && !ofAll(a.Group) {
				layer = "l"
			}
			if a.Space == lower.InGrads {
				through = "Gradient"
			}
			f.Line("%s := %s.%s(%s)", weightName(a), join(a.Group.Name, "group"), through, layer)
		}
	}
}

// ofAll reports whether a group is what all layers share.
func ofAll(g *plan.Group) bool { return g.Name == plan.Shared || g.Name == plan.Fixed }

// weightName is w, or dw for gradients; ws or dws for what layers of a stack have in
// common; shared, dshared or fixed for the groups that all layers share.
func weightName(a lower.Arg) string {
	name := "w"
	switch {
	case ofAll(a.Group):
		name = a.Group.Name
	case a.Group.IsCommon():
		name = "ws"
	}
	if a.Space == lower.InGrads {
		name = "d" + name
	}
	return name
}

// argument is where a launch has a buffer: in the parameters of the layer or in the
// program's memory; of a program of the optimizer, from element P on of an arena.
func argument(a lower.Arg) string {
	arena := func(space string) string { return fmt.Sprintf("device.Ref{Space: device.%s, Off: e.P}", space) }
	switch a.Space {
	case lower.InParams, lower.InGrads:
		return fmt.Sprintf("%s.Plus(%s)", weightName(a), paramConst(a.Group, a.Param))
	case lower.InUses:
		off := fmt.Sprint(a.Off)
		if a.Stride > 0 {
			off += fmt.Sprintf(" + l*%d", a.Stride)
		}
		return "device.Ref{Space: device.Uses, Off: " + off + "}"
	case lower.FlatParams:
		return arena("Params")
	case lower.FlatGrads:
		return arena("Grads")
	case lower.FlatState:
		return arena(strings.TrimSuffix(fmt.Sprintf("State+%d", a.State), "+0"))
	}
	return fmt.Sprintf("b.%s.At(%s)", gotext.Name(a.Ref.Buffer), index(a.Ref))
}

// index is the number of a tensor in its buffer.
func index(r plan.Ref) string {
	var terms []string
	if r.InLoop {
		terms = append(terms, "l")
	}
	if r.N > 0 {
		terms = append(terms, runs(r.N, r.Runs))
	}
	if r.Off != 0 || len(terms) == 0 {
		terms = append(terms, strconv.Itoa(r.Off))
	}
	sum := strings.Join(terms, "+")
	switch {
	case r.Mod == 0:
		return sum
	case len(terms) > 1:
		sum = "(" + sum + ")"
	}
	return fmt.Sprintf("%s%%%d", sum, r.Mod)
}
