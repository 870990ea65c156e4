package asm

import (
	"hash/maphash"
	"math/bits"
	"slices"
)

// A Pass is a rewrite of a function that keeps every bit of its results.
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

// each visits instructions and their bodies.
func each(is []*Instr, visit func(i *Instr)) {
	for _, i := range is {
		visit(i)
		each(i.body, visit)
	}
}

// movable reports whether the values of an instruction depend only on its operands and memory: it
// computes or loads them, without a guard.
func (i *Instr) movable() bool {
	return (pure[i.op] != nil || i.op == opLoad) && !i.guard.Valid() && i.dst[0].kind == single
}

// costly reports whether an instruction is worth a register throughout a loop. A division by a
// constant is not.
func (i *Instr) costly() bool {
	return divides(i.op) && i.args[1].kind != constant || i.op == "div.rn.f32" || i.op == "sqrt.rn.f32" || i.text != ""
}

// A walk follows a function in the order of its code. At each instruction it knows the
// originals of copies.
type walk struct {
	visit    func(i *Instr)
	values   numbered[int]  // versions of variables; a version changes when its
	memories map[Memory]int // variable or memory may have changed
	all      int            // of all memory
	count    int
	loops    int // begun and ended so far
	copies   numbered[operand]
	seen     []seen         // the instructions so far, of all enclosing regions
	last     map[uint64]int // where seen has the last instruction of a hash, counted from 1
}

// A seen is an instruction that others may be equal to.
type seen struct {
	*Instr
	key    key
	hash   uint64
	before int // where seen has the one before of the same hash
}

// An operand is a value, with its version if it is a variable.
type operand struct {
	Value
	version int
}

// A key is equal for instructions that give the same values.
type key struct {
	op, text string
	memory   Memory
	numbers  [16]int64 // class, results, bytes, loops, versions, then the operands
}

func newWalk(visit func(i *Instr)) *walk {
	return &walk{visit: visit, memories: map[Memory]int{}, last: map[uint64]int{}}
}

// change notes the variables and memories that an instruction changes. Single values never
// change.
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
	if !i.costly() { // a cheap value is not reused after a loop
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

// now returns the original of v if v is a copy that is still valid; else v.
func (w *walk) now(v Value) Value {
	if c := w.copies.of(v); c.Valid() && c == w.operand(c.Value) {
		return c.Value
	}
	return v
}

func (w *walk) body(is []*Instr) {
	around := len(w.seen)
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
	for _, s := range slices.Backward(w.seen[around:]) {
		if w.last[s.hash] = s.before; s.before == 0 {
			delete(w.last, s.hash)
		}
	}
	w.seen = w.seen[:around]
}

// find returns an instruction that gives the same values as i, or else keeps i for later ones.
func (w *walk) find(i *Instr) *Instr {
	k := w.key(i)
	hash := k.hash()
	for at := w.last[hash]; at > 0; at = w.seen[at-1].before {
		if s := &w.seen[at-1]; s.key == k {
			return s.Instr
		}
	}
	w.seen = append(w.seen, seen{i, k, hash, w.last[hash]})
	w.last[hash] = len(w.seen)
	return nil
}

var seed = maphash.MakeSeed()

func (k *key) hash() uint64 {
	h := maphash.String(seed, k.op) + maphash.String(seed, k.text)
	for _, n := range k.numbers {
		h = (bits.RotateLeft64(h, 23) ^ uint64(n)) * 0x9e3779b97f4a7c15
	}
	return h
}

// common reuses values instead of computing or loading them again. It does not keep cheap values
// through a loop, since registers are few, nor loads past a store to their memory or a barrier.
func common(f *Func) {
	var w *walk
	w = newWalk(func(i *Instr) {
		if !i.movable() || i.isMove() && i.args[0].kind != constant {
			return
		}
		if same := w.find(i); same != nil {
			for n, v := range i.dst {
				w.copies.set(v, w.operand(same.dst[n]))
			}
		}
	})
	w.body(f.body)
}

// invariant hoists loop-invariant instructions.
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

// leaving returns the instructions of a loop's body to hoist. Each is worth a register in this
// loop and the loops in it, and every iteration runs it.
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

// dead drops instructions whose results are not needed, and regions that are never entered.
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
		value := func(v Value) {
			if v.kind >= single && !needed.of(v) {
				needed.set(v, true)
				for _, i := range sets.of(v) {
					need(i)
				}
			}
		}
		need = func(i *Instr) {
			for _, v := range i.args {
				value(v)
			}
			value(i.guard)
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

// acts reports whether an instruction does more than set its results.
func (i *Instr) acts() bool { return pure[i.op] == nil && i.op != opLoad }

// alive returns a body reduced to the instructions that have effects or needed results.
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

// A numbered is a table by value of a function, without constants. Passes look into such tables
// at each operand.
type numbered[T any] []T

// of returns the entry of a value; zero for a constant.
func (a numbered[T]) of(v Value) (t T) {
	if v.kind >= single && v.n < int64(len(a)) {
		t = a[v.n]
	}
	return t
}

func (a *numbered[T]) set(v Value, t T) {
	if v.kind < single {
		return
	}
	if more := v.n + 1 - int64(len(*a)); more > 0 {
		*a = append(*a, make([]T, more)...)
	}
	(*a)[v.n] = t
}
