package flat

import (
	"maps"
	"slices"

	"github.com/arithlang/mlc/compiler/expr"
)

// prune drops what nothing reads: lets, tiles and the statements that write
// them, and then empty bodies; outputs are the buffers that count as read. Go
// refuses unused variables, and reading in place leaves some behind.
func prune(r Kernel, outputs map[string]bool) Kernel {
	for {
		live := maps.Clone(outputs)
		collect(r.Pre, live)
		collect(r.Body, live)
		pre, n := sweep(r.Pre, r.Body, live)
		body, m := sweep(r.Body, nil, live)
		r = Kernel{r.Head, pre, body}
		if n+m == 0 {
			return r
		}
	}
}

// collect marks the names that nodes read.
func collect(nodes []Node, live map[string]bool) {
	for _, n := range nodes {
		for _, e := range Reads(n) {
			expr.Walk(e, func(e *expr.Expr) {
				if e.Op == expr.Var || e.Op == expr.Elem {
					live[e.Name] = true
				}
			})
		}
		if d, ok := n.(*Dot); ok {
			live[d.A.Slice], live[d.B.Slice] = true, true
		}
		collect(Within(n), live)
	}
}

// sweep returns the nodes without the dead ones, and how many it dropped. Behind
// them come further nodes that see their names.
func sweep(nodes, behind []Node, live map[string]bool) ([]Node, int) {
	var out []Node
	dropped := 0
	for i, n := range nodes {
		switch n := n.(type) {
		case *Loop:
			body, d := sweep(n.Body, nil, live)
			n.Body, dropped = body, dropped+d
			maps.DeleteFunc(n.Own, func(tile string, _ bool) bool { return !live[tile] })
		case *Branch:
			body, d := sweep(n.Body, nil, live)
			n.Body, dropped = body, dropped+d
		}
		if name := boundBy(n); name != "" && !reads(name, nodes[i+1:], behind) || dead(n, live) {
			dropped++
			continue
		}
		out = append(out, n)
	}
	return out, dropped
}

// boundBy is the name that a node gives to the nodes after it in the same body. Other
// bodies may use it again for something else.
func boundBy(n Node) string {
	switch n := n.(type) {
	case *Let:
		return n.Name
	case *Reduce:
		return n.Name
	}
	return ""
}

// reads says whether any of the nodes reads a name.
func reads(name string, bodies ...[]Node) bool {
	live := map[string]bool{}
	for _, b := range bodies {
		collect(b, live)
	}
	return live[name]
}

func dead(n Node, live map[string]bool) bool {
	switch n := n.(type) {
	case *Alloc:
		return !live[n.Name]
	case *Assign:
		return !live[n.Dst.Name]
	case *Fill:
		return !live[n.Dst]
	case *Random:
		return !live[n.Dst]
	case *Dot:
		return !live[n.C.Slice]
	case *Loop:
		return len(n.Body) == 0
	case *Branch:
		return len(n.Body) == 0
	}
	return false
}

// Reads returns the expressions that a node evaluates, those of its body left
// out. What an assignment writes counts only by its index.
func Reads(n Node) []*expr.Expr {
	switch n := n.(type) {
	case *Let:
		return []*expr.Expr{n.Value}
	case *Alloc:
		return present(n.Size, n.Value)
	case *Assign:
		return append(append(sizes(n.Axes), n.Dst.Args...), n.Value)
	case *Fill:
		return present(n.Size, n.Value)
	case *Random:
		return []*expr.Expr{n.Size, n.Base, n.Example}
	case *Dot:
		out := []*expr.Expr{n.K}
		if n.M != nil {
			out = append(out, n.M, n.N)
		}
		for _, o := range []Operand{n.A, n.B, n.C} {
			out = append(out, o.Off, o.RS, o.CS)
		}
		return out
	case *Reduce:
		return []*expr.Expr{n.Axis.Size, n.Value}
	case *Loop:
		return []*expr.Expr{n.Lo, n.Hi}
	case *Branch:
		return []*expr.Expr{n.Cond}
	}
	return nil
}

// present drops the expressions that are nil.
func present(es ...*expr.Expr) []*expr.Expr {
	return slices.DeleteFunc(es, func(e *expr.Expr) bool { return e == nil })
}

// Within returns the body of a node that has one.
func Within(n Node) []Node {
	switch n := n.(type) {
	case *Loop:
		return n.Body
	case *Branch:
		return n.Body
	}
	return nil
}

// Uses says whether a node, or one in its body, reads or writes a slice.
func Uses(n Node, slice string) bool {
	switch n := n.(type) {
	case *Assign:
		if n.Dst.Name == slice {
			return true
		}
	case *Fill:
		if n.Dst == slice {
			return true
		}
	case *Random:
		if n.Dst == slice {
			return true
		}
	case *Dot:
		if n.A.Slice == slice || n.B.Slice == slice || n.C.Slice == slice {
			return true
		}
	}
	for _, e := range expr.Elems(Reads(n)...) {
		if e.Name == slice {
			return true
		}
	}
	return slices.ContainsFunc(Within(n), func(n Node) bool { return Uses(n, slice) })
}
