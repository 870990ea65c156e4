// Package chart draws small figures as SVG within a page: curves, heat maps and sparklines. It
// sets no colours. Elements have classes: s0 to s6 for lines, v0 to v20 for the cells of a scale,
// d0 to d20 for the cells of a scale with a middle. A style sheet gives them colours, so one
// figure is light or dark. The attribute data-hover has, as JSON, the texts that a script shows
// near the pointer. Package serve, whose pages have these figures, comes after it.
package chart

import (
	"encoding/json"
	"fmt"
	"html"
	"html/template"
	"math"
	"strconv"
	"strings"
)

// Sizes in the units of a figure. A unit is a pixel if the figure is shown at its own width.
const (
	width      = 400
	letter     = 6.3 // the width of a digit
	lineHeight = 14
)

// LineStyles is the number of line classes. Lines beyond them are dashed.
const LineStyles = 7

// Levels is the number of classes for the cells of a scale.
const Levels = 21

// svg begins a figure. label is its name for screen readers, and hover the data for the
// script, or nil.
func svg(b *strings.Builder, class, label string, w, h float64, hover any) {
	fmt.Fprintf(b, `<svg class="%s" viewBox="0 0 %s %s" role="img" aria-label="%s"`, class, num(w), num(h), html.EscapeString(label))
	if hover != nil {
		text, err := json.Marshal(hover)
		if err != nil {
			panic("BUG: " + err.Error())
		}
		fmt.Fprintf(b, ` tabindex="0" data-hover="%s"`, html.EscapeString(string(text)))
	}
	b.WriteString(">")
}

// write adds a text and escapes it.
func write(b *strings.Builder, class string, x, y float64, text string) {
	fmt.Fprintf(b, `<text class="%s" x="%s" y="%s">%s</text>`, class, num(x), num(y), html.EscapeString(text))
}

func line(b *strings.Builder, class string, x1, y1, x2, y2 float64) {
	fmt.Fprintf(b, `<path class="%s" d="M%s %sL%s %s"/>`, class, num(x1), num(y1), num(x2), num(y2))
}

// num formats a coordinate, rounded to a tenth.
func num(x float64) string {
	return strconv.FormatFloat(math.Round(x*10)/10, 'f', -1, 64)
}

// LineClass returns the classes of line n, from 0.
func LineClass(n int) string {
	class := "s" + strconv.Itoa(n%LineStyles)
	if n/LineStyles%2 == 1 {
		class += " dashed"
	}
	return class
}

// An Entry explains a line or an area.
type Entry struct {
	Class string // the class of a line, or "band", "square", "none", …
	Name  string
}

// Legend returns a list of entries, or "" if there are no entries.
func Legend(entries ...Entry) template.HTML {
	if len(entries) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString(`<ul class="legend">`)
	for _, e := range entries {
		shape := `<path class="line ` + e.Class + `" d="M0 5H18"/>`
		switch e.Class {
		case "square":
			shape = `<rect class="square halo" x="3" y="0.5" width="11" height="9"/><rect class="square" x="3" y="0.5" width="11" height="9"/>`
		case "none", "right", "wrong":
			shape = `<rect class="` + e.Class + `" x="3" width="12" height="10"/>`
		case "upright":
			shape = `<path class="upright" d="M9 0V10"/>`
		}
		fmt.Fprintf(&b, `<li><svg viewBox="0 0 18 10" aria-hidden="true">%s</svg>%s</li>`, shape, html.EscapeString(e.Name))
	}
	b.WriteString("</ul>")
	return template.HTML(b.String())
}

// Spark draws values in order as a line without axes. It skips NaN and infinite values and
// returns "" if fewer than two are left.
func Spark(label string, values []float64) template.HTML {
	const w, h, edge = 88.0, 22.0, 2.0
	values = finite(values)
	if len(values) < 2 {
		return ""
	}
	values = thin(values, 60)
	lo, hi := math.Inf(1), math.Inf(-1)
	for _, v := range values {
		lo, hi = math.Min(lo, v), math.Max(hi, v)
	}
	if hi-lo < 1e-12 {
		lo, hi = lo-1, hi+1
	}
	var b strings.Builder
	svg(&b, "spark", label, w, h, nil)
	b.WriteString(`<path d="`)
	for i, v := range values {
		x := edge + (w-2*edge)*float64(i)/float64(len(values)-1)
		y := h - edge - (h-2*edge)*(v-lo)/(hi-lo)
		b.WriteString(pen(i) + num(x) + " " + num(y))
	}
	b.WriteString(`"/></svg>`)
	return template.HTML(b.String())
}

// pen returns the command of a path that leads to its point i.
func pen(i int) string {
	if i == 0 {
		return "M"
	}
	return "L"
}

func finite(values []float64) []float64 {
	var out []float64
	for _, v := range values {
		if !math.IsNaN(v) && !math.IsInf(v, 0) {
			out = append(out, v)
		}
	}
	return out
}

// thin keeps at most most values, evenly spaced, the last of them included.
func thin(values []float64, most int) []float64 {
	if len(values) <= most {
		return values
	}
	out := make([]float64, most)
	for i := range out {
		out[i] = values[i*(len(values)-1)/(most-1)]
	}
	return out
}
