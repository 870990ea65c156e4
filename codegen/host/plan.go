package host

import (
	"fmt"

	"github.com/dave/jennifer/jen"

	"github.com/arithlang/mlc/compiler/ir"
	"github.com/arithlang/mlc/compiler/lower"
	"github.com/arithlang/mlc/compiler/plan"
)

// Plan prints plan.go: kernel and parameter constants, the memory of each
// program, and the programs as Go functions, from the whole to the parts.
func Plan(f *jen.File, p *lower.Program) {
	f.ImportName(devicePath, "device")
	f.Comment("Indices in the kernel table (kernels.go).")
	f.Const().DefsFunc(func(g *jen.Group) {
		for i, k := range p.Kernels {
			s := g.Id(join("k", k.Name))
			if i == 0 {
				s.Op("=").Iota()
			}
		}
	})
	parameterConsts(f, p.Groups)
	planVar(f, p)
	printed := map[*lower.Memory]bool{}
	for _, e := range p.Entries {
		if !e.Flat && !printed[e.Memory] {
			printed[e.Memory] = true
			memory(f, e.Memory)
		}
		entry(f, e)
		for _, s := range e.Steps {
			routine(f, e, s.Routine)
		}
	}
}

// parameterConsts prints where each parameter lies within an instance of its group.
func parameterConsts(f *jen.File, groups []*plan.Group) {
	f.Comment("Offsets of the parameters within one layer of their group (model.go).")
	f.Const().DefsFunc(func(g *jen.Group) {
		for _, gr := range groups {
			for _, p := range gr.Params {
				off, _ := gr.ParamOff(p.Name)
				g.Id(paramConst(gr, p.Name)).Op("=").Lit(off)
			}
		}
	})
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

// planVar prints the table that the runtime drives.
func planVar(f *jen.File, p *lower.Program) {
	f.Comment("plan is what a trainer launches; each program is a function below.")
	f.Var().Id("plan").Op("=").Qual(devicePath, "Plan").Values(jen.DictFunc(func(d jen.Dict) {
		d[jen.Id("NumParams")] = jen.Lit(p.NumParams)
		for _, e := range p.Entries {
			layout := jen.Id(join("layout", e.Memory.Name))
			if e.Flat {
				layout = jen.Qual(devicePath, "FlatLayout")
			}
			d[jen.Id(ProgramField(e.Name))] = jen.Qual(devicePath, "Program").Values(jen.Dict{
				jen.Id("Layout"): layout,
				jen.Id("Run"):    jen.Id(Name(e.Name)),
			})
		}
	}))
	for _, name := range []string{"gradients", "forward", "decoding", "attention"} {
		if memoryOf(p, name) == nil {
			continue
		}
		f.Comment(fmt.Sprintf("layout%s says where the runtime meets %s.", upper(name), programsOf(p, name)))
		f.Func().Id(join("layout", name)).Params(jen.Id("e").Op("*").Qual(devicePath, "Env")).Qual(devicePath, "Layout").Block(
			jen.List(jen.Id("b"), jen.Id("m")).Op(":=").Id(join("new", name, "memory")).Call(jen.Id("e")),
			jen.Return(jen.Qual(devicePath, "Layout").Values(jen.DictFunc(func(d jen.Dict) {
				d[jen.Id("Work")] = jen.Id("m").Dot("Work")
				d[jen.Id("Ints")] = jen.Id("m").Dot("Ints")
				d[jen.Id("Largest")] = jen.Id("m").Dot("Largest")
				for field, buffer := range LayoutFields(name) {
					if memoryOf(p, name).Buffer(buffer) != nil {
						d[jen.Id(field)] = jen.Id("b").Dot(Name(buffer)).Dot("At").Call(jen.Lit(0))
					}
				}
			}))),
		)
	}
}

// ProgramField is the field of device.Plan that has the program of an entry.
func ProgramField(entry string) string {
	return map[string]string{
		"gradients": "Gradients", "forward": "Forward", "encode": "Encode", "decode": "Decode",
		"sum_squares": "SumSquares", "update": "Update", "attention": "Attention",
	}[entry]
}

// LayoutFields are the buffers of a memory behind the fields of device.Layout, as far as
// the memory has them.
func LayoutFields(memory string) map[string]string {
	return map[string]map[string]string{
		"gradients": {"Source": "source_tokens", "Target": "target_tokens", "Labels": "labels", "Pred": "pred", "Loss": "loss"},
		"forward":   {"Source": "source_tokens", "Target": "target_tokens", "Labels": "labels", "Pred": "pred", "Loss": "loss"},
		"decoding":  {"Source": "source_tokens", "Target": "target_tokens", "Pred": "pred"},
		"attention": {"Source": "source_tokens", "Target": "target_tokens", "Self": "self", "Cross": "cross"},
	}[memory]
}

// memoryOf is the memory of a name; nil if no program has it.
func memoryOf(p *lower.Program, name string) *lower.Memory {
	for _, e := range p.Entries {
		if e.Memory.Name == name {
			return e.Memory
		}
	}
	return nil
}

func programsOf(p *lower.Program, memory string) string {
	text := ""
	for _, e := range p.Entries {
		if e.Memory.Name == memory {
			if text != "" {
				text += " and "
			}
			text += Name(e.Name)
		}
	}
	return text
}

// memory prints the struct of a program's buffers and the function that places them.
func memory(f *jen.File, m *lower.Memory) {
	typ, e := join(m.Name, "memory"), jen.Id("e")
	f.Comment(fmt.Sprintf("%s is the memory of one launch of %s; t0, t1, … are shared by values that do not live at the same time.", typ, Name(m.Name)))
	f.Type().Id(typ).StructFunc(func(g *jen.Group) {
		for _, b := range m.Buffers {
			g.Id(Name(b.Name)).Qual(devicePath, "Array").Comment(describe(b))
		}
	})
	f.Func().Id(join("new", m.Name, "memory")).Params(e.Clone().Op("*").Qual(devicePath, "Env")).
		Params(jen.Id("b").Id(typ), jen.Id("m").Qual(devicePath, "Allocator")).BlockFunc(func(g *jen.Group) {
		for _, b := range m.Buffers {
			alloc := "Floats"
			if b.Type.Elem != 0 {
				alloc = "Int32s"
			}
			g.Id("b").Dot(Name(b.Name)).Op("=").Id("m").Dot(alloc).Call(count(b), elements(b.Type.Shape))
		}
		g.Return(jen.Id("b"), jen.Id("m"))
	})
}

// count is the number of a buffer's tensors.
func count(b *lower.Buffer) *jen.Statement {
	if b.PerTime {
		return runs(b.Count, plan.Times)
	}
	return jen.Lit(b.Count)
}

// runs is n layers for each run of a launch.
func runs(n int, r plan.Runs) *jen.Statement {
	field := map[plan.Runs]string{plan.Free: "Free", plan.Kept: "Kept", plan.Times: "Times"}[r]
	switch {
	case field == "":
		return jen.Lit(n)
	case n == 1:
		return jen.Id("e").Dot(field)
	}
	return jen.Lit(n).Op("*").Id("e").Dot(field)
}

func describe(b *lower.Buffer) string {
	if b.PerTime {
		return fmt.Sprintf("%d x times x %s", b.Count, b.Type)
	}
	if b.Count > 1 {
		return fmt.Sprintf("%d x %s", b.Count, b.Type)
	}
	return b.Type.String()
}

// elements is the size of a tensor in memory, with C rows where the shape has T.
func elements(shape []ir.Dim) *jen.Statement {
	s := jen.Null()
	for i, d := range shape {
		if i > 0 {
			s.Op("*")
		}
		switch d.Sym {
		case "":
			s.Lit(d.N)
		case "T":
			s.Id("e").Dot("C")
		default:
			s.Id("e").Dot(d.Sym)
		}
	}
	if len(shape) == 0 {
		s.Lit(1)
	}
	return s
}

// entry prints a program: its memory, what it clears, and its routines in order.
func entry(f *jen.File, e *lower.Entry) {
	if e.Doc != "" {
		f.Comment(Name(e.Name) + " " + e.Doc + ".")
	}
	if e.Flat {
		return
	}
	if len(e.Steps) == 0 {
		f.Func().Id(Name(e.Name)).Params(jen.Qual(devicePath, "Queue"), jen.Op("*").Qual(devicePath, "Env")).Block()
		return
	}
	f.Func().Id(Name(e.Name)).Params(queueEnv()...).BlockFunc(func(g *jen.Group) {
		g.List(jen.Id("b"), jen.Id("_")).Op(":=").Id(join("new", e.Memory.Name, "memory")).Call(jen.Id("e"))
		for _, b := range e.Memory.Buffers {
			if b.Zero {
				array := jen.Id("b").Dot(Name(b.Name))
				g.Id("q").Dot("Zero").Call(array.Clone().Dot("At").Call(jen.Lit(0)), array.Clone().Dot("Len").Call())
			}
		}
		for _, s := range e.Steps {
			step(g, e, s)
		}
	})
}

func queueEnv() []jen.Code {
	return []jen.Code{jen.Id("q").Qual(devicePath, "Queue"), jen.Id("e").Op("*").Qual(devicePath, "Env")}
}

func step(g *jen.Group, e *lower.Entry, s lower.Step) {
	args := []jen.Code{jen.Id("q"), jen.Id("e"), jen.Op("&").Id("b")}
	name := join(e.Name, s.Routine.Name)
	call := jen.Id(name).Call(args...)
	if s.Unless != plan.Once {
		call = jen.If(runs(1, s.Unless).Op("==").Lit(0)).Block(call)
	}
	if s.N == 0 {
		g.Add(call)
		return
	}
	g.For(iterations(s)...).Block(
		jen.Id("e").Dot("Layer").Op("=").Add(layer(s)),
		jen.Id(name).Call(append(args, jen.Id("l"))...),
	)
	g.Id("e").Dot("Layer").Op("=").Lit(0)
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

// layer is the layer number of an iteration: kept runs come after the free ones.
func layer(s lower.Step) *jen.Statement {
	if s.Runs == plan.Kept {
		return jen.Id("l").Op("+").Add(runs(s.N, plan.Free))
	}
	return jen.Id("l")
}

// routine prints a function of the model as launches.
func routine(f *jen.File, e *lower.Entry, r *lower.Routine) {
	name := join(e.Name, r.Name)
	params := queueEnv()
	if e.Flat {
		name = Name(e.Name)
	} else {
		params = append(params, jen.Id("b").Op("*").Id(join(e.Memory.Name, "memory")))
	}
	if r.InLoop {
		params = append(params, jen.Id("l").Int())
	}
	f.Comment(fmt.Sprintf("%s launches %s (line %d of the spec).", name, r.Name, r.Pos.Line))
	f.Func().Id(name).Params(params...).BlockFunc(func(g *jen.Group) {
		weights(g, r)
		for _, l := range r.Launches {
			launch(g, e, l)
		}
	})
}

// weights binds names to the parameters and gradients that the routine's layer
// uses of each group.
func weights(g *jen.Group, r *lower.Routine) {
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
			g.Id(weightName(a)).Op(":=").Id(join(a.Group.Name, "group")).Dot(through).Call(layer)
		}
	}
}

// ofAll reports whether a group is what all layers share.
func ofAll(g *plan.Group) bool { return g.Name == plan.Shared || g.Name == plan.Fixed }

// weightName is w, or dw for gradients; shared, dshared or fixed for the groups that
// all layers share.
func weightName(a lower.Arg) string {
	name := "w"
	if ofAll(a.Group) {
		name = a.Group.Name
	}
	if a.Space == lower.InGrads {
		name = "d" + name
	}
	return name
}

func launch(g *jen.Group, e *lower.Entry, l lower.Launch) {
	args := []jen.Code{kernelName(l), jen.Id("e")}
	for _, a := range l.Args {
		if e.Flat {
			args = append(args, flatArg(a))
		} else {
			args = append(args, arg(a))
		}
	}
	s := g.Id("q").Dot("Launch").Call(args...)
	if l.Note != "" {
		s.Comment(l.Note)
	}
}

func arg(a lower.Arg) *jen.Statement {
	switch a.Space {
	case lower.InParams, lower.InGrads:
		return jen.Id(weightName(a)).Dot("Plus").Call(jen.Id(paramConst(a.Group, a.Param)))
	}
	return jen.Id("b").Dot(Name(a.Ref.Buffer)).Dot("At").Call(index(a.Ref))
}

// flatSpace is the arena of an optimizer argument.
var flatSpace = map[lower.Space]string{
	lower.FlatParams: "Params", lower.FlatGrads: "Grads", lower.FlatMoment1: "Moment1", lower.FlatMoment2: "Moment2",
}

// flatArg is an argument of a program over flat arenas: element P of an arena, or
// element 0 of the Work space.
func flatArg(a lower.Arg) *jen.Statement {
	space, ok := flatSpace[a.Space]
	if !ok {
		return jen.Qual(devicePath, "Ref").Values(jen.Dict{jen.Id("Space"): jen.Qual(devicePath, "Work")})
	}
	return jen.Qual(devicePath, "Ref").Values(jen.Dict{
		jen.Id("Space"): jen.Qual(devicePath, space), jen.Id("Off"): jen.Id("e").Dot("P"),
	})
}

// index is the number of a tensor in its buffer.
func index(r plan.Ref) *jen.Statement {
	var terms []*jen.Statement
	if r.InLoop {
		terms = append(terms, jen.Id("l"))
	}
	if r.N > 0 {
		terms = append(terms, runs(r.N, r.Runs))
	}
	if r.Off != 0 || len(terms) == 0 {
		terms = append(terms, jen.Lit(r.Off))
	}
	sum := terms[0]
	for _, t := range terms[1:] {
		sum.Op("+").Add(t)
	}
	if r.Mod == 0 {
		return sum
	}
	if len(terms) > 1 {
		sum = jen.Parens(sum)
	}
	return sum.Op("%").Lit(r.Mod)
}

// upper is s with an upper-case first letter.
func upper(s string) string { return string(s[0]-'a'+'A') + s[1:] }
