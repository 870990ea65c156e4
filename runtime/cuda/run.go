package cuda

import (
	"errors"
	"fmt"
	"hash/maphash"
	"slices"
)

// play queues the command list. The kernels between two meetings of the ranks are a graph if they
// were played before.
func (m *Machine) play() error {
	if err := m.toDevice(nothing); err != nil {
		return err
	}
	err := m.stretches(func(lo, hi, args, argsEnd int) error {
		s := &m.list
		part := commandList{commands: s.commands[lo:hi], args: s.args[args:argsEnd], products: s.products, in: s.in, out: s.out}
		return m.replay(lo, hi, &part)
	}, nothing)
	if err != nil {
		return err
	}
	return m.toHost(nothing)
}

// replay queues commands lo … hi-1, which are part, as a graph if possible.
func (m *Machine) replay(lo, hi int, part *commandList) error {
	if hi-lo < WorthGraph || m.graphs.off {
		return m.queue(lo, hi, nothing)
	}
	p, played := m.graphs.find(part)
	if !played {
		return m.queue(lo, hi, nothing)
	}
	if p.graph == nil {
		graph, err := m.dev.Capture(func() error { return m.launches(lo, hi, nothing) })
		if err != nil {
			if lost(err) {
				return err
			}
			m.graphs.off = true // graphs are only faster
			return m.queue(lo, hi, nothing)
		}
		p.graph, p.list = graph, part.clone()
	}
	m.calls.Kernels += hi - lo
	m.calls.Driver++
	return p.graph.Launch()
}

// stretches calls queue for the commands between meetings, with the range of their parameters, and
// runs the meetings. A call of after follows each meeting, with a command without a kernel.
func (m *Machine) stretches(queue func(lo, hi, args, argsEnd int) error, after func(c *command) error) error {
	lo, args := 0, 0
	for i := range m.list.meetings {
		x := &m.list.meetings[i]
		if err := queue(lo, x.command, args, x.args); err != nil {
			return err
		}
		if err := m.meet(x); err != nil {
			return err
		}
		if err := after(&command{}); err != nil {
			return err
		}
		lo, args = x.command, x.args
	}
	return queue(lo, len(m.list.commands), args, len(m.list.args))
}

// queue queues commands lo … hi-1 one by one. A call of after follows each.
func (m *Machine) queue(lo, hi int, after func(c *command) error) error {
	m.calls.Kernels += hi - lo
	m.calls.Driver += hi - lo
	return m.launches(lo, hi, after)
}

func nothing(*command) error { return nil }

// walk queues the command list and waits for every command, so that an error names its kernel.
func (m *Machine) walk() error {
	return m.put(func(c *command) error {
		err := m.synchronize()
		switch {
		case err == nil || c == nil:
			return err
		case c.k == nil:
			return fmt.Errorf("exchange between ranks: %w", err)
		}
		return fmt.Errorf("kernel %s: %w", c.k.Name, err)
	})
}

// put queues the command list launch by launch, and the copies around it. A call of after follows
// each: with nil for a copy, and with a command without a kernel for a meeting of the ranks.
func (m *Machine) put(after func(c *command) error) error {
	if err := m.toDevice(after); err != nil {
		return err
	}
	err := m.stretches(func(lo, hi, _, _ int) error { return m.queue(lo, hi, after) }, after)
	if err != nil {
		return err
	}
	return m.toHost(after)
}

// toDevice copies the commands' input. Turns have different host memory, so copies are in no
// graph.
func (m *Machine) toDevice(after func(c *command) error) error {
	if m.list.in == 0 {
		return nil
	}
	if err := m.dev.ToDevice(m.in.dev.at, m.in.hosts[m.turn][:m.list.in*wordBytes]); err != nil {
		return err
	}
	return after(nil)
}

// launches queues commands lo … hi-1, or records them for a graph. A call of after follows each.
func (m *Machine) launches(lo, hi int, after func(c *command) error) error {
	for i := lo; i < hi; i++ {
		c := &m.list.commands[i]
		err := m.start(c)
		if err == nil {
			err = after(c)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// start queues one command.
func (m *Machine) start(c *command) error {
	s := &m.list
	if c.product > 0 {
		return m.options.Multiplier.Multiply(&s.products[c.product-1])
	}
	return c.k.f.Launch(c.grid, [3]int{c.k.Threads, 1, 1}, c.shared, s.args[c.lo:c.hi])
}

// toHost copies the commands' output.
func (m *Machine) toHost(after func(c *command) error) error {
	if m.list.out == 0 {
		return nil
	}
	if err := m.dev.ToHost(m.out.hosts[m.turn][:m.list.out*wordBytes], m.out.dev.at); err != nil {
		return err
	}
	return after(nil)
}

func lost(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.Lost()
}

// WorthGraph is the fewest launches of a graph.
const WorthGraph = 8

// MaxGraphs is how many command lists are remembered: twice the shapes that batches commonly have.
const MaxGraphs = 32

// graphs are the command lists played most recently, the latest last.
type graphs struct {
	seed  maphash.Seed
	plays []*played
	most  int
	off   bool
}

// KeepGraphs sets how many command lists are remembered. A machine that stands for several needs
// more.
func (m *Machine) KeepGraphs(n int) { m.graphs.most = n }

// A played list has its commands only if it has a graph: lists that never come again are many and
// may be large.
type played struct {
	hash  uint64
	list  commandList
	graph Graph // nil: played once
}

// find returns the command list's history, and whether there is one.
func (g *graphs) find(s *commandList) (p *played, known bool) {
	hash := s.hash(g.seed)
	i := slices.IndexFunc(g.plays, func(p *played) bool {
		return p.hash == hash && (p.graph == nil || p.list.equal(s))
	})
	switch {
	case i >= 0:
		p = g.plays[i]
		g.plays = slices.Delete(g.plays, i, i+1)
	case len(g.plays) == g.most:
		g.plays[0].close()
		g.plays = slices.Delete(g.plays, 0, 1)
		fallthrough
	default:
		p = &played{hash: hash}
	}
	g.plays = append(g.plays, p)
	return p, i >= 0
}

// drop forgets everything: memory has moved.
func (g *graphs) drop() {
	for _, p := range g.plays {
		p.close()
	}
	g.plays = g.plays[:0]
}

func (p *played) close() {
	if p.graph != nil {
		_ = p.graph.Close() // nothing depends on its success
	}
}
