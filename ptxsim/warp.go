package ptxsim

import (
	"math"
	"math/bits"
	"slices"
)

// column is a register of all lanes of a warp, each value zero-extended to 64 bits.
type column = [32]uint64

const fullMask = math.MaxUint32

// warp is 32 threads. They may be at different instructions. Lanes at the same instruction form a
// group. The group at the lowest instruction runs first, so that lanes meet again after a branch.
type warp struct {
	b    *block
	id   int
	cols []column // registers, then constants and special registers
	pred []uint32 // predicates, by register
	def  []uint32 // lanes in which a register was written, by register
	born uint32   // lanes that exist
	live uint32   // lanes that have not exited

	groups []group // groups that are not running
	cur    group   // the running group
	limit  int     // the instruction at which cur must look for the others
	now    int64   // instructions that the warp has executed
	due    int64   // the value of now at which cur must let other groups run
	waits  int64   // how many instructions a group waits for its turn now
	pc     int     // of the instruction being executed
	err    error

	steps  int64 // lane instructions
	bytes  int64 // moved from and to global memory
	past   past
	carry  uint32
	near   tracker // of accesses to shared memory
	far    tracker // of accesses to global memory
	fences fences
	copies copies
	local  *buffer
	offs   [32]int // of the present access
	// storing is the store in progress, if stores of one value may clash.
	storing *transfer
	frag    fragments
	watch   watch
}

type state uint8

// The states of a group.
const (
	ready     state = iota
	atBarrier       // until a barrier of the block is complete
	atSync          // until other lanes of the warp reach the instruction
	atMemory        // saw nothing change, and waits for a change of memory
)

type group struct {
	pc      int
	mask    uint32
	state   state
	seen    version // for atMemory
	barrier int     // for atBarrier: its number, and the instruction there
	at      int
	since   int64 // the warp's now when the group last ran or became ready
	until   int64 // the warp's now at which its turn ends; 0: it has not had one
}

// runnable reports whether the warp has something to run.
func (w *warp) runnable() bool {
	for i := range w.groups {
		g := &w.groups[i]
		if g.state == atMemory && g.seen != w.b.version() {
			w.wake(g)
		}
		if g.state == ready {
			return true
		}
	}
	return false
}

// wake makes a waiting group ready.
func (w *warp) wake(g *group) {
	g.state, g.since = ready, w.now
	w.due = min(w.due, w.now+w.waits)
}

// choose returns the number of the next group to run. It prefers the group whose turn it is, then
// a group that has waited for long, which begins a turn, then the group furthest back. Turns are
// shorter than the waits between them, so that groups further back catch up and lanes meet again.
// Waits and turns halve with each turn until all lanes have met: a long loop may be waiting for a
// lane of its own warp.
func (w *warp) choose() int {
	back, oldest := -1, -1
	for i := range w.groups {
		g := &w.groups[i]
		switch {
		case g.state != ready:
			continue
		case g.until > w.now:
			return i
		}
		if back < 0 || g.pc < w.groups[back].pc {
			back = i
		}
		if oldest < 0 || g.since < w.groups[oldest].since {
			oldest = i
		}
	}
	if g := &w.groups[oldest]; w.now-g.since >= w.waits {
		g.until = w.now + w.waits/2
		w.waits = max(w.waits/2, patience/32)
		return oldest
	}
	return back
}

// pick makes the next group the current one and joins it with all others at the same instruction.
func (w *warp) pick() bool {
	if !w.runnable() {
		return false
	}
	g := w.groups[w.choose()]
	w.cur = group{pc: g.pc, until: g.until}
	w.limit, w.due = math.MaxInt, math.MaxInt64
	keep := w.groups[:0]
	for _, g := range w.groups {
		if g.state == ready || g.state == atSync {
			if g.pc == w.cur.pc {
				w.cur.mask |= g.mask
				continue
			}
			w.limit = min(w.limit, limitOf(g.pc, w.cur.pc))
		}
		if g.state == ready {
			w.due = min(w.due, g.since+w.waits)
		}
		keep = append(keep, g)
	}
	if w.groups = keep; len(keep) == 0 && w.cur.mask != g.mask {
		w.waits = patience // all lanes have met
	}
	if w.cur.until > w.now {
		w.due = w.cur.until
	}
	return true
}

// limitOf returns where a group at pc must stop for a group at other. A group further back can be
// met only by a jump.
func limitOf(other, pc int) int {
	if other > pc {
		return other
	}
	return math.MaxInt
}

// park puts the current group aside.
func (w *warp) park(pc int, mask uint32, s state) {
	if mask != 0 {
		w.groups = append(w.groups, group{pc: pc, mask: mask, state: s, since: w.now, seen: w.b.version()})
		if s == ready {
			w.due = min(w.due, w.now+w.waits)
		}
	}
}

const (
	patience = 1 << 11 // the longest wait of a group for its turn, in instructions of the warp
	calm     = 1 << 13 // instructions after which a warp is watched for spinning
)

// run executes up to budget instructions of the warp and returns how many.
func (w *warp) run(budget int) int {
	left := budget
	for left > 0 && w.err == nil && w.pick() {
		before := w.now
		n := w.advance(left)
		w.now = before + int64(n)
		left -= n
	}
	w.b.ticks += int64(budget - left)
	return budget - left
}

// advance runs the current group until it must stop.
func (w *warp) advance(budget int) int {
	code := w.b.code
	pc, active := w.cur.pc, w.cur.mask
	before := w.now
	w.due = min(w.due, before+int64(budget))
	for n := 1; ; n++ {
		in := &code[pc]
		m := active
		if in.guard >= 0 {
			p := w.pred[in.guard]
			if w.def[in.guard]&active != active && !w.undefined(pc, in.guard, active) {
				return n
			}
			if in.not {
				p = ^p
			}
			m &= p
		}
		if w.b.reach != nil {
			w.b.reach[pc] |= reachOf(active, m)
		}
		next := pc + 1
		if m != 0 {
			w.steps += int64(bits.OnesCount32(m))
			w.pc = pc
			for _, u := range in.needs {
				if w.def[u]&m != m && !w.undefined(pc, u, m) {
					return n
				}
			}
			if in.flow == nil {
				known := m
				for _, u := range in.uses {
					known &= w.def[u]
				}
				in.exec(w, m)
				for _, d := range in.defs {
					w.def[d] = w.def[d]&^m | known
				}
			} else {
				w.now = before + int64(n)
				if next, active = in.flow(w, in, active, m); active == 0 {
					return n
				}
			}
			if w.err != nil {
				return n
			}
		}
		pc = next
		if pc >= w.limit || before+int64(n) >= w.due {
			w.now = before + int64(n)
			w.park(pc, active, ready)
			w.groups[len(w.groups)-1].until = w.cur.until
			return n
		}
	}
}

// undefined reports an address, a branch or a similar use that depends on a register that was
// never written. Options.NoInit turns it off. Registers that are only copied or computed with may
// be undefined: compilers do this for lanes whose results they discard.
func (w *warp) undefined(pc int, reg int32, m uint32) (waived bool) {
	if w.b.opt.NoInit {
		return true
	}
	w.pc = pc
	w.fail(UndefinedReg, m&^w.def[reg], "register %s has no value, or one computed from such a register", w.b.k.src.Regs[reg].Name)
	return false
}

// version counts the writes that a waiting warp could see.
type version struct{ global, shared uint64 }

// watch is the state of a group when it went back to an earlier instruction. If the state is the
// same later and no memory has changed, the group will loop for ever.
type watch struct {
	pc    int
	mask  uint32
	seen  version
	cols  []column
	pred  []uint32
	ran   int // instructions since the last barrier
	count int
	next  int // the count at which to look again; doubles every time
}

func (t *watch) reset() { t.mask, t.ran, t.count, t.next = 0, 0, 0, 1 }

// spins is called when a group jumps back to pc, and reports whether it can only loop for ever.
func (w *warp) spins(pc int, mask uint32) bool {
	t := &w.watch
	t.count++
	n := w.b.k.columns
	if t.mask == mask && t.pc == pc && t.seen == w.b.version() &&
		slices.Equal(t.pred, w.pred) && slices.Equal(t.cols, w.cols[:n]) {
		t.count, t.next = 0, 1 // if it is woken in vain it spins again, so look at once
		return true
	}
	if t.count >= t.next {
		t.pc, t.mask, t.seen = pc, mask, w.b.version()
		t.cols = append(t.cols[:0], w.cols[:n]...)
		t.pred = append(t.pred[:0], w.pred...)
		t.count, t.next = 0, 2*t.next
	}
	return false
}
