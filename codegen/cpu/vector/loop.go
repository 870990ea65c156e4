package vector

import (
	"slices"

	"github.com/arithlang/mlc/codegen/cost"
	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/kernel"
)

// straight bounds the instructions of a loop that is written without a jump.
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
	of := g.foldings()
	folds := slices.Compact(slices.Clone(of))
	results := make([]int, len(of))
	for i, s := range of {
		results[i] = f.slot(expr.F32)
		s.off = results[i]
		s.offs = append(s.offs, results[i])
	}
	f.scope(func() {
		l := &loop{block: f.newBlock(g.axis, f.lanes), size: g.size, group: 1}
		l.reserve(g.random, folds, g.folds)
		i := 0
		for _, m := range g.members {
			if m.dst != nil {
				l.assign(m.dst, m.value, g.serial)
			} else {
				l.add(node{kind: fold, fold: of[i], off: i % batch}, l.value(m.value))
				i++
			}
		}
		if !l.size.IsConst() {
			l.limit = f.slot(expr.I32)
			f.m.store(l.size, l.limit)
		}
		for i, r := range g.random {
			f.m.startStream(l.streams[i], r)
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
	i := 0
	for _, m := range g.members {
		if m.reduce != nil {
			f.vars[m.reduce.Name] = place{expr.F32, results[i]}
			i++
		}
	}
}

// reserve gives registers to values that the loop carries along.
func (l *loop) reserve(random []*kernel.Random, folds []*folding, partials int) {
	l.free -= l.f.reserved
	take := func(n int) int {
		l.free -= n
		return l.free
	}
	way := l.f.random
	left := l.free - partials - (way.carried()+way.words)*len(random)
	for _, r := range random {
		groups, two := 1, 2*way.state
		if !l.size.IsConst() {
			two = 3 * way.state // a loop that may be short takes spare registers only
		}
		if left >= two && (!l.size.IsConst() || l.size.I > int64(2*l.lanes)) {
			groups = 2
		}
		l.group = way.words * groups
		l.streams = append(l.streams, &stream{tile: r.Dst, groups: groups, vectors: way.words * groups, words: take(l.group), counter: take(1)})
	}
	var waiting []int
	for _, s := range folds {
		if s.together > 0 {
			waiting = l.reserveBeside(s, waiting)
			continue
		}
		l.reserveFold(s)
		if sums(s.reduce) {
			l.sums = append(l.sums, s)
		}
	}
}

// begin initializes the values that the loop carries along.
func (l *loop) begin(folds []*folding) {
	for _, s := range folds {
		l.f.m.startPartials(s)
	}
	for _, s := range l.streams {
		l.f.m.firstCounters(s)
	}
}

// vector writes the body for one vector.
func (l *loop) vector(in instance) {
	in.part %= l.group
	for _, s := range l.streams {
		if in.part%s.vectors == 0 {
			l.f.m.nextWords(s)
		}
	}
	l.emit(in)
}

// vectors writes n vectors from the index on.
func (l *loop) vectors(n int) {
	for i := range n {
		l.vector(instance{disp: i * l.lanes, indexed: true, part: i})
	}
	for _, s := range l.sums {
		l.f.turn(s)
	}
}

// fixed writes a loop of known length.
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
		f.m.startIndex()
		again := f.label("loop")
		f.m.mark(again)
		f.times(expr.Int(int64(looped/unroll)), func() {
			l.vectors(unroll)
			f.m.again(unroll*l.lanes, looped*l.lanes, again)
		})
	}
	in := instance{indexed: looped > 0}
	for in.part = looped; in.part < whole; in.part++ {
		l.vector(in)
		in.disp += l.lanes
	}
	if rest > 0 {
		f.m.firstLanes(rest)
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
		l.f.m.addRest(s, n)
	}
}

// dynamic writes a loop whose length is in a slot.
func (l *loop) dynamic() {
	f := l.f
	tail, again, end := f.label("tail"), f.label("loop"), f.label("end")
	f.m.startIndex()
	f.m.whole(l.limit, l.group*l.lanes, tail)
	f.m.mark(again)
	group := l.group * l.lanes
	f.times(ratio(l.size, group), func() {
		l.vectors(l.group)
		f.m.againWhole(group, again)
	})
	f.m.mark(tail)
	rest := make([]string, l.group) // labels of the code after i vectors
	for i := range rest {
		if rest[i] = end; i > 0 && len(l.sums) > 0 {
			rest[i] = f.label("rest")
		}
	}
	f.m.rest(l.limit, end)
	// All vectors take about as many instructions.
	f.flush(expr.Int(1))
	for i := range l.group {
		if i > 0 {
			f.m.fewer(l.lanes, rest[i])
		}
		f.m.someLanes()
		l.vector(instance{disp: i * l.lanes, indexed: true, masked: true, part: i})
	}
	f.written /= l.group
	f.flush(f.known.Size(ratioUp(left(l.size, group), l.lanes)))
	for _, s := range l.sums {
		s.next = 0
	}
	for i, label := range rest {
		if label != end {
			f.m.jump(end)
			f.m.mark(label)
			l.addRest(i)
		}
	}
	f.written /= len(rest) // only one of them runs
	f.m.mark(end)
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
		f.m.jumpUnlessLess(v.off, limit.off, end)
		f.m.mark(again)
		f.within(func() {
			body()
			f.m.next(v.off, limit.off, again)
		}, func(t cost.Tally) cost.Tally {
			from, to := f.known.Bounds(lo, hi)
			return t.Over(name, from, to)
		})
		f.m.mark(end)
	})
}
