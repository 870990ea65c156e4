package emit

import (
	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/kernel"
)

func IsProduct(n kernel.Stmt) bool {
	d, ok := n.(*kernel.Dot)
	return ok && len(d.Axes) > 1
}

// Has reports whether a body has such a statement, at any depth.
func Has(body []kernel.Stmt, such func(kernel.Stmt) bool) bool {
	for n := range kernel.All(body) {
		if such(n) {
			return true
		}
	}
	return false
}

func isRandom(n kernel.Stmt) bool {
	_, ok := n.(*kernel.Random)
	return ok
}

// Arrays returns the names of a kernel's buffers.
func Arrays(k *kernel.Kernel) map[string]bool {
	names := map[string]bool{}
	for _, p := range k.Params {
		names[p.Name] = true
	}
	return names
}

// At returns the flat index of an element, over other variables.
func At(e *expr.Expr, vars map[string]string) *expr.Expr {
	to := map[string]*expr.Expr{}
	for from, name := range vars {
		to[from] = expr.NewVar(name, expr.I32)
	}
	return expr.Simplify(expr.Subst(e.Args[0], to))
}
