package flat

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/kernel"
	"github.com/arithlang/mlc/compiler/kernel/lines"
	"github.com/arithlang/mlc/compiler/kernel/memory"
)

// Format returns the text of kernels, which Parse reads back exactly.
func Format(ks []Kernel) string {
	texts := make([]string, len(ks))
	for i, k := range ks {
		texts[i] = k.String()
	}
	return strings.Join(texts, "\n")
}

// String returns the text of a kernel; see the package comment.
func (k Kernel) String() string {
	var p strings.Builder
	p.WriteString(k.Head.Header("flat"))
	p.WriteByte('\n')
	write(&p, k.Pre, 1)
	p.WriteString("cells\n")
	write(&p, k.Body, 1)
	p.WriteString(lines.End(0))
	return p.String()
}

func write(p *strings.Builder, nodes []Node, depth int) {
	for _, n := range nodes {
		keyword, rest := nodeText(n)
		p.WriteString(lines.Format(depth, keyword, rest))
		if holds(n) {
			write(p, Within(n), depth+1)
			p.WriteString(lines.End(depth))
		}
	}
}

// holds says whether a node has a body, if an empty one.
func holds(n Node) bool {
	switch n.(type) {
	case *Loop, *Branch:
		return true
	}
	return false
}

// Describe returns a node's text on one line, without the body it holds.
func Describe(n Node) string {
	keyword, rest := nodeText(n)
	return keyword + " " + rest
}

// nodeText returns a node's keyword and the rest of its line.
func nodeText(n Node) (keyword, rest string) {
	switch n := n.(type) {
	case *Let:
		return "let", n.Name + " = " + lines.Expr(n.Value)
	case *Alloc:
		return n.text()
	case *Assign:
		return "set", lines.Expr(n.Dst) + " = " + lines.Expr(n.Value) + axesClause(n.Axes)
	case *Fill:
		return "fill", sized(n.Dst, n.Size) + " = " + lines.Expr(n.Value)
	case *Random:
		return "random", fmt.Sprintf("%s = %d of %s from %s", sized(n.Dst, n.Size), n.Stream, lines.Expr(n.Example), lines.Expr(n.Base))
	case *Dot:
		return "dot", n.text()
	case *Reduce:
		return "reduce", fmt.Sprintf("%s = %v(%s)%s", n.Name, memory.FindReduction(n.Op), lines.Expr(n.Value), axesClause([]kernel.Axis{n.Axis}))
	case *Loop:
		return "for", n.Name + " = " + lines.Expr(n.Lo) + " until " + lines.Expr(n.Hi) + n.clause()
	case *Branch:
		return "if", lines.Expr(n.Cond)
	}
	panic(fmt.Sprintf("BUG: unknown node %T", n))
}

func (n *Alloc) text() (keyword, rest string) {
	if n.Size != nil {
		return "tile", fmt.Sprintf("%s %v[%s]", n.Name, n.Type, lines.Expr(n.Size))
	}
	rest = fmt.Sprintf("%s %v", n.Name, n.Type)
	if n.Value != nil {
		rest += " = " + lines.Expr(n.Value)
	}
	return "var", rest
}

func (n *Dot) text() string {
	c, sizes, op := n.C.text(), []*expr.Expr{n.M, n.N, n.K}, "+="
	if n.M == nil {
		c, sizes = n.C.Slice, sizes[2:]
	}
	if n.Zero {
		op = "="
	}
	clause := " for " + lines.Exprs(sizes)
	if n.MostM != 0 || n.MostN != 0 {
		clause += fmt.Sprintf("; most %d, %d", n.MostM, n.MostN)
	}
	return fmt.Sprintf("%s %s %s * %s%s", c, op, n.A.text(), n.B.text(), clause)
}

func (o Operand) text() string {
	return fmt.Sprintf("%s[%s; %s, %s]", o.Slice, lines.Expr(o.Off), lines.Expr(o.RS), lines.Expr(o.CS))
}

// clause says that the turns of a loop are apart, and what each has for itself.
func (n *Loop) clause() string {
	switch {
	case !n.Apart:
		return ""
	case len(n.Own) == 0:
		return "; apart"
	}
	return "; apart with " + strings.Join(slices.Sorted(maps.Keys(n.Own)), ", ")
}

// sized is a tile with the number of its elements, or a variable.
func sized(name string, size *expr.Expr) string {
	if size == nil {
		return name
	}
	return name + "[" + lines.Expr(size) + "]"
}

func axesClause(axes []kernel.Axis) string {
	if len(axes) == 0 {
		return ""
	}
	return " for " + kernel.AxesText(axes)
}
