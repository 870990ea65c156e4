package emit

import (
	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/kernel"
)

func IsProduct(n kernel.Stmt) bool {
	d, ok := n.(*kernel.Dot)
	return ok && len(d.Axes) > 1
}

// Arrays returns the names of a kernel's parameters: of those, only buffers have elements.
func Arrays(k *kernel.Kernel) map[string]bool {
	names := map[string]bool{}
	for _, p := range k.Params {
		names[p.Name] = true
	}
	return names
}

// Place returns the flat index of an element over RowVar and ColVar, in place of its row and column.
func Place(e *expr.Expr, row, col string) *expr.Expr {
	return At(e, map[string]string{row: RowVar, col: ColVar})
}

// At returns the flat index of an element, over other variables.
func At(e *expr.Expr, vars map[string]string) *expr.Expr {
	to := map[string]*expr.Expr{}
	for from, name := range vars {
		to[from] = expr.NewVar(name, expr.I32)
	}
	return expr.Simplify(expr.Subst(e.Args[0], to))
}
