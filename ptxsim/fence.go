package ptxsim

// Releases and acquires in memory: a strong write after a fence, or one that
// releases by itself, hands on what its warp knows; a strong read of that
// place takes it, at once when it acquires, else at the next fence.

// flags are the places in memory that carry a release.
type flags map[uint64]*past

// fences is what a warp's fences have ordered.
type fences struct {
	released *past   // what was known at the last fence
	pending  []*past // read, and to be known at the next one
}

// joined is the union of what two say, either of which may be nil.
func joined(a, b *past) *past {
	if a == nil || a == b {
		return b
	}
	if b == nil {
		return a
	}
	c := a.clone()
	c.join(b)
	return c
}

// tick ends the segment of a warp.
func (w *warp) tick() {
	w.past.own[w.id]++
	w.near.renew()
	w.far.renew()
}

func (w *warp) fence() {
	for _, p := range w.fences.pending {
		w.past.join(p)
	}
	w.fences.pending = nil
	w.fences.released = w.past.clone()
	w.tick()
}

// order is what an access does besides reading or writing. An update reads and
// writes at once.
type order struct{ strong, acquire, release, update bool }

// meant says whether a strong access is for handing on what was done before it, or
// cannot be cut in two.
func (o order) meant() bool { return o.acquire || o.release || o.update }

// publish makes the place at addr carry what a strong write releases. An
// atomic operation adds to what the place carries, a store replaces it.
func (w *warp) publish(f flags, addr uint64, o order, add bool) {
	p := w.fences.released
	if o.release {
		p = w.past.clone()
	}
	if add {
		p = joined(f[addr], p)
	}
	if p != nil {
		f[addr] = p
	} else {
		delete(f, addr)
	}
}

// observe takes what the place at addr carries.
func (w *warp) observe(f flags, addr uint64, o order) {
	p := f[addr]
	switch {
	case p == nil:
	case o.acquire:
		w.past.join(p)
	default:
		w.fences.pending = append(w.fences.pending, p)
	}
}
