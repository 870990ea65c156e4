package ir

import (
	"fmt"
	"slices"

	"github.com/arithlang/mlc/compiler/expr"
)

// A scope has the names that an expression may use.
type scope struct {
	vars  func(name string) (expr.Type, bool) // a variable's type
	elems func(name string) (Type, bool)      // the tensor that an element belongs to
}

// typeOf returns the type of a variable or an element, for the parser.
func (s scope) typeOf(name string) (expr.Type, bool) {
	if t, ok := s.vars(name); ok {
		return t, true
	}
	t, ok := s.elems(name)
	return t.Elem, ok
}

// mapScope returns the scope of a Map's expression. Without indices, x0, x1, … are the
// elements broadcast to the result. With indices they are any element of the argument.
func mapScope(args []*Value, rank int) scope {
	return scope{
		vars: func(name string) (expr.Type, bool) { return mapVar(name, args, rank) },
		elems: func(name string) (Type, bool) {
			k, ok := numbered(name, "x")
			if !ok || k >= len(args) {
				return Type{}, false
			}
			return args[k].Type, true
		},
	}
}

// attnVars are the variables of masks and biases. The layer is the launch's, as in a Map.
var attnVars = []string{"h", "i", "j", "H", "I", "J", "layer"}

// attnScope returns the scope of masks and biases.
func attnScope(names []string, params []*Value) scope {
	return scope{
		vars: func(name string) (expr.Type, bool) { return expr.I32, slices.Contains(attnVars, name) },
		elems: func(name string) (Type, bool) {
			k := slices.Index(names, name)
			if k < 0 {
				return Type{}, false
			}
			t := params[k].Type
			if ofExamples(t) {
				t.Shape = t.Shape[1:]
			}
			return t, true
		},
	}
}

// checkExpr checks types, and that all names are in scope.
func checkExpr(e *expr.Expr, s scope) error {
	if err := expr.Typecheck(e); err != nil {
		return err
	}
	for _, v := range expr.Vars(e) {
		if t, ok := s.vars(v.Name); !ok || t != v.Type {
			return fmt.Errorf("variable %s is not known, or of another type", v.Name)
		}
	}
	for _, v := range expr.Elems(e) {
		t, ok := s.elems(v.Name)
		if !ok || t.Elem != v.Type {
			return fmt.Errorf("tensor %s is not known, or of another type", v.Name)
		}
		if len(v.Args) != t.Rank() {
			return fmt.Errorf("%s has %d indices for rank %d", v.Name, len(v.Args), t.Rank())
		}
	}
	return nil
}

// isName reports whether s is a valid name in the text form.
func isName(s string) bool {
	for i, r := range s {
		letter := r == '_' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
		if !letter && (i == 0 || r != '.' && (r < '0' || r > '9')) {
			return false
		}
	}
	return s != ""
}
