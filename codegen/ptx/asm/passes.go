package asm

import (
	"slices"
)

// A Pass is one rewrite of a function, which keeps every bit that it computes.
type Pass struct {
	Name, Why string
	Run       func(f *Func)
}

// Passes are all rewrites, in order.
func Passes() []Pass {
	return []Pass{
		{"simplify", "whoever builds code need not ask which operands are constants", simplify},
		{"common", "nor what has been computed before", common},
		{"invariant", "nor what a loop would do again in every iteration", invariant},
		{"common", "what has left several loops is then computed once", common},
		{"dead", "nor whether anybody needs it", dead},
	}
}

// Optimize runs all passes.
func (f *Func) Optimize() {
	for _, p := range Passes() {
		p.Run(f)
	}
}

// A place is what instructions change: a register or a memory. The zero place stands
// for all memory, which others may have changed behind a barrier.
type place struct {
	value  Value
	memory Memory
}

// sets are the places that an instruction itself changes, its results among them.
func (i *Instr) sets() []place {
	switch i.op {
	case opStore, opCopy:
		return []place{{memory: i.memory}}
	case opBarrier, opWarpSync, opWait:
		return []place{{}}
	}
	return places(i.dst)
}

// reads are the places that it depends on.
func (i *Instr) reads() []place {
	if i.op == opLoad {
		return append(places(i.args), place{memory: i.memory}, place{})
	}
	return places(i.args)
}

func places(vs []Value) []place {
	var out []place
	for _, v := range vs {
		out = append(out, place{value: v})
	}
	return out
}

// each visits instructions and what lies in them.
func each(is []*Instr, visit func(i *Instr)) {
	for _, i := range is {
		visit(i)
		each(i.body, visit)
	}
}

// movable says whether an instruction gives its values wherever its operands are the
// same: it computes or loads them, always.
func (i *Instr) movable() bool {
	return (pure[i.op] != nil || i.op == opLoad) && !i.guard.Valid() && i.dst[0].kind == single
}

// costly says whether an instruction is worth a register all through a loop. A
// division by a constant is none.
func (i *Instr) costly() bool {
	return divides(i.op) && i.args[1].kind != constant || i.op == "div.rn.f32" || i.op == "sqrt.rn.f32" || i.text != ""
}

// A walk follows a function in the order of its code and knows at each instruction
// what values are copies of.
type walk struct {
	visit    func(i *Instr)
	values   map[Value]int  // versions of variables, and of memories: numbers that
	memories map[Memory]int // change whenever they may have changed
	all      int            // of all memory
	count    int
	loops    int // begun and ended so far
	copies   map[Value]operand
	seen     []map[key]*Instr // of each region around, the instructions so far
}

// An operand is a value, and its version where it is a variable.
type operand struct {
	Value
	version int
}

// A key is what instructions that give the same values have in common.
type key struct {
	op, text string
	class    Class
	args     [3]operand
	memory   Memory
	versions [2]int // of that memory, and of all
	bytes, n int
	loops    int // of what is cheap: begun and ended before
}

func newWalk(visit func(i *Instr)) *walk {
	return &walk{visit: visit, values: map[Value]int{}, memories: map[Memory]int{}, copies: map[Value]operand{}}
}

// change notes what an instruction changes. What one instruction alone computes never
// changes where it is known.
func (w *walk) change(i *Instr) {
	w.count++
	switch i.op {
	case opStore, opCopy:
		w.memories[i.memory] = w.count
	case opBarrier, opWarpSync, opWait:
		w.all = w.count
	default:
		for _, v := range i.dst {
			if v.kind == variable {
				w.values[v] = w.count
			}
		}
	}
}

func (w *walk) operand(v Value) operand {
	if v.kind != variable {
		return operand{v, 0}
	}
	return operand{v, w.values[v]}
}

func (w *walk) key(i *Instr) key {
	k := key{op: i.op, text: i.text, class: i.dst[0].class, memory: i.memory, bytes: i.bytes, n: len(i.dst)}
	for n, v := range i.args {
		k.args[n] = w.operand(v)
	}
	if !i.costly() {
		k.loops = w.loops
	}
	if i.op == opLoad {
		k.versions = [2]int{w.memories[i.memory], w.all}
	}
	return k
}

// now is a value that is the same as v here, and known for longer.
func (w *walk) now(v Value) Value {
	if c, ok := w.copies[v]; ok && c == w.operand(c.Value) {
		return c.Value
	}
	return v
}

func (w *walk) body(is []*Instr) {
	w.seen = append(w.seen, map[key]*Instr{})
	for _, i := range is {
		if i.op == opLoop {
			each(i.body, w.change)
			w.loops++
			w.body(i.body)
			w.loops++
		}
		for n, v := range i.args {
			i.args[n] = w.now(v)
		}
		i.guard = w.now(i.guard)
		if i.op == opIf {
			w.body(i.body)
			each(i.body, w.change)
		}
		w.visit(i)
		w.change(i)
		if i.isMove() && i.dst[0].kind == single {
			w.copies[i.dst[0]] = w.operand(i.args[0])
		}
	}
	w.seen = w.seen[:len(w.seen)-1]
}

// common takes what is known already instead of computing or loading it again. What
// is cheap is not kept through a loop, for registers are few; a load not past a store
// to its memory or a barrier.
func common(f *Func) {
	var w *walk
	w = newWalk(func(i *Instr) {
		if !i.movable() || i.isMove() && i.args[0].kind != constant {
			return
		}
		k := w.key(i)
		for _, seen := range w.seen {
			if same := seen[k]; same != nil {
				for n, v := range i.dst {
					w.copies[v] = w.operand(same.dst[n])
				}
				return
			}
		}
		w.seen[len(w.seen)-1][k] = i
	})
	w.body(f.body)
}

// invariant moves what is the same in every iteration of a loop before it.
func invariant(f *Func) { f.body = lifted(f.body) }

func lifted(is []*Instr) []*Instr {
	var out []*Instr
	for _, i := range is {
		i.body = lifted(i.body)
		if i.op == opLoop {
			goes := leaving(i.body)
			i.body = slices.DeleteFunc(i.body, func(i *Instr) bool {
				if goes[i] {
					out = append(out, i)
				}
				return goes[i]
			})
		}
		out = append(out, i)
	}
	return out
}

// leaving are the instructions of a loop's body that go before it. What costs no more
// than the register that it would take in this loop and those within stays, and so
// does what not every iteration comes to.
func leaving(body []*Instr) map[*Instr]bool {
	inside, innermost := map[place]bool{}, true // what changes
	each(body, func(i *Instr) {
		innermost = innermost && i.op != opLoop
		for _, p := range i.sets() {
			inside[p] = true
		}
	})
	var may []*Instr
	for _, i := range body {
		if i.movable() && !slices.ContainsFunc(i.reads(), func(p place) bool { return inside[p] }) {
			may = append(may, i)
			for _, p := range i.sets() {
				delete(inside, p)
			}
		}
	}
	goes, needed := map[*Instr]bool{}, map[Value]bool{}
	for _, i := range slices.Backward(may) {
		if i.costly() || i.op == opLoad && innermost || slices.ContainsFunc(i.dst, func(v Value) bool { return needed[v] }) {
			goes[i] = true
			for _, v := range i.args {
				needed[v] = true
			}
		}
	}
	return goes
}

// dead drops what nobody needs and regions that are never entered.
func dead(f *Func) {
	for n := -1; n != count(f.body); {
		n = count(f.body)
		sets := map[Value][]*Instr{}
		each(f.body, func(i *Instr) {
			for _, v := range i.dst {
				sets[v] = append(sets[v], i)
			}
		})
		needed := map[Value]bool{}
		var need func(i *Instr)
		need = func(i *Instr) {
			for _, v := range append(slices.Clone(i.args), i.guard) {
				if !needed[v] {
					needed[v] = true
					for _, i := range sets[v] {
						need(i)
					}
				}
			}
		}
		each(f.body, func(i *Instr) {
			if i.acts() {
				need(i)
			}
		})
		f.body = alive(f.body, needed)
	}
}

func count(is []*Instr) (n int) {
	each(is, func(*Instr) { n++ })
	return n
}

// acts says whether an instruction does more than set its results.
func (i *Instr) acts() bool { return pure[i.op] == nil && i.op != opLoad }

// alive is what has to stay of a body where some values are needed.
func alive(is []*Instr, needed map[Value]bool) []*Instr {
	var out []*Instr
	for _, i := range is {
		i.body = alive(i.body, needed)
		when := i.guard
		if i.op == opIf {
			when = i.args[0]
		}
		n, known := when.Const()
		idle := !i.acts() && !slices.ContainsFunc(i.dst, func(v Value) bool { return needed[v] })
		switch never := known && n == 0; {
		case never, idle, i.op == opIf && len(i.body) == 0:
		case known && i.op == opIf:
			out = append(out, i.body...)
		default:
			if known {
				i.guard = Value{}
			}
			out = append(out, i)
		}
	}
	return out
}
