package flat

import (
	"slices"

	"github.com/arithlang/mlc/compiler/kernel"
)

// declare moves variables to where their first value is set, into inner bodies where
// nothing outside needs them.
func declare(k *kernel.Kernel) *kernel.Kernel { return withBody(k, declared(k.Body)) }

func declared(body []kernel.Stmt) []kernel.Stmt {
	var out []kernel.Stmt
	for len(body) > 0 {
		s, rest := body[0], body[1:]
		body = rest
		if v, ok := s.(*kernel.Var); ok && v.Value == nil {
			if moved, ok := place(v, rest); ok {
				body = moved
				continue
			}
		}
		out = append(out, within(s, declared))
	}
	return out
}

// place returns the statements after a variable with its declaration in them, and reports
// success.
func place(v *kernel.Var, rest []kernel.Stmt) ([]kernel.Stmt, bool) {
	first := slices.IndexFunc(rest, func(s kernel.Stmt) bool { return kernel.Uses(s, v.Name) })
	if first < 0 {
		return rest, true
	}
	out := slices.Clone(rest)
	if s, ok := rest[first].(*kernel.Set); ok && s.Dst.Name == v.Name && !reads(s, v.Name) {
		out[first] = &kernel.Var{Name: v.Name, Type: v.Type, Value: s.Value}
		return out, true
	}
	inner := kernel.Within(rest[first])
	later := slices.ContainsFunc(rest[first+1:], func(s kernel.Stmt) bool { return kernel.Uses(s, v.Name) })
	if inner == nil || later || reads(rest[first], v.Name) {
		return nil, false
	}
	inner, ok := place(v, inner)
	out[first] = kernel.WithBody(rest[first], inner)
	return out, ok
}
