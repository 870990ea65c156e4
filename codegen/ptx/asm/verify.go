package asm

import (
	"fmt"
	"slices"
	"strings"
)

// Verify returns an error that names the first instruction that breaks a rule. Instructions have
// a known form. A register has a value on every path before it is used. One instruction sets a
// single value, without a guard. All threads that a wait or a shuffle is for reach it. Values set
// in a region are unknown after it, except a loop's variables. Static shared memory is within the
// limit of every GPU.
func Verify(f *Func) error {
	var v verifier
	if f.static > MostStatic {
		v.err = fmt.Errorf("%d bytes of static shared memory, %d is the most", f.static, MostStatic)
	}
	v.values(f.body)
	for v.changed = v.err == nil; v.changed; {
		v.changed = false
		v.spread(f.body, block)
	}
	if v.err == nil {
		v.together(f.body, block)
	}
	if v.err != nil {
		return fmt.Errorf("%s: %w", f.Name, v.err)
	}
	return nil
}

// MostStatic is how many bytes of static shared memory a kernel may declare.
const MostStatic = 48 << 10

type verifier struct {
	err     error
	known   numbered[bool] // have a value on every path
	order   []Value        // the known values, in the order of setting
	made    numbered[bool] // an instruction sets them
	reach   numbered[reach]
	changed bool
	tid     Value
}

func (v *verifier) fail(i *Instr, text string) {
	if v.err == nil {
		v.err = fmt.Errorf("%s: %s", i, text)
	}
}

func (v *verifier) values(is []*Instr) {
	for _, i := range is {
		if err := i.check(); err != nil && v.err == nil {
			v.err = err
		}
		if i.op != opLoop {
			v.uses(i)
		}
		before := len(v.order)
		v.values(i.body)
		if i.op == opLoop {
			v.uses(i)
		}
		for _, x := range v.order[before:] {
			if i.op == opIf || x.kind == single {
				v.known.set(x, false)
			}
		}
		v.sets(i)
	}
}

func (v *verifier) uses(i *Instr) {
	for _, x := range append(slices.Clone(i.args), i.guard) {
		if x.kind >= single && !v.known.of(x) {
			v.fail(i, "an operand has no value on some path")
		}
	}
}

func (v *verifier) sets(i *Instr) {
	for _, x := range i.dst {
		if x.kind == single && v.made.of(x) {
			v.fail(i, "the result is set already, and no variable")
		}
		if x.kind == single && i.guard.Valid() {
			v.fail(i, "the result has no value where the guard does not hold, and is no variable")
		}
		v.made.set(x, true)
		if !i.guard.Valid() && !v.known.of(x) {
			v.known.set(x, true)
			v.order = append(v.order, x)
		}
	}
}

// A reach says which threads surely agree on a value, or surely reach a place together.
type reach uint8

const (
	block reach = iota
	warp
	thread
)

// meetings are the instructions that threads must reach together.
var meetings = map[string]reach{opBarrier: block, opWarpSync: warp, opBallot: warp, "shfl.sync.bfly.b32": warp, "shfl.sync.idx.b32": warp}

// within returns which threads reach the body of a region together.
func (v *verifier) within(i *Instr, here reach) reach { return max(here, v.reach.of(i.args[0])) }

// spread finds which threads agree on values.
func (v *verifier) spread(is []*Instr, here reach) {
	for _, i := range is {
		if len(i.body) > 0 {
			v.spread(i.body, v.within(i, here))
		}
		of := v.reach.of(i.guard)
		for _, x := range i.args {
			of = max(of, v.reach.of(x))
		}
		switch {
		case i.text == "%tid.x":
			of, v.tid = thread, i.dst[0]
		case i.op == "shr.u32" && i.args[0] == v.tid && i.args[1] == Int(5), strings.HasPrefix(i.op, "shfl.sync.idx"), i.op == opBallot:
			of = min(of, warp)
		}
		if i.ofLanes() {
			of = thread
		}
		for _, x := range i.dst {
			if x.kind == variable {
				of = max(of, here)
			}
			v.changed = v.changed || of > v.reach.of(x)
			v.reach.set(x, max(of, v.reach.of(x)))
		}
	}
}

// together checks that the needed threads reach each meeting together.
func (v *verifier) together(is []*Instr, here reach) {
	for _, i := range is {
		needs, ok := meetings[i.op]
		if i.ofLanes() {
			needs, ok = warp, true
		}
		if ok && (here > needs || i.guard.Valid()) {
			v.fail(i, "not all threads that it is for are sure to come here")
		}
		if len(i.body) > 0 {
			v.together(i.body, v.within(i, here))
		}
	}
}
