package kernel

import (
	"fmt"
	"strings"

	"github.com/arithlang/mlc/compiler/expr"
	"github.com/arithlang/mlc/compiler/kernel/lines"
	"github.com/arithlang/mlc/compiler/kernel/memory"
)

var modeNames = [...]string{In: "in", Out: "out", InOut: "inout", Scalar: "scalar"}

// Format returns the text of kernels, which Parse reads back exactly.
func Format(ks []*Kernel) string {
	texts := make([]string, len(ks))
	for i, k := range ks {
		texts[i] = k.String()
	}
	return strings.Join(texts, "\n")
}

// String returns the text of a kernel. Axes are spelt out only where they differ
// from what the subscripts imply (see impliedAxes).
func (k *Kernel) String() string {
	p := &printer{k: k}
	p.WriteString(k.Header("kernel"))
	p.WriteByte('\n')
	p.body(k.Body, 1)
	p.WriteString("end\n")
	return p.String()
}

// printer builds the text of one kernel.
type printer struct {
	strings.Builder
	k *Kernel
}

// Header is the first line of a kernel, which begins with keyword, and what it
// declares, with its operation.
func (k *Kernel) Header(keyword string) string {
	var p strings.Builder
	fmt.Fprintf(&p, "%s %s %s%s\n", keyword, k.Name, k.Op.Kind, lines.Pos(k.Pos))
	width := 0
	for _, b := range k.Params {
		if b.Mode != Scalar {
			width = max(width, len(b.Name))
		}
	}
	for _, t := range k.Tiles {
		width = max(width, len(t.Name))
	}
	declare := func(keyword, name string, t expr.Type, shape []*expr.Expr) {
		p.WriteString(lines.Format(1, keyword, fmt.Sprintf("%-*s %s", width, name, element(t.String(), shape))))
	}
	var scalars []string
	for _, b := range k.Params {
		if b.Mode == Scalar {
			scalars = append(scalars, b.Name)
		} else {
			declare(modeNames[b.Mode], b.Name, b.Type, b.Shape)
		}
	}
	if len(scalars) > 0 {
		p.WriteString(lines.Format(1, modeNames[Scalar], strings.Join(scalars, ", ")))
	}
	if len(k.Grid) > 0 {
		p.WriteString(lines.Format(1, "grid", AxesText(k.Grid)))
	}
	p.WriteString(operationText(&k.Op))
	for _, t := range k.Tiles {
		declare("tile", t.Name, t.Type, t.Shape)
	}
	return p.String()
}

func (p *printer) body(body []Stmt, depth int) {
	for _, s := range body {
		keyword, rest := p.k.stmtText(s)
		p.WriteString(lines.Format(depth, keyword, rest))
		if inner := inner(s); inner != nil {
			p.body(*inner, depth+1)
			p.WriteString(lines.End(depth))
		}
	}
}

// inner returns the body that a statement holds, nil if it holds none.
func inner(s Stmt) *[]Stmt {
	switch s := s.(type) {
	case *For:
		return &s.Body
	case *If:
		return &s.Then
	}
	return nil
}

// describe returns a statement's text on one line, without the body it holds.
func (k *Kernel) describe(s Stmt) string {
	keyword, rest := k.stmtText(s)
	return keyword + " " + rest
}

// stmtText returns a statement's keyword and the rest of its line.
func (k *Kernel) stmtText(s Stmt) (keyword, rest string) {
	switch s := s.(type) {
	case *Let:
		return "let", s.Name + " = " + lines.Expr(s.Value)
	case *Load:
		return "load", element(s.Dst, axisVars(s.Axes)) + " = " + element(s.Buf, s.Index) + k.axisClause(s, s.Axes)
	case *Store:
		return "store", element(s.Buf, s.Index) + " = " + lines.Expr(s.Value) + k.axisClause(s, s.Axes)
	case *Fill:
		if r := s.Rand; r != nil {
			return "fill", fmt.Sprintf("%s = random %d of %s from %s", s.Dst, r.Stream, lines.Expr(r.Example), lines.Expr(r.Base))
		}
		return "fill", s.Dst + " = " + lines.Expr(s.Value)
	case *Map:
		return "map", element(s.Dst, s.At) + " = " + lines.Expr(s.Value) + k.axisClause(s, s.Axes)
	case *Dot:
		a := s.A
		if s.TransA {
			a += "'"
		}
		return "dot", s.Dst + " += " + a + " * " + s.B
	case *Reduce:
		return "reduce", s.Name + " = " + memory.FindReduction(s.Op).String() + "(" + lines.Expr(s.Value) + ")" + k.axisClause(s, []Axis{s.Axis})
	case *For:
		return "for", s.Var + " = " + lines.Expr(s.Lo) + " until " + lines.Expr(s.Hi)
	case *If:
		return "if", lines.Expr(s.Cond)
	}
	panic(fmt.Sprintf("BUG: unknown statement %T", s))
}

// axisClause spells out a statement's axes if its subscripts do not imply them.
func (k *Kernel) axisClause(s Stmt, axes []Axis) string {
	own := map[string]bool{}
	for _, a := range axes {
		own[a.Var] = true
	}
	implied := k.impliedAxes(s, func(name string) bool { return own[name] })
	if equalAxes(implied, axes) {
		return ""
	}
	return " for " + AxesText(axes)
}

func equalAxes(a, b []Axis) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i].Var != b[i].Var || a[i].Size == nil || b[i].Size == nil || !expr.Equal(a[i].Size, b[i].Size) {
			return false
		}
	}
	return true
}

// AxesText is axes with their sizes: i < 4, j < n.
func AxesText(axes []Axis) string {
	texts := make([]string, len(axes))
	for i, a := range axes {
		texts[i] = a.Var + " < " + lines.Expr(a.Size)
	}
	return strings.Join(texts, ", ")
}

func axisVars(axes []Axis) []*expr.Expr {
	vars := make([]*expr.Expr, len(axes))
	for i, a := range axes {
		vars[i] = &expr.Expr{Op: expr.Var, Type: expr.I32, Name: a.Var}
	}
	return vars
}

func element(name string, index []*expr.Expr) string { return name + "[" + lines.Exprs(index) + "]" }
