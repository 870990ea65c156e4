package ptxsim

import (
	"fmt"
	"math/bits"
	"slices"

	"github.com/arithlang/mlc/ptxsim/ptx"
)

// address is the memory operand of an instruction.
type address struct {
	space ptx.Space
	base  int    // column, or -1
	off   uint64 // the offset, including a variable's address
}

func (a *address) of(w *warp, lane int) uint64 {
	if a.base < 0 {
		return a.off
	}
	return w.cols[a.base][lane] + a.off
}

// find returns the buffer for an address and the address of the buffer's first byte in that
// space. If there is no buffer, it returns nil.
func (w *warp) find(s ptx.Space, addr uint64) (*buffer, uint64) {
	switch s {
	case ptx.Global:
		b := w.b.l.d.global.find(addr)
		if b == nil {
			return nil, 0
		}
		return b, b.start
	case ptx.Shared:
		return w.b.shared, 0
	case ptx.Local:
		return w.local, 0
	case ptx.Param:
		return w.b.l.params, 0
	case ptx.Const:
		return w.b.k.m.constants, 0
	}
	of, base := spaceOf(addr)
	if of == ptx.Global {
		return w.find(of, addr)
	}
	b, _ := w.find(of, 0)
	return b, base
}

// spaceOf returns the space that a generic address points into, and the offset to subtract to get
// an address of that space.
func spaceOf(addr uint64) (ptx.Space, uint64) {
	for _, of := range [...]ptx.Space{ptx.Shared, ptx.Local, ptx.Const, ptx.Param} {
		if base := windows[of]; addr >= base && addr-base < windowSize {
			return of, base
		}
	}
	return ptx.Global, 0
}

// windows are the bases of the spaces within the generic addresses.
var windows = [...]uint64{
	ptx.Shared: sharedWindow, ptx.Local: localWindow, ptx.Const: constWindow, ptx.Param: paramWindow,
}

// resolve returns the buffer that the first lane of m accesses and the lanes that access the same
// one. It stores their offsets in w.offs. If the access is wrong, it reports that and returns no
// buffer.
func (w *warp) resolve(a *address, size int, m uint32) (*buffer, uint32) {
	first := bits.TrailingZeros32(m)
	addr := a.of(w, first)
	buf, start := w.find(a.space, addr)
	if buf == nil || buf.freed {
		w.failAt(OutOfBounds, m&-m, a.space, addr, "%d bytes where nothing is allocated%s", size, freedNote(buf))
		return nil, 0
	}
	room := len(buf.data)
	if buf.private > 0 {
		room = buf.private
	}
	if o := addr - start; o > uint64(room) || uint64(room)-o < uint64(size) {
		w.failAt(OutOfBounds, m&-m, a.space, addr, "%d bytes at offset %d of %d bytes of %s%s",
			size, int64(o), room, buf.name, wrongSpace(a.space, addr))
		return nil, 0
	}
	in, odd := m, uint64(0)
	limit := uint64(room - size)
	switch {
	case a.base < 0:
		for i := range w.offs {
			w.offs[i] = int(addr - start)
		}
		odd = addr - start
	default:
		col, delta := &w.cols[a.base], a.off-start
		for i := range w.offs {
			o := col[i] + delta
			if o > limit {
				in &^= 1 << i
				continue
			}
			w.offs[i] = int(o)
			odd |= o
		}
	}
	if odd&uint64(size-1) != 0 && !w.aligned(a, size, in) {
		return nil, 0
	}
	if buf.private > 0 {
		for i := range w.offs {
			w.offs[i] += i * buf.stride
		}
	}
	return buf, in
}

// aligned checks the lanes one by one.
func (w *warp) aligned(a *address, size int, m uint32) bool {
	for ; m != 0; m &= m - 1 {
		lane := bits.TrailingZeros32(m)
		if w.offs[lane]&(size-1) != 0 {
			w.failAt(Misaligned, m&-m, a.space, a.of(w, lane), "an access of %d bytes must be at a multiple of %[1]d", size)
			return false
		}
	}
	return true
}

func freedNote(b *buffer) string {
	if b != nil {
		return " any more: it was freed"
	}
	return ""
}

// wrongSpace explains an address that is valid in another space.
func wrongSpace(s ptx.Space, addr uint64) string {
	if s == ptx.Shared || s == ptx.Local || s == ptx.Const {
		if addr >= sharedWindow {
			return fmt.Sprintf(" (a generic address, but the instruction says .%s)", s)
		}
	}
	return ""
}

// reading resolves an access, checks that all of it was written, and records it.
func (w *warp) reading(a *address, size int, m uint32, o order) (*buffer, uint32) {
	buf, in := w.resolve(a, size, m)
	if buf == nil {
		return nil, 0
	}
	if buf.shadow != nil {
		t := w.tracker(buf)
		if c := t.read(buf.shadow, &w.offs, in, access{size, w.pc, o.strong, o.meant()}); c != nil {
			w.race(a, "read", c)
			return nil, 0
		}
		if t.doubt != nil {
			w.warnOfDoubt(a, t, "read")
		}
	}
	if buf.init != nil && !w.initialised(a, buf, size, in) {
		return nil, 0
	}
	if buf.global {
		w.bytes += int64(size * bits.OnesCount32(in))
	}
	return buf, in
}

func (w *warp) initialised(a *address, buf *buffer, size int, m uint32) bool {
	for ; m != 0; m &= m - 1 {
		lane := bits.TrailingZeros32(m)
		if !buf.init.has(w.offs[lane], size) {
			if buf.private > 0 && buf.init.any(w.offs[lane], size) {
				continue // a copy of a structure, including its padding
			}
			at := buf.init.firstClear(w.offs[lane], size) - w.offs[lane]
			w.failAt(Uninitialised, m&-m, a.space, a.of(w, lane), "byte %d of %d of %s was never written", at, size, buf.name)
			return false
		}
	}
	return true
}

// writing resolves an access, records it and marks the bytes as written.
func (w *warp) writing(a *address, size int, m uint32, o order) (*buffer, uint32) {
	buf, in := w.resolve(a, size, m)
	if buf == nil {
		return nil, 0
	}
	if buf.readOnly {
		w.failAt(ReadOnly, in, a.space, a.of(w, bits.TrailingZeros32(in)), "%s cannot be written", buf.name)
		return nil, 0
	}
	if buf.shadow != nil && !w.recordWrite(a, buf, size, in, o) {
		return nil, 0
	}
	if buf.init != nil {
		for rest := in; rest != 0; rest &= rest - 1 {
			buf.init.set(w.offs[bits.TrailingZeros32(rest)], size)
		}
	}
	w.written(buf)
	if buf.global {
		w.bytes += int64(size * bits.OnesCount32(in))
	}
	return buf, in
}

func (w *warp) recordWrite(a *address, buf *buffer, size int, m uint32, o order) bool {
	t, verb := w.tracker(buf), "write"
	if o.strong {
		verb = "atomic access"
	}
	how := access{size, w.pc, o.strong, o.meant() || w.fences.released != nil}
	for rest := m; ; {
		c := t.write(buf.shadow, &w.offs, rest, how)
		if c == nil {
			if t.doubt != nil {
				w.warnOfDoubt(a, t, "write")
			}
			return true
		}
		if w.storing == nil || !w.storing.same(w, buf, c, m) {
			w.race(a, verb, c)
			return false
		}
		w.warn(w.raceReport(a, verb, c), ", of the same value")
		t.mark(buf.shadow, w.offs[c.lane], size, t.current(), uint32(w.pc)<<whoShift|uint32(c.lane))
		rest &^= 2<<c.lane - 1
	}
}

// written counts a change of memory, for groups that wait for one.
func (w *warp) written(buf *buffer) {
	switch {
	case buf.global:
		w.b.l.writes.Add(1)
	case buf.private == 0:
		w.b.writes++
	}
}

func (w *warp) tracker(buf *buffer) *tracker {
	if buf.global {
		return &w.far
	}
	return &w.near
}

// lock guards global memory against other workers.
func (w *warp) lock() {
	if w.b.l.locked {
		w.b.l.d.mu.Lock()
	}
}

func (w *warp) unlock() {
	if w.b.l.locked {
		w.b.l.d.mu.Unlock()
	}
}

// report returns a report about the current instruction.
func (w *warp) report(kind Kind, format string, args ...any) *Report {
	in := &w.b.code[w.pc]
	return &Report{
		Kind: kind, Kernel: w.b.k.src.Name, Line: in.line(), Source: w.b.k.source(in.src), Op: in.name(),
		Block: w.b.coords, Warp: w.id, Detail: fmt.Sprintf(format, args...),
	}
}

// fail ends the launch with a report about some lanes.
func (w *warp) fail(kind Kind, m uint32, format string, args ...any) {
	if w.err == nil {
		r := w.report(kind, format, args...)
		r.Lanes = m
		w.err = r
	}
}

func (w *warp) failAt(kind Kind, m uint32, s ptx.Space, addr uint64, format string, args ...any) {
	if w.err == nil {
		r := w.report(kind, format, args...)
		r.Lanes, r.Space, r.Addr = m, s.String(), addr
		w.err = r
	}
}

// race reports a clash.
func (w *warp) race(a *address, verb string, c *clash) {
	if w.err == nil {
		w.err = w.raceReport(a, verb, c)
	}
}

func (w *warp) raceReport(a *address, verb string, c *clash) *Report {
	r := w.report(Race, "%s", verb)
	r.Lanes, r.Space, r.Addr = 1<<c.lane, a.space.String(), a.of(w, c.lane)
	pc := int(c.who >> whoShift)
	p := &Party{Line: w.b.code[pc].line(), Block: w.b.coords, Warp: w.id, Lane: int(c.who & laneWho), Verb: c.verb}
	if c.who&manyWho != 0 {
		p.Lane = -1
	}
	if c.other != flight {
		t := w.near.table
		if s := a.space; s == ptx.Global || s == ptx.Generic && a.of(w, c.lane) >= globalBase {
			t = w.far.table
		}
		s := t.segs[c.other-t.floor]
		g := w.b.l.grid
		p.Block, p.Warp = [3]int{s.block % g[0], s.block / g[0] % g[1], s.block / g[0] / g[1]}, s.warp
	} else {
		p.Verb += " not yet waited for"
	}
	r.Other = p
	return r
}

// warnOfDoubt warns of unordered strong accesses.
func (w *warp) warnOfDoubt(a *address, t *tracker, verb string) {
	r := w.raceReport(a, verb, t.doubt)
	r.Kind, t.doubt = Unordered, nil
	w.warn(r, ", volatile or relaxed")
}

// warn records a warning, once per instruction.
func (w *warp) warn(r *Report, note string) {
	r.Detail += note
	l := w.b.l
	l.mu.Lock()
	defer l.mu.Unlock()
	if !slices.ContainsFunc(l.warnings, func(old *Report) bool { return old.Line == r.Line && old.Kind == r.Kind }) {
		l.warnings = append(l.warnings, r)
	}
}
