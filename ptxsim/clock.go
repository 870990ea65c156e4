package ptxsim

// A vector clock holds how much of every warp's past a warp knows to be over. A warp's own clock
// counts its synchronisations. A segment is everything between two of them. An access is ordered
// before a warp's next access if the warp knows the clock of the access's segment. A release
// publishes all that a warp knows; an acquire takes what others have published.
// knows; an acquire takes what others handed on.

// vector holds, by warp of a block, the last clock known to be over.
type vector []uint32

func (v vector) join(o vector) {
	for i, c := range o {
		v[i] = max(v[i], c)
	}
}

// past is a warp's knowledge of all blocks. Blocks of a launch are unordered, except by releases
// and acquires in memory, so foreign is nearly always empty.
type past struct {
	block   int
	own     vector
	foreign map[int]vector
}

func newPast(block, warps int) past { return past{block: block, own: make(vector, warps)} }

func (p *past) clone() *past {
	q := newPast(p.block, len(p.own))
	q.join(p)
	return &q
}

// of returns the knowledge of a block, adding an empty one if necessary.
func (p *past) of(block int) vector {
	if block == p.block {
		return p.own
	}
	if p.foreign == nil {
		p.foreign = map[int]vector{}
	}
	v := p.foreign[block]
	if v == nil {
		v = make(vector, len(p.own)) // all blocks of a launch have as many warps
		p.foreign[block] = v
	}
	return v
}

func (p *past) join(o *past) {
	p.of(o.block).join(o.own)
	for block, v := range o.foreign {
		p.of(block).join(v)
	}
}

// segment is a warp's work between two synchronisations.
type segment struct {
	block int
	warp  int
	clock uint32
}

// Segments have numbers of 30 bits. A set of readers has setBit and its own number. A cell that
// an asynchronous copy will write has the number flight.
const (
	flight = 1 << 30
	setBit = 1 << 31
)

// readers is a set of segments that read a cell: another set plus one segment.
type readers struct {
	rest uint32 // a segment or another set
	seg  uint32
	size int
}

// table gives segments and sets of readers numbers that fit into a cell. Every segment with a
// number below the floors is over for all warps.
type table struct {
	floor, setFloor uint32
	segs            []segment
	sets            []readers
	memo            map[[2]uint32]uint32
}

func newTable() table { return table{floor: 1, setFloor: setBit, memo: map[[2]uint32]uint32{}} }

// advance ends all segments. It reports whether the numbers start again; then cells must be cleared.
func (t *table) advance() (wrapped bool) {
	t.floor += uint32(len(t.segs))
	t.setFloor += uint32(len(t.sets))
	t.segs, t.sets = t.segs[:0], t.sets[:0]
	clear(t.memo)
	if t.floor > flight/2 || t.setFloor > setBit+setBit/2 {
		t.floor, t.setFloor = 1, setBit
		return true
	}
	return false
}

func (t *table) add(s segment) uint32 {
	t.segs = append(t.segs, s)
	id := t.floor + uint32(len(t.segs)) - 1
	if id >= flight {
		panic("BUG: a launch has more segments than cells can name")
	}
	return id
}

// live reports whether a cell's entry is still relevant.
func (t *table) live(id uint32) bool {
	if id&setBit != 0 {
		return id >= t.setFloor
	}
	return id >= t.floor
}

// before reports whether a live segment is ordered before the warp whose past is p.
func (t *table) before(seg uint32, p *past) bool {
	s := &t.segs[seg-t.floor]
	if s.block == p.block {
		return p.own[s.warp] >= s.clock
	}
	v := p.foreign[s.block]
	return v != nil && v[s.warp] >= s.clock
}

// unordered returns a member of a segment or set that is not ordered before p, or 0.
func (t *table) unordered(id uint32, p *past) uint32 {
	for id&setBit != 0 {
		r := &t.sets[id-t.setFloor]
		if !t.before(r.seg, p) {
			return r.seg
		}
		id = r.rest
	}
	if !t.before(id, p) {
		return id
	}
	return 0
}

// A set holds at most maxSet members, enough for every warp of a block. A set with readers of two
// blocks needs no more, since nearly any writer is unordered with one of its members.
const (
	maxSet   = 33
	mixedSet = 8
)

// with returns the set old plus seg, whose past is p, minus the members that are ordered before
// seg.
func (t *table) with(old, seg uint32, p *past) uint32 {
	key := [2]uint32{old, seg}
	if id, ok := t.memo[key]; ok {
		return id
	}
	id := t.grow(old, seg, p)
	t.memo[key] = id
	return id
}

func (t *table) grow(old, seg uint32, p *past) uint32 {
	size := 1
	if old&setBit != 0 {
		size = t.sets[old-t.setFloor].size
	}
	if size >= maxSet || size >= mixedSet && t.block(old) != t.block(seg) {
		return old
	}
	var keep []uint32
	for id := old; ; id = t.sets[id-t.setFloor].rest {
		s := id
		if id&setBit != 0 {
			s = t.sets[id-t.setFloor].seg
		}
		if s == seg {
			return old
		}
		if !t.before(s, p) {
			keep = append(keep, s)
		}
		if id&setBit == 0 {
			break
		}
	}
	if len(keep) == 0 {
		return seg
	}
	if len(keep) == size {
		return t.push(old, seg, size+1)
	}
	set := keep[0]
	for i, s := range append(keep[1:], seg) {
		set = t.push(set, s, i+2)
	}
	return set
}

// block returns the block of a segment, or of a set's last member.
func (t *table) block(id uint32) int {
	if id&setBit != 0 {
		id = t.sets[id-t.setFloor].seg
	}
	return t.segs[id-t.floor].block
}

func (t *table) push(rest, seg uint32, size int) uint32 {
	t.sets = append(t.sets, readers{rest: rest, seg: seg, size: size})
	return t.setFloor + uint32(len(t.sets)) - 1
}
