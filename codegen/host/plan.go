package host

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/arithlang/mlc/codegen/gocode"
	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/ir"
	"github.com/arithlang/mlc/compiler/kernel"
	"github.com/arithlang/mlc/compiler/lower"
	"github.com/arithlang/mlc/compiler/plan"
)

// Plan is plan.go: constants of kernels and parameters, then each program's memory and functions.
func Plan(p *lower.Program) *gocode.File {
	f := planner{&gocode.File{}}
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
	return f.File
}

// A planner prints plan.go.
type planner struct{ *gocode.File }

// ofDevice is a name of package device.
func ofDevice(name string) *jen.Statement { return gocode.Device.Qual(name) }

// env is the environment parameter of functions, and ofEnv a field of it.
func env() jen.Code { return jen.Id("e").Op("*").Add(ofDevice("Env")) }

func ofEnv(field string) *jen.Statement { return jen.Id("e").Dot(field) }

// constants prints the indices of kernels, and each parameter's offset in an instance of a
// group.
func (f planner) constants(p *lower.Program) {
	var kernels, offsets []jen.Code
	for i, k := range p.Kernels {
		name := jen.Id(join("k", k.Name))
		if i == 0 {
			name.Op("=").Iota()
		}
		kernels = append(kernels, name)
	}
	for _, g := range p.Groups {
		for _, param := range g.Params {
			off, _ := g.ParamOff(param.Name)
			offsets = append(offsets, jen.Id(paramConst(g, param.Name)).Op("=").Lit(off))
		}
	}
	f.Add(jen.Comment("Indices in the kernel table (kernels.go)."), jen.Const().Defs(kernels...))
	f.Add(jen.Comment("Offsets of the parameters within one layer of their group (model.go)."), jen.Const().Defs(offsets...))
}

// paramConst is the constant of a parameter. A parameter with the Go name of an earlier one, as
// b.w_1 and b.w1, gets a number.
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

// plan prints the table of programs that the runtime runs.
func (f planner) plan(p *lower.Program) {
	var folds, programs, matrices []jen.Code
	var source jen.Code
	if p.Target > 0 {
		source = jen.Lit(p.Source) // which may be 0
	}
	number := func(name string, n int) jen.Code { return gocode.Field(name, jen.Lit(n)) }
	for _, x := range p.Folds {
		folds = append(folds, jen.Values(number("To", x.To), number("From", x.From), number("N", x.N)))
	}
	for _, e := range p.Entries {
		layout := jen.Id(join("layout", e.Memory.Name))
		if len(e.Memory.Buffers) == 0 {
			layout = ofDevice("FlatLayout")
		}
		program := ofDevice("Program").Values(gocode.Field("Layout", layout), gocode.Field("Run", jen.Id(gocode.Name(e.Name))))
		if e.Matrix != nil {
			matrices = append(matrices, jen.Values(number("Rows", e.Matrix[0]), number("Cols", e.Matrix[1]), gocode.Field("Update", program)))
			continue
		}
		programs = append(programs, gocode.Field(ProgramField(e.Name), program))
	}
	fields := []jen.Code{
		gocode.Field("NumParams", p.NumParams),
		gocode.Field("States", p.States),
		gocode.Field("NumUses", p.NumUses),
		gocode.Field("Folds", gocode.Slice(ofDevice("Fold"), folds)),
		gocode.Field("Source", source),
		gocode.Field("Target", p.Target),
		gocode.Field("AnyLaunch", p.AnyLaunch),
		gocode.Field("Joins", p.Joins),
		gocode.Field("Rounds", p.Rounds),
		gocode.Field("Packed", p.Packed),
		gocode.Field("AnyLength", p.AnyLength),
	}
	fields = append(fields, programs...)
	fields = append(fields, gocode.Field("Matrices", gocode.Slice(ofDevice("Matrix"), matrices)), gocode.Field("MatrixStates", p.MatrixStates))
	f.Add(jen.Comment("plan is what a trainer launches; each program is a function below."))
	f.Add(jen.Var().Id("plan").Op("=").Add(ofDevice("Plan"), gocode.Lines(fields...)))
}

// ProgramField is the field of device.Plan that has the program of an entry.
func ProgramField(entry string) string {
	name := gocode.Name(entry)
	return strings.ToUpper(name[:1]) + name[1:]
}

// LayoutFields maps fields of device.Layout to buffers of a memory, which may lack some.
var LayoutFields = map[string]string{
	"Source": "source_tokens", "Target": "target_tokens",
	"Example": kernel.RowExample, "Start": kernel.ExampleStart, "Length": kernel.ExampleLength,
	"Labels": "labels", "Pred": "pred", "Loss": "loss", "Logits": "logits", "Self": "self", "Cross": "cross",
}

// layout prints the function that returns a memory's device.Layout.
func (f planner) layout(p *lower.Program, m *lower.Memory) {
	var programs []string
	for _, e := range p.Entries {
		if e.Memory.Name == m.Name {
			programs = append(programs, gocode.Name(e.Name))
		}
	}
	name := join("layout", m.Name)
	buffers, fields := "_", []jen.Code{}
	for _, field := range []string{"Work", "Ints", "Largest"} {
		fields = append(fields, gocode.Field(field, jen.Id("m").Dot(field)))
	}
	for _, field := range slices.Sorted(maps.Keys(LayoutFields)) {
		if b := m.Buffer(LayoutFields[field]); b != nil {
			buffers = "b"
			fields = append(fields, gocode.Field(field, buffer(b).Dot("At").Call(jen.Lit(0))))
		}
	}
	f.Add(jen.Line(), jen.Commentf("%s says where the runtime meets %s.", name, strings.Join(programs, " and ")))
	f.Add(jen.Func().Id(name).Params(env()).Add(ofDevice("Layout")).Block(
		place(m, buffers, "m"),
		jen.Return(ofDevice("Layout").Add(gocode.Lines(fields...))),
	))
}

// buffer is the field of a buffer in a program's memory.
func buffer(b *lower.Buffer) *jen.Statement { return jen.Id("b").Dot(gocode.Name(b.Name)) }

// place is the statement that places a program's memory.
func place(m *lower.Memory, buffers, allocator string) jen.Code {
	return jen.List(jen.Id(buffers), jen.Id(allocator)).Op(":=").Id(join("new", m.Name, "memory")).Call(jen.Id("e"))
}

// memory prints the struct of a program's buffers and the function that places them.
func (f planner) memory(m *lower.Memory) {
	typ := join(m.Name, "memory")
	var fields, body []jen.Code
	for _, b := range m.Buffers {
		fields = append(fields, jen.Id(gocode.Name(b.Name)).Add(ofDevice("Array")).Comment(describe(b)))
		memory := jen.Id("m").Dot(allocators[b.Type.Elem]).Call(count(b), elements(b.Type.Shape, m.Packed))
		if b.Kept {
			memory = jen.Id("m").Dot("Kept").Call(jen.Lit(b.Off), jen.Lit(b.Count), jen.Lit(b.Stride))
		}
		body = append(body, buffer(b).Op("=").Add(memory))
	}
	body = append(body, jen.Return(jen.Id("b"), jen.Id("m")))
	f.Add(jen.Commentf("%s is the memory of one launch of %s; t0, t1, … are shared by values that do not live at the same time.", typ, gocode.Name(m.Name)))
	f.Add(jen.Type().Id(typ).Struct(fields...))
	results := jen.Params(jen.Id("b").Id(typ), jen.Id("m").Add(ofDevice("Allocator")))
	f.Add(jen.Func().Id(join("new", m.Name, "memory")).Params(env()).Add(results).Block(body...))
}

// allocators are the methods of device.Allocator that place tensors, by their elements.
var allocators = map[expr.Type]string{expr.F32: "Floats", expr.I32: "Int32s", expr.BF16: "Halves"}

// count is the number of a buffer's tensors.
func count(b *lower.Buffer) jen.Code {
	if b.PerTime {
		return runs(b.Count, plan.Times)
	}
	return jen.Lit(b.Count)
}

// runs is n for each run of a launch.
func runs(n int, r plan.Runs) *jen.Statement {
	field := map[plan.Runs]string{plan.NoGrad: "NoGrad", plan.WithGrad: "WithGrad", plan.Times: "Times"}[r]
	switch {
	case field == "":
		return jen.Lit(n)
	case n == 1:
		return ofEnv(field)
	}
	return jen.Lit(n).Op("*").Add(ofEnv(field))
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

// elements returns the number of elements of a tensor in memory, with C rows where the shape
// has T. Packed rows count as env's Rows.
func elements(shape []ir.Dim, packed bool) jen.Code {
	var factors []jen.Code
	if packed && lower.Rows(shape) {
		factors, shape = append(factors, ofEnv("Rows").Call()), shape[2:]
	}
	for _, d := range shape {
		switch {
		case d.Sym == "":
			factors = append(factors, jen.Lit(d.N))
		case d.N > 0:
			factors = append(factors, jen.Parens(jen.Parens(ofEnv(d.Sym).Op("+").Lit(d.N-1)).Op("/").Lit(d.N)))
		case d.Sym == "T":
			factors = append(factors, ofEnv("C"))
		default:
			factors = append(factors, ofEnv(d.Sym))
		}
	}
	if len(factors) == 0 {
		return jen.Lit(1)
	}
	return between("*", factors)
}

// between puts an operator between operands.
func between(op string, operands []jen.Code) *jen.Statement {
	return jen.Custom(jen.Options{Separator: op}, operands...)
}

// entry prints a program: its memory, the buffers it clears, and its routines in order. For a
// program of the optimizer it prints only the comment; the routine is the program.
func (f planner) entry(e *lower.Entry) {
	f.Add(jen.Line())
	name := gocode.Name(e.Name)
	if e.Doc != "" {
		f.Add(jen.Commentf("%s %s.", name, e.Doc))
	}
	if e.Optimizer() {
		return
	}
	if len(e.Steps) == 0 {
		f.Add(jen.Func().Id(name).Params(ofDevice("Queue"), jen.Op("*").Add(ofDevice("Env"))).Block())
		return
	}
	body := []jen.Code{place(e.Memory, "b", "_")}
	for _, b := range e.Memory.Buffers {
		if b.Zero {
			body = append(body, jen.Id("q").Dot("Zero").Call(buffer(b).Dot("At").Call(jen.Lit(0)), buffer(b).Dot("Len").Call()))
		}
	}
	for _, s := range e.Steps {
		body = append(body, step(jen.Id(join(e.Name, s.Routine.Name)), s)...)
	}
	f.Add(jen.Func().Id(name).Params(jen.Id("q").Add(ofDevice("Queue")), env()).Block(body...))
}

// step is the call of a routine, or the loop of its calls.
func step(routine *jen.Statement, s lower.Step) []jen.Code {
	args := []jen.Code{jen.Id("q"), jen.Id("e"), jen.Op("&").Id("b")}
	if s.N > 0 {
		at := ofEnv("Layer").Op("=")
		loop := jen.For(iterations(s)...).Block(at.Clone().Add(layer(s)), routine.Call(append(args, jen.Id("l"))...))
		return []jen.Code{loop, at.Clone().Lit(0)}
	}
	call := routine.Call(args...)
	if s.Unless != plan.Once {
		call = jen.If(runs(1, s.Unless).Op("==").Lit(0)).Block(call)
	}
	return []jen.Code{call}
}

// iterations is the head of a loop.
func iterations(s lower.Step) []jen.Code {
	if !s.Down {
		return []jen.Code{jen.Id("l").Op(":=").Range().Add(runs(s.N, s.Runs))}
	}
	last := jen.Lit(s.N - 1)
	if s.Runs != plan.Once {
		last = runs(s.N, s.Runs).Op("-").Lit(1)
	}
	return []jen.Code{jen.Id("l").Op(":=").Add(last), jen.Id("l").Op(">=").Lit(0), jen.Id("l").Op("--")}
}

// layer is the layer number of an iteration: runs with gradients come after those without.
func layer(s lower.Step) jen.Code {
	if s.Runs == plan.WithGrad {
		return jen.Id("l").Op("+").Add(runs(s.N, plan.NoGrad))
	}
	return jen.Id("l")
}

// routine prints a function of the model as launches.
func (f planner) routine(e *lower.Entry, r *lower.Routine) {
	name, params := join(e.Name, r.Name), []jen.Code{jen.Id("q").Add(ofDevice("Queue")), env()}
	if e.Optimizer() {
		name = gocode.Name(e.Name)
	} else {
		params = append(params, jen.Id("b").Op("*").Id(join(e.Memory.Name, "memory")))
		f.Add(jen.Line())
	}
	if r.InLoop {
		params = append(params, jen.Id("l").Int())
	}
	var body []jen.Code
	if e.Optimizer() && len(e.Memory.Buffers) > 0 {
		body = append(body, place(e.Memory, "b", "_"))
	}
	body = append(body, weights(r)...)
	for _, l := range r.Launches {
		args := []jen.Code{jen.Id(join("k", l.Kernel.Name)), jen.Id("e")}
		for _, a := range l.Args {
			args = append(args, argument(a))
		}
		do := "Launch"
		if l.Joins {
			do = "Join"
		}
		launch := jen.Id("q").Dot(do).Call(args...)
		if l.Note != "" {
			launch.Comment(l.Note)
		}
		body = append(body, launch)
	}
	f.Add(jen.Commentf("%s launches %s (line %d of the spec).", name, r.Name, r.Pos.Line))
	f.Add(jen.Func().Id(name).Params(params...).Block(body...))
}

// weights binds names to the parameters and gradients that the routine's layer
// uses of each group.
func weights(r *lower.Routine) []jen.Code {
	var out []jen.Code
	bound := map[string]bool{}
	for _, l := range r.Launches {
		for _, a := range l.Args {
			if a.Group == nil || bound[weightName(a)] {
				continue
			}
			bound[weightName(a)] = true
			layer, through := jen.Lit(0), "At"
			if r.InLoop && !ofAll(a.Group) {
				layer = jen.Id("l")
			}
			if a.Space == lower.InGrads {
				through = "Gradient"
			}
			out = append(out, jen.Id(weightName(a)).Op(":=").Id(join(a.Group.Name, "group")).Dot(through).Call(layer))
		}
	}
	return out
}

// ofAll reports whether all layers share a group.
func ofAll(g *plan.Group) bool { return g.Name == plan.Shared || g.Name == plan.Fixed }

// weightName is w, or ws for the common group of a stack's layers, or the name of a group that
// all layers share. Gradients have the prefix d.
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

// argument returns the place of a launch's buffer: in the parameters of the layer or in the
// program's memory. For a program of the optimizer, it is an arena from element P on.
func argument(a lower.Arg) jen.Code {
	switch a.Space {
	case lower.InParams, lower.InGrads:
		return jen.Id(weightName(a)).Dot("Plus").Call(jen.Id(paramConst(a.Group, a.Param)))
	case lower.InRounded:
		return jen.Id(weightName(a)).Dot("Plus").Call(jen.Id(paramConst(a.Group, a.Param))).Dot("Rounded").Call()
	case lower.InUses:
		off := jen.Lit(a.Off)
		if a.Stride > 0 {
			off.Op("+").Id("l").Op("*").Lit(a.Stride)
		}
		return ref(ofDevice("Uses"), off)
	case lower.FlatParams:
		return ref(ofDevice("Params"), ofEnv("P"))
	case lower.FlatRounded:
		return ref(ofDevice("Rounded"), ofEnv("P"))
	case lower.FlatGrads:
		return ref(ofDevice("Grads"), ofEnv("P"))
	case lower.FlatState:
		space := ofDevice("State")
		if a.State > 0 {
			space.Op("+").Lit(a.State)
		}
		return ref(space, ofEnv("P"))
	}
	return jen.Id("b").Dot(gocode.Name(a.Ref.Buffer)).Dot("At").Call(index(a.Ref))
}

// ref is a device.Ref: an offset in a space of memory.
func ref(space, off jen.Code) jen.Code {
	return ofDevice("Ref").Values(gocode.Field("Space", space), gocode.Field("Off", off))
}

// index is the number of a tensor in its buffer.
func index(r plan.Ref) jen.Code {
	var terms []jen.Code
	if r.InLoop {
		terms = append(terms, jen.Id("l"))
	}
	if r.N > 0 {
		terms = append(terms, runs(r.N, r.Runs))
	}
	if r.Off != 0 || len(terms) == 0 {
		terms = append(terms, jen.Lit(r.Off))
	}
	sum := between("+", terms)
	switch {
	case r.Mod == 0:
		return sum
	case len(terms) > 1:
		sum = jen.Parens(sum)
	}
	return sum.Op("%").Lit(r.Mod)
}
