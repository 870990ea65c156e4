package lower

import (
	"slices"

	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/kernel"
)

// freeVars names every variable that a kernel's expressions mention.
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
	scan(k.Op.Exprs()...)
	return used
}

// placeTiles puts the making of each tile where the last of the variables that its
// shape uses gets its value, or first where it uses none.
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

// placed puts statements behind those that define a name, or first into their bodies.
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

// defined is the name that a statement gives a value to: for those after it, or for
// its body.
func defined(s kernel.Stmt) string {
	if l, ok := s.(*kernel.For); ok {
		return l.Var
	}
	return kernel.Bound(s)
}
