package cuda

import (
	"encoding/binary"
	"math"
	"slices"
)

// A turn is one submission, which may not have ended. Each turn has its own host memory in the
// stages, so that one can be recorded while the device runs the other.
type turn struct {
	results []result // results for the host, with their places in the stage
	done    func()   // called at the end; nil: nothing is
	event   Event    // recorded after the work; nil: not made yet
	open    bool     // the turn may not have ended
}

const maxTurns = 2

// Later submits the work that work records, and does not wait for it.
func (m *Machine) Later(work, done func()) error {
	m.later = true
	work()
	m.later = false
	m.submit(done)
	return m.err
}

// flush runs all recorded work and gives the results to the host.
func (m *Machine) flush() {
	m.submit(nil)
	m.wait()
	m.turn = 0 // one turn's memory is enough for a caller that always waits
}

// submit submits all recorded work as the next turn.
func (m *Machine) submit(done func()) {
	m.close()
	if len(m.pending) == 0 && done == nil {
		return
	}
	m.pass(m.turn)
	if m.err == nil {
		m.fail(m.run())
	}
	t := &m.turns[m.turn]
	t.done = done
	for i := range m.pending {
		g := &m.pending[i]
		for replica, list := range g.lists {
			for _, r := range list.results {
				if m.err == nil { // else the result has no place
					r.at += g.out[replica]
					t.results = append(t.results, r)
				}
			}
			m.spare = append(m.spare, list)
		}
	}
	m.pending = m.pending[:0]
	t.open = true
	if m.err == nil && done != nil {
		m.fail(m.mark(t))
	}
	m.turn = (m.turn + 1) % len(m.turns)
}

// mark records the end of a turn.
func (m *Machine) mark(t *turn) (err error) {
	if t.event == nil {
		if t.event, err = m.dev.NewEvent(); err != nil {
			return err
		}
	}
	return t.event.Record()
}

// pass waits until turn i ends, if it is open.
func (m *Machine) pass(i int) {
	t := &m.turns[i]
	switch {
	case !t.open || m.err != nil:
	case m.options.Ranks != nil:
		m.fail(m.synchronize()) // an event would wait for ranks that are gone
	default:
		m.fail(t.event.Wait())
	}
	m.finish(i)
}

// wait waits until all turns end.
func (m *Machine) wait() {
	if m.err == nil && slices.ContainsFunc(m.turns[:], func(t turn) bool { return t.open }) {
		m.fail(m.synchronize())
	}
	for i := range m.turns {
		m.finish((m.turn + i) % len(m.turns)) // the next turn is the oldest
	}
}

// finish gives the results of turn i to the host, if it is open.
func (m *Machine) finish(i int) {
	t := &m.turns[i]
	if !t.open {
		return
	}
	host := m.out.hosts[i]
	for _, r := range t.results {
		if m.err != nil {
			break
		}
		from := host[r.at*wordBytes:]
		for i := range r.ints {
			r.ints[i] = int32(binary.LittleEndian.Uint32(from[i*wordBytes:]))
		}
		for i := range r.floats {
			r.floats[i] = math.Float32frombits(binary.LittleEndian.Uint32(from[i*wordBytes:]))
		}
	}
	clear(t.results) // so that their slices can be freed
	done := t.done
	t.results, t.done, t.open = t.results[:0], nil, false
	if done != nil && m.err == nil {
		done()
	}
}

// run submits all pending groups.
func (m *Machine) run() error {
	if err := m.layOut(); err != nil {
		return err
	}
	for i := range m.pending {
		g := &m.pending[i]
		m.emit(g)
		host := m.in.hosts[m.turn]
		for replica, t := range g.lists {
			at := (g.in + replica*g.eachIn) * wordBytes
			for _, w := range t.in {
				binary.LittleEndian.PutUint32(host[at:], w)
				at += wordBytes
			}
		}
		g.putTables(host)
	}
	switch {
	case m.watch != nil:
		return m.watch.run()
	case m.options.Blocking:
		return m.walk()
	}
	return m.play()
}
