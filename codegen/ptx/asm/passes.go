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
	values   numbered[int]  // versions of variables, and of memories: numbers that
	memories map[Memory]int // change whenever they may have changed
	all      int            // of all memory
	count    int
	loops    int // begun and ended so far
	copies   numbered[operand]
	seen     map[key]*Instr // the instructions so far, of all regions around
	seenHere []key          // of the innermost
}

// An operand is a value, and its version where it is a variable.
type operand struct {
	Value
	version int
}

// A key is what instructions that give the same values have in common. It is looked up for
// each instruction: numbers stand beside each other, so that they are hashed at once.
type key struct {
	op, text string
	memory   Memory
	numbers  [16]int64 // class, results, bytes, loops, versions, then those of the operands
}

func newWalk(visit func(i *Instr)) *walk {
	return &walk{visit: visit, memories: map[Memory]int{}, seen: map[key]*Instr{}}
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
				w.values.set(v, w.count)
			}
		}
	}
}

func (w *walk) operand(v Value) operand {
	if v.kind != variable {
		return operand{v, 0}
	}
	return operand{v, w.values.of(v)}
}

func (w *walk) key(i *Instr) key {
	k := key{op: i.op, text: i.text, memory: i.memory}
	loops, version, all := 0, 0, 0
	if !i.costly() { // what is cheap is not the same behind a loop
		loops = w.loops
	}
	if i.op == opLoad {
		version, all = w.memories[i.memory], w.all
	}
	n := copy(k.numbers[:], []int64{int64(i.dst[0].class), int64(len(i.dst)), int64(i.bytes), int64(loops), int64(version), int64(all)})
	for _, v := range i.args {
		o := w.operand(v)
		k.numbers[n], k.numbers[n+1], k.numbers[n+2] = int64(o.class)<<8|int64(o.kind), o.n, int64(o.version)
		n += 3
	}
	return k
}

// now is a value that is the same as v here, and known for longer.
func (w *walk) now(v Value) Value {
	if c := w.copies.of(v); c.Valid() && c == w.operand(c.Value) {
		return c.Value
	}
	return v
}

func (w *walk) body(is []*Instr) {
	around := w.seenHere
	w.seenHere = nil
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
			w.copies.set(i.dst[0], w.operand(i.args[0]))
		}
	}
	for _, k := range w.seenHere {
		delete(w.seen, k)
	}
	w.seenHere = around
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
		if same := w.seen[k]; same != nil {
			for n, v := range i.dst {
				w.copies.set(v, w.operand(same.dst[n]))
			}
			return
		}
		w.seen[k], w.seenHere = i, append(w.seenHere, k)
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
	var inside numbered[bool] // what changes
	memories, innermost := map[Memory]bool{}, true
	each(body, func(i *Instr) {
		innermost = innermost && i.op != opLoop
		switch i.op {
		case opStore, opCopy:
			memories[i.memory] = true
		case opBarrier, opWarpSync, opWait: // others may have changed any memory
			memories[Memory{}] = true
		}
		for _, v := range i.dst {
			inside.set(v, true)
		}
	})
	var may []*Instr
	for _, i := range body {
		changes := slices.ContainsFunc(i.args, inside.of) || i.op == opLoad && (memories[i.memory] || memories[Memory{}])
		if i.movable() && !changes {
			may = append(may, i)
			for _, v := range i.dst {
				inside.set(v, false)
			}
		}
	}
	goes := map[*Instr]bool{}
	var needed numbered[bool]
	for _, i := range slices.Backward(may) {
		if i.costly() || i.op == opLoad && innermost || slices.ContainsFunc(i.dst, needed.of) {
			goes[i] = true
			for _, v := range i.args {
				needed.set(v, true)
			}
		}
	}
	return goes
}

// dead drops what nobody needs and regions that are never entered.
func dead(f *Func) {
	for n := -1; n != count(f.body); {
		n = count(f.body)
		var sets numbered[[]*Instr]
		each(f.body, func(i *Instr) {
			for _, v := range i.dst {
				sets.set(v, append(sets.of(v), i))
			}
		})
		var needed numbered[bool]
		var need func(i *Instr)
		need = func(i *Instr) {
			for _, v := range append(slices.Clone(i.args), i.guard) {
				if v.kind >= single && !needed.of(v) {
					needed.set(v, true)
					for _, i := range sets.of(v) {
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
func alive(is []*Instr, needed numbered[bool]) []*Instr {
	var out []*Instr
	for _, i := range is {
		i.body = alive(i.body, needed)
		when := i.guard
		if i.op == opIf {
			when = i.args[0]
		}
		n, known := when.Const()
		idle := !i.acts() && !slices.ContainsFunc(i.dst, needed.of)
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
