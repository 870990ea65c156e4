package flat

import (
	"maps"

	"github.com/arithlang/mlc/compiler/kernel"
	"github.com/arithlang/mlc/compiler/kernel/depend"
)

// prune drops dead code: lets, tiles and statements that do not reach a buffer, and then
// empty bodies.
func prune(k *kernel.Kernel) *kernel.Kernel {
	written := map[string]bool{}
	for _, p := range k.Params {
		if p.Mode == kernel.Out || p.Mode == kernel.InOut {
			written[p.Name] = true
		}
	}
	out := *k
	for {
		live := maps.Clone(written)
		readBy(out.Body, live)
		s := sweeper{live: live}
		out.Once, out.Body = s.body(out.Once), s.body(out.Body)
		if s.dropped == 0 {
			return &out
		}
	}
}

// readBy marks the names that statements read, except accumulators of products.
func readBy(body []kernel.Stmt, live map[string]bool) {
	for s := range kernel.All(body) {
		d, product := s.(*kernel.Dot)
		for _, a := range depend.Of(s) {
			if !a.Write && !(product && a.Name == d.Dst.Name) {
				live[a.Name] = true
			}
		}
	}
}

type sweeper struct {
	live    map[string]bool
	dropped int
}

// body returns statements without the dead ones.
func (w *sweeper) body(body []kernel.Stmt) []kernel.Stmt {
	var out []kernel.Stmt
	for i, s := range body {
		s = within(s, w.body)
		if l, ok := s.(*kernel.For); ok {
			live := *l
			live.Own = maps.Clone(l.Own)
			maps.DeleteFunc(live.Own, func(name string, _ bool) bool { return !w.live[name] })
			s = &live
		}
		if w.dead(s, body[i+1:]) {
			w.dropped++
			continue
		}
		out = append(out, s)
	}
	return out
}

// dead reports whether nothing needs a statement. Other bodies may reuse the name of a
// scalar.
func (w *sweeper) dead(s kernel.Stmt, rest []kernel.Stmt) bool {
	switch s := s.(type) {
	case *kernel.Let, *kernel.Reduce:
		after := map[string]bool{}
		readBy(rest, after)
		return !after[kernel.Bound(s)]
	case *kernel.Tile, *kernel.Var:
		return !w.live[kernel.Bound(s)]
	case *kernel.For:
		return len(s.Body) == 0
	case *kernel.If:
		return len(s.Body) == 0
	}
	return !w.live[kernel.Written(s)]
}
