package vector

import "slices"

// A step is a part of a body: it loads a value into a register, stores it in its spill slot,
// or runs its instruction.
type step struct {
	action action
	value  *value
	reg    int // of the value
	form
	from  [3]int // registers of form.in
	at    int    // register of form.mem, or none if it is read from memory
	temps [4]int
}

// A form is the instruction of a value and how it takes its operands. It is
// written NAME first, mem, in (the last first), result.
type form struct {
	name  string
	first any      // a constant of the machine, or nil
	mem   *value   // operand in memory or a register, or nil
	in    []*value // read from registers
	onto  *value   // the operand in[0], if the result replaces it, or nil
	early bool     // the result is written while operands are still read
	temps int      // registers for the instruction alone
}

type action uint8

const (
	run action = iota
	reload
	spill
)

const none = -1

// The state of a value while registers are allocated.
type state struct {
	uses    []int // places in the order that use it, ascending
	reg     int
	spilled bool
}

// An allocator gives the values of a block registers in one pass over them. It spills the
// value whose next use is farthest away.
type allocator struct {
	*block
	masked bool
	held   [firstMask + maxMasks]*value // by register
	locked []*value                     // operands of the current instruction
	now    int                          // place in the order
	steps  []step
}

// allocate returns the steps of a block, over all lanes or masked.
func (b *block) allocate(masked bool) []step {
	a := &allocator{block: b, masked: masked, steps: make([]step, 0, len(b.order))}
	for _, v := range b.order {
		v.state = state{uses: v.uses[:0], reg: none}
	}
	for i, v := range b.order {
		for _, x := range v.operands() {
			x.uses = append(x.uses, i)
		}
	}
	for i, v := range b.order {
		if v.kind >= gather {
			a.now = i
			a.run(v)
		}
	}
	return a.steps
}

// run gives an instruction its registers.
func (a *allocator) run(v *value) {
	s := step{value: v, reg: none, at: none, form: a.f.m.form(a, v)}
	for i, x := range s.in {
		s.from[i] = a.get(x)
	}
	if x := s.mem; x != nil && !a.f.m.inMemory(a, x) {
		s.at = a.get(x)
	}
	replaces := s.onto != nil && a.last(s.onto)
	early := s.early || s.onto != nil && !replaces
	if early {
		s.reg = a.claim(v)
	}
	var temps [4]value
	for i := range s.form.temps {
		s.temps[i] = a.claim(&temps[i])
	}
	for _, n := range s.temps[:s.form.temps] {
		a.held[n] = nil
	}
	a.locked = a.locked[:0]
	for _, x := range v.operands() {
		a.used(x)
	}
	switch {
	case replaces:
		s.reg = s.from[0]
		a.held[s.reg], v.reg = v, s.reg
	case v.kind < store && !early: // it may take the register of an operand
		s.reg = a.claim(v)
		a.locked = a.locked[:0]
	}
	a.steps = append(a.steps, s)
}

// file returns the registers that can hold a value.
func (a *allocator) file(v *value) (first, end int) {
	if v.mask && a.f.masks > 0 {
		return firstMask, firstMask + a.f.masks
	}
	return 0, a.free
}

// get returns a register with the value and locks it. It returns none for random words, which
// have other registers.
func (a *allocator) get(v *value) int {
	switch {
	case v.kind == word:
		return none
	case v.reg == none:
		n := a.claim(v)
		a.steps = append(a.steps, step{action: reload, value: v, reg: n})
	default:
		a.locked = append(a.locked, v)
	}
	return v.reg
}

// claim gives a value a register and locks it.
func (a *allocator) claim(v *value) int {
	best, far := none, -1
	first, end := a.file(v)
	for n := first; n < end; n++ {
		w := a.held[n]
		if w == nil {
			best = n
			break
		}
		if slices.Contains(a.locked, w) {
			continue
		}
		next := len(a.order)
		if len(w.uses) > 0 {
			next = w.uses[0]
		}
		if next > far {
			best, far = n, next
		}
	}
	if best == none {
		panic("BUG: every register is in use by one instruction")
	}
	if w := a.held[best]; w != nil {
		a.evict(w)
	}
	a.held[best], v.reg = v, best
	a.locked = append(a.locked, v)
	return best
}

// evict takes a value's register. It spills a value that cannot be loaded again.
func (a *allocator) evict(v *value) {
	if !v.spilled && v.kind >= gather && len(v.uses) > 0 {
		v.spilled = true
		a.steps = append(a.steps, step{action: spill, value: v, reg: v.reg})
	}
	a.held[v.reg], v.reg = nil, none
}

// last reports whether the current instruction is the last to use a value. For random words it
// is false.
func (a *allocator) last(v *value) bool {
	return v.kind != word && v.uses[len(v.uses)-1] <= a.now
}

// used marks a use of a value as finished. A value without more uses gives up its register.
func (a *allocator) used(v *value) {
	for len(v.uses) > 0 && v.uses[0] <= a.now {
		v.uses = v.uses[1:]
	}
	if len(v.uses) == 0 && v.reg != none {
		a.held[v.reg], v.reg = nil, none
	}
}
