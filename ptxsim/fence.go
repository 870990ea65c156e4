package ptxsim

// Releases and acquires in memory. A strong write after a fence, or a write with release,
// publishes its warp's knowledge at its address. A strong read of that address takes this
// knowledge: at once if the read acquires, else at the next fence.

// flags are the addresses that carry a release.
type flags map[uint64]*past

// fences is the state that a warp's fences order.
type fences struct {
	released *past   // the warp's knowledge at the last fence
	pending  []*past // read, and known from the next fence on
}

// joined returns the union of two pasts. Either may be nil.
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

// order is the ordering of an access. An update reads and writes at once.
type order struct{ strong, acquire, release, update bool }

// meant reports whether a strong access is meant to order others, or is atomic.
func (o order) meant() bool { return o.acquire || o.release || o.update }

// publish attaches a strong write's release to the address addr. An atomic operation adds to the
// release that is there; a store replaces it.
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

// observe takes the release at addr.
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
