package vector

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/internal/full"
)

// verify compares the steps of a block with the contents of registers and spill slots. Values
// must be where they are used. A written register must not have the only copy of a value that
// is needed. A slot must be read with the width of its store.
func (b *block) verify(steps []step, masked bool) error {
	held := map[int]*value{}
	opmask := map[*value]bool{} // values in slots: stored from an opmask
	last := map[*value]int{}
	for i, s := range steps {
		for _, x := range s.value.operands() {
			if s.action == run {
				last[x] = i
			}
		}
	}
	stored := func(v *value) bool { _, ok := opmask[v]; return ok || v.kind < gather }
	write := func(i, n int, v *value) error {
		if w := held[n]; w != nil && w != v && last[w] > i && !stored(w) {
			return fmt.Errorf("step %d: register %d holds two live values", i, n)
		}
		held[n] = v
		if v == nil {
			return nil
		}
		if first, end := (&allocator{block: b}).file(v); n < first || n >= end {
			return fmt.Errorf("step %d: register %d cannot hold the value", i, n)
		}
		return nil
	}
	order := slices.DeleteFunc(slices.Clone(b.order), func(v *value) bool { return v.kind < gather })
	for i, s := range steps {
		var err error
		switch s.action {
		case reload:
			if wide, ok := opmask[s.value]; !stored(s.value) || ok && wide != (s.reg >= firstMask) {
				return fmt.Errorf("step %d: the slot does not hold the value so wide", i)
			}
			err = write(i, s.reg, s.value)
		case spill:
			if held[s.reg] != s.value {
				return fmt.Errorf("step %d: the value to spill is elsewhere", i)
			}
			opmask[s.value] = s.reg >= firstMask
		default:
			if len(order) == 0 || order[0] != s.value {
				return fmt.Errorf("step %d: not the next instruction", i)
			}
			order = order[1:]
			err = b.verifyRun(s, masked, held, stored)
			for _, n := range s.temps[:s.form.temps] {
				if err == nil {
					err = write(i, n, nil)
				}
			}
			if s.value.kind < store && err == nil {
				err = write(i, s.reg, s.value)
			}
		}
		if err != nil {
			return err
		}
	}
	if len(order) > 0 {
		return fmt.Errorf("%d instructions are missing", len(order))
	}
	return nil
}

// verifyRun compares an instruction with the contents of its registers.
func (b *block) verifyRun(s step, masked bool, held map[int]*value, stored func(*value) bool) error {
	own := map[int]bool{} // registers that temporaries may not have
	for i, x := range s.in {
		own[s.from[i]] = true
		if x.kind != word && held[s.from[i]] != x {
			return fmt.Errorf("operand %d is not in register %d", i, s.from[i])
		}
	}
	if x := s.mem; x != nil && x.kind != word {
		own[s.at] = true
		ok := held[s.at] == x
		if s.at == none {
			ok = stored(x) && !x.mask && x.kind != position && x.kind != cell && !(x.kind == load && (masked || x.ptr.bytes == narrow)) &&
				!(x.kind == slotted && !x.wide && b.f.isa == &avx2.isa)
		}
		if !ok {
			return fmt.Errorf("the last operand is not in %d", s.at)
		}
	}
	temps := slices.Clone(s.temps[:s.form.temps])
	if s.early || s.onto != nil && s.reg != s.from[0] {
		temps = append(temps, s.reg)
	}
	for _, n := range temps {
		if own[n] || n < 0 || n >= b.free {
			return fmt.Errorf("register %d is not free", n)
		}
		own[n] = true
	}
	return nil
}

// drawn returns a block of random expressions with few free registers.
func drawn(begin func(*fn) machine, seed uint64) *block {
	draw := rand.New(rand.NewPCG(seed, 0))
	l := &Kernel{
		Name:   "vector",
		Slices: []Slice{{"x", expr.F32}, {"y", expr.F32}, {"i", expr.I32}, {"b", expr.BF16}},
		Values: []Value{{"a", expr.F32}, {"n", expr.I32}},
	}
	f := newFn(begin)
	f.m.begin(f.parameters(l))
	e, n := expr.NewVar("e", expr.I32), expr.NewVar("n", expr.I32)
	bits := expr.New(expr.AsU32, expr.NewElem("b", expr.BF16, e))
	values := map[expr.Type][]*expr.Expr{
		expr.F32:  {expr.New(expr.BitsF, expr.New(expr.Shl, bits, expr.U(16))), expr.NewElem("x", expr.F32, e), expr.NewElem("x", expr.F32, n), expr.NewVar("a", expr.F32), expr.F(1.5)},
		expr.I32:  {expr.NewElem("i", expr.I32, e), e, n, expr.Int(3)},
		expr.Bool: {expr.New(expr.Lt, e, n), expr.New(expr.Eq, n, expr.Int(7))},
	}
	operations := []struct {
		op   expr.Op
		args []expr.Type
	}{
		{expr.Add, []expr.Type{expr.F32, expr.F32}}, {expr.Sub, []expr.Type{expr.F32, expr.F32}}, {expr.Sqrt, []expr.Type{expr.F32}},
		{expr.Fma, []expr.Type{expr.F32, expr.F32, expr.F32}},
		{expr.Mul, []expr.Type{expr.I32, expr.I32}}, {expr.Div, []expr.Type{expr.I32, expr.I32}}, {expr.ToI32, []expr.Type{expr.F32}},
		{expr.Lt, []expr.Type{expr.F32, expr.F32}}, {expr.Le, []expr.Type{expr.I32, expr.I32}}, {expr.And, []expr.Type{expr.Bool, expr.Bool}},
		{expr.Not, []expr.Type{expr.Bool}}, {expr.Where, []expr.Type{expr.Bool, expr.F32, expr.F32}}, {expr.Elem, []expr.Type{expr.I32}},
	}
	for range 60 {
		o := operations[draw.IntN(len(operations))]
		args := make([]*expr.Expr, len(o.args))
		for i, t := range o.args {
			args[i] = values[t][draw.IntN(len(values[t]))]
		}
		var v *expr.Expr
		if o.op == expr.Elem {
			v = expr.NewElem("x", expr.F32, args...)
		} else {
			v = expr.New(o.op, args...)
		}
		values[v.Type] = append(values[v.Type], v)
	}
	b := f.newBlock("e", f.lanes)
	b.free = 6 + draw.IntN(6)
	for i, v := range values[expr.F32] {
		b.assign(expr.NewElem("y", expr.F32, expr.New(expr.Add, e, expr.Int(int64(100*i)))), v, false)
	}
	for i, v := range values[expr.F32] {
		upper := expr.New(expr.AsBF16, expr.New(expr.Shr, expr.New(expr.FBits, v), expr.U(16)))
		b.assign(expr.NewElem("b", expr.BF16, expr.New(expr.Add, e, expr.Int(int64(100*i+100)))), upper, false)
	}
	b.prepare()
	return b
}

// TestAllocate allocates registers for random blocks and checks that every changed step is
// rejected.
func TestAllocate(t *testing.T) {
	actions := map[action]int{}
	for seed := range uint64(full.Either(6, 24)) {
		for _, begin := range append(newAMD64().machines("vector", ""), newARM().machines("vector", "")...) {
			b, masked := drawn(begin, seed), seed%2 == 0
			steps := b.allocate(masked)
			if err := b.verify(steps, masked); err != nil {
				t.Fatalf("%s, %d: %v", b.f.name, seed, err)
			}
			for i, s := range steps {
				actions[s.action]++
				for what, broken := range mutants(steps, i) {
					if b.verify(broken, masked) == nil {
						t.Errorf("%d: step %d of %d without %s is accepted: %+v", seed, i, len(steps), what, s)
					}
				}
			}
		}
	}
	if actions[spill] < full.Either(10, 50) || actions[reload] < full.Either(200, 1000) {
		t.Errorf("%d spills and %d reloads are too few", actions[spill], actions[reload])
	}
}

// mutants returns steps with an error in one of them.
func mutants(steps []step, i int) map[string][]step {
	out := map[string][]step{"it": slices.Delete(slices.Clone(steps), i, i+1)}
	with := func(what string, change func(s *step)) {
		more := slices.Clone(steps)
		change(&more[i])
		out[what] = more
	}
	s := steps[i]
	if s.reg != none {
		with("its register", func(s *step) { s.reg = s.reg + 1 })
		with("its width", func(s *step) { s.reg ^= firstMask })
	}
	for n, x := range s.in {
		if x.kind != word {
			with(fmt.Sprintf("operand %d", n), func(s *step) { s.from[n]++ })
		}
	}
	if s.mem != nil && s.at != none {
		with("the last operand", func(s *step) { s.at++ })
		spilled := func(before step) bool { return before.action == spill && before.value == s.mem }
		if s.mem.kind >= gather && !slices.ContainsFunc(steps[:i], spilled) {
			with("the last operand in a register", func(s *step) { s.at = none })
		}
	}
	if s.form.temps > 0 && len(s.in) > 0 {
		with("a temporary of its own", func(s *step) { s.temps[s.form.temps-1] = s.from[0] })
	}
	return out
}
