package generic

import (
	"math/bits"
	"slices"

	"github.com/arithlang/mlc/codegen/ptx/asm"
	"github.com/arithlang/mlc/codegen/ptx/emit"
	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/kernel"
)

// lanesOf returns how many lanes of a warp take an iteration of an independent loop. Fewer than all
// do if they are enough for the rows that it sums and sets, four elements a lane.
func lanesOf(n *kernel.For) int {
	if len(n.Own) > 0 {
		return emit.WarpThreads // each warp has one tile
	}
	set := map[string]bool{}
	for _, s := range n.Body {
		if s, is := s.(*kernel.Set); is {
			set[s.Dst.Name] = true
		}
	}
	lanes := 1
	for _, s := range n.Body {
		size, again := expr.Int(1), true // again: lanes that repeat an iteration compute it
		switch s := s.(type) {
		case *kernel.Let:
		case *kernel.Set:
			if s.Dst.Op == expr.Var {
				return emit.WarpThreads
			}
			size, again = kernel.Elements(kernel.Sizes(s.Axes)), false
		case *kernel.Reduce:
			if size = s.Axis.Size; s.Op != expr.Add {
				return emit.WarpThreads // lanes agree on it by a shuffle of the whole warp
			}
		default:
			return emit.WarpThreads
		}
		if again && slices.ContainsFunc(expr.Elems(kernel.Reads(s)...), func(e *expr.Expr) bool { return set[e.Name] }) {
			return emit.WarpThreads // they would read what others set
		}
		lanes = max(lanes, emit.LanesOf(size))
	}
	return lanes
}

// iterations runs an independent loop, whose iterations go to groups of lanes of the block's warps.
// All lanes of a warp go on together, since sums are exchanged between them: lanes without an
// iteration repeat the last one, and set nothing. Sums read nothing that the iteration sets, so they
// come first, and their loads do not wait for each other.
func (p *generic) iterations(n *kernel.For, from, limit asm.Value, lanes int) {
	f, together := p.F, emit.WarpThreads/lanes
	p.Group = emit.Workgroup{Threads: lanes, ID: f.Do("and.b32", p.Lane, asm.Int(lanes-1))}
	mine, last := f.Do("shr.u32", p.Lane, asm.Int(bits.TrailingZeros(uint(lanes)))), f.Do("add.s32", limit, asm.Int(-1))
	first := f.Do("mad.lo.s32", p.Warp, asm.Int(together), from)
	p.Count(first, limit, asm.Int(p.Warps*together), func(i asm.Value) {
		i = f.Do("add.s32", i, mine)
		p.Vars[n.Var] = f.Do("min.s32", i, last)
		there := f.Do("setp.lt.s32", i, limit)
		if waits := func(s kernel.Stmt) bool { return p.waits[s] }; slices.ContainsFunc(n.Body, waits) {
			p.iteration(n, func(s *kernel.Set) { f.If(there, func() { p.set(s) }) })
			return
		}
		p.nodes(slices.DeleteFunc(slices.Clone(n.Body), kernel.Is[*kernel.Set]))
		f.If(there, func() {
			for _, s := range n.Body {
				if s, is := s.(*kernel.Set); is {
					p.set(s)
				}
			}
		})
	})
}

func (p *generic) set(s *kernel.Set) {
	p.enter(s)
	p.Assign(s)
}

// iteration computes the statements of a loop, and its assignments by set.
func (p *generic) iteration(n *kernel.For, set func(s *kernel.Set)) {
	for _, s := range n.Body {
		to, is := s.(*kernel.Set)
		switch {
		case !is:
			p.nodes([]kernel.Stmt{s})
			continue
		case p.waits[s]:
			p.wait()
		}
		set(to)
	}
}

// rowOf returns the axis of all assignments in a loop's body, if a thread of the workgroup has at
// most one element of it, and never waits.
func (p *generic) rowOf(n *kernel.For) (axis kernel.Axis, ok bool) {
	for _, s := range n.Body {
		switch s := s.(type) {
		case *kernel.Let:
		case *kernel.Set:
			if len(s.Axes) != 1 || axis.Size != nil && !expr.Equal(axis.Size, s.Axes[0].Size) {
				return axis, false
			}
			axis = s.Axes[0]
		default:
			return axis, false
		}
		if p.waits[s] {
			return axis, false
		}
	}
	return axis, axis.Size != nil && axis.Size.IsConst() && axis.Size.I <= int64(p.Group.Threads)
}

// columns runs a loop in the threads that have an element of the row that its body sets. The others
// do nothing.
func (p *generic) columns(n *kernel.For, row kernel.Axis, from, limit asm.Value) {
	f := p.F
	f.If(f.Do("setp.lt.s32", p.Group.ID, p.Value(row.Size)), func() {
		p.Count(from, limit, asm.Int(1), func(i asm.Value) {
			p.Vars[n.Var] = i
			p.iteration(n, func(s *kernel.Set) {
				p.enter(s)
				p.Vars[s.Axes[0].Var] = p.Group.ID
				p.Store(s.Dst, p.Value(s.Value))
			})
		})
	})
}
