package vector

import (
	"fmt"

	"github.com/arithlang/mlc/codegen/flat"
	"github.com/arithlang/mlc/compiler/kernel"
)

// A hoister moves scalar computations out of loops. It moves the part of an index that a loop
// does not change.
type hoister struct{ lets int }

// nodes returns statements without loop-invariant computations in loops.
func (h *hoister) nodes(ns []kernel.Stmt) []kernel.Stmt {
	var out []kernel.Stmt
	for _, n := range ns {
		if l, ok := n.(*kernel.For); ok {
			inv := flat.OfLoop(l, h.name)
			n = kernel.WithBody(l, kernel.RewriteAll(l.Body, inv.Expr))
			for _, l := range inv.Lets {
				out = append(out, l)
			}
		}
		if inner := kernel.Within(n); inner != nil {
			n = kernel.WithBody(n, h.nodes(inner))
		}
		out = append(out, n)
	}
	return out
}

func (h *hoister) name() string {
	h.lets++
	return fmt.Sprintf("before.%d", h.lets)
}
