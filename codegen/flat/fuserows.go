package flat

import (
	"fmt"
	"slices"

	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/kernel"
	"github.com/arithlang/mlc/compiler/kernel/depend"
)

// fuseRows fuses neighbouring loops over the same rows if each iteration reads only its own
// row of the earlier loops. A row of many models is long; fused, it is still in the cache
// when the next statement reads it.
func fuseRows(k *kernel.Kernel) *kernel.Kernel {
	f := &rowFuser{}
	return withBody(k, f.body(k.Body))
}

// A rowFuser numbers its loops.
type rowFuser struct{ made int }

func (f *rowFuser) body(body []kernel.Stmt) []kernel.Stmt {
	var out []kernel.Stmt
	var open *kernel.For // the last loop; statements that do not conflict with it go before it
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

// loop returns a statement over rows of many models as a loop over rows, or nil.
func (f *rowFuser) loop(s kernel.Stmt) *kernel.For {
	f.made++
	l := overRows(s)
	if l == nil || !expr.IsInt(l.Lo, 0) {
		return nil
	}
	row := fmt.Sprintf("row.%d", f.made)
	return &kernel.For{Var: row, Lo: l.Lo, Hi: l.Hi, Body: over(l, row)}
}

// over returns the body of a loop with another loop variable.
func over(l *kernel.For, row string) []kernel.Stmt {
	at := map[string]*expr.Expr{l.Var: expr.NewVar(row, expr.I32)}
	return kernel.RewriteAll(l.Body, func(e *expr.Expr) *expr.Expr { return expr.Subst(e, at) })
}

// joins reports whether a loop can be fused into an earlier one.
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
