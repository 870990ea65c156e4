package kernel

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/arithlang/mlc/compiler/expr"
)

// operation prints the lines of an operation in a kernel's header. For example:
//
//	op     c = x * w' for r < B * T, e < 64, k < 256
//	with   v1 = c + bias[e]
//	with   y += dropout 0.1 stream 7 of v1
//
//	op     y = q, k, v, _, table for b < B, h < 4, t < T, j < S, d < 16
//	scale  0.25
//	mask   j <= i && i - j <= 1
//	window 2 from i - 1
//	drop   0.1 stream 11 by 40 rows of 41
func (p *printer) operation(o *Operation) {
	p.line(1, "op", o.text())
	if o.Scale != 0 {
		p.line(1, "scale", number(o.Scale))
	}
	if o.Mask != nil {
		p.line(1, "mask", o.Mask.String())
	}
	if o.Bias != nil {
		p.line(1, "bias", o.Bias.String())
	}
	if o.Window != (Window{}) {
		p.line(1, "window", fmt.Sprintf("%d from %s", o.Window.Width, exprText(o.Window.Lo)))
	}
	if o.Drop != (Dropout{}) {
		p.line(1, "drop", o.Drop.text())
	}
	for _, s := range o.Steps {
		p.line(1, "with", s.text())
	}
}

func number(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }

func (d Dropout) text() string {
	if d.Rate == 0 {
		return fmt.Sprintf("stream %d", d.Stream)
	}
	text := fmt.Sprintf("%s stream %d", number(d.Rate), d.Stream)
	if d.Rows > 0 {
		text += fmt.Sprintf(" by %d rows of %d", d.Rows, d.Keys)
	}
	return text
}

// text returns the line of a tensor op: results = arguments for axes.
func (o *Operation) text() string {
	var args []string
	for _, a := range o.Args {
		name := cmp.Or(a.Name, "_")
		if a.Trans {
			name += "'"
		}
		args = append(args, name)
	}
	text := strings.Join(args, o.between())
	if len(o.Results) > 0 {
		text = assigned(text, o.Results...) + " "
	}
	return text + "for " + axesText(o.Axes)
}

// assigned returns results = text. A result that is added to ends in a plus.
func assigned(text string, results ...Result) string {
	var names []string
	for _, r := range results {
		name := cmp.Or(r.Name, "_")
		if r.Add {
			name += " +"
		}
		names = append(names, name)
	}
	left := strings.Join(names, ", ")
	if !strings.HasSuffix(left, "+") {
		left += " "
	}
	return left + strings.TrimSpace("= "+text)
}

// between returns the separator of arguments.
func (o *Operation) between() string {
	if o.Family() == "matmul" {
		return " * "
	}
	return ", "
}

// unnamed returns the name in a text, "" for _.
func unnamed(text string) string {
	if text == "_" {
		return ""
	}
	return text
}

func (s *Step) text() string {
	text := exprText(s.Value)
	switch s.Op {
	case "map":
	case "dropout":
		text = "dropout " + s.Dropout.text() + " of " + text
	default:
		text = s.Op + " " + s.Dropout.text()
	}
	return assigned(text, s.Result)
}

func (p *parser) operation() {
	o := &p.k.Op
	text, axes := p.cut(" "+p.rest, " for ", "results = arguments for axes")
	left, right, _ := strings.Cut(text, "=")
	for _, name := range splitList(left) {
		o.Results = append(o.Results, resultOf(name))
	}
	for _, name := range splitList(strings.ReplaceAll(right, strings.TrimSpace(o.between()), ",")) {
		name, trans := strings.CutSuffix(name, "'")
		o.Args = append(o.Args, Argument{Name: unnamed(name), Trans: trans})
	}
	o.Axes = p.axes(axes, p.extent)
}

// resultOf reads a name. A plus after it adds the result to the buffer.
func resultOf(text string) Result {
	name, add := strings.CutSuffix(strings.TrimSpace(text), "+")
	return Result{Name: unnamed(strings.TrimSpace(name)), Add: add}
}

func (p *parser) step() {
	left, text := p.cut(p.rest, "=", "name = value")
	s := Step{Result: resultOf(left), Op: "map"}
	if op, rest, _ := strings.Cut(text, " "); op == "dropout" || op == "draw" || op == "noise" {
		s.Op = op
		rest, text, _ = strings.Cut(rest, " of ")
		s.Dropout = p.dropout(rest)
	}
	if text != "" {
		s.Value = p.term(text)
	}
	p.k.Op.Steps = append(p.k.Op.Steps, s)
}

// dropout reads "rate stream number by number rows of number". The rate may be missing, and so
// may the part after the stream.
func (p *parser) dropout(text string) (d Dropout) {
	text, by, counted := strings.Cut(text, " by ")
	if counted {
		rows, keys := p.cut(by, " rows of ", "rows rows of keys")
		d.Rows, d.Keys = int(p.uint(rows)), int(p.uint(keys))
	}
	rate, stream := p.cut(" "+text, " stream ", "rate stream number")
	if rate != "" {
		d.Rate = p.float(rate)
	}
	d.Stream = p.uint(stream)
	return d
}

func (p *parser) window() {
	width, lo := p.cut(p.rest, " from ", "width from key")
	p.k.Op.Window = Window{Lo: p.term(lo), Width: int(p.uint(width))}
}

// term reads an expression over an operation's axes, scalars, buffers and results so far.
func (p *parser) term(text string) *expr.Expr { return p.parse(text, p.k.termType) }

// termType returns the type of a name in an expression of the operation.
func (k *Kernel) termType(name string) (expr.Type, bool) {
	if b := k.buffer(name); b != nil {
		return b.Type, true
	}
	if t, ok := ScalarType(name); ok {
		return t, true
	}
	for _, s := range k.Op.Steps {
		if s.Name == name {
			return s.valueType(), true
		}
	}
	for _, r := range k.Op.Results {
		if r.Name == name {
			return expr.F32, true
		}
	}
	return expr.I32, slices.Contains(axisNames, name)
}

func (s *Step) valueType() expr.Type {
	switch {
	case s.Op == "draw":
		return expr.I32
	case s.Op == "map" && s.Value != nil:
		return s.Value.Type
	}
	return expr.F32
}
