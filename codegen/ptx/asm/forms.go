package asm

import (
	"fmt"
	"slices"
	"strings"
)

// Instructions that checks and passes treat by name.
const (
	opLoad     = "ld"
	opStore    = "st"
	opBarrier  = "bar.sync"
	opWarpSync = "bar.warp.sync"
	opBallot   = "vote.sync.ballot.b32"
	opReturn   = "ret"
	opIf       = "if"
	opLoop     = "loop"
	opComment  = "//"
	opLoc      = ".loc"
	opPragma   = ".pragma"
)

// values are the instructions that only compute a value, by the classes of result and operands. A
// shift's amount is a word.
var values = map[string]string{
	"r=rr": `add.s32 sub.s32 mul.lo.s32 div.s32 div.u32 rem.s32 rem.u32 min.s32 max.s32 min.u32 max.u32
		mul.hi.u32 and.b32 or.b32 xor.b32 shl.b32 shr.s32 shr.u32`,
	"r=rrr": "mad.lo.s32",
	"r=r":   "neg.s32 abs.s32 not.b32 clz.b32 brev.b32 mov.b32",
	"d=rr":  "mul.wide.s32 mul.wide.u32",
	"d=rrd": "mad.wide.s32 mad.wide.u32",
	"d=dd":  "add.s64 mul.lo.s64",
	"d=ddd": "mad.lo.s64",
	"d=r":   "cvt.u64.u32 cvt.s64.s32",
	"d=d":   "cvta.shared.u64 cvta.to.global.u64 mov.b64",
	"d=ddp": "selp.b64",
	"p=dd":  "setp.eq.s64",

	"f=ff":  "add.rn.f32 sub.rn.f32 mul.rn.f32 div.rn.f32 min.f32 max.f32",
	"f=fff": "fma.rn.f32",
	"f=f":   "neg.f32 abs.f32 sqrt.rn.f32 cvt.rmi.f32.f32 mov.f32",
	"f=r":   "cvt.rn.f32.s32 cvt.rn.f32.u32 mov.b32",
	"r=f":   "cvt.rzi.s32.f32 mov.b32",

	"h=f":  "cvt.rn.f16.f32 cvt.rn.bf16.f32",
	"r=ff": "cvt.rn.f16x2.f32 cvt.rn.bf16x2.f32", // the first goes to the upper half
	"f=h":  "cvt.f32.f16",
	"h=r":  "cvt.u16.u32",
	"r=h":  "cvt.u32.u16",
	"h=h":  "mov.b16",

	"p=rr":  "setp.lt.s32 setp.le.s32 setp.eq.s32 setp.ne.s32 setp.ge.s32 setp.lt.u32 setp.le.u32 setp.gt.s32",
	"p=ff":  "setp.lt.f32 setp.le.f32 setp.eq.f32 setp.neu.f32 setp.gt.f32",
	"p=pp":  "and.pred or.pred xor.pred",
	"p=p":   "not.pred mov.pred",
	"f=ffp": "selp.f32",
	"r=rrp": "selp.b32",

	"r=": "mov.u32 ld.param.u32", "d=": "mov.u64 ld.param.u64", "f=": "ld.param.f32", // of a name
}

// effects are the other instructions, except loads and stores. Passes do not move them.
var effects = map[string]string{
	"r=r":  "shfl.sync.bfly.b32 shfl.sync.idx.b32",
	"f=f":  "shfl.sync.bfly.b32 shfl.sync.idx.b32",
	"=":    strings.Join([]string{opBarrier, opWarpSync, opReturn, opComment, opLoc, opPragma, opCommit, opWait}, " "),
	"r=p":  opBallot,
	"=p":   opIf + " " + opLoop,
	"=rdr": opCopy,
}

// forms has the signatures of all instructions, pure the signatures of values, and together those of
// lanes.
var forms, pure, together = signatures(values, effects, lanes), signatures(values), signatures(lanes)

func signatures(tables ...map[string]string) map[string][]string {
	all := map[string][]string{}
	for _, table := range tables {
		for sig, ops := range table {
			for _, op := range strings.Fields(ops) {
				all[op] = append(all[op], sig)
			}
		}
	}
	return all
}

// isMove reports whether an instruction is a copy.
func (i *Instr) isMove() bool {
	return strings.HasPrefix(i.op, "mov.") && len(i.args) == 1 && i.args[0].class == i.dst[0].class
}

// check returns an error if an instruction does not have its form.
func (i *Instr) check() error {
	bad := func(text string, args ...any) error {
		return fmt.Errorf("%s: %s", i, fmt.Sprintf(text, args...))
	}
	if slices.ContainsFunc(i.dst, func(v Value) bool { return v.kind < single }) {
		return bad("the result is no register")
	}
	if i.guard.Valid() && i.guard.class != Pred {
		return bad("the guard is no predicate")
	}
	if i.op != opLoad && i.op != opStore {
		if sig := letters(i.dst) + "=" + letters(i.args); !slices.Contains(forms[i.op], sig) {
			return bad("no such instruction has operands %s", sig)
		}
		if !i.isMove() && slices.ContainsFunc(i.args, func(v Value) bool { return v.class == Half && v.kind == constant }) {
			return bad("a constant of 16 bits is only moved or stored")
		}
		return i.checkPlaces()
	}
	address, data := Wide, slices.Concat(i.dst, i.args[1:])
	if i.memory.Space == Shared {
		address = Word
	}
	if a := i.args[0]; a.class != address || a.kind == constant {
		return bad("no address of the space %q", i.memory.Space)
	}
	n, size := len(data), classes[data[0].class].bytes
	if n != 1 && n != 2 && n != 4 || letters(data) != strings.Repeat(letters(data[:1]), n) || size == 0 {
		return bad("no vector")
	}
	if i.bytes%(size*n) != 0 {
		return bad("%d bytes do not align a vector of %d", i.bytes, n)
	}
	return nil
}

// letters returns the classes of values.
func letters(vs []Value) string {
	var text []byte
	for _, v := range vs {
		text = append(text, byte(v.class))
	}
	return string(text)
}

// checkPlaces checks the spaces and the alignment of matrices' and copies' addresses.
func (i *Instr) checkPlaces() error {
	copies := i.op == opCopy
	switch {
	case !copies && !i.loadsMatrices():
		return nil
	case i.memory.Space != Shared || copies && i.from.Space != Global:
		return fmt.Errorf("%s: the addresses are in other spaces", i)
	case i.bytes%copied != 0 || i.behind%copied != 0:
		return fmt.Errorf("%s: %d and %d bytes do not align %d", i, i.bytes, i.behind, copied)
	}
	return nil
}
