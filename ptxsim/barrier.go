package ptxsim

import "math/bits"

// barrier is one of the sixteen barriers of a block.
type barrier struct {
	arrived int // threads, including the missing ones of the last warp
	expect  int
	synced  int // arrived threads that wait
	past    *past
	fenced  *past
	counts  [2]int // threads whose predicate was false, true
	pending []waiter
}

// waiter is a group that waits at a barrier.
type waiter struct {
	w    *warp
	mask uint32
	in   *barrierInfo
}

// barrierInfo holds the operands of a barrier instruction.
type barrierInfo struct {
	id, count int // columns; count is -1 for all threads of the block
	arrive    bool
	aligned   bool
	reduce    string // "", "popc", "and" or "or"
	value     predicate
	dst       int // column of popc, or register of and, or
	dstReg    int32
}

// flow makes the lanes of m arrive.
func (bi *barrierInfo) flow(w *warp, in *instr, active, m uint32) (int, uint32) {
	next := w.pc + 1
	if bi.aligned {
		if len(w.groups) > 0 {
			active, m = w.absorb(active, m)
		}
		if m != w.live {
			w.park(w.pc, m, atSync)
			return next, active &^ m
		}
		if m != w.born {
			w.fail(DivergentBarrier, m, "%s have exited before the barrier", lanes(w.born&^m))
			return next, 0
		}
	}
	for rest := m; rest != 0 && w.err == nil; {
		id := w.cols[bi.id][bits.TrailingZeros32(rest)]
		same := sameValue(&w.cols[bi.id], rest)
		rest &^= same
		if id > 15 {
			w.fail(BadBarrier, same, "barrier %d, there are 0 to 15", id)
			break
		}
		if bi.arriveAt(w, int(id), same) {
			active &^= same
		}
	}
	if w.err != nil {
		active = 0
	}
	return next, active
}

// sameValue returns the lanes of m that have the same value as the first of them.
func sameValue(c *column, m uint32) uint32 {
	v := c[bits.TrailingZeros32(m)]
	return lanesOf(m, func(lane int) bool { return c[lane] == v })
}

// arriveAt makes some lanes arrive at a barrier and reports whether they have to wait.
func (bi *barrierInfo) arriveAt(w *warp, id int, m uint32) (stopped bool) {
	b, bar := w.b, &w.b.bars[id]
	expect := 32 * len(b.warps)
	if bi.count >= 0 {
		expect = int(uint32(w.cols[bi.count][bits.TrailingZeros32(m)]))
		if expect == 0 || expect%32 != 0 {
			w.fail(BadBarrier, m, "barrier %d for %d threads, which is not a multiple of 32", id, expect)
			return true
		}
	}
	if bar.arrived == 0 {
		*bar = barrier{expect: expect, pending: bar.pending[:0]}
		p := newPast(b.id, len(b.warps))
		bar.past = &p
	}
	n := bits.OnesCount32(m)
	if m&1 != 0 {
		n += 32 - bits.OnesCount32(w.born)
	}
	if bar.arrived += n; bar.expect != expect || bar.arrived > expect {
		w.fail(BadBarrier, m, "barrier %d for %d threads is used for %d, %d have arrived", id, bar.expect, expect, bar.arrived)
		return true
	}
	if bi.reduce != "" {
		yes := bits.OnesCount32(bi.value.of(w) & m)
		bar.counts[0] += bits.OnesCount32(m) - yes
		bar.counts[1] += yes
	}
	bar.past.join(&w.past)
	bar.fenced = joined(bar.fenced, w.fences.released)
	w.tick()
	if !bi.arrive {
		bar.synced += n
		bar.pending = append(bar.pending, waiter{w, m, bi})
		w.park(w.pc+1, m, atBarrier)
		g := &w.groups[len(w.groups)-1]
		g.barrier, g.at = id, w.pc
	}
	if bar.arrived == expect {
		b.complete(id)
	}
	return !bi.arrive
}

// complete lets all waiting groups of a barrier continue.
func (b *block) complete(id int) {
	bar := &b.bars[id]
	for _, p := range bar.pending {
		p.w.past.join(bar.past)
		p.w.fences.released = joined(p.w.fences.released, bar.fenced)
		p.w.watch.reset()
		p.in.result(p.w, p.mask, bar)
		for i := range p.w.groups {
			if g := &p.w.groups[i]; g.state == atBarrier && g.barrier == id {
				p.w.wake(g)
			}
		}
	}
	if bar.synced == 32*len(b.warps) {
		b.endSegments()
	}
	bar.arrived = 0
	b.l.barriers.Add(1)
}

// result writes the result of a reducing barrier.
func (bi *barrierInfo) result(w *warp, m uint32, bar *barrier) {
	yes := false
	switch bi.reduce {
	case "":
		return
	case "popc":
		forLanes(m, func(lane int) { w.cols[bi.dst][lane] = uint64(bar.counts[1]) })
	case "and":
		yes = bar.counts[0] == 0
	case "or":
		yes = bar.counts[1] > 0
	}
	if bi.dstReg >= 0 {
		w.def[bi.dstReg] |= m
		if bi.reduce != "popc" {
			w.setPred(bi.dstReg, m, m&spread(yes))
		}
	}
}

// spread returns all ones for true and 0 for false.
func spread(yes bool) uint32 {
	if yes {
		return fullMask
	}
	return 0
}

func forLanes(m uint32, f func(lane int)) {
	for ; m != 0; m &= m - 1 {
		f(bits.TrailingZeros32(m))
	}
}

// lanesOf returns the lanes of m for which f is true.
func lanesOf(m uint32, f func(lane int) bool) (yes uint32) {
	forLanes(m, func(lane int) { yes |= bit(f(lane)) << lane })
	return yes
}

// absorb joins the groups that wait at this instruction with the current group.
func (w *warp) absorb(active, m uint32) (uint32, uint32) {
	keep := w.groups[:0]
	for _, g := range w.groups {
		if g.pc == w.pc && g.state == atSync {
			active, m = active|g.mask, m|g.mask
		} else {
			keep = append(keep, g)
		}
	}
	w.groups = keep
	return active, m
}

// collective runs an instruction that lanes execute together.
type collective struct {
	member int // column of the membermask, -1: all 32 lanes must be there
	exec   exec
}

func (c *collective) flow(w *warp, in *instr, active, m uint32) (int, uint32) {
	next := w.pc + 1
	if len(w.groups) > 0 {
		active, m = w.absorb(active, m)
	}
	for rest := m; rest != 0; {
		sub, want := rest, uint32(fullMask)
		if c.member >= 0 {
			lane := bits.TrailingZeros32(rest)
			want = uint32(w.cols[c.member][lane])
			sub = sameValue(&w.cols[c.member], rest)
			if sub&^want != 0 {
				w.fail(DivergentWarp, sub&^want, "the membermask %#x lacks lanes that execute the instruction", want)
				return next, 0
			}
			want &= w.live
		} else if w.live != fullMask {
			w.fail(DivergentWarp, m, "it needs all 32 lanes, but %s are not there", lanes(^w.live))
			return next, 0
		}
		rest &^= sub
		if sub != want {
			w.park(w.pc, sub, atSync)
			active &^= sub
			continue
		}
		c.exec(w, sub)
		if w.err != nil {
			return next, 0
		}
		w.tick() // after it, so that it orders only earlier and later accesses
		for _, d := range in.defs {
			w.def[d] |= sub
		}
	}
	return next, active
}

// exit ends the lanes of m. Groups that wait for them check again.
func exit(w *warp, in *instr, active, m uint32) (int, uint32) {
	w.live &^= m
	for i := range w.groups {
		if g := &w.groups[i]; g.state == atSync {
			w.wake(g)
		}
	}
	return w.pc + 1, active &^ m
}

func branch(w *warp, in *instr, active, m uint32) (int, uint32) {
	target, next := in.target, w.pc+1
	if target <= w.pc && w.watch.ran >= calm && w.spins(target, m) {
		w.park(target, m, atMemory)
		return next, active &^ m
	}
	switch {
	case m == active:
		return target, active
	case target > next:
		w.split(target, m)
		return next, active &^ m
	default:
		w.split(next, active&^m)
		return target, m
	}
}

// split puts lanes aside that continue at pc, further ahead.
func (w *warp) split(pc int, m uint32) {
	w.park(pc, m, ready)
	w.limit = min(w.limit, pc)
}

// tableBranch jumps to one of several targets, by lane.
type tableBranch struct {
	index   int
	targets []int
}

func (t *tableBranch) flow(w *warp, in *instr, active, m uint32) (int, uint32) {
	idx := &w.cols[t.index]
	for rest := m; rest != 0; {
		same := sameValue(idx, rest)
		i := uint32(idx[bits.TrailingZeros32(rest)])
		if i >= uint32(len(t.targets)) {
			w.fail(OutOfBounds, same, "index %d of %d branch targets", i, len(t.targets))
			return 0, 0
		}
		w.park(t.targets[i], same, ready)
		rest &^= same
	}
	w.park(w.pc+1, active&^m, ready)
	return 0, 0
}
