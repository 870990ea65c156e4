package kernel

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/arithlang/mlc/compiler/expr"
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

// String returns the text of a kernel. Axes are spelt out only where they differ from the implied
// ones (see impliedAxes).
func (k *Kernel) String() string {
	p := &printer{k: k, shapes: k.shapes()}
	p.header()
	p.WriteByte('\n')
	if len(k.Once) > 0 {
		p.WriteString("  once\n")
		p.body(k.Once, 2)
	}
	p.body(k.Body, 1)
	return p.String()
}

// printer builds the text of one kernel.
type printer struct {
	strings.Builder
	k      *Kernel
	shapes shapes
}

// header prints the first line of a kernel and its declarations.
func (p *printer) header() {
	k := p.k
	fmt.Fprintf(p, "kernel %s %s", k.Name, k.Kind)
	if k.Pos.IsValid() {
		fmt.Fprintf(p, " // %s", k.Pos)
	}
	p.WriteByte('\n')
	width := 0
	for _, b := range k.Params {
		if b.Mode != Scalar {
			width = max(width, len(b.Name))
		}
	}
	var scalars []string
	for _, b := range k.Params {
		if b.Mode == Scalar {
			text := b.Name
			if most, bounded := k.Most[b.Name]; bounded {
				text += fmt.Sprintf(" <= %d", most)
			}
			scalars = append(scalars, text)
		} else {
			p.line(1, modeNames[b.Mode], fmt.Sprintf("%-*s %s", width, b.Name, element(b.Type.String(), b.Shape)))
		}
	}
	if len(scalars) > 0 {
		p.line(1, modeNames[Scalar], strings.Join(scalars, ", "))
	}
	if len(k.Grid) > 0 {
		p.line(1, "grid", axesText(k.Grid))
	}
	if s := k.Span; s != nil {
		p.line(1, "span", s.First+", "+s.Height+" of "+exprText(s.Rows))
	}
}

// line prints a keyword, padded for alignment, and the rest.
func (p *printer) line(depth int, keyword, rest string) {
	fmt.Fprintf(p, "%s%-6s %s\n", strings.Repeat("  ", depth), keyword, rest)
}

// body prints the statements of a body and the line that ends it.
func (p *printer) body(body []Stmt, depth int) {
	for _, s := range body {
		keyword, rest := p.stmt(s)
		p.line(depth, keyword, rest)
		switch s.(type) {
		case *For, *If:
			p.body(Within(s), depth+1)
		}
	}
	p.WriteString(strings.Repeat("  ", depth-1) + "end\n")
}

// Describe returns a statement's text on one line, without its body.
func (k *Kernel) Describe(s Stmt) string {
	p := &printer{k: k, shapes: k.shapes()}
	keyword, rest := p.stmt(s)
	return keyword + " " + rest
}

// stmt returns a statement's keyword and the rest of its line.
func (p *printer) stmt(s Stmt) (keyword, rest string) {
	switch s := s.(type) {
	case *Let:
		return "let", s.Name + " = " + exprText(s.Value)
	case *Tile:
		return "tile", s.Name + " " + element(s.Type.String(), s.Shape)
	case *Var:
		rest = fmt.Sprintf("%s %v", s.Name, s.Type)
		if s.Value != nil {
			rest += " = " + exprText(s.Value)
		}
		return "var", rest
	case *Set:
		return "set", exprText(s.Dst) + " = " + exprText(s.Value) + p.axes(s, s.Axes)
	case *Random:
		return "random", fmt.Sprintf("%s[%s] = %d of %s from %s", s.Dst, exprText(s.Size), s.Stream, exprText(s.Example), exprText(s.Base))
	case *Dot:
		return "dot", p.dot(s)
	case *Reduce:
		return "reduce", fmt.Sprintf("%s = %v(%s)%s", s.Name, findReduction(s.Op), exprText(s.Value), p.axes(s, []Axis{s.Axis}))
	case *For:
		return "for", s.Var + " = " + exprText(s.Lo) + " until " + exprText(s.Hi) + s.clause()
	case *If:
		return "if", exprText(s.Cond)
	}
	panic(fmt.Sprintf("BUG: unknown statement %T", s))
}

func (p *printer) dot(s *Dot) string {
	op, clauses := "+=", ""
	if s.Zero {
		op = "="
	}
	if s.MostRows != 0 || s.MostCols != 0 {
		clauses = fmt.Sprintf("; most %d, %d", s.MostRows, s.MostCols)
	}
	if s.Split {
		clauses += "; split"
	}
	return fmt.Sprintf("%s %s %s * %s%s%s", exprText(s.Dst), op, exprText(s.A), exprText(s.B), p.axes(s, s.Axes), clauses)
}

// clause returns the clause of an independent loop, with the tiles and variables of each
// iteration.
func (s *For) clause() string {
	switch {
	case !s.Independent:
		return ""
	case len(s.Own) == 0:
		return "; independent"
	}
	return "; independent with " + strings.Join(slices.Sorted(maps.Keys(s.Own)), ", ")
}

// axes spells out a statement's axes if its subscripts do not imply them.
func (p *printer) axes(s Stmt, axes []Axis) string {
	own := map[string]bool{}
	for _, a := range axes {
		own[a.Var] = true
	}
	implied := p.k.impliedAxes(p.shapes, s, func(name string) bool { return own[name] })
	if slices.EqualFunc(implied, axes, sameAxis) {
		return ""
	}
	return " for " + axesText(axes)
}

func sameAxis(a, b Axis) bool {
	return a.Var == b.Var && a.Size != nil && b.Size != nil && expr.Equal(a.Size, b.Size)
}

// axesText is axes with their sizes: i < 4, j < n.
func axesText(axes []Axis) string {
	texts := make([]string, len(axes))
	for i, a := range axes {
		texts[i] = a.Var + " < " + exprText(a.Size)
	}
	return strings.Join(texts, ", ")
}

func element(name string, index []*expr.Expr) string { return name + "[" + exprTexts(index) + "]" }

// exprText is expr.String also for the missing expressions of an invalid kernel.
func exprText(e *expr.Expr) string {
	if e == nil {
		return "?"
	}
	return e.String()
}

// exprTexts lists expressions.
func exprTexts(es []*expr.Expr) string {
	texts := make([]string, len(es))
	for i, e := range es {
		texts[i] = exprText(e)
	}
	return strings.Join(texts, ", ")
}
