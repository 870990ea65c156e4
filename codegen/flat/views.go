package flat

import (
	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/kernel"
)

// A view is a tile that is read in place: its element at the axes is the
// element of the buffer at flat.
type view struct {
	axes []kernel.Axis
	buf  kernel.Param
	flat *expr.Expr
}

// elem is the view's element at resolved indices.
func (v view) elem(idx []*expr.Expr) *expr.Expr {
	at := map[string]*expr.Expr{}
	for i, a := range v.axes {
		at[a.Var] = idx[i]
	}
	return expr.NewElem(v.buf.Name, v.buf.Type, expr.Simplify(expr.Subst(v.flat, at)))
}

// findViews decides which tiles are read in place: those that one Load writes,
// whose readers all come after it where its index still means the same, and
// before the buffer changes.
func (r *resolver) findViews(k *kernel.Kernel) {
	r.views = map[string]view{}
	r.viewsIn(k.Body, countUses(k.Body))
}

func (r *resolver) viewsIn(body []kernel.Stmt, all *uses) {
	for i, s := range body {
		if l, ok := s.(*kernel.Load); ok {
			rest := body[i+1:]
			if all.writes[l.Dst] == 1 && countUses(rest).reads[l.Dst] == all.reads[l.Dst] && !r.changes(l, rest, all) {
				r.tryView(l, all.dotted[l.Dst])
			}
		}
		r.viewsIn(inner(s), all)
	}
}

// changes says whether the buffer of a Load may change before the last reader of
// its tile, among the statements after it. The Store that changes it may read
// each element where it writes it.
func (r *resolver) changes(l *kernel.Load, rest []kernel.Stmt, all *uses) bool {
	if all.stores[l.Buf] == 0 {
		return false
	}
	for i, s := range rest {
		st, ok := s.(*kernel.Store)
		if !ok || st.Buf != l.Buf {
			if countUses(rest[i : i+1]).stores[l.Buf] > 0 {
				return true
			}
			continue
		}
		to := r.flat(r.params[st.Buf].Shape, st.Index)
		from := view{l.Axes, r.params[l.Buf], r.flat(r.params[l.Buf].Shape, l.Index)}
		for _, e := range expr.Elems(operands(st)...) {
			if e.Name == l.Dst && !expr.Equal(from.elem(r.exprs(e.Args)).Args[0], to) {
				return true
			}
		}
		after := countUses(rest[i+1:])
		return after.reads[l.Dst] > 0
	}
	return true
}

// tryView makes the tile of a Load a view if its index reads no tile that may
// change, and has strides where a Dot wants them.
func (r *resolver) tryView(l *kernel.Load, dotted bool) {
	for _, e := range expr.Elems(l.Index...) {
		if v, ok := r.views[e.Name]; !ok || v.buf.Mode != kernel.In {
			return
		}
	}
	flat := r.flat(r.params[l.Buf].Shape, l.Index)
	if dotted {
		rest := flat
		for _, a := range l.Axes {
			stride, base, ok := Affine(rest, a.Var)
			if !ok || !isStride(stride) {
				return
			}
			rest = base
		}
	}
	r.views[l.Dst] = view{l.Axes, r.params[l.Buf], flat}
}

// uses counts the statements that write tiles, the places that read them, and
// the Stores to buffers; dotted are the operands of Dots.
type uses struct {
	writes, reads, stores map[string]int
	dotted                map[string]bool
}

func countUses(body []kernel.Stmt) *uses {
	u := &uses{map[string]int{}, map[string]int{}, map[string]int{}, map[string]bool{}}
	u.count(body)
	return u
}

func (u *uses) count(body []kernel.Stmt) {
	for _, s := range body {
		switch s := s.(type) {
		case *kernel.Load:
			u.writes[s.Dst]++
		case *kernel.Store:
			u.stores[s.Buf]++
		case *kernel.Fill:
			u.writes[s.Dst]++
		case *kernel.Map:
			u.writes[s.Dst]++
		case *kernel.Dot:
			u.writes[s.Dst]++
			u.reads[s.A]++
			u.reads[s.B]++
			u.dotted[s.A], u.dotted[s.B] = true, true
		}
		for _, e := range expr.Elems(operands(s)...) {
			u.reads[e.Name]++
		}
		u.count(inner(s))
	}
}

// operands returns the expressions of a statement, those of its body left out.
func operands(s kernel.Stmt) []*expr.Expr {
	switch s := s.(type) {
	case *kernel.Let:
		return []*expr.Expr{s.Value}
	case *kernel.Load:
		return append(sizes(s.Axes), s.Index...)
	case *kernel.Store:
		return append(append(sizes(s.Axes), s.Index...), s.Value)
	case *kernel.Fill:
		if s.Rand != nil {
			return []*expr.Expr{s.Rand.Base, s.Rand.Example}
		}
		return []*expr.Expr{s.Value}
	case *kernel.Map:
		return append(append(sizes(s.Axes), s.At...), s.Value)
	case *kernel.Reduce:
		return []*expr.Expr{s.Axis.Size, s.Value}
	case *kernel.For:
		return []*expr.Expr{s.Lo, s.Hi}
	case *kernel.If:
		return []*expr.Expr{s.Cond}
	}
	return nil
}

func sizes(axes []kernel.Axis) []*expr.Expr {
	out := make([]*expr.Expr, len(axes))
	for i, a := range axes {
		out[i] = a.Size
	}
	return out
}
