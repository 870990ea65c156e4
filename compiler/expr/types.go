package expr

import (
	"errors"
	"fmt"
	"strings"
)

// typeNames is indexed by Type.
var typeNames = [...]string{F32: "f32", I32: "i32", U32: "u32", Bool: "bool", BF16: "bf16", F16: "f16"}

// Narrow reports whether a type is only for elements, which conversions read and write.
func (t Type) Narrow() bool { return t == BF16 || t == F16 }

// String returns f32, i32, u32, bool, bf16 or f16.
func (t Type) String() string {
	if int(t) >= len(typeNames) {
		return fmt.Sprintf("type(%d)", uint8(t))
	}
	return typeNames[t]
}

// TypeByName is the inverse of Type.String.
func TypeByName(name string) (Type, bool) {
	for t, n := range typeNames {
		if n == name {
			return Type(t), true
		}
	}
	return 0, false
}

// set is a set of types.
type set uint8

const (
	f32     set = 1 << F32
	i32     set = 1 << I32
	u32     set = 1 << U32
	boolean set = 1 << Bool
	narrow  set = 1<<BF16 | 1<<F16
)

func (s set) has(t Type) bool { return s>>t&1 == 1 }

func (s set) String() string {
	var names []string
	for t, n := range typeNames {
		if s.has(Type(t)) {
			names = append(names, n)
		}
	}
	return strings.Join(names, ", ")
}

// A rule returns the type of an op's result, or describes the operands that the op wants.
// args has as many types as the op has operands.
type rule func(args []Type) (result Type, wants string)

// alike is the rule for operands of one type in s, which is also the result's type.
func alike(s set) rule {
	return func(args []Type) (Type, string) {
		for _, t := range args {
			if !s.has(t) || t != args[0] {
				return 0, "operands of one type out of " + s.String()
			}
		}
		return args[0], ""
	}
}

// compare is alike with a Bool result.
func compare(s set) rule {
	same := alike(s)
	return func(args []Type) (Type, string) {
		_, wants := same(args)
		return Bool, wants
	}
}

// convert is the rule for one operand in s and the result type to.
func convert(s set, to Type) rule {
	return func(args []Type) (Type, string) {
		if !s.has(args[0]) {
			return 0, "an operand of " + s.String()
		}
		return to, ""
	}
}

// shift is the rule of Shl and Shr. The amount may be I32 or U32.
func shift(args []Type) (Type, string) {
	if s := i32 | u32; !s.has(args[0]) || !s.has(args[1]) {
		return 0, "operands of " + s.String()
	}
	return args[0], ""
}

// choose is the rule of Where.
func choose(args []Type) (Type, string) {
	if args[0] != Bool || args[1] != args[2] {
		return 0, "a bool and two operands of one type"
	}
	if s := f32 | i32 | u32 | boolean; !s.has(args[1]) {
		return 0, "operands of " + s.String()
	}
	return args[1], ""
}

// infer returns the type of op applied to args.
func infer(op Op, args []*Expr) (Type, error) {
	if op <= Elem || op >= numOps {
		return 0, fmt.Errorf("%v takes no operands by itself", op)
	}
	r := &ops[op]
	if len(args) != r.arity {
		return 0, fmt.Errorf("%s wants %d operands, has %d", r.name, r.arity, len(args))
	}
	types := make([]Type, len(args))
	for i, a := range args {
		types[i] = a.Type
	}
	t, wants := r.typ(types)
	if wants != "" {
		has := strings.Join(strings.Fields(strings.Trim(fmt.Sprint(types), "[]")), ", ")
		return 0, fmt.Errorf("%s wants %s, has %s", r.name, wants, has)
	}
	return t, nil
}

// Typecheck returns an error for the first node, operands before users, that breaks its
// op's typing rule or has an invalid constant or name.
func Typecheck(e *Expr) error {
	var first error
	Walk(e, func(e *Expr) {
		if first == nil {
			first = checkNode(e)
		}
	})
	return first
}

// Expect is Typecheck, and also reports a missing expression or another type.
func Expect(e *Expr, want Type) error {
	if e == nil {
		return errors.New("there is no expression")
	}
	if err := Typecheck(e); err != nil {
		return err
	}
	if e.Type != want {
		return fmt.Errorf("%s is %s, not %s", e, e.Type, want)
	}
	return nil
}

func checkNode(e *Expr) error {
	switch e.Op {
	case Const:
		if !validConst(e) {
			return fmt.Errorf("constant %v (F %v, I %d) is out of range", e.Type, e.F, e.I)
		}
		return nil
	case Var, Elem:
		if !validName(e.Name) {
			return fmt.Errorf("%q is no valid name", e.Name)
		}
		for _, a := range e.Args {
			if e.Op == Var || a.Type != I32 {
				return fmt.Errorf("%s wants i32 indices, has %v", e.Name, a.Type)
			}
		}
		return nil
	}
	t, err := infer(e.Op, e.Args)
	if err == nil && t != e.Type {
		err = fmt.Errorf("%v has type %v, should have %v", e.Op, e.Type, t)
	}
	return err
}

func validConst(e *Expr) bool {
	switch e.Type {
	case F32:
		return e.F != e.F || e.F == float64(float32(e.F))
	case I32:
		return e.I == int64(int32(e.I))
	case U32:
		return e.I == int64(uint32(e.I))
	default:
		return e.Type == Bool && e.I>>1 == 0
	}
}

// validName reports whether Parse reads name back as a variable or element.
func validName(name string) bool {
	if name == "" || literal(name) != nil {
		return false
	}
	for i := range len(name) {
		if !identByte(name[i], i == 0) {
			return false
		}
	}
	return true
}

// identByte reports whether c may be in an identifier, or at its beginning if first.
func identByte(c byte, first bool) bool {
	switch {
	case c == '_', 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z':
		return true
	case c == '.', '0' <= c && c <= '9':
		return !first
	}
	return false
}
