package ptxsim

import (
	"fmt"
	"math/bits"
	"math/rand/v2"
	"strings"
)

// block is a running thread block (CTA): its warps, shared memory and barriers.
type block struct {
	l       *launch
	k       *Kernel
	opt     *Options
	code    []instr
	id      int // linear
	coords  [3]int
	warps   []*warp
	shared  *buffer
	table   table // of the accesses to shared memory
	bars    [16]barrier
	ticks   int64 // instructions of warps
	writes  uint64
	turn    int
	stints  int
	rng     *rand.Rand
	longest int     // the present limit on a slice in random order; 0: not drawn
	flags   flags   // releases in shared memory
	reach   []reach // by instruction; nil without Options.Reach
}

func (b *block) version() version {
	return version{b.l.writes.Load(), b.writes}
}

// newBlock returns a block that reset can turn into any block of the launch.
func newBlock(l *launch) *block {
	b := &block{l: l, k: l.k, opt: &l.d.opt, code: l.k.code, table: newTable()}
	b.shared = &buffer{name: "shared memory", data: make([]byte, l.sharedSize)}
	if !b.opt.NoRaces {
		b.shared.shadow = newShadow(l.sharedSize)
	}
	if !b.opt.NoInit {
		b.shared.init = newBitmap(int64(l.sharedSize))
	}
	if b.opt.Reach {
		b.reach = make([]reach, len(b.code))
	}
	for i := range (l.threads + 31) / 32 {
		b.warps = append(b.warps, newWarp(b, i))
	}
	return b
}

func newWarp(b *block, id int) *warp {
	k := b.k
	w := &warp{b: b, id: id, born: fullMask}
	if rest := b.l.threads - 32*id; rest < 32 {
		w.born = 1<<rest - 1
	}
	if old, ok := k.spare.Get().(*[]column); ok {
		w.cols = *old
		clear(w.cols[k.columns:])
	} else {
		w.cols = make([]column, k.columns+len(k.consts))
	}
	w.pred = make([]uint32, len(k.src.Regs))
	w.def = make([]uint32, len(k.src.Regs))
	if n := int(k.src.LocalSize); n > 0 {
		stride := (n + 15) &^ 15
		w.local = &buffer{name: "local memory", private: n, stride: stride, data: make([]byte, 32*stride)}
		if !b.opt.NoInit {
			w.local.init = newBitmap(int64(32 * stride))
		}
	}
	for i, c := range k.consts {
		c.fill(w, &w.cols[k.columns+i])
	}
	return w
}

// reset makes b the block with this number, at its start.
func (b *block) reset(id int) {
	g := b.l.grid
	b.id, b.coords = id, [3]int{id % g[0], id / g[0] % g[1], id / g[0] / g[1]}
	b.ticks, b.turn, b.stints, b.bars, b.flags = 0, 0, 0, [16]barrier{}, flags{}
	b.rng, b.longest = b.l.d.random(uint64(id)+1), 0
	poison(b.shared.data)
	clear(b.shared.init)
	b.shared.vague = nil
	b.endSegments()
	for _, w := range b.warps {
		w.reset()
	}
}

// endSegments orders all earlier accesses to shared memory before all later ones.
func (b *block) endSegments() {
	if b.table.advance() && b.shared.shadow != nil {
		b.shared.shadow.clear()
	}
	for _, w := range b.warps {
		w.near.renew()
	}
}

func (w *warp) reset() {
	b := w.b
	w.live, w.limit, w.now, w.due, w.waits, w.err = w.born, 0, 0, 0, patience, nil
	w.groups = append(w.groups[:0], group{mask: w.born})
	clear(w.def)
	clear(w.pred)
	if b.opt.NoInit {
		for i := range w.cols[:b.k.columns] {
			for lane := range w.cols[i] {
				w.cols[i][lane] = poisonWord
			}
		}
	}
	w.past = newPast(b.id, len(b.warps))
	w.past.own[w.id] = 1
	w.near = tracker{table: &b.table, past: &w.past, warp: w.id}
	w.far = tracker{table: &b.l.d.table, past: &w.past, warp: w.id}
	w.fences = fences{}
	w.dropCopies()
	w.watch.reset()
	if w.local != nil {
		poison(w.local.data)
		clear(w.local.init)
		w.local.vague = nil
	}
	for i, c := range b.k.consts {
		if c.byBlock {
			c.fill(w, &w.cols[b.k.columns+i])
		}
	}
}

// status is the progress of a block.
type status uint8

const (
	unfinished status = iota
	stuck             // no warp can run until another block writes
	finished
)

// run executes about budget instructions of warps.
func (b *block) run(budget int64) (status, error) {
	for end := b.ticks + budget; b.ticks < end; {
		w := b.next()
		if w == nil {
			return b.idle()
		}
		n := w.run(b.slice())
		if w.err != nil {
			return finished, w.err
		}
		w.watch.ran += n
		if b.l.spend(w) {
			return finished, w.report(StepLimit, "the launch has not ended after %d lane instructions", b.opt.MaxSteps)
		}
	}
	if !b.ready() { // its last warp has just stopped
		return b.idle()
	}
	return unfinished, nil
}

// slice returns how many instructions a warp may run at a time.
func (b *block) slice() int {
	switch b.opt.Order {
	case Random:
		// All slices are short for a while, down to single instructions, then long again.
		if b.longest == 0 || b.rng.IntN(64) == 0 {
			b.longest = 1 << b.rng.IntN(9)
		}
		return 1 + b.rng.IntN(b.longest)
	case Greedy:
		return 4 * calm
	}
	return calm / 8
}

// next returns the warp to run, or nil if none can run.
func (b *block) next() *warp {
	n := len(b.warps)
	start := b.turn
	if b.opt.Order == Random {
		start = b.rng.IntN(n)
	}
	for i := range n {
		j := (start + i) % n
		at := j
		if b.opt.Order == Reversed {
			at = n - 1 - j
		}
		if w := b.warps[at]; w.runnable() {
			b.turn = (j + 1) % n
			return w
		}
	}
	return nil
}

// idle returns the status of a block in which no warp can run: finished, waiting for memory, or
// deadlocked.
func (b *block) idle() (status, error) {
	done := true
	for _, w := range b.warps {
		for _, g := range w.groups {
			if g.state == atMemory {
				return stuck, nil
			}
			done = false
		}
	}
	if done {
		for _, w := range b.warps {
			w.warnOfCopies()
		}
		return finished, nil
	}
	return finished, b.deadlock()
}

// deadlock reports what each warp waits for.
func (b *block) deadlock() error {
	kind := Deadlock
	var first *warp
	var at group
	var parts []string
	for _, w := range b.warps {
		for _, g := range w.groups {
			if g.state == atBarrier {
				g.pc = g.at
			}
			if first == nil {
				first, at = w, g
			}
			text := fmt.Sprintf("warp %d, %s, at line %d", w.id, lanes(g.mask), b.code[g.pc].line())
			if g.state == atSync {
				first, at, kind = w, g, DivergentWarp
				if b.code[g.pc].barrier {
					kind = DivergentBarrier
				}
				text += " (waits for other lanes)"
			} else {
				bar := &b.bars[g.barrier]
				text += fmt.Sprintf(" (barrier %d, %d of %d threads)", g.barrier, bar.arrived, bar.expect)
			}
			if len(parts) < 8 {
				parts = append(parts, text)
			}
		}
	}
	if gone := b.exited(); gone > 0 {
		if kind == Deadlock {
			kind = DivergentBarrier
		}
		parts = append(parts, fmt.Sprintf("%d threads have exited", gone))
	}
	first.pc = at.pc
	first.fail(kind, at.mask, "no warp can continue: %s", strings.Join(parts, "; "))
	return first.err
}

func (b *block) exited() (n int) {
	for _, w := range b.warps {
		n += bits.OnesCount32(w.born &^ w.live)
	}
	return n
}

// spinning reports a wait for memory that nobody will change.
func (b *block) spinning() error {
	for _, w := range b.warps {
		for _, g := range w.groups {
			if g.state == atMemory {
				w.pc = g.pc
				w.fail(Spin, g.mask, "the loop waits for memory that nobody will change")
				return w.err
			}
		}
	}
	panic("BUG: no warp of the block waits for memory")
}
