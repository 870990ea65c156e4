package lower

import (
	"slices"

	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/kernel"
)

// freeVars returns the names of all variables in a kernel's expressions.
func freeVars(k *kernel.Kernel) map[string]bool {
	used := map[string]bool{}
	scan := func(es ...*expr.Expr) {
		for _, v := range expr.Vars(es...) {
			used[v.Name] = true
		}
	}
	for _, p := range k.Params {
		scan(p.Shape...)
	}
	scan(kernel.Sizes(k.Grid)...)
	if k.Span != nil {
		scan(k.Span.Rows)
	}
	for s := range kernel.All(k.Body) {
		scan(kernel.Reads(s)...)
	}
	return used
}

// placeTiles inserts each tile's declaration after the last definition of a variable in its
// shape. A tile without variables comes first.
func (e *emitter) placeTiles() {
	depth := map[string]int{}
	for s := range kernel.All(e.k.Body) {
		if name := defined(s); name != "" {
			depth[name] = len(depth) + 1
		}
	}
	after := map[string][]kernel.Stmt{}
	for _, t := range e.tiles {
		last := ""
		for _, v := range expr.Vars(t.Shape...) {
			if depth[v.Name] > depth[last] {
				last = v.Name
			}
		}
		after[last] = append(after[last], t)
	}
	first := after[""]
	delete(after, "")
	e.k.Body = append(first, placed(e.k.Body, after)...)
}

// placed inserts statements after the definitions of their names, or first in the bodies that
// define them.
func placed(body []kernel.Stmt, after map[string][]kernel.Stmt) []kernel.Stmt {
	var out []kernel.Stmt
	for _, s := range body {
		more := after[defined(s)]
		if inner := kernel.Within(s); inner != nil {
			s = kernel.WithBody(s, append(slices.Clip(more), placed(inner, after)...))
			more = nil
		}
		out = append(append(out, s), more...)
	}
	return out
}

// defined returns the name that a statement gives a value, for later statements or for its
// body.
func defined(s kernel.Stmt) string {
	if l, ok := s.(*kernel.For); ok {
		return l.Var
	}
	return kernel.Bound(s)
}
