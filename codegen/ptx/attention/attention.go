// Package attention has the schedules of attention in BF16 and in F32. A block takes queries of a
// head. A warp keeps 16 rows of scores in registers from the first product to the second, which are
// on tensor cores in BF16 (attend.go), and chains of multiply-adds in F32 (wide.go). In the gradient
// (gradcell.go) a warp has rows of queries first, then rows of keys: on tensor cores in attendgrad.go
// and attendkeys.go, in F32 in widegrad.go and widekeys.go. The files attention.go, grad.go and sides.go
// find these parts in a kernel.
package attention

import (
	"fmt"
	"maps"
	"slices"

	"github.com/arithlang/mlc/codegen/flat"
	"github.com/arithlang/mlc/codegen/ptx/emit"
	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/kernel"
)

// An attention is a kernel whose cell multiplies rows of queries by keys, transforms each row of
// scores, and multiplies the rows, rounded in BF16, by values. Each warp of a block takes 16 rows,
// which stay in registers.
type attention struct {
	scores *kernel.Dot
	follow []kernel.Stmt // the statements for row rowVar: Let, Set, Reduce, Random
	leaves []*kernel.Set // numbers of row rowVar that are stored for the gradient
	rounds *kernel.Set   // nil in F32
	values *kernel.Dot
	out    []*kernel.Set // assignments of the last product
	lets   []*kernel.Let
	bands  []band

	buffers  map[string]bool       // of the kernel
	meanings map[string]*expr.Expr // values of lets
}

// Plan plans an attention for tensor cores.
func Plan(k *kernel.Kernel, l emit.Launches) (p emit.Plan, why string) {
	a, why := attentionOf(k, l, expr.BF16)
	if why != "" {
		return p, why
	}
	warps := a.scores.MostRows / emit.FragmentRows
	pieces := fmt.Sprintf("a cell, %d warps of %d rows, %d keys at once", warps, emit.FragmentRows, keysAtOnce)
	return emit.Plan{Threads: warps * emit.WarpThreads, Whole: true, Pieces: pieces, Cells: func(p *emit.Builder) emit.Cells { return cellsOf(p, a) }}, ""
}

// attentionOf finds an attention whose products have factors of a type.
func attentionOf(k *kernel.Kernel, l emit.Launches, factors expr.Type) (a *attention, why string) {
	a = &attention{buffers: emit.Arrays(k)}
	var dots []*kernel.Dot
	for _, s := range k.Body {
		switch s := s.(type) {
		case *kernel.Let:
			a.lets = append(a.lets, s)
		case *kernel.Dot:
			dots = append(dots, s)
		case *kernel.For:
			if len(dots) != 1 || !s.Independent || !expr.IsInt(s.Lo, 0) || !expr.Equal(s.Hi, dots[0].Axes[0].Size) {
				return nil, "its rows need each other"
			}
			for _, s := range ofRow(s.Body, s.Var) {
				set, ok := s.(*kernel.Set)
				switch ok = ok && len(set.Axes) == 0; {
				case !ok:
					a.follow = append(a.follow, s)
				case !a.buffers[set.Dst.Name] || len(expr.Elems(set.Value)) > 0:
					return nil, "its rows leave more than numbers"
				default:
					a.leaves = append(a.leaves, set)
				}
			}
		case *kernel.Set:
			switch {
			case len(s.Axes) != 2 || len(dots) == 0:
				return nil, "it sets more than scores and results"
			case len(dots) == 2:
				a.out = append(a.out, s)
			case s.Value.Op == expr.ToBF16:
				a.rounds = s
			default:
				a.follow = append(a.follow, byRow(s))
			}
		default:
			return nil, "it has other statements than an attention"
		}
	}
	if len(dots) != 2 || (a.rounds == nil) != (factors == expr.F32) {
		return nil, "its factors are no " + factors.String()
	}
	a.scores, a.values = dots[0], dots[1]
	if a.buffers[a.scores.Dst.Name] || !a.values.Zero {
		return nil, "its scores lie in a buffer"
	}
	a.meanings = meanings(a.lets)
	if why := a.checkRows(map[string]bool{a.scores.Dst.Name: true}); why != "" {
		return nil, why
	}
	a.bands = a.bandsOf()
	if why := a.checkValues(); why != "" {
		return nil, why
	}
	return a, a.unfit(l.Aligned, factors)
}

// byRow turns an assignment by row and column into an assignment by column for row rowVar.
func byRow(s *kernel.Set) *kernel.Set {
	return ofRow([]kernel.Stmt{&kernel.Set{Axes: s.Axes[1:], Dst: s.Dst, Value: s.Value}}, s.Axes[0].Var)[0].(*kernel.Set)
}

// ofRow returns statements for row rowVar instead of the row of a variable.
func ofRow(body []kernel.Stmt, name string) []kernel.Stmt {
	row := map[string]*expr.Expr{name: expr.NewVar(emit.RowVar, expr.I32)}
	return kernel.RewriteAll(body, func(e *expr.Expr) *expr.Expr { return expr.Subst(e, row) })
}

// place returns the index of a score by row and column.
func (a *attention) place() *expr.Expr {
	return emit.Place(a.scores.Dst, a.scores.Axes[0].Var, a.scores.Axes[1].Var)
}

// checkRows says why rows cannot stay in registers. Each statement has to set elements of
// arrays by query and key, or random words, and to read only elements at its own place.
func (a *attention) checkRows(inRegisters map[string]bool) string {
	axes := a.scores.Axes
	if !a.scores.Zero || a.scores.MostRows == 0 || a.scores.MostRows%emit.FragmentRows != 0 {
		return "the number of its rows is unknown"
	}
	place, products := a.place(), inRegisters
	inRegisters = maps.Clone(products)
	own := func(e *expr.Expr, col string, words map[string]bool) bool {
		switch {
		case words[e.Name]:
			return e.Args[0].Op == expr.Var && e.Args[0].Name == col
		case a.buffers[e.Name]:
			return true
		}
		return inRegisters[e.Name] && expr.Equal(emit.Place(e, "", col), place)
	}
	words := map[string]bool{}
	for _, s := range a.follow {
		col := emit.ColVar
		switch s := s.(type) {
		case *kernel.Let:
		case *kernel.Random:
			if !expr.Equal(s.Size, axes[1].Size) || !expr.IsMultiple(expr.Subst(s.Base, a.meanings), expr.Int(emit.PhiloxWords)) {
				return "a row's random words do not begin with a counter"
			}
			words[s.Dst] = true
			continue
		case *kernel.Set:
			if col = s.Axes[0].Var; a.buffers[s.Dst.Name] || !expr.Equal(s.Axes[0].Size, axes[1].Size) || !expr.Equal(emit.Place(s.Dst, "", col), place) {
				return "it sets other than scores"
			}
		case *kernel.Reduce:
			if col = s.Axis.Var; a.ofHead(s) {
				continue
			}
			if !expr.Equal(s.Axis.Size, axes[1].Size) {
				return "it sums other than rows"
			}
		default:
			return "rows have loops or conditions"
		}
		for _, e := range expr.Elems(kernel.Reads(s)...) {
			if !own(e, col, words) {
				return "it reads other elements of " + e.Name
			}
		}
		switch s := s.(type) {
		case *kernel.Set:
			inRegisters[s.Dst.Name] = true
		case *kernel.Reduce: // only products are kept until all of a row is known
			inRegisters = maps.Clone(products)
		}
	}
	return ""
}

// ofHead reports whether a reduction is over the width of a head and reads only buffers, so that
// it does not need the scores.
func (a *attention) ofHead(r *kernel.Reduce) bool {
	return expr.Equal(r.Axis.Size, a.scores.Axes[2].Size) &&
		!slices.ContainsFunc(expr.Elems(r.Value), func(e *expr.Expr) bool { return !a.buffers[e.Name] })
}

// checkValues says why the statements after the rows do not fit.
func (a *attention) checkValues() string {
	n, place, weights := a.values.Axes, a.place(), a.scores.Dst.Name
	if r := a.rounds; r != nil {
		rounded := emit.Place(r.Dst, r.Axes[0].Var, r.Axes[1].Var)
		w := r.Value.Args[0]
		if w.Op != expr.Elem || w.Name != weights || !expr.Equal(emit.Place(w, r.Axes[0].Var, r.Axes[1].Var), place) {
			return "its weights are not the rounded scores"
		}
		place, weights = rounded, r.Dst.Name
	}
	if a.values.A.Name != weights || !expr.Equal(emit.Place(a.values.A, n[0].Var, n[2].Var), place) {
		return "its weights are not the rounded scores"
	}
	for _, s := range a.out {
		if !a.buffers[s.Dst.Name] || !expr.Equal(s.Axes[1].Size, n[1].Size) {
			return "it goes on with its results"
		}
		if !a.onlyOwn(s, a.values) {
			return "it reads other results than its own"
		}
	}
	if len(a.out) == 0 && !a.buffers[a.values.Dst.Name] {
		return "its results go nowhere"
	}
	return ""
}

// onlyOwn reports whether an assignment by row and column reads only buffers, and a product's result
// at its own row and column.
func (a *attention) onlyOwn(s *kernel.Set, d *kernel.Dot) bool {
	place := emit.Place(d.Dst, d.Axes[0].Var, d.Axes[1].Var)
	return !slices.ContainsFunc(expr.Elems(s.Value), func(e *expr.Expr) bool {
		return !a.buffers[e.Name] && (e.Name != d.Dst.Name || !expr.Equal(emit.Place(e, s.Axes[0].Var, s.Axes[1].Var), place))
	})
}

// queries, keys and vs, the values, are the factors, with rows of one head.
func (a *attention) queries() flat.Operand { return flat.ProductOf(a.scores).A }
func (a *attention) keys() flat.Operand    { return emit.Transposed(flat.ProductOf(a.scores).B) }
func (a *attention) vs() flat.Operand      { return flat.ProductOf(a.values).B }

// meanings returns the values of lets, with names of lets replaced.
func meanings(lets []*kernel.Let) map[string]*expr.Expr {
	all := map[string]*expr.Expr{}
	for _, l := range lets {
		all[l.Name] = expr.Subst(l.Value, all)
	}
	return all
}

// widestHead is the most width of a head: its results take half of a thread's registers.
const widestHead = 128

func wholeFragments(width *expr.Expr) bool {
	return width.IsConst() && width.I%emit.FragmentRows == 0 && width.I <= widestHead
}

// unfit says why the factors, of a type, do not fit; "" if they do.
func (a *attention) unfit(aligned map[string]bool, factors expr.Type) string {
	w := a.scores.Axes[2].Size
	switch same := expr.Equal(w, a.values.Axes[1].Size); {
	case factors == expr.BF16 && !(same && wholeFragments(w)):
		return "the width of a head is no multiple of 16 up to 128"
	case factors == expr.F32 && !(same && w.IsConst() && w.I%wideUnit == 0 && w.I >= narrowestHead && w.I <= widestHead):
		return "the width of a head is no multiple of 4 from 16 to 128"
	}
	for _, o := range []flat.Operand{a.queries(), a.keys(), a.vs()} {
		if why := a.inWholeUnits(o, factors, aligned); why != "" {
			return why
		}
	}
	if a.scores.A.Type != factors || a.values.B.Type != factors || a.scores.Split || a.values.Split {
		return "its factors are no " + factors.String()
	}
	return ""
}

// inWholeUnits says why a factor's rows, of elements of a type, are not in units of 16 bytes.
func (a *attention) inWholeUnits(o flat.Operand, t expr.Type, aligned map[string]bool) string {
	whole := func(e *expr.Expr) bool {
		return expr.IsMultiple(expr.Subst(e, a.meanings), expr.Int(int64(emit.UnitBytes/kernel.Bytes(t))))
	}
	if !aligned[o.Slice] || !expr.IsInt(o.CS, 1) || !whole(o.Off) || !whole(o.RS) {
		return o.Slice + " does not lie in units of 16 bytes"
	}
	return ""
}
