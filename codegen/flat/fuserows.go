package flat

import (
	"fmt"
	"slices"

	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/kernel"
	"github.com/arithlang/mlc/compiler/kernel/depend"
)

// fuseRows makes one loop of neighbours over the same rows, where a row needs of the loops
// before no more than its own: an element of many models is long, and what one loop leaves
// is still near when the next wants it.
func fuseRows(k *kernel.Kernel) *kernel.Kernel {
	f := &rowFuser{}
	return withBody(k, f.body(k.Body))
}

// A rowFuser names the loops that it makes.
type rowFuser struct{ made int }

func (f *rowFuser) body(body []kernel.Stmt) []kernel.Stmt {
	var out []kernel.Stmt
	var open *kernel.For // the last loop; statements that do not touch what it does go before it
	flush := func() {
		if open != nil {
			out = append(out, &kernel.For{Var: open.Var, Lo: open.Lo, Hi: open.Hi, Body: f.body(open.Body)})
		}
		open = nil
	}
	for _, s := range body {
		loop := f.loop(s)
		switch {
		case loop != nil && open != nil && joins(open, loop):
			open.Body = append(open.Body, over(loop, open.Var)...)
		case open != nil && !depend.Conflict(depend.Within([]kernel.Stmt{open}), depend.Within([]kernel.Stmt{s})):
			out = append(out, within(s, f.body))
		case loop != nil:
			flush()
			open = loop
		default:
			flush()
			out = append(out, within(s, f.body))
		}
	}
	flush()
	return out
}

// loop is a statement over rows of many models as a loop over the rows; nil if it is none.
func (f *rowFuser) loop(s kernel.Stmt) *kernel.For {
	f.made++
	row := fmt.Sprintf("row.%d", f.made)
	switch s := s.(type) {
	case *kernel.For:
		if expr.IsInt(s.Lo, 0) {
			return &kernel.For{Var: row, Lo: s.Lo, Hi: s.Hi, Body: over(s, row)}
		}
	case *kernel.Set:
		if len(s.Axes) > 1 {
			rest := &kernel.Set{Axes: s.Axes[1:], Dst: s.Dst, Value: s.Value}
			l := &kernel.For{Var: s.Axes[0].Var, Lo: expr.Int(0), Hi: s.Axes[0].Size, Body: []kernel.Stmt{rest}}
			return &kernel.For{Var: row, Lo: l.Lo, Hi: l.Hi, Body: over(l, row)}
		}
	}
	return nil
}

// over is the body of a loop over another variable.
func over(l *kernel.For, row string) []kernel.Stmt {
	at := map[string]*expr.Expr{l.Var: expr.NewVar(row, expr.I32)}
	return kernel.RewriteAll(l.Body, func(e *expr.Expr) *expr.Expr { return expr.Subst(e, at) })
}

// joins says whether a loop may do its iterations in those of one before it.
func joins(before, l *kernel.For) bool {
	if !expr.Equal(before.Hi, l.Hi) {
		return false
	}
	body := over(l, before.Var)
	both := depend.Loop{Var: before.Var, Size: before.Hi, Changes: depend.Changes(slices.Concat(before.Body, body)...)}
	for _, x := range depend.Within(before.Body) {
		for _, y := range depend.Within(body) {
			if x.Conflict(y) && both.Compare(x, y) == depend.Any {
				return false
			}
		}
	}
	return true
}
