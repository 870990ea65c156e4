package lower

import (
	"fmt"
	"slices"
	"strings"

	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/ir"
	"github.com/arithlang/mlc/compiler/kernel"
	"github.com/arithlang/mlc/compiler/opt"
	"github.com/arithlang/mlc/compiler/plan"
)

type lowerer struct {
	plan    *plan.Plan
	out     *Program
	kernels map[string]*kernel.Kernel // keyed by the text without the name
	names   map[string]bool
	kept    map[string]*Buffer
	entry   *Entry
}

func (l *lowerer) program(p *plan.Program) error {
	l.entry = &Entry{Name: p.Name, Doc: p.Doc, Memory: l.memory(p.Memory)}
	l.out.Entries = append(l.out.Entries, l.entry)
	mem := l.entry.Memory
	mem.Packed = l.out.Packed && p.Name == training || p.Packed
	for _, b := range p.Buffers {
		if mem.Buffer(b.Name) == nil {
			mem.Buffers = append(mem.Buffers, l.buffer(b))
		}
	}
	if mem.Packed {
		all := locators
		if p.Packed {
			all = slices.Concat(locators, keyLocators)
		}
		for _, b := range all {
			mem.Buffers = append(mem.Buffers, &Buffer{Buffer: plan.Buffer{Name: b.name, Type: b.t, Count: 1}})
		}
	}
	slices.SortStableFunc(mem.Buffers, func(a, b *Buffer) int { return given(a.Name) - given(b.Name) })
	for _, s := range p.Body {
		switch s := s.(type) {
		case *plan.Call:
			if err := l.step(s, Step{Unless: s.Unless}); err != nil {
				return err
			}
		case *plan.Loop:
			if len(s.Body) != 1 {
				panic("BUG: loops of several calls are not lowered")
			}
			if err := l.step(s.Body[0], Step{N: s.N, Runs: s.Runs, Most: s.Most, Down: s.Down}); err != nil {
				return err
			}
		}
	}
	return nil
}

// given returns a buffer's rank in the order that the runtime fills buffers: then one copy to a
// device fills them all. All other buffers have rank 0.
func given(name string) int {
	return 1 + slices.Index([]string{"source_tokens", "target_tokens", "labels", kernel.RowExample, kernel.ExampleStart, kernel.ExampleLength}, name)
}

// buffer adds the place of a Kept buffer.
func (l *lowerer) buffer(b *plan.Buffer) *Buffer {
	out := &Buffer{Buffer: *b}
	if !b.Kept {
		return out
	}
	first := l.kept[b.Name]
	if first == nil {
		n, err := elements(b.Type, nil)
		if err != nil {
			panic(fmt.Sprintf("BUG: kept buffer %s: %v", b.Name, err))
		}
		first = &Buffer{Stride: roundUp(n, line)}
		first.Off = l.out.place(0, b.Count*first.Stride)
		l.kept[b.Name] = first
	}
	out.Off, out.Stride = first.Off, first.Stride
	return out
}

// memory returns the memory that an earlier entry has declared, or a new one.
func (l *lowerer) memory(name string) *Memory {
	for _, e := range l.out.Entries {
		if e.Memory.Name == name {
			return e.Memory
		}
	}
	return &Memory{Name: name}
}

// step lowers the routine of a call and adds the step s.
func (l *lowerer) step(c *plan.Call, s Step) error {
	stored := *c
	stored.Func = copied(c.Func)
	bind := l.binder(&stored)
	bind.params()
	r, err := l.routine(stored.Func, bind)
	if err != nil {
		return err
	}
	r.InLoop = s.N > 0
	s.Routine = r
	l.entry.Steps = append(l.entry.Steps, s)
	return nil
}

// copied copies each parameter that f returns, and each value that f returns again. Kernels can
// then store every result at one place.
func copied(f *ir.Func) *ir.Func {
	g := *f
	g.Values, g.Results = slices.Clone(f.Values), slices.Clone(f.Results)
	stored := map[*ir.Value]bool{}
	for i, r := range g.Results {
		v := r.Value
		if v.Op == ir.Param || stored[v] {
			v = &ir.Value{ID: len(g.Values), Op: ir.Map, Args: []*ir.Value{r.Value}, Type: v.Type,
				Attr: ir.Attr{Expr: ir.X(0, v.Type.Elem)}, Pos: v.Pos}
			g.Values = append(g.Values, v)
			g.Results[i].Value = v
		}
		stored[v] = true
	}
	return &g
}

// A binder binds the values of one call to memory.
type binder struct {
	*lowerer
	call *plan.Call
	arg  map[*ir.Value]Arg
	env  context
}

func (l *lowerer) binder(c *plan.Call) *binder {
	b := &binder{lowerer: l, call: c, arg: map[*ir.Value]Arg{},
		env: context{accumulate: map[*ir.Value]bool{}, inPlace: map[*ir.Value]*ir.Value{}, apart: map[*ir.Value]*Buffer{}}}
	b.env.rows.counted = l.out.Packed || l.entry.Memory.Packed
	if l.entry.Memory.Packed {
		b.env.rows.at = map[string]*ir.Value{}
		for _, p := range slices.Concat(locators, keyLocators) {
			if l.entry.Memory.Buffer(p.name) == nil {
				continue
			}
			v := &ir.Value{Op: ir.Param, Type: p.t, Attr: ir.Attr{Name: p.name}}
			b.env.rows.at[p.name], b.arg[v] = v, Arg{Ref: plan.At(p.name, 0)}
		}
	}
	return b
}

// params binds the parameters and results of the call.
func (b *binder) params() {
	f := b.call.Func
	byRef := map[plan.Ref]*ir.Value{}
	for i, p := range f.Params {
		name := p.Attr.Name
		if f.Roles[i] == ir.Weight || f.Roles[i] == ir.Fixed {
			b.arg[p] = b.weight(name, InParams)
			continue
		}
		ref, ok := b.call.Args[name]
		if !ok {
			panic(fmt.Sprintf("BUG: %s: argument %s is not bound", f.Name, name))
		}
		b.arg[p] = Arg{Ref: ref}
		byRef[ref] = p
		if buffer := b.entry.Memory.Buffer(ref.Buffer); buffer.Heads > 0 {
			b.env.apart[p] = buffer
		}
	}
	uses := map[Arg]int{}
	for _, r := range f.Results {
		b.env.accumulate[r.Value] = r.Accumulate
		ref, ok := b.call.Results[r.Name]
		if !ok {
			first := b.weight(strings.TrimPrefix(r.Name, "d."), InGrads)
			a := first
			a.Use = uses[first]
			uses[first]++
			b.arg[r.Value] = a
			continue
		}
		if p, ok := byRef[ref]; ok {
			b.env.inPlace[r.Value] = p
		}
		b.arg[r.Value] = Arg{Ref: ref}
	}
}

// weight returns the place of a parameter, in the call's group or in a group for all layers.
func (b *binder) weight(name string, s Space) Arg {
	if g, p, off := b.plan.Find(b.call.Group, name); g != nil {
		return Arg{Space: s, Group: g, Param: p.Name, Off: off}
	}
	panic(fmt.Sprintf("BUG: %s: neither group %q nor those for all layers have a parameter %s", b.call.Func.Name, b.call.Group, name))
}

// routine lowers a function: its groups and their kernels, the order of launches, and the
// temporaries between them.
func (l *lowerer) routine(f *ir.Func, b *binder) (*Routine, error) {
	r := &Routine{Name: f.Name, Pos: f.Pos, Func: f, Args: b.arg}
	var tasks []*task
	for _, g := range opt.Fuse(f) {
		if b.rounded(g) {
			continue
		}
		k, values, err := lowerGroup(g, &b.env)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.Name, err)
		}
		tasks = append(tasks, &task{g, l.unique(k), values, k.Pos})
	}
	sets := arrange(tasks, b.arg)
	for _, set := range sets {
		for _, t := range set {
			r.Groups = append(r.Groups, t.group)
		}
	}
	b.place(sets)
	for _, set := range sets {
		for i, t := range set {
			launch := Launch{Kernel: t.kernel, Joins: i > 0, Note: note(f, t.group), Pos: t.pos}
			for _, v := range t.values {
				a, ok := b.arg[v]
				if !ok {
					panic(fmt.Sprintf("BUG: %s: %s has no place", f.Name, v))
				}
				launch.Args = append(launch.Args, a)
			}
			r.Launches = append(r.Launches, launch)
		}
	}
	return r, nil
}

// rounded binds the value of a group that only rounds a parameter of the model: the optimizer
// stores that value. It reports whether the group does this.
func (b *binder) rounded(g *opt.Group) bool {
	if len(g.Anchors) > 0 || len(g.Members) > 1 {
		return false
	}
	v := g.Members[0]
	if _, bound := b.arg[v]; bound || !opt.Rounds(v) {
		return false
	}
	a := b.arg[v.Args[0]]
	if a.Space != InParams || !a.Aligned(expr.BF16) {
		return false
	}
	a.Space = InRounded
	b.arg[v], b.out.Rounds = a, true
	return true
}

// Aligned reports whether a parameter or gradient starts at a multiple of 16 bytes in each
// instance of its group, if the arena does. t is the arena's element type.
func (a Arg) Aligned(t expr.Type) bool {
	elements := 16 / kernel.Bytes(t)
	return (a.Group.Off+a.Off)%elements == 0 && (a.Group.Layers == 1 || a.Group.Stride%elements == 0)
}

// place gives each output of a task, unless it is a result, a temporary buffer. Tasks of one
// set run at the same time.
func (b *binder) place(sets [][]*task) {
	var values []*ir.Value
	var lives []opt.Lifetime
	for i, set := range sets {
		for _, t := range set {
			for _, v := range t.group.Outputs {
				if _, bound := b.arg[v]; bound {
					continue
				}
				values = append(values, v)
				lives = append(lives, opt.Lifetime{First: i, Last: max(i, lastUse(v, sets)), Size: v.Type.String()})
			}
		}
	}
	slots, sizes := opt.Place(lives)
	names := make([]string, len(sizes))
	used := map[string]bool{}
	for s, size := range sizes {
		names[s] = b.temp(size, values[slices.Index(slots, s)].Type, used)
		used[names[s]] = true
	}
	for i, v := range values {
		b.arg[v] = Arg{Ref: plan.At(names[slots[i]], 0)}
	}
}

// lastUse returns the last set with a task that reads v, or -1.
func lastUse(v *ir.Value, sets [][]*task) int {
	for i, set := range slices.Backward(sets) {
		if slices.ContainsFunc(set, func(t *task) bool { return slices.Contains(t.group.Inputs, v) }) {
			return i
		}
	}
	return -1
}

// temp finds or adds a temporary of the entry that this routine does not yet use.
func (b *binder) temp(size string, t ir.Type, used map[string]bool) string {
	n := 0
	for _, buf := range b.entry.Memory.Buffers {
		if !buf.Temp {
			continue
		}
		n++
		if buf.Type.String() == size && !used[buf.Name] {
			return buf.Name
		}
	}
	name := fmt.Sprintf("t%d", n)
	b.entry.Memory.Buffers = append(b.entry.Memory.Buffers, &Buffer{Buffer: plan.Buffer{Name: name, Type: t, Count: 1}, Temp: true})
	return name
}

// unique returns the program's kernel with the text of k. If there is no such kernel, it adds k
// under a free name.
func (l *lowerer) unique(k *kernel.Kernel) *kernel.Kernel {
	base, unnamed := k.Name, *k
	unnamed.Name, unnamed.Pos = "k", ir.Func{}.Pos
	text := unnamed.String()
	if known, ok := l.kernels[text]; ok {
		return known
	}
	if err := kernel.Verify(k); err != nil {
		panic(fmt.Sprintf("BUG: %v\n%s", err, k))
	}
	for i := 2; l.names[k.Name]; i++ {
		k.Name = fmt.Sprintf("%s_%d", base, i)
	}
	l.names[k.Name] = true
	l.kernels[text] = k
	l.out.Kernels = append(l.out.Kernels, k)
	return k
}

// note names the results of the function that a group computes, except saved ones. Without such
// results, it lists the labels of the group's values.
func note(f *ir.Func, g *opt.Group) string {
	var names, labels []string
	for _, v := range g.Outputs {
		for _, r := range f.Results {
			if r.Value == v && !strings.HasPrefix(r.Name, "save.") {
				names = append(names, r.Name)
			}
		}
	}
	for _, v := range slices.Concat(g.Anchors, g.Members) {
		if v.Attr.Name != "" && !slices.Contains(labels, v.Attr.Name) {
			labels = append(labels, v.Attr.Name)
		}
	}
	if len(names) == 0 {
		names = labels
	}
	return strings.Join(names, ", ")
}

// optimizer lowers a function over the arenas to an entry with one routine.
func (l *lowerer) optimizer(f *ir.Func) error {
	l.entry = &Entry{Name: f.Name, Memory: &Memory{Name: f.Name}, Flat: true}
	if shape := f.Params[0].Type.Shape; len(shape) == 2 {
		l.entry.Flat, l.entry.Matrix = false, []int{shape[0].N, shape[1].N}
	}
	l.out.Entries = append(l.out.Entries, l.entry)
	flat := map[string]Arg{"p": {Space: FlatParams}, "g": {Space: FlatGrads}, plan.Rounded: {Space: FlatRounded}}
	for i, name := range l.plan.States {
		flat[name] = Arg{Space: FlatState, Param: name, State: i}
	}
	b := l.binder(&plan.Call{Func: f})
	params := map[string]*ir.Value{}
	for _, p := range f.Params {
		params[p.Attr.Name] = p
		b.arg[p] = flat[p.Attr.Name]
	}
	for _, r := range f.Results {
		if p, ok := params[r.Name]; ok {
			b.env.inPlace[r.Value] = p
			b.arg[r.Value] = b.arg[p]
			continue
		}
		if r.Name == plan.Rounded {
			b.arg[r.Value], l.out.Rounds = flat[r.Name], true
			continue
		}
		l.entry.Memory.Buffers = append(l.entry.Memory.Buffers, &Buffer{Buffer: plan.Buffer{Name: r.Name, Type: r.Value.Type, Count: 1}})
		b.arg[r.Value] = Arg{Ref: plan.At(r.Name, 0)}
	}
	r, err := l.routine(f, b)
	if err != nil {
		return err
	}
	l.entry.Steps = []Step{{Routine: r}}
	if l.entry.Flat && len(r.Launches) == 1 && len(l.entry.Memory.Buffers) == 0 {
		l.out.Joins = true
	}
	return nil
}
