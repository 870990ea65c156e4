package ptxsim

import "math/bits"

// The shadow of a buffer records, for each cell, its last writer and its readers since then. A
// cell is as wide as the narrowest access that its page has seen, so the shadow distinguishes
// neighbours of any width.

const (
	pageBits = 12
	pageSize = 1 << pageBits
)

type shadow struct{ pages []page }

type page struct {
	shift uint8 // log2 of the bytes of a cell
	cells []cell
}

// cell is the history of some bytes. rseg is a segment, a set of readers, or 0. If rwho has the
// flag atomicWho, rseg stands for atomic accesses before the last one.
type cell struct{ wseg, wwho, rseg, rwho uint32 }

// The fields wwho and rwho hold the lane, flags and, from whoShift on, the number of the
// instruction.
const (
	laneWho   = 31
	manyWho   = 1 << 5 // several lanes
	atomicWho = 1 << 6
	meantWho  = 1 << 7 // atomic, and allowed to be unordered with others
	whoShift  = 8
)

func newShadow(bytes int) *shadow {
	return &shadow{pages: make([]page, (bytes+pageSize-1)/pageSize)}
}

func (s *shadow) clear() {
	for i := range s.pages {
		s.pages[i] = page{}
	}
}

// at returns the page of an offset, with cells of at most size bytes.
func (s *shadow) at(off int, size int) *page {
	p := &s.pages[off>>pageBits]
	if want := uint8(bits.TrailingZeros(uint(size))); p.cells == nil || p.shift > want {
		p.refine(want)
	}
	return p
}

func (p *page) refine(shift uint8) {
	cells := make([]cell, pageSize>>shift)
	if p.cells != nil {
		for i := range cells {
			cells[i] = p.cells[i>>(p.shift-shift)]
		}
	}
	p.shift, p.cells = shift, cells
}

// clash is an access that is unordered with another one.
type clash struct {
	lane  int
	other uint32 // segment, or flight
	who   uint32
	verb  string
}

// tracker checks a warp's accesses to one table's memory.
type tracker struct {
	table *table
	past  *past
	warp  int
	seg   uint32 // the present segment; 0 before its first access
	// The results of the last look-ups, for the next lanes.
	known    uint32 // a segment or set known to be ordered before this warp
	from, to uint32 // with(from, seg) = to
	// doubt is the first access of the last instruction that is unordered with another one, where
	// both are atomic but neither is meant to be unordered.
	doubt *clash
}

// renew starts another segment.
func (t *tracker) renew() { t.seg, t.known, t.from, t.to = 0, 0, 0, 0 }

func (t *tracker) current() uint32 {
	if t.seg == 0 {
		t.seg = t.table.add(segment{t.past.block, t.warp, t.past.own[t.warp]})
	}
	return t.seg
}

// unordered calls table.unordered and remembers the result.
func (t *tracker) unordered(id uint32) uint32 {
	if id == t.known {
		return 0
	}
	bad := t.table.unordered(id, t.past)
	if bad == 0 {
		t.known = id
	}
	return bad
}

// access describes an instruction's access to memory.
type access struct {
	size   int // bytes per lane, a power of two
	pc     int
	atomic bool
	meant  bool // allowed to be unordered with other atomic accesses
}

// flags returns the flags for a field such as wwho.
func (a access) flags() (who uint32) {
	if a.atomic {
		who = atomicWho
		if a.meant {
			who |= meantWho
		}
	}
	return who
}

// read records a read by the lanes of mask at their offsets. It returns a clash if a lane's read
// is unordered with a write.
func (t *tracker) read(s *shadow, offs *[32]int, mask uint32, a access) *clash {
	seg, who := t.current(), uint32(a.pc)<<whoShift
	floor := t.table.floor
	var p *page
	last := -1
	for ; mask != 0; mask &= mask - 1 {
		lane := bits.TrailingZeros32(mask) & 31
		off := offs[lane]
		if off>>pageBits != last {
			p, last = s.at(off, a.size), off>>pageBits
		}
		first := off & (pageSize - 1) >> p.shift
		cells := p.cells[first : first+a.size>>p.shift]
		for i := range cells {
			c, who := &cells[i], who|uint32(lane)
			if c.wseg >= floor || c.rwho&atomicWho != 0 {
				if bad := t.afterWrite(c, lane, a.atomic); bad != nil {
					return bad
				}
			}
			switch {
			case a.atomic:
				t.question(c.wseg, c.wwho, lane, &a, "write")
				t.noteAtomicRead(c, seg, who|a.flags())
			case c.rseg == seg:
				if c.rwho&manyWho == 0 {
					if (c.rwho^who)&laneWho != 0 {
						who |= manyWho
					}
					c.rwho = who
				}
			case c.rseg < floor:
				c.rseg, c.rwho = seg, who
			default:
				t.noteRead(c, seg, who)
			}
		}
	}
	return nil
}

// afterWrite checks that a lane's access to a cell comes after the writes to it.
func (t *tracker) afterWrite(c *cell, lane int, atomic bool) *clash {
	if c.rwho&atomicWho != 0 && !atomic {
		if c.rseg != 0 && t.table.live(c.rseg) {
			if bad := t.unordered(c.rseg); bad != 0 {
				return &clash{lane, bad, c.rwho | manyWho, "atomic access"}
			}
		}
		c.rseg, c.rwho = 0, 0
	}
	switch {
	case c.wseg < t.table.floor:
	case c.wseg == flight:
		return &clash{lane, flight, c.wwho, "asynchronous copy"}
	case atomic && c.wwho&atomicWho != 0:
	case c.wseg == t.seg:
		if c.wwho&laneWho != uint32(lane) {
			return &clash{lane, c.wseg, c.wwho, "write"}
		}
	default:
		if bad := t.unordered(c.wseg); bad != 0 {
			return &clash{lane, bad, c.wwho, "write"}
		}
	}
	return nil
}

// noteAtomicRead records a read that conflicts with writes that are not atomic. Readers that are
// not atomic have priority and stay.
func (t *tracker) noteAtomicRead(c *cell, seg, who uint32) {
	switch {
	case c.rseg == 0 || !t.table.live(c.rseg):
		c.rseg, c.rwho = seg, who
	case c.rwho&atomicWho != 0 && c.rseg != seg:
		c.rseg = t.table.with(c.rseg, seg, t.past)
		c.rwho = who | manyWho | c.rwho&meantWho
	}
}

// question records an access that is unordered with another one, if both are atomic and neither
// is meant to be unordered.
func (t *tracker) question(id, who uint32, lane int, a *access, verb string) {
	if a.meant || who&(atomicWho|meantWho) != atomicWho || t.doubt != nil || id == 0 || !t.table.live(id) {
		return
	}
	if other := t.unordered(id); other != 0 {
		t.doubt = &clash{lane, other, who, verb}
	}
}

// noteRead adds a reader to the cell's readers.
func (t *tracker) noteRead(c *cell, seg, who uint32) {
	switch {
	case t.to != 0 && c.rseg == t.to: // already in the set
	case !t.table.live(c.rseg):
		c.rseg = seg
	default:
		if c.rseg != t.from || t.to == 0 {
			t.from, t.to = c.rseg, t.table.with(c.rseg, seg, t.past)
		}
		c.rseg = t.to
	}
	c.rwho = who
}

// write records a write by the lanes of mask. It returns a clash if a lane's write is unordered
// with another access.
func (t *tracker) write(s *shadow, offs *[32]int, mask uint32, a access) *clash {
	seg, who := t.current(), uint32(a.pc)<<whoShift
	floor := t.table.floor
	who |= a.flags()
	var p *page
	last := -1
	for ; mask != 0; mask &= mask - 1 {
		lane := bits.TrailingZeros32(mask) & 31
		off := offs[lane]
		if off>>pageBits != last {
			p, last = s.at(off, a.size), off>>pageBits
		}
		first := off & (pageSize - 1) >> p.shift
		cells := p.cells[first : first+a.size>>p.shift]
		for i := range cells {
			c := &cells[i]
			if c.wseg >= floor || c.rseg >= floor || c.rwho&atomicWho != 0 {
				if a.atomic {
					t.question(c.wseg, c.wwho, lane, &a, "write")
					t.question(c.rseg, c.rwho, lane, &a, "access")
				}
				if bad := t.afterAll(c, lane, a.atomic); bad != nil {
					return bad
				}
			} else {
				c.rseg, c.rwho = 0, 0
			}
			c.wseg, c.wwho = seg, who|uint32(lane)
		}
	}
	return nil
}

// afterAll checks that a write comes after all other accesses to a cell, and removes its readers.
func (t *tracker) afterAll(c *cell, lane int, atomic bool) *clash {
	if bad := t.afterWrite(c, lane, atomic); bad != nil {
		return bad
	}
	if c.rseg != 0 && c.rwho&atomicWho == 0 {
		if bad := t.afterReads(c, lane); bad != nil {
			return bad
		}
		c.rseg, c.rwho = 0, 0
	}
	if atomic && c.wwho&atomicWho != 0 && c.wseg != t.seg && t.table.live(c.wseg) {
		t.keepAtomic(c)
	} else if !atomic {
		c.rseg, c.rwho = 0, 0
	}
	return nil
}

// keepAtomic adds the last atomic writer to the earlier ones, before another writer replaces it.
func (t *tracker) keepAtomic(c *cell) {
	if t.unordered(c.wseg) == 0 {
		return
	}
	meant := uint32(0)
	if c.rseg == 0 || !t.table.live(c.rseg) {
		c.rseg = c.wseg
	} else if c.rseg != c.wseg {
		c.rseg = t.table.with(c.rseg, c.wseg, t.past)
		meant = c.rwho & meantWho
	}
	c.rwho = c.wwho&^uint32(laneWho) | manyWho | atomicWho | meant
}

func (t *tracker) afterReads(c *cell, lane int) *clash {
	switch {
	case !t.table.live(c.rseg):
	case c.rseg == t.seg:
		if c.rwho&manyWho != 0 || c.rwho&laneWho != uint32(lane) {
			return &clash{lane, c.rseg, c.rwho, "read"}
		}
	default:
		if bad := t.unordered(c.rseg); bad != 0 {
			return &clash{lane, bad, c.rwho, "read"}
		}
	}
	return nil
}

// mark makes n bytes at off wait for an asynchronous copy of a lane. When the copy is over, it
// records them as written by that lane in the present segment.
func (t *tracker) mark(s *shadow, off, n int, seg, who uint32) {
	for n > 0 {
		size := (off | 16) & -(off | 16)
		for size > n {
			size /= 2
		}
		p := s.at(off, size)
		first := off & (pageSize - 1) >> p.shift
		for i := range p.cells[first : first+size>>p.shift] {
			p.cells[first+i] = cell{wseg: seg, wwho: who}
		}
		off, n = off+size, n-size
	}
}
