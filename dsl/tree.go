// Package dsl is the surface of the spec language: grammar, syntax tree, printer, and the
// schema with the meaning of each block and attribute. It knows no rules beyond syntax.
// It imports package diag. Package check turns trees into a typed spec by the schema.
package dsl

import "github.com/arithlang/mlc/dsl/diag"

// A File is one parsed source file.
type File struct {
	Name    string
	Entries []*Entry
}

// An Entry is an include, an attribute or a block: exactly one of Include, Value
// and Block is set.
type Entry struct {
	Range   diag.Range
	Path    []Ident // of an attribute or block
	Include *Include
	Value   *Expr
	Block   *Block
}

// An Ident is a name and its place.
type Ident struct {
	Name  string
	Range diag.Range
}

// An Include merges another file, changed by its body.
type Include struct {
	File *Expr // a String
	Body []*Entry
}

// A Block is a body in braces with an optional label: the kind of a task, or the name of
// a bias or stage.
type Block struct {
	Label   *Ident
	Entries []*Entry
}

// Kind is the form of an expression.
type Kind uint8

// The forms of expression.
const (
	Number Kind = iota // Text is the digits, Unit what follows them
	String             // Text is the value
	Name               // Text is the dotted path
	Call               // Text is the dotted path, Args the arguments
	List               // Args
	Unary              // Text is the operator, Args[0] the operand
	Binary             // Text is the operator (".." for a range), Args[0] and Args[1]
	Index              // Args[0] is indexed by Args[1:]
)

// An Expr is a node of an expression.
type Expr struct {
	Kind  Kind
	Range diag.Range
	Text  string
	Unit  string
	Head  diag.Range // Number: the unit; Call: the name; otherwise Range
	Args  []Arg
}

// An Arg is an operand or an argument, which may be named.
type Arg struct {
	Name  *Ident
	Value *Expr
}

// Arg returns operand n.
func (e *Expr) Arg(n int) *Expr { return e.Args[n].Value }

// Rewrite replaces every node of e by f of it, operands first. f returns its argument to
// keep a node. Rewrite returns e itself if nothing changes.
func Rewrite(e *Expr, f func(*Expr) *Expr) *Expr {
	var args []Arg
	for i, a := range e.Args {
		v := Rewrite(a.Value, f)
		if v == a.Value {
			continue
		}
		if args == nil {
			args = append(args, e.Args...)
		}
		args[i].Value = v
	}
	if args != nil {
		c := *e
		c.Args = args
		e = &c
	}
	return f(e)
}
