package vector

import "github.com/arithlang/mlc/compiler/kernel"

// mostVectors bounds the vectors of a row whose sum is computed together with other sums. Each
// vector has a register of partials.
const mostVectors = 4

// beside reports whether sums over equally many elements can be computed side by side, and how
// many vectors a row has. A row must have whole vectors, a power of two of them, and at most
// one element for each place of a partial.
func (f *fn) beside(rs []*kernel.Reduce) (vectors int, ok bool) {
	if len(rs) < 2 || !rs[0].Axis.Size.IsConst() {
		return 0, false
	}
	for _, r := range rs {
		if !sums(r) {
			return 0, false
		}
	}
	n := int(rs[0].Axis.Size.I)
	vectors = n / f.lanes
	whole := n%f.lanes == 0 && 1 <= vectors && vectors <= mostVectors && n <= partials*kernel.Neighbours
	return vectors, whole && vectors&(vectors-1) == 0
}

// allRegs returns how many registers the reductions of a loop need.
func (f *fn) allRegs(rs []*kernel.Reduce) int {
	if vectors, ok := f.beside(rs); ok {
		return (len(rs)+batch-1)/batch*vectors + min(len(rs), batch) - 1
	}
	sum := 0
	for _, r := range rs {
		own, waiting := f.foldRegs(r)
		sum += own + waiting
	}
	return sum
}

// foldings returns the foldings of a group's reductions. Several sums may share one folding.
func (g *group) foldings() []*folding {
	var rs []*kernel.Reduce
	for _, m := range g.members {
		if m.reduce != nil {
			rs = append(rs, m.reduce)
		}
	}
	vectors, ok := g.beside(rs)
	all := make([]*folding, len(rs))
	for i, r := range rs {
		if !ok {
			all[i] = &folding{reduce: r}
			continue
		}
		if i%batch == 0 {
			all[i] = &folding{reduce: r, regs: vectors, together: min(batch, len(rs)-i), places: batch}
			if all[i].together == 2 {
				all[i].places = 2
			}
		} else {
			all[i] = all[i-1]
		}
	}
	return all
}

// reserveBeside gives registers to sums that are computed side by side. Batches are completed
// one after another, so their vectors wait in the same registers.
func (l *loop) reserveBeside(s *folding, waiting []int) []int {
	l.free -= s.regs
	s.first = l.free
	if waiting == nil {
		l.free -= s.together - 1
		for i := range s.together - 1 {
			waiting = append(waiting, l.free+i)
		}
	}
	s.waiting = waiting[:s.together-1]
	l.group = max(l.group, s.regs)
	return waiting
}
