package cuda

import (
	"encoding/binary"

	"github.com/arithlang/mlc/runtime/device"
)

// A moved is a set of a launch of copy or clear, as in move.ptx: where each replica's words go,
// and where they come from.
type moved struct {
	dst, dstStep uint64
	from         []uint64 // src and its step; empty: the words are cleared
	n, replicas  int
}

// maxMoved is the most sets of a launch.
const maxMoved = 12

// bytes returns the size of a set in the parameters.
func (x *moved) bytes() int { return 24 + 8*len(x.from) }

// clear clears n words of replicas.
func (m *Machine) clear(g *group, of run, r device.Ref, n int) {
	at, step := m.address(g, r, of.first)
	m.moveSet(m.moves.clear, moved{uint64(at), uint64(step), nil, n, of.n})
}

// copy copies n words.
func (m *Machine) copy(dst Ptr, dstStep int64, src Ptr, srcStep int64, n, replicas int) {
	m.moveSet(m.moves.copy, moved{uint64(dst), uint64(dstStep), []uint64{uint64(src), uint64(srcStep)}, n, replicas})
}

// moveSet moves one more set. The last command takes the set along if it is of the same kind and
// the order does not matter. A set that the last command clears already is dropped.
func (m *Machine) moveSet(k *kernel, x moved) {
	s, blocks := &m.list, m.spread(x.n)
	if c := s.last(); c != nil && c.k == k {
		joins := c.grid[2] < maxMoved && (x.from == nil || m.leaves(&x))
		for i := range c.grid[2] {
			o := s.movedAt(c.lo+i*x.bytes(), len(x.from))
			if x.from == nil && x.within(&o) {
				return
			}
			joins = joins && x.apart(&o) && (x.from == nil || m.leaves(&o))
		}
		if joins {
			s.args = s.args[:c.lo+c.grid[2]*x.bytes()]
			c.grid = [3]int{max(c.grid[0], blocks), max(c.grid[1], x.replicas), c.grid[2] + 1}
			s.set(&x, c.lo)
			return
		}
	}
	lo := len(s.args)
	s.set(&x, lo)
	s.end(k, lo, [3]int{blocks, x.replicas, 1}, 0)
}

// leaves reports whether a set goes to the second stage. No set comes from there.
func (m *Machine) leaves(x *moved) bool {
	out := m.out.dev
	return Ptr(x.dst) >= out.at && Ptr(x.dst) < out.at+Ptr(out.bytes)
}

// behind returns the bytes from o to x, modulo their step if they have the same. They are unknown
// unless alike.
func (x *moved) behind(o *moved) (bytes uint64, alike bool) {
	switch {
	case x.replicas == 1 && o.replicas == 1 && x.dst >= o.dst:
		return x.dst - o.dst, true
	case x.dstStep == o.dstStep && x.dstStep > 0:
		by, step := int64(x.dst-o.dst), int64(x.dstStep)
		return uint64((by%step + step) % step), true
	}
	return 0, false
}

// within reports whether o has all words of x.
func (x *moved) within(o *moved) bool {
	by, alike := x.behind(o)
	return alike && x.replicas == o.replicas && x.dst >= o.dst && x.dst-o.dst == by && by+uint64(x.n*wordBytes) <= uint64(o.n*wordBytes)
}

// apart reports whether x and o surely have no words in common.
func (x *moved) apart(o *moved) bool {
	end := func(s *moved) uint64 { return s.dst + uint64(s.replicas-1)*s.dstStep + uint64(s.n*wordBytes) }
	if end(x) <= o.dst || end(o) <= x.dst {
		return true
	}
	by, alike := x.behind(o)
	return alike && x.dstStep > 0 && by >= uint64(o.n*wordBytes) && by+uint64(x.n*wordBytes) <= x.dstStep
}

// movedAt reads a set from parameters.
func (s *commandList) movedAt(at, from int) (x moved) {
	next := func() (word uint64) {
		word = binary.LittleEndian.Uint64(s.args[at:])
		at += 8
		return word
	}
	x.dst, x.dstStep = next(), next()
	for range from {
		x.from = append(x.from, next())
	}
	counts := next()
	x.n, x.replicas = int(uint32(counts)), int(counts>>32)
	return x
}

// set appends a set to a command's parameters, which begin at lo, and pads them to the size of
// maxMoved sets.
func (s *commandList) set(x *moved, lo int) {
	s.u64(x.dst)
	s.u64(x.dstStep)
	for _, w := range x.from {
		s.u64(w)
	}
	s.u32(uint32(x.n), uint32(x.replicas))
	s.args = append(s.args, make([]byte, lo+maxMoved*x.bytes()-len(s.args))...)
}

// last returns the last command, or nil if a meeting follows it or the list is empty.
func (s *commandList) last() *command {
	n := len(s.commands)
	if met := len(s.meetings); n == 0 || met > 0 && s.meetings[met-1].command == n {
		return nil
	}
	return &s.commands[n-1]
}
