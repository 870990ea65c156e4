package vector

import (
	"github.com/mmcloughlin/avo/operand"

	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/kernel"
)

// straight is the most instructions of a loop that is written without a jump.
const straight = 160

// A loop is a block that runs over an axis.
type loop struct {
	*block
	size  *expr.Expr
	limit int // slot of the size
	group int // vectors that belong together: partials, a batch, or the words of a group of counters
	sums  []*folding
}

// run writes the loop of a group.
func (f *fn) run(g *group) {
	var folds []*folding
	for _, m := range g.members {
		if m.reduce != nil {
			folds = append(folds, &folding{reduce: m.reduce, off: f.slot(expr.F32)})
		}
	}
	f.scope(func() {
		l := &loop{block: f.newBlock(g.axis, f.isa.lanes), size: g.size, group: 1}
		l.reserve(g.random, folds, g.folds)
		rest := folds
		for _, m := range g.members {
			if m.dst != nil {
				l.assign(m.dst, m.value, g.serial)
			} else {
				l.add(node{kind: fold, fold: rest[0]}, l.value(m.value))
				rest = rest[1:]
			}
		}
		if !l.size.IsConst() {
			l.limit = f.slot(expr.I32)
			f.integerTo(l.size, l.limit)
		}
		for i, r := range g.random {
			f.startStream(l.streams[i], r)
		}
		l.prepare()
		l.begin(folds)
		if l.size.IsConst() {
			l.fixed(int(l.size.I))
		} else {
			l.dynamic()
		}
		for _, s := range folds {
			f.combine(s)
		}
	})
	for _, s := range folds {
		f.vars[s.reduce.Name] = place{expr.F32, s.off}
	}
}

// reserve gives registers to what the loop carries along.
func (l *loop) reserve(random []*kernel.Random, folds []*folding, partials int) {
	if l.f.isa == avx2 {
		l.free-- // the mask of the last vector
	}
	take := func(n int) int {
		l.free -= n
		return l.free
	}
	left := l.free - partials - (streamRegs+2)*len(random)
	for _, r := range random {
		groups := 1
		if left >= 2*stateRegs && (!l.size.IsConst() || l.size.I > int64(2*l.lanes)) {
			groups = 2
		}
		l.group = 2 * groups
		l.streams = append(l.streams, &stream{tile: r.Dst, groups: groups, words: take(l.group), counter: take(1)})
	}
	for _, s := range folds {
		l.reserveFold(s)
		if sums(s.reduce) {
			l.sums = append(l.sums, s)
		}
	}
}

// begin sets what the loop carries along.
func (l *loop) begin(folds []*folding) {
	for _, s := range folds {
		l.beginFold(s)
	}
	for _, s := range l.streams {
		l.f.firstCounters(s)
	}
}

// vector writes the body for one vector.
func (l *loop) vector(in instance) {
	in.part %= l.group
	for _, s := range l.streams {
		if in.part%(2*s.groups) == 0 {
			l.f.nextWords(s)
		}
	}
	l.emit(in)
}

// iterations writes n vectors, again and again until the index fails a comparison.
func (l *loop) iterations(label string, n int, jump string, limit operand.Op) {
	l.f.mark(label)
	for i := range n {
		l.vector(instance{disp: i * l.lanes, indexed: true, part: i})
	}
	for _, s := range l.sums {
		l.f.turn(s)
	}
	l.f.op("ADDQ", imm(n*l.lanes), indexReg)
	l.f.op("CMPQ", indexReg, limit)
	l.f.jump(jump, label)
}

// fixed writes a loop whose length is known.
func (l *loop) fixed(n int) {
	whole, rest := n/l.lanes, n%l.lanes
	unroll := l.group
	for unroll < 4 && unroll*len(l.order) < 16 {
		unroll *= 2
	}
	looped := whole / unroll * unroll
	cost := len(l.order) + 70*len(l.streams)/2 + 3*len(l.sums)
	if looped == unroll || whole*cost <= straight {
		looped = 0
	}
	f := l.f
	if looped > 0 {
		f.op("XORL", indexReg.As32(), indexReg.As32())
		l.iterations(f.label("loop"), unroll, "JLT", imm(looped*l.lanes))
	}
	in := instance{indexed: looped > 0}
	for in.part = looped; in.part < whole; in.part++ {
		l.vector(in)
		in.disp += l.lanes
	}
	if rest > 0 {
		f.op("MOVL", imm(rest), countReg)
		l.constantMask(rest)
		in.masked = true
		l.vector(in)
		in.part++
	}
	if n := in.part % batch; n > 0 {
		l.addRest(n)
	}
}

// addRest adds the first vectors of a batch to the sums.
func (l *loop) addRest(n int) {
	for _, s := range l.sums {
		l.f.addRest(s, n)
	}
}

// dynamic writes a loop whose length is in a slot.
func (l *loop) dynamic() {
	f := l.f
	tail, again, end := f.label("tail"), f.label("loop"), f.label("end")
	f.op("XORL", indexReg.As32(), indexReg.As32())
	f.op("MOVQ", f.at(l.limit), limitReg)
	f.op("SUBQ", imm(l.group*l.lanes), limitReg)
	f.jump("JLT", tail)
	l.iterations(again, l.group, "JLE", limitReg)
	f.mark(tail)
	f.op("MOVQ", f.at(l.limit), countReg)
	f.op("SUBQ", indexReg, countReg)
	rest := make([]string, l.group) // where the loop goes on after so many vectors
	for i := range rest {
		if rest[i] = end; i > 0 && len(l.sums) > 0 {
			rest[i] = f.label("rest")
		}
	}
	f.jump("JLE", end)
	for i := range l.group {
		if i > 0 {
			f.op("SUBQ", imm(l.lanes), countReg)
			f.jump("JLE", rest[i])
		}
		l.countMask()
		l.vector(instance{disp: i * l.lanes, indexed: true, masked: true, part: i})
	}
	for _, s := range l.sums {
		s.next = 0
	}
	for i, label := range rest {
		if label != end {
			f.jump("JMP", end)
			f.mark(label)
			l.addRest(i)
		}
	}
	f.mark(end)
}

// someLanes is a constant of the pool: a vector from word 8-n on has n lanes set.
func (p pool) someLanes() operand.Mem {
	const one = 1<<32 - 1
	return p.constant(one, one, one, one, one, one, one, one, 0, 0, 0, 0, 0, 0, 0, 0)
}

// constantMask sets the mask of the first n lanes.
func (l *loop) constantMask(n int) {
	f := l.f
	if f.isa == avx512 {
		f.op("MOVL", imm(1<<n-1), tempReg)
		f.op("KMOVW", tempReg, f.isa.tail)
		return
	}
	f.op("VMOVUPS", f.pool.someLanes().Offset(4*(8-n)), f.isa.tail)
}

// countMask sets the mask of as many lanes as countReg says, at most all.
func (l *loop) countMask() {
	f := l.f
	if f.isa == avx512 {
		f.op("MOVL", imm(-1), tempReg)
		f.op("BZHIL", countReg, tempReg, tempReg)
		f.op("KMOVW", tempReg, f.isa.tail)
		return
	}
	f.op("MOVL", imm(l.lanes), limitReg)
	f.op("CMPQ", countReg, limitReg)
	f.op("CMOVQLT", countReg, limitReg)
	f.op("NEGQ", limitReg)
	f.op("LEAQ", f.pool.someLanes(), tempReg)
	f.op("VMOVUPS", mem(tempReg, limitReg, 8), f.isa.tail)
}

// count writes a loop over an integer variable.
func (f *fn) count(name string, lo, hi *expr.Expr, body func()) {
	f.scope(func() {
		limit := place{expr.I32, f.slot(expr.I32)}
		v := place{expr.I32, f.slot(expr.I32)}
		f.scalarTo(lo, v.off)
		f.scalarTo(hi, limit.off)
		again, end := f.label("loop"), f.label("end")
		f.vars[name] = v
		f.op("MOVQ", f.at(v.off), tempReg)
		f.op("CMPQ", tempReg, f.at(limit.off))
		f.jump("JGE", end)
		f.mark(again)
		body()
		f.op("MOVQ", f.at(v.off), tempReg)
		f.op("INCQ", tempReg)
		f.op("MOVQ", tempReg, f.at(v.off))
		f.op("CMPQ", tempReg, f.at(limit.off))
		f.jump("JLT", again)
		f.mark(end)
	})
}
