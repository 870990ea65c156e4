package ptxsim

import (
	"slices"
	"strings"

	"github.com/arithlang/mlc/ptxsim/ptx"
)

// exec runs an instruction for the lanes of m.
type exec func(w *warp, m uint32)

// instr is a decoded instruction. It has a flow if it may change which lanes run where, else an
// exec.
type instr struct {
	exec    exec
	flow    func(w *warp, in *instr, active, m uint32) (next int, rest uint32)
	guard   int32 // register, or -1
	not     bool
	barrier bool
	target  int     // of a branch
	needs   []int32 // registers that must have been written
	uses    []int32 // registers that may be undefined: then the results are undefined, too
	defs    []int32 // the results, except where the instruction marks them itself
	src     *ptx.Instr
}

func (in *instr) line() int { return in.src.Line }

func (in *instr) name() string { return spell(in.src) }

func spell(in *ptx.Instr) string {
	if len(in.Mods) == 0 {
		return in.Op
	}
	return in.Op + "." + strings.Join(in.Mods, ".")
}

// constant is a column that the kernel does not write.
type constant struct {
	key     any
	byBlock bool // differs between blocks
	fill    func(w *warp, c *column)
}

// decoder turns a kernel's instructions into closures.
type decoder struct {
	k    *Kernel
	slot []int // column by register; unused for predicates
	in   *ptx.Instr
	uses []int32
	defs []int32
	must []int32
	note exec // counts the instruction's accesses; nil without accesses
	done bool // the instruction counts itself
	err  error
}

// decode fills k.code.
func (k *Kernel) decode() error {
	d := &decoder{k: k, slot: make([]int, len(k.src.Regs))}
	for i, r := range k.src.Regs {
		if r.Type != ptx.Pred {
			d.slot[i] = k.columns
			k.columns++
		}
	}
	k.code = make([]instr, len(k.src.Instrs))
	for i := range k.src.Instrs {
		if err := d.instr(&k.src.Instrs[i], &k.code[i]); err != nil {
			return err
		}
	}
	return nil
}

func (d *decoder) instr(in *ptx.Instr, out *instr) error {
	d.in, d.uses, d.defs, d.must, d.note, d.done = in, nil, nil, nil, nil, false
	*out = instr{guard: -1, src: in}
	if in.Guard.Used {
		out.guard, out.not = int32(in.Guard.Reg), in.Guard.Not
	}
	if f, ok := flows[in.Op]; ok {
		f(d, out)
	} else if f, ok := execs[in.Op]; ok {
		out.exec = f(d)
	} else {
		d.fail("the simulator does not know the instruction")
	}
	if d.err == nil && out.exec == nil && out.flow == nil {
		d.fail("the simulator does not know this form of the instruction")
	}
	if out.flow != nil {
		d.require()
	}
	if d.counts() && d.err == nil {
		d.count(out)
	}
	out.needs, out.uses, out.defs = distinct(d.must), distinct(d.uses), distinct(d.defs)
	return d.err
}

// require makes all operands read so far required to be defined.
func (d *decoder) require() { d.must, d.uses = append(d.must, d.uses...), nil }

// forget drops the registers read and written so far. The instruction marks definedness itself.
func (d *decoder) forget() { d.uses, d.defs = nil, nil }

func distinct(regs []int32) (out []int32) {
	for _, r := range regs {
		if !slices.Contains(out, r) {
			out = append(out, r)
		}
	}
	return out
}

func (d *decoder) fail(why string) {
	if d.err == nil {
		d.err = &ptx.Error{Line: d.in.Line, Msg: spell(d.in) + ": " + why}
	}
}

// constant returns the column of a constant, and adds it if it is new.
func (d *decoder) constant(key any, fill func(w *warp, c *column)) int {
	for i, c := range d.k.consts {
		if c.key == key {
			return d.k.columns + i
		}
	}
	s, special := key.(ptx.Special)
	byBlock := special && (s >= ptx.CTAIDX && s <= ptx.CTAIDZ || s == ptx.SMID)
	d.k.consts = append(d.k.consts, constant{key, byBlock, fill})
	return d.k.columns + len(d.k.consts) - 1
}

// literal returns a column of equal values.
func (d *decoder) literal(v uint64) int {
	return d.constant(v, func(w *warp, c *column) {
		for i := range c {
			c[i] = v
		}
	})
}

type dump struct{}

// nowhere returns a column for discarded results.
func (d *decoder) nowhere() int {
	return d.constant(dump{}, func(*warp, *column) {})
}

// src returns the column of a source operand.
func (d *decoder) src(i int) int { return d.read(&d.in.Args[i]) }

func (d *decoder) read(o *ptx.Operand) int {
	switch o.Kind {
	case ptx.RegArg:
		d.uses = append(d.uses, int32(o.Reg))
		return d.slot[o.Reg]
	case ptx.ImmArg:
		return d.literal(o.Imm)
	case ptx.SymArg:
		return d.literal(d.k.addressOf(o.Var) + uint64(o.Off))
	case ptx.SpecialArg:
		s := o.Special
		return d.constant(s, func(w *warp, c *column) { w.special(s, c) })
	case ptx.SinkArg:
		return d.literal(0)
	}
	d.fail("the simulator does not know this operand")
	return 0
}

// dst returns the column of a destination operand.
func (d *decoder) dst(i int) int { return d.write(&d.in.Args[i]) }

func (d *decoder) write(o *ptx.Operand) int {
	switch o.Kind {
	case ptx.RegArg:
		d.defs = append(d.defs, int32(o.Reg))
		return d.slot[o.Reg]
	case ptx.SinkArg:
		return d.nowhere()
	}
	d.fail("the simulator does not know this destination")
	return 0
}

// elems returns the operands of a vector, or the operand itself.
func elems(o *ptx.Operand) []ptx.Operand {
	if o.Kind == ptx.VecArg || o.Kind == ptx.PairArg {
		return o.Elems
	}
	return []ptx.Operand{*o}
}

func (d *decoder) reads(o *ptx.Operand) (cols []int) {
	for i := range elems(o) {
		cols = append(cols, d.read(&elems(o)[i]))
	}
	return cols
}

func (d *decoder) writes(o *ptx.Operand) (cols []int) {
	for i := range elems(o) {
		cols = append(cols, d.write(&elems(o)[i]))
	}
	return cols
}

// address decodes a memory operand.
func (d *decoder) address(o *ptx.Operand) address {
	a := address{space: d.in.Space, base: noColumn, off: uint64(o.Off)}
	if o.Kind != ptx.MemArg {
		d.fail("the operand is not an address")
		return a
	}
	switch {
	case o.Reg != ptx.NoReg:
		d.must = append(d.must, int32(o.Reg))
		a.base = d.slot[o.Reg]
	case o.Var != nil:
		a.off += d.k.addressOf(o.Var)
		if a.space == ptx.Generic {
			a.space = o.Var.Space
		}
	}
	return a
}

// noColumn stands for a missing column.
const noColumn = -1

// predicate is a predicate operand.
type predicate struct {
	reg   int32 // -1: fixed
	not   bool
	fixed uint32
}

func (p predicate) of(w *warp) uint32 {
	v := p.fixed
	if p.reg >= 0 {
		v = w.pred[p.reg]
	}
	if p.not {
		return ^v
	}
	return v
}

func (d *decoder) pred(o *ptx.Operand) predicate {
	switch o.Kind {
	case ptx.RegArg:
		d.uses = append(d.uses, int32(o.Reg))
		return predicate{reg: int32(o.Reg), not: o.Not}
	case ptx.ImmArg:
		return predicate{reg: -1, fixed: spread(o.Imm != 0)}
	}
	d.fail("the operand is not a predicate")
	return predicate{}
}

// predDst returns the destination predicate, or -1 for none.
func (d *decoder) predDst(o *ptx.Operand) int32 {
	switch o.Kind {
	case ptx.RegArg:
		d.defs = append(d.defs, int32(o.Reg))
		return int32(o.Reg)
	case ptx.SinkArg:
		return -1
	}
	d.fail("the destination is not a predicate")
	return -1
}

// pairDst returns a destination and its predicate, -1 for none.
func (d *decoder) pairDst(o *ptx.Operand) (dst *ptx.Operand, pred int32) {
	if o.Kind == ptx.PairArg {
		return &o.Elems[0], d.predDst(&o.Elems[1])
	}
	return o, -1
}

// register returns the register that an operand names, or -1.
func register(o *ptx.Operand) int32 {
	if o.Kind == ptx.RegArg {
		return int32(o.Reg)
	}
	return -1
}

func registers(o *ptx.Operand) (regs []int32) {
	for i := range elems(o) {
		regs = append(regs, register(&elems(o)[i]))
	}
	return regs
}

// defined returns the lanes in which a register has a value. Register -1 always has one.
func (w *warp) defined(reg int32) uint32 {
	if reg < 0 {
		return fullMask
	}
	return w.def[reg]
}

// define sets, for the lanes of m, whether a register has a value.
func (w *warp) define(reg int32, m, yes uint32) {
	if reg >= 0 {
		w.def[reg] = w.def[reg]&^m | yes&m
	}
}

func (w *warp) setPred(reg int32, m, v uint32) {
	if reg >= 0 {
		w.pred[reg] = w.pred[reg]&^m | v&m
	}
}

// typ returns the i-th type of the instruction.
func (d *decoder) typ(i int) ptx.Type {
	if i < len(d.in.Types) {
		return d.in.Types[i]
	}
	d.fail("the instruction lacks a type")
	return ptx.B32
}
