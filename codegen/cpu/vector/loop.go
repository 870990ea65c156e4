package vector

import (
	"maps"
	"math"

	"github.com/mmcloughlin/avo/operand"

	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/kernel"
)

// straight is the most instructions of a loop that is written without a jump.
const straight = 160

// partials is how many partial values a reduction keeps.
const partials = 32

// run writes the loop of a group.
func (f *fn) run(g *group) {
	places := map[string]place{}
	for _, m := range g.members {
		if m.reduce != nil {
			places[m.reduce.Name] = place{expr.F32, f.slot(expr.F32)}
		}
	}
	f.scope(func() {
		l := &loop{block: f.newBlock(g.axis, f.isa.lanes), size: f.bridged(g.size), group: 1}
		l.reserve(g)
		l.members(g)
		if !l.size.IsConst() {
			l.limit = f.slot(expr.I32)
			f.integerTo(l.size, l.limit)
		}
		for i, r := range g.random {
			f.startStream(l.streams[i], r)
		}
		l.prepare()
		l.begin()
		if l.size.IsConst() {
			l.fixed(int(l.size.I))
		} else {
			l.dynamic()
		}
		for _, s := range l.folds {
			f.combine(s, places[s.name].off)
		}
	})
	maps.Copy(f.vars, places)
}

// members builds what the statements of a group compute.
func (l *loop) members(g *group) {
	folds := l.folds
	for _, m := range g.members {
		if m.dst != nil {
			l.assign(m.dst, m.value, g.serial)
			continue
		}
		l.add(node{kind: fold, fold: folds[0]}, l.value(m.value))
		folds = folds[1:]
	}
}

// A loop is a block that runs over an axis.
type loop struct {
	*block
	size  *expr.Expr
	limit int // slot of the size
	group int // vectors that belong together: partials, or the words of a group of counters
}

// reductions are what partials start from, and the instruction that takes a value.
var reductions = map[expr.Op]struct {
	start float64
	op    string
}{
	expr.Add: {0, "VADDPS"},
	expr.Max: {math.Inf(-1), "VMAXPS"},
	expr.Min: {math.Inf(1), "VMINPS"},
}

// reserve gives registers to what the loop carries along.
func (l *loop) reserve(g *group) {
	if l.f.isa == avx2 {
		l.free = ymmMask
	}
	take := func(n int) int {
		l.free -= n
		return l.free
	}
	room := l.free - g.folds - (streamRegs+2)*len(g.random)
	for _, r := range g.random {
		groups := 1
		if room >= 2*stateRegs && (!l.size.IsConst() || l.size.I > int64(2*l.lanes)) {
			groups = 2
		}
		l.group = 2 * groups
		l.streams = append(l.streams, &stream{tile: r.Dst, groups: groups, words: take(l.group), counter: take(1)})
	}
	for _, m := range g.members {
		if r := m.reduce; r != nil {
			n := l.f.partialRegs(r)
			l.group = max(l.group, n)
			l.folds = append(l.folds, &folding{r.Name, reductions[r.Op].op, take(n), n, reductions[r.Op].start})
		}
	}
}

// begin sets what the loop carries along.
func (l *loop) begin() {
	f := l.f
	for _, s := range l.folds {
		for i := range s.regs {
			r := l.v(s.first + i)
			switch {
			case s.start == 0:
				f.op(f.isa.instruction(expr.Xor, expr.U32), r, r, r)
			default:
				f.op("VBROADCASTSS", f.pool.word(math.Float32bits(float32(s.start))), r)
			}
		}
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

// fixed writes a loop whose length is known.
func (l *loop) fixed(n int) {
	whole, rest := n/l.lanes, n%l.lanes
	unroll := l.group
	for unroll < 4 && unroll*len(l.order) < 16 {
		unroll *= 2
	}
	looped := whole / unroll * unroll
	cost := len(l.order) + 70*len(l.streams)/2
	if looped == unroll || whole*cost <= straight {
		looped = 0
	}
	f := l.f
	if looped > 0 {
		f.op("XORL", indexReg.As32(), indexReg.As32())
		again := f.label("loop")
		f.mark(again)
		for i := range unroll {
			l.vector(instance{disp: i * l.lanes, indexed: true, part: i})
		}
		f.op("ADDQ", imm(unroll*l.lanes), indexReg)
		f.op("CMPQ", indexReg, imm(looped*l.lanes))
		f.jump("JLT", again)
	}
	for i := looped; i < whole; i++ {
		l.vector(instance{disp: (i - looped) * l.lanes, indexed: looped > 0, part: i})
	}
	if rest > 0 {
		f.op("MOVL", imm(rest), countReg)
		l.constantMask(rest)
		l.vector(instance{disp: (whole - looped) * l.lanes, indexed: looped > 0, masked: true, part: whole})
	}
}

// dynamic writes a loop whose length is in a slot.
func (l *loop) dynamic() {
	f := l.f
	step := l.group * l.lanes
	tail, again, end := f.label("tail"), f.label("loop"), f.label("end")
	f.op("XORL", indexReg.As32(), indexReg.As32())
	f.op("MOVQ", f.at(l.limit), limitReg)
	f.op("SUBQ", imm(step), limitReg)
	f.jump("JLT", tail)
	f.mark(again)
	for i := range l.group {
		l.vector(instance{disp: i * l.lanes, indexed: true, part: i})
	}
	f.op("ADDQ", imm(step), indexReg)
	f.op("CMPQ", indexReg, limitReg)
	f.jump("JLE", again)
	f.mark(tail)
	f.op("MOVQ", f.at(l.limit), countReg)
	f.op("SUBQ", indexReg, countReg)
	f.jump("JLE", end)
	for i := range l.group {
		if i > 0 {
			f.op("SUBQ", imm(l.lanes), countReg)
			f.jump("JLE", end)
		}
		l.countMask()
		l.vector(instance{disp: i * l.lanes, indexed: true, masked: true, part: i})
	}
	f.mark(end)
}

// constantMask sets the mask of the first n lanes.
func (l *loop) constantMask(n int) {
	f := l.f
	if f.isa == avx512 {
		f.op("MOVL", imm(1<<n-1), tempReg)
		f.op("KMOVW", tempReg, tailMask)
		return
	}
	var mask [8]uint32
	for i := range n {
		mask[i] = 1<<32 - 1
	}
	f.op("VMOVUPS", f.pool.vector(mask), l.v(ymmMask))
}

// countMask sets the mask of as many lanes as countReg says, at most all.
func (l *loop) countMask() {
	f := l.f
	if f.isa == avx512 {
		f.op("MOVL", imm(-1), tempReg)
		f.op("BZHIL", countReg, tempReg, tempReg)
		f.op("KMOVW", tempReg, tailMask)
		return
	}
	ones, zeros := [8]uint32{}, [8]uint32{}
	for i := range ones {
		ones[i] = 1<<32 - 1
	}
	f.op("MOVL", imm(l.lanes), limitReg)
	f.op("CMPQ", countReg, limitReg)
	f.op("CMOVQLT", countReg, limitReg)
	f.op("NEGQ", limitReg)
	f.op("LEAQ", f.pool.wide(ones, zeros), tempReg)
	f.op("VMOVUPS", operand.Mem{Base: tempReg, Index: limitReg, Scale: 4, Disp: 32}, l.v(ymmMask))
}

// combine writes the xor butterfly over partials; lane 0 is the result.
func (f *fn) combine(s *folding, off int) {
	op, own, other := s.op, s.first, 0
	for d := s.regs / 2; d > 0; d /= 2 {
		for i := range d {
			f.op(op, f.full(own+i+d), f.full(own+i), f.full(own+i))
		}
	}
	if f.isa == avx512 {
		f.op("VEXTRACTF64X4", imm(1), vec(own, 16), vec(other, 8))
		f.op(op, vec(other, 8), vec(own, 8), vec(own, 8))
		f.op("VEXTRACTF32X4", imm(1), vec(own, 8), vec(other, 4))
	} else {
		f.op("VEXTRACTF128", imm(1), vec(own, 8), vec(other, 4))
	}
	f.op(op, vec(other, 4), vec(own, 4), vec(own, 4))
	f.op("VPERMILPS", imm(0x0E), vec(own, 4), vec(other, 4))
	f.op(op, vec(other, 4), vec(own, 4), vec(own, 4))
	f.op("VPERMILPS", imm(1), vec(own, 4), vec(other, 4))
	f.op(op, vec(other, 4), vec(own, 4), vec(own, 4))
	f.op("VBROADCASTSS", vec(own, 4), f.full(own))
	f.op("VMOVUPS", f.full(own), f.at(off))
}

// nest writes loops over the outer axes of a statement.
func (f *fn) nest(axes []kernel.Axis, inner func()) {
	if len(axes) == 0 {
		inner()
		return
	}
	f.count(axes[0].Var, expr.Int(0), axes[0].Size, func() { f.nest(axes[1:], inner) })
}

// count writes a loop over an integer variable.
func (f *fn) count(name string, lo, hi *expr.Expr, body func()) {
	f.scope(func() {
		limit := place{expr.I32, f.slot(expr.I32)}
		v := place{expr.I32, f.slot(expr.I32)}
		f.integerTo(lo, v.off)
		f.integerTo(hi, limit.off)
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
