package ir

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/scalars"
	"github.com/arithlang/mlc/runtime/abi"
)

// N returns a constant extent.
func N(n int) Dim { return Dim{N: n} }

// Sym returns an extent that is known only at launch: B, T, S, C or N.
func Sym(name string) Dim { return Dim{Sym: name} }

// Segment is the number of adjacent arena elements that are summed first. The segments'
// sums are then added.
const Segment = 1024

// Segments returns the number of segments in N elements. The last one may be shorter.
func Segments() Dim { return Dim{Sym: "N", N: Segment} }

// Distances returns the extent L = C + S of a line (LineIndex).
func Distances() Dim { return Dim{Sym: distances} }

const distances = "L"

// T returns the type of an F32 tensor.
func T(dims ...Dim) Type { return Type{Elem: expr.F32, Shape: dims} }

// Rounded returns the type of a BF16 tensor.
func Rounded(dims ...Dim) Type { return Type{Elem: expr.BF16, Shape: dims} }

// Ints returns the type of an I32 tensor.
func Ints(dims ...Dim) Type { return Type{Elem: expr.I32, Shape: dims} }

// X returns element k of a Map's arguments, of type t.
func X(k int, t expr.Type) *expr.Expr { return expr.NewVar("x"+strconv.Itoa(k), t) }

// D returns index k of a Map's result.
func D(k int) *expr.Expr { return expr.NewVar("d"+strconv.Itoa(k), expr.I32) }

func (d Dim) String() string {
	switch {
	case d.Sym != "" && d.N > 0:
		return fmt.Sprintf("%s/%d", d.Sym, d.N)
	case d.Sym != "":
		return d.Sym
	}
	return strconv.Itoa(d.N)
}

// Size returns the extent for one launch. It returns an error if dims lacks its symbol.
func (d Dim) Size(dims map[string]int) (int, error) {
	if d.Sym == "" {
		return d.N, nil
	}
	if d.Sym == distances {
		rows, err := Sym("C").Size(dims)
		keys, bad := Sym("S").Size(dims)
		return rows + keys, cmp.Or(err, bad)
	}
	n, ok := dims[d.Sym]
	if !ok {
		return 0, fmt.Errorf("size %s is not set", d.Sym)
	}
	if d.N > 0 {
		return (n + d.N - 1) / d.N, nil
	}
	return n, nil
}

// Expr returns the extent as an expression over launch variables.
func (d Dim) Expr() *expr.Expr {
	if d.Sym == "" {
		return expr.Int(int64(d.N))
	}
	if d.Sym == distances {
		return bin(expr.Add, Sym("C").Expr(), Sym("S").Expr())
	}
	n := expr.NewVar(d.Sym, expr.I32)
	if d.N > 0 {
		return expr.Simplify(expr.New(expr.Div, expr.New(expr.Add, n, expr.Int(int64(d.N-1))), expr.Int(int64(d.N))))
	}
	return n
}

// Rank returns the number of axes.
func (t Type) Rank() int { return len(t.Shape) }

// Equal reports whether two types are the same.
func (t Type) Equal(u Type) bool {
	return t.Elem == u.Elem && slices.Equal(t.Shape, u.Shape)
}

// Real reports whether a tensor holds real numbers: F32 or BF16.
func (t Type) Real() bool { return t.Elem == expr.F32 || t.Elem == expr.BF16 }

func (t Type) String() string { return t.Elem.String() + shapeString(t.Shape) }

func shapeString(shape []Dim) string {
	parts := make([]string, len(shape))
	for i, d := range shape {
		parts[i] = d.String()
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

// A count is a number of elements: a constant times symbols, in order.
type count struct {
	n    int
	syms string
}

func countOf(shape []Dim) count {
	c := count{n: 1}
	var syms []string
	for _, d := range shape {
		if d.Sym != "" {
			syms = append(syms, d.String())
		} else {
			c.n *= d.N
		}
	}
	slices.Sort(syms)
	c.syms = strings.Join(syms, " ")
	return c
}

// launchVar returns the type of a launch scalar that a Map may use.
func launchVar(name string) (expr.Type, bool) {
	s, ok := scalars.Find(name)
	return map[abi.Type]expr.Type{abi.I32: expr.I32, abi.U32: expr.U32, abi.F32: expr.F32}[s.Type], ok && !s.Hidden
}

// mapVar returns the type of a variable in the expression of a Map, with the given args
// and rank of the result.
func mapVar(name string, args []*Value, rank int) (expr.Type, bool) {
	if t, ok := launchVar(name); ok {
		return t, true
	}
	if k, ok := numbered(name, "x"); ok && k < len(args) {
		return args[k].Type.Elem, true
	}
	if k, ok := numbered(name, "d"); ok && k < rank {
		return expr.I32, true
	}
	return 0, false
}

// numbered splits "x12" into the prefix x and 12.
func numbered(name, prefix string) (int, bool) {
	digits, ok := strings.CutPrefix(name, prefix)
	if !ok || len(digits) > 4 || len(digits) > 1 && digits[0] == '0' {
		return 0, false
	}
	k, err := strconv.Atoi(digits)
	return k, err == nil && k >= 0 && digits[0] != '+'
}
