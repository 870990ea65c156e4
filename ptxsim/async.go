package ptxsim

import (
	"bytes"
	"math/bits"

	"github.com/arithlang/mlc/ptxsim/ptx"
)

// Asynchronous copies from global to shared memory. A copy is done when its thread waits for its
// group, which is the latest moment allowed. Until then nobody may touch its destination or write
// its source.

// asyncCopy is one copy of one lane.
type asyncCopy struct {
	lane  int
	group int
	dst   int // offset in shared memory
	size  int
	n     int // bytes to copy; the rest become zero
	src   *buffer
	off   int
	old   [16]byte // of the source, when the copy was issued
	pc    int
}

// copies are a warp's pending copies.
type copies struct {
	list  []asyncCopy
	group [32]int // the open group of each lane
}

// dropCopies removes copies that nobody waited for.
func (w *warp) dropCopies() {
	for _, c := range w.copies.list {
		w.markCopy(&c, 0, 0)
	}
	w.copies = copies{list: w.copies.list[:0]}
}

// warnOfCopies warns, at the end of a block, of copies that nobody waited for.
func (w *warp) warnOfCopies() {
	for _, c := range w.copies.list {
		w.pc = c.pc
		r := w.report(PendingCopy, "the kernel ends without waiting for the copy")
		r.Lanes = 1 << c.lane
		w.warn(r, "")
	}
}

func (w *warp) markCopy(c *asyncCopy, seg, who uint32) {
	if s := w.b.shared.shadow; s != nil {
		w.near.mark(s, c.dst, c.size, seg, who)
	}
}

// copyInfo is a cp.async instruction.
type copyInfo struct {
	dst, src address
	size     int
	n        int // column of the source size, or noColumn
	ignore   predicate
	ignores  bool
}

func (d *decoder) copyAsync() exec {
	args := d.in.Args
	c := &copyInfo{dst: d.address(&args[0]), src: d.address(&args[1]), size: int(args[2].Imm), n: noColumn}
	c.dst.space, c.src.space = ptx.Shared, ptx.Global
	if len(args) > 3 {
		switch o := &args[3]; {
		case o.Type == ptx.Pred:
			c.ignore, c.ignores = d.pred(o), true
		case o.Type.Bits() == 32:
			c.n = d.read(o)
		}
	}
	d.require()
	d.note = c.note
	return c.issue
}

func (c *copyInfo) issue(w *warp, m uint32) {
	w.lock()
	defer w.unlock()
	first := len(w.copies.list)
	if !c.aim(w, m) {
		return
	}
	list := w.copies.list[first:]
	var whole uint32
	for i := range list {
		if a := &list[i]; a.n == c.size {
			whole |= 1 << a.lane
		} else if a.n > 0 && !c.sourceOf(w, a) {
			return
		}
	}
	for m := whole; m != 0; {
		buf, in := w.reading(&c.src, c.size, m, order{})
		if buf == nil {
			return
		}
		for i := range list {
			if a := &list[i]; in>>a.lane&1 != 0 {
				a.src, a.off = buf, w.offs[a.lane]
			}
		}
		m &^= in
	}
	for i := range list {
		a := &list[i]
		if a.n > 0 {
			copy(a.old[:], a.src.data[a.off:a.off+a.n])
		}
		if w.b.opt.Eager {
			copy(w.b.shared.data[a.dst:], a.old[:a.size])
		}
	}
}

// aim records the copies of m and reserves their destinations.
func (c *copyInfo) aim(w *warp, m uint32) bool {
	buf, in := w.resolve(&c.dst, c.size, m)
	if buf != nil && in != m {
		buf, _ = w.resolve(&c.dst, c.size, m&^in)
	}
	if buf == nil {
		return false
	}
	if buf.shadow != nil && !w.recordWrite(&c.dst, buf, c.size, m, order{}) {
		return false
	}
	for rest := m; rest != 0; rest &= rest - 1 {
		lane := bits.TrailingZeros32(rest)
		a := asyncCopy{lane: lane, group: w.copies.group[lane], dst: w.offs[lane], size: c.size, n: c.bytes(w, lane), pc: w.pc}
		if a.n > c.size {
			w.fail(OutOfBounds, 1<<lane, "it copies %d bytes to a place of %d", a.n, c.size)
			return false
		}
		w.markCopy(&a, flight, uint32(w.pc)<<whoShift|uint32(lane))
		if buf.init != nil {
			for i := range c.size {
				buf.init[(a.dst+i)>>6] &^= 1 << ((a.dst + i) & 63)
			}
		}
		w.copies.list = append(w.copies.list, a)
	}
	return true
}

// bytes returns how many bytes of the source a lane copies.
func (c *copyInfo) bytes(w *warp, lane int) int {
	switch {
	case c.ignores && c.ignore.of(w)>>lane&1 != 0:
		return 0
	case c.n != noColumn:
		return int(uint32(w.cols[c.n][lane]))
	}
	return c.size
}

// sourceOf finds the source of a copy that is shorter than its destination, byte by byte.
func (c *copyInfo) sourceOf(w *warp, a *asyncCopy) bool {
	m := uint32(1) << a.lane
	if addr := c.src.of(w, a.lane); addr%uint64(c.size) != 0 {
		w.failAt(Misaligned, m, ptx.Global, addr, "the source of %d bytes must be at a multiple of %[1]d", c.size)
		return false
	}
	one := c.src
	for i := range a.n {
		one.off = c.src.off + uint64(i)
		buf, _ := w.reading(&one, 1, m, order{})
		if buf == nil {
			return false
		}
		if i == 0 {
			a.src, a.off = buf, w.offs[a.lane]
		}
	}
	return true
}

func commitCopies(d *decoder) exec {
	return func(w *warp, m uint32) {
		forLanes(m, func(i int) { w.copies.group[i]++ })
	}
}

func waitCopies(d *decoder) exec {
	all := d.in.Op == "cp.async.wait_all"
	left := 0
	if !all {
		left = int(d.in.Args[0].Imm)
	}
	return func(w *warp, m uint32) {
		w.lock()
		defer w.unlock()
		keep := w.copies.list[:0]
		for i := range w.copies.list {
			c := &w.copies.list[i]
			if m>>c.lane&1 != 0 && (all || c.group+left < w.copies.group[c.lane]) {
				w.land(c)
			} else {
				keep = append(keep, *c)
			}
		}
		w.copies.list = keep
	}
}

// land performs a copy.
func (w *warp) land(c *asyncCopy) {
	if c.n > 0 && !bytes.Equal(c.old[:c.n], c.src.data[c.off:c.off+c.n]) {
		w.failAt(Race, 1<<c.lane, ptx.Global, c.src.start+uint64(c.off),
			"the source of the asynchronous copy of line %d was written before the copy was waited for", w.b.code[c.pc].line())
	}
	shared := w.b.shared
	copy(shared.data[c.dst:], c.old[:c.size])
	shared.init.setRange(c.dst, c.size)
	w.markCopy(c, w.near.current(), uint32(c.pc)<<whoShift|uint32(c.lane))
	w.b.writes++
}
