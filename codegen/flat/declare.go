package flat

import (
	"slices"

	"github.com/arithlang/mlc/compiler/expr"
)

// declare moves the variables that stand for tiles of rank 0 to where their first
// value is set, into inner bodies where nothing outside needs them.
func declare(body []Node) []Node {
	var out []Node
	for i, n := range body {
		a, ok := n.(*Alloc)
		if !ok || a.Size != nil || !place(a, body[i+1:]) {
			out = append(out, n)
		}
	}
	return out
}

// place puts a variable into the nodes after its alloc, and says whether it could.
func place(a *Alloc, rest []Node) bool {
	first := slices.IndexFunc(rest, func(n Node) bool { return Mentions(n, a.Name) })
	if first < 0 {
		return true
	}
	if v := initial(rest[first], a.Name); v != nil {
		rest[first] = &Alloc{Name: a.Name, Type: a.Type, Value: v}
		return true
	}
	body := Within(rest[first])
	if len(body) == 0 || readsVar(rest[first], a.Name) {
		return false
	}
	later := slices.ContainsFunc(rest[first+1:], func(n Node) bool { return Mentions(n, a.Name) })
	return !later && place(a, body)
}

// initial returns the value that a node sets a variable to, nil if it does not or
// uses the variable's old value.
func initial(n Node, name string) *expr.Expr {
	var v *expr.Expr
	switch n := n.(type) {
	case *Fill:
		if n.Dst == name {
			v = n.Value
		}
	case *Assign:
		if n.Dst.Op == expr.Var && n.Dst.Name == name {
			v = n.Value
		}
	}
	if v == nil || Depends(v, name) {
		return nil
	}
	return v
}

// Mentions says whether a node, or one in its body, reads or writes a variable.
func Mentions(n Node, name string) bool {
	if initial(n, name) != nil || readsVar(n, name) {
		return true
	}
	if d, ok := n.(*Dot); ok && d.C.Slice == name {
		return true
	}
	return slices.ContainsFunc(Within(n), func(n Node) bool { return Mentions(n, name) })
}

// readsVar says whether a node, apart from its body, reads a variable.
func readsVar(n Node, name string) bool {
	return slices.ContainsFunc(Reads(n), func(e *expr.Expr) bool { return Depends(e, name) })
}
