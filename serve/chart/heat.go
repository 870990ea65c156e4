package chart

import (
	"fmt"
	"html"
	"html/template"
	"math"
	"strconv"
	"strings"

	"github.com/arithlang/mlc/plot/scale"
)

// A Heat is a heat map, rows downwards.
type Heat struct {
	Label  string
	Values [][]float64           // by row; NaN for a cell without a value
	Texts  func(i, j int) string // the text shown for a cell
	Lo, Hi float64               // the ends of the scale
	Middle bool                  // the scale has a middle, for differences
	X, Y   Cells
	Pair   string     // the name of a cell, with {r} for its row and {c} for its column: "{r} × {c}"
	Square [2]float64 // the number of rows and columns to draw a line around; 0: no line
	Small  bool       // one of several maps
}

// Cells names the rows or columns of a heat map, or numbers them from First.
type Cells struct {
	Label string
	First int
	Names []string
}

// name returns the name of row or column n.
func (c *Cells) name(n int) string {
	if c.Names != nil {
		return c.Names[n]
	}
	return strconv.Itoa(c.First + n)
}

// ticks returns the rows or columns whose names have room.
func (c *Cells) ticks(n int, side float64, across bool) (out []scale.Tick) {
	if c.Names == nil {
		first := float64(c.First)
		for _, t := range scale.Whole(first, first+float64(n-1), first) {
			out = append(out, scale.Tick{At: t.At - first, Text: t.Text})
		}
		return out
	}
	room := float64(lineHeight) - 3
	if across {
		widest := 1
		for _, name := range c.Names {
			widest = max(widest, len([]rune(name)))
		}
		room = letter*float64(widest) + 2
	}
	every := int(math.Ceil(room / side))
	for i := 0; i < n; i += every {
		out = append(out, scale.Tick{At: float64(i), Text: c.Names[i]})
	}
	return out
}

const largestCell = 26

// Level returns the class of a value on a scale from lo to hi. On a scale without a middle,
// the first and last class are only for the ends themselves.
func Level(v, lo, hi float64, middle bool) string {
	x := (v - lo) / (hi - lo)
	switch {
	case math.IsNaN(v):
		return "none"
	case math.IsInf(v, -1):
		return "closed"
	case middle:
		return "d" + strconv.Itoa(min(max(int(math.Round(x*(Levels-1))), 0), Levels-1))
	case x <= 0:
		return "v0"
	case x >= 1:
		return "v" + strconv.Itoa(Levels-1)
	}
	return "v" + strconv.Itoa(1+min(int(x*(Levels-2)), Levels-3))
}

// cellsHovered is a map as the script reads it.
type cellsHovered struct {
	Left  float64  `json:"x"`
	Top   float64  `json:"y"`
	Side  float64  `json:"s"`
	Rows  []string `json:"r"`
	Cols  []string `json:"c"`
	Pair  string   `json:"p"`
	Texts []string `json:"t"` // by row
}

// SVG draws the map. It returns "" for a map without cells.
func (h *Heat) SVG() template.HTML {
	rows := len(h.Values)
	if rows == 0 || len(h.Values[0]) == 0 {
		return ""
	}
	cols := len(h.Values[0])
	widest := 1
	for i := range rows {
		widest = max(widest, len([]rune(h.Y.name(i))))
	}
	w := float64(width)
	if h.Small {
		w = width / 2
	}
	left, top := 8+letter*float64(widest), 22.0
	if h.Y.Label == "" {
		top = 4
	}
	side := math.Min((w-left-8)/float64(max(cols, rows)), largestCell)
	side = math.Max(side, 0.5)
	right, bottom := left+side*float64(cols), top+side*float64(rows)
	foot := 20.0
	if h.X.Label != "" {
		foot = 36
	}
	var b strings.Builder
	svg(&b, "chart heat", h.Label, w, bottom+foot, h.hover(left, top, side))
	if h.Y.Label != "" {
		write(&b, "name", 0, 12, h.Y.Label)
	}
	h.cells(&b, left, top, side)
	fmt.Fprintf(&b, `<rect class="outline" x="%s" y="%s" width="%s" height="%s"/>`, num(left), num(top), num(right-left), num(bottom-top))
	for _, t := range h.Y.ticks(rows, side, false) {
		write(&b, "tick end", left-5, top+side*(t.At+0.5)+4, t.Text)
	}
	for _, t := range h.X.ticks(cols, side, true) {
		write(&b, "tick middle", left+side*(t.At+0.5), bottom+15, t.Text)
	}
	if h.X.Label != "" {
		write(&b, "name end", math.Max(right, letter*float64(len([]rune(h.X.Label)))), bottom+31, h.X.Label)
	}
	if r, c := math.Min(h.Square[0], float64(rows)), math.Min(h.Square[1], float64(cols)); r > 0 && c > 0 {
		for _, class := range []string{"square halo", "square"} {
			fmt.Fprintf(&b, `<rect class="%s" x="%s" y="%s" width="%s" height="%s"/>`, class, num(left), num(top), num(side*c), num(side*r))
		}
	}
	b.WriteString(`<rect class="cursor" width="0" height="0"/></svg>`)
	return template.HTML(b.String())
}

// cells draws the cells of each class as one path. Neighbours in a row are one piece.
func (h *Heat) cells(b *strings.Builder, left, top, side float64) {
	var classes []string
	paths := map[string]*strings.Builder{}
	exact := func(x float64) string { return strconv.FormatFloat(math.Round(x*100)/100, 'f', -1, 64) }
	for i, row := range h.Values {
		for j := 0; j < len(row); {
			class, end := Level(row[j], h.Lo, h.Hi, h.Middle), j+1
			for end < len(row) && Level(row[end], h.Lo, h.Hi, h.Middle) == class {
				end++
			}
			if paths[class] == nil {
				classes = append(classes, class)
				paths[class] = new(strings.Builder)
			}
			fmt.Fprintf(paths[class], "M%s %sh%sv%sh-%sz", exact(left+side*float64(j)), exact(top+side*float64(i)),
				exact(side*float64(end-j)), exact(side), exact(side*float64(end-j)))
			j = end
		}
	}
	b.WriteString(`<g class="cells">`)
	for _, class := range classes {
		fmt.Fprintf(b, `<path class="%s" d="%s"/>`, class, paths[class])
	}
	b.WriteString(`</g>`)
}

func (h *Heat) hover(left, top, side float64) cellsHovered {
	out := cellsHovered{Left: left, Top: top, Side: side, Pair: h.Pair}
	for i, row := range h.Values {
		out.Rows = append(out.Rows, h.Y.name(i))
		for j := range row {
			if i == 0 {
				out.Cols = append(out.Cols, h.X.name(j))
			}
			out.Texts = append(out.Texts, h.Texts(i, j))
		}
	}
	return out
}

// Bar draws the colours of a scale between the texts of its ends.
func Bar(lo, hi string, middle bool) template.HTML {
	class := "v"
	if middle {
		class = "d"
	}
	var b strings.Builder
	fmt.Fprintf(&b, `<span class="bar"><span>%s</span><svg viewBox="0 0 %d 8" preserveAspectRatio="none" aria-hidden="true">`, html.EscapeString(lo), 6*Levels)
	for i := range Levels {
		fmt.Fprintf(&b, `<rect class="%s%d" x="%d" width="6" height="8"/>`, class, i, 6*i)
	}
	fmt.Fprintf(&b, `</svg><span>%s</span></span>`, html.EscapeString(hi))
	return template.HTML(b.String())
}
