package dsl

import (
	"regexp"
	"sort"
	"strconv"

	"github.com/alecthomas/participle/v2/lexer"
	"github.com/arithlang/mlc/dsl/diag"
)

// A source maps byte offsets of a file to places.
type source struct {
	name  string
	skip  int   // lines before the one with number 1
	lines []int // offset of the first byte of each line
}

func newSource(name string, text []byte) *source {
	s := &source{name: name, lines: []int{0}}
	for i, c := range text {
		if c == '\n' {
			s.lines = append(s.lines, i+1)
		}
	}
	return s
}

func (s *source) pos(offset int) diag.Pos {
	line := sort.SearchInts(s.lines, offset+1) - 1
	return diag.Pos{File: s.name, Line: line + 1 - s.skip, Col: offset - s.lines[line] + 1}
}

// offset returns the byte offset of a place.
func (s *source) offset(p diag.Pos) int { return s.lines[p.Line-1+s.skip] + p.Col - 1 }

func (s *source) span(start, end lexer.Position) diag.Range {
	return diag.Range{Start: s.pos(start.Offset), End: s.pos(end.Offset)}
}

func (s *source) token(t lexer.Token) diag.Range {
	return diag.Range{Start: s.pos(t.Pos.Offset), End: s.pos(t.Pos.Offset + len(t.Value))}
}

// A builder turns participle's tree into the syntax tree. After a syntax error that tree
// ends in the middle, and incomplete entries are left out.
type builder struct {
	*source
	partial bool
	list    diag.List
}

func (b *builder) entries(gs []*gEntry) []*Entry {
	var out []*Entry
	for _, g := range gs {
		if e := b.entry(g); e != nil {
			out = append(out, e)
		}
	}
	return out
}

func (b *builder) entry(g *gEntry) *Entry {
	if g == nil || b.partial && g.EndPos.Line == 0 && g.Block == nil {
		return nil
	}
	e := &Entry{Range: b.span(g.Pos, g.EndPos)}
	if g.Include != nil {
		e.Include = &Include{File: b.text(g.Include.File), Body: b.entries(g.Include.Body)}
		return e
	}
	for _, id := range g.Path.Idents {
		e.Path = append(e.Path, *b.ident(id))
	}
	switch {
	case g.Value != nil:
		e.Value = b.expr(g.Value)
	case g.Block != nil:
		e.Block = &Block{Label: b.ident(g.Block.Label), Entries: b.entries(g.Block.Entries)}
	}
	return e
}

func (b *builder) ident(g *gIdent) *Ident {
	if g == nil {
		return nil
	}
	return &Ident{Name: g.Name, Range: b.span(g.Pos, g.EndPos)}
}

func (b *builder) text(g *gText) *Expr {
	r := b.span(g.Pos, g.EndPos)
	value, err := strconv.Unquote(g.Text)
	if err != nil {
		b.list = append(b.list, diag.New("E0106", r, "%s has an invalid escape", g.Text).
			WithHelp(`the escapes are those of Go: \" \\ \n \t \x41 \u00e9`))
	}
	return &Expr{Kind: String, Range: r, Head: r, Text: value}
}

// binary joins two operands.
func binary(op string, l, r *Expr) *Expr {
	span := diag.Range{Start: l.Range.Start, End: r.Range.End}
	return &Expr{Kind: Binary, Text: op, Range: span, Head: span, Args: []Arg{{Value: l}, {Value: r}}}
}

func (b *builder) expr(g *gExpr) *Expr {
	e := b.and(g.First)
	for _, r := range g.Rest {
		e = binary("||", e, b.and(r))
	}
	return e
}

func (b *builder) and(g *gAnd) *Expr {
	e := b.cmp(g.First)
	for _, r := range g.Rest {
		e = binary("&&", e, b.cmp(r))
	}
	return e
}

func (b *builder) cmp(g *gCmp) *Expr {
	e := b.interval(g.Left)
	if g.Right != nil {
		e = binary(g.Op, e, b.interval(g.Right))
	}
	return e
}

func (b *builder) interval(g *gRange) *Expr {
	e := b.sum(g.Low)
	if g.High != nil {
		e = binary("..", e, b.sum(g.High))
	}
	return e
}

func (b *builder) sum(g *gSum) *Expr {
	e := b.product(g.First)
	for _, t := range g.Rest {
		e = binary(t.Op, e, b.product(t.Value))
	}
	return e
}

func (b *builder) product(g *gProduct) *Expr {
	e := b.unary(g.First)
	for _, f := range g.Rest {
		e = binary(f.Op, e, b.unary(f.Value))
	}
	return e
}

func (b *builder) unary(g *gUnary) *Expr {
	e := b.postfix(g.Value)
	if g.Op == "" {
		return e
	}
	r := diag.Range{Start: b.pos(g.Pos.Offset), End: e.Range.End}
	return &Expr{Kind: Unary, Text: g.Op, Range: r, Head: r, Args: []Arg{{Value: e}}}
}

func (b *builder) postfix(g *gPostfix) *Expr {
	e := b.primary(g.Value)
	for _, x := range g.Indices {
		r := diag.Range{Start: e.Range.Start, End: b.pos(x.EndPos.Offset)}
		args := []Arg{{Value: e}}
		for _, a := range x.Args {
			args = append(args, Arg{Value: b.expr(a)})
		}
		e = &Expr{Kind: Index, Range: r, Head: r, Args: args}
	}
	return e
}

// numberParts separates the digits of a number from its unit.
var numberParts = regexp.MustCompile(`^([0-9][0-9_]*(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?)(.*)$`)

func (b *builder) primary(g *gPrimary) *Expr {
	r := b.span(g.Pos, g.EndPos)
	e := &Expr{Range: r, Head: r}
	switch {
	case g.Number != "":
		m := numberParts.FindStringSubmatch(g.Number)
		e.Kind, e.Text, e.Unit = Number, m[1], m[2]
		if e.Unit != "" {
			e.Head.Start.Col += len(e.Text)
		}
	case g.String != nil:
		return b.text(g.String)
	case g.List != nil:
		e.Kind = List
		for _, a := range g.List.Args {
			e.Args = append(e.Args, Arg{Value: b.expr(a)})
		}
	case g.Paren != nil:
		e = b.expr(g.Paren.Value)
		e.Range = r
	default:
		b.ref(e, g.Ref)
	}
	return e
}

// ref fills in a Name or a Call.
func (b *builder) ref(e *Expr, g *gRef) {
	e.Kind = Name
	for i, id := range g.Path.Idents {
		if i > 0 {
			e.Text += "."
		}
		e.Text += id.Name
		e.Head.End = b.pos(id.EndPos.Offset)
	}
	if g.Call == nil {
		return
	}
	e.Kind = Call
	for _, a := range g.Call.Args {
		e.Args = append(e.Args, Arg{Name: b.ident(a.Name), Value: b.expr(a.Value)})
	}
}
