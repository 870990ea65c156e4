package expr

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"
)

// An Interner keeps one node for structurally equal expressions.
type Interner struct {
	nodes []*Expr         // in order of creation
	of    map[shape]*Expr // nodes by shape, if there are more than few
	memo  memo[interned]  // by any node seen so far
}

// An interned is a node and its number, in order of creation.
type interned struct {
	node   *Expr
	number uint32
}

// A shape is a node, with its operands as numbers.
type shape struct {
	bits uint64
	args [3]uint32
	op   Op
	typ  Type
	n    uint16 // of operands
	name string
	more string // the operands after the third
}

// NewInterner returns an empty Interner.
func NewInterner() *Interner { return &Interner{} }

// Intern returns the node that is structurally equal to e. Its operands are interned, too.
func (in *Interner) Intern(e *Expr) *Expr {
	if c, ok := in.memo.get(e); ok {
		return c.node
	}
	c := in.node(mapArgs(e, in.Intern))
	if c != e {
		is, _ := in.memo.get(c)
		in.memo.put(e, is)
	}
	return c
}

// node is Intern for a node whose operands are interned.
func (in *Interner) node(e *Expr) *Expr {
	if len(in.nodes) <= few {
		h := head(e)
		for _, c := range in.nodes {
			if c.Op == e.Op && head(c) == h && slices.Equal(c.Args, e.Args) {
				return c
			}
		}
	} else {
		if in.of == nil {
			in.of = map[shape]*Expr{}
			for _, c := range in.nodes {
				in.of[in.shape(c)] = c
			}
		}
		s := in.shape(e)
		if c, ok := in.of[s]; ok {
			return c
		}
		in.of[s] = e
	}
	in.memo.put(e, interned{e, uint32(len(in.nodes))})
	in.nodes = append(in.nodes, e)
	return e
}

// number returns the number of an interned node.
func (in *Interner) number(e *Expr) uint32 {
	c, _ := in.memo.get(e)
	return c.number
}

// head returns the shape of a node without operands.
func head(e *Expr) shape {
	s := shape{op: e.Op, typ: e.Type, name: e.Name, bits: uint64(e.I)}
	if e.Type == F32 {
		s.bits = math.Float64bits(e.F)
	}
	return s
}

func (in *Interner) shape(e *Expr) shape {
	s := head(e)
	s.n = uint16(len(e.Args))
	var more []byte
	for i, a := range e.Args {
		if n := in.number(a); i < len(s.args) {
			s.args[i] = n
		} else {
			more = binary.LittleEndian.AppendUint32(more, n)
		}
	}
	s.more = string(more)
	return s
}

// Equal reports whether a and b are structurally equal, regardless of sharing. It marks
// visited nodes only in large expressions, because most are small.
func Equal(a, b *Expr) bool {
	left := 64
	if same := equal(a, b, &left); !same || left >= 0 {
		return same
	}
	in := NewInterner()
	return in.Intern(a) == in.Intern(b)
}

// equal compares up to left nodes and treats the rest as equal.
func equal(a, b *Expr, left *int) bool {
	if *left--; a == b || *left < 0 {
		return true
	}
	if head(a) != head(b) || len(a.Args) != len(b.Args) {
		return false
	}
	for i := range a.Args {
		if !equal(a.Args[i], b.Args[i], left) {
			return false
		}
	}
	return true
}

// Key returns a string that is equal exactly for structurally equal expressions. Its
// length is linear in the number of distinct subexpressions.
func Key(e *Expr) string {
	in := NewInterner()
	var b strings.Builder
	Walk(in.Intern(e), func(e *Expr) {
		s := in.shape(e)
		fmt.Fprintf(&b, "%d %d %x %s", s.op, s.typ, s.bits, s.name)
		for _, a := range e.Args {
			fmt.Fprintf(&b, " %d", in.number(a))
		}
		b.WriteByte('\n')
	})
	return b.String()
}

// A Binding names a subexpression.
type Binding struct {
	Name  string
	Value *Expr
}

// Share names the subexpressions that printing es as trees would compute more than once, except constants and
// variables. Each of lets may use earlier ones, and rest is es over all of them. The n-th is called name(n).
func Share(es []*Expr, name func(n int) string) (lets []Binding, rest []*Expr) {
	in := NewInterner()
	roots := make([]*Expr, len(es))
	for i, e := range es {
		roots[i] = in.Intern(e)
	}
	uses := Uses(roots...)
	done := map[*Expr]*Expr{}
	var place func(e *Expr) *Expr
	place = func(e *Expr) *Expr {
		if r, ok := done[e]; ok {
			return r
		}
		r := mapArgs(e, place)
		if uses[e] > 1 && e.Op != Const && e.Op != Var {
			lets = append(lets, Binding{name(len(lets)), r})
			r = NewVar(lets[len(lets)-1].Name, e.Type)
		}
		done[e] = r
		return r
	}
	for _, e := range roots {
		rest = append(rest, place(e))
	}
	return lets, rest
}
