package lower

import (
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
	for _, a := range k.Grid {
		scan(a.Size)
	}
	for _, t := range k.Tiles {
		scan(t.Shape...)
	}
	scan(k.Op.Exprs()...)
	scanBody(k.Body, scan)
	return used
}

func scanBody(body []kernel.Stmt, scan func(...*expr.Expr)) {
	sizes := func(as []kernel.Axis) {
		for _, a := range as {
			scan(a.Size)
		}
	}
	for _, s := range body {
		switch s := s.(type) {
		case *kernel.Let:
			scan(s.Value)
		case *kernel.Load:
			scan(s.Index...)
			sizes(s.Axes)
		case *kernel.Store:
			scan(s.Value)
			scan(s.Index...)
			sizes(s.Axes)
		case *kernel.Fill:
			if s.Rand != nil {
				scan(s.Rand.Base, s.Rand.Example)
			} else {
				scan(s.Value)
			}
		case *kernel.Map:
			scan(s.Value)
			scan(s.At...)
			sizes(s.Axes)
		case *kernel.Reduce:
			scan(s.Axis.Size, s.Value)
		case *kernel.For:
			scan(s.Lo, s.Hi)
			scanBody(s.Body, scan)
		case *kernel.If:
			scan(s.Cond)
			scanBody(s.Then, scan)
		}
	}
}
