package eval

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// The size of a chart, in characters.
const (
	chartRows   = 4
	chartMargin = 5 // for the numbers at the left
	widestBar   = 6 // including a space
)

// eighths are bars that fill 0 to 8 eighths of a row.
var eighths = []rune(" ▁▂▃▄▅▆▇█")

// Chart draws exact match by length as bars of block characters, at most width columns wide,
// and marks the lengths of training. It returns "" for a single length, and for a grid of
// lengths, which Table draws.
func (r *Result) Chart(width int) string {
	grid, cells := r.split()
	room := width - chartMargin
	if len(grid) > 0 || len(cells) < 2 || room < 1 {
		return ""
	}
	side := ceil(len(cells), room) // lengths that share a bar
	bars := ceil(len(cells), side)
	wide := min(widestBar, room/bars)
	fill := max(wide-1, 1)
	var rows [chartRows]string
	axis, names := "", ""
	marked := false
	for b := range bars {
		group := cells[b*side : min((b+1)*side, len(cells))]
		var all Cell
		for _, c := range group {
			all.Samples, all.Correct = all.Samples+c.Samples, all.Correct+c.Correct
		}
		last := group[len(group)-1]
		filled := int(float64(all.Fraction()*chartRows*8) + 0.5)
		if all.Correct > 0 {
			filled = max(filled, 1)
		}
		if all.Correct < all.Samples {
			filled = min(filled, chartRows*8-1)
		}
		for row := range rows {
			part := min(max(filled-8*(chartRows-1-row), 0), 8)
			rows[row] += strings.Repeat(string(eighths[part]), fill) + strings.Repeat(" ", wide-fill)
		}
		rule := "─"
		if t := r.Trained; t != nil && last.I <= t[0] && last.J <= max(t[1], t[0]) {
			rule, marked = "━", true
		}
		axis += strings.Repeat(rule, wide)
		names = named(names, fmt.Sprint(last.I), b*wide, wide, b == bars-1, bars*wide)
	}
	var out strings.Builder
	for row, text := range rows {
		label := map[int]string{0: "100 │", chartRows / 2: " 50 │"}[row]
		if label == "" {
			label = "    │"
		}
		out.WriteString(strings.TrimRight(label+text, " ") + "\n")
	}
	fmt.Fprintf(&out, "  0 └%s\n%*s%s\n", axis, chartMargin, "", strings.TrimRight(names, " "))
	if marked {
		fmt.Fprintf(&out, "%*s━ lengths of training\n", chartMargin, "")
	}
	return out.String()
}

// named writes a bar's name below it if the names before it leave room and it leaves room for
// the last one.
func named(line, name string, at, wide int, last bool, end int) string {
	if last {
		at = max(0, min(at, end-len(name)))
	}
	used := utf8.RuneCountInString(strings.TrimRight(line, " "))
	const lastName = 5 // including a space
	if used > 0 && at < used+1 || !last && wide <= len(name) && at+len(name) > end-lastName {
		return line
	}
	return line + strings.Repeat(" ", at-utf8.RuneCountInString(line)) + name
}
