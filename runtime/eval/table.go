package eval

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/arithlang/mlc/runtime/task"
	"github.com/arithlang/mlc/runtime/track"
)

// Table is the result for people: one line a length, or, if lengths make a grid, a picture at
// most width columns wide.
func (r *Result) Table(width int) string {
	var b strings.Builder
	if r.Text != (Text{}) {
		return r.Text.String() + "\n"
	}
	grid, line := r.split()
	if len(grid) == 0 || r.Second != "" {
		r.lines(&b)
		return b.String()
	}
	name := strings.ReplaceAll(r.Metric, "_", " ")
	fmt.Fprintf(&b, "%s: %s", name, r.described())
	if r.MeanRuns > 0 {
		fmt.Fprintf(&b, "; after %.1f runs of the loop", r.MeanRuns)
	}
	b.WriteString("\n\n")
	picture(&b, grid, r.Trained, width)
	if len(line) > 0 {
		fmt.Fprintf(&b, "\nboth of %d to %d: ", line[0].I, line[len(line)-1].I)
		for _, c := range line {
			b.WriteRune(shade(c.Fraction()))
		}
		b.WriteByte('\n')
	}
	r.known(&b)
	b.WriteString("\n█ all right, 9 to 1 tenths of them, · none; lengths of the first down, of the second across\n")
	return b.String()
}

// lines writes one line a length.
func (r *Result) lines(b *strings.Builder) {
	what := " digits"
	if r.Tested != "" {
		what = " prompt length"
	}
	second := func(int) string { return "" }
	if wide := len(r.Second); wide > 0 {
		what += " " + r.Second
		second = func(j int) string { return fmt.Sprintf(" %*d", wide, j) }
	}
	fmt.Fprintf(b, "%s %9s %12s\n", what, "problems", strings.ReplaceAll(r.Metric, "_", " "))
	line := func(name string, c Cell) {
		fmt.Fprintf(b, "%*s %9d %10s %%\n", len(what), name+second(c.J), c.Samples, track.Percent(c.Fraction()))
	}
	for _, c := range r.ByCell {
		line(strconv.Itoa(c.I), c)
	}
	if r.Tested != "" {
		line(Overall, r.total())
	}
	switch r.Tested {
	case "":
	case task.OfTraining:
		b.WriteString("no problem is held out: these are problems of training\n")
	default:
		b.WriteString("of " + r.Tested + "; lengths are in tokens\n")
	}
	r.known(b)
	if r.MeanRuns > 0 {
		fmt.Fprintf(b, "after %.1f runs of the loop\n", r.MeanRuns)
	}
}

// known says how many problems of trained lengths were trained on, if at least one in twenty
// was.
func (r *Result) known(b *strings.Builder) {
	if r.TrainedOn == 0 || r.Trained == nil {
		return
	}
	all, longest := 0, Pair{r.Trained[0], r.Trained[1]}
	for _, c := range r.ByCell {
		if longest.holds(c.Pair) {
			all += c.Samples
		}
	}
	if 20*r.TrainedOn >= all {
		fmt.Fprintf(b, "%d problems have trained lengths, and about %d of them were trained on\n", all, r.TrainedOn)
	}
}

// Fraction is the fraction of all problems that are right.
func (r *Result) Fraction() float64 { return r.total().Fraction() }

// split separates the grid from the equal lengths outside of it.
func (r *Result) split() (grid map[Pair]Cell, line []Cell) {
	var hi Pair
	for _, c := range r.ByCell {
		if c.J != 0 && c.I != c.J {
			hi = Pair{max(hi.I, c.I), max(hi.J, c.J)}
		}
	}
	grid = map[Pair]Cell{}
	for _, c := range r.ByCell {
		if c.I > hi.I || c.J > hi.J {
			line = append(line, c)
		} else {
			grid[c.Pair] = c
		}
	}
	return grid, line
}

// picture draws one character a cell, or one for several cells if there is no room. A line
// surrounds the trained lengths.
func picture(b *strings.Builder, grid map[Pair]Cell, trained *[2]int, width int) {
	lo, hi := Pair{1 << 30, 1 << 30}, Pair{}
	for p := range grid {
		lo = Pair{min(lo.I, p.I), min(lo.J, p.J)}
		hi = Pair{max(hi.I, p.I), max(hi.J, p.J)}
	}
	const margin = 6 // a row's number, and the line
	side := ceil(hi.J-lo.J+1, max(width-margin, 1))
	inside := func(at, end int) bool { return trained != nil && at+side-1 <= end }
	fmt.Fprintf(b, "%5d%*d\n", lo.J, max(1, ceil(hi.J-lo.J+1, side)-1), hi.J)
	for i := lo.I; i <= hi.I; i += side {
		row := fmt.Sprintf("%3d ", i)
		rule := "    "
		for j := lo.J; j <= hi.J; j += side {
			row += string(block(grid, i, j, side))
			if inside(j, trained[1]) {
				rule += "─"
				if inside(i, trained[0]) && !inside(j+side, trained[1]) && j+side <= hi.J {
					row += "│"
					rule += "┘"
				}
			}
		}
		b.WriteString(row + "\n")
		if inside(i, trained[0]) && !inside(i+side, trained[0]) && i+side <= hi.I {
			b.WriteString(rule + "\n")
		}
	}
}

// block draws the mean of the cells of a square.
func block(grid map[Pair]Cell, i, j, side int) rune {
	var all []float64
	for p := range side * side {
		if c, ok := grid[Pair{i + p/side, j + p%side}]; ok {
			all = append(all, c.Fraction())
		}
	}
	if m := mean(all); m != nil {
		return shade(*m)
	}
	return ' '
}

// shade returns the character of a fraction.
func shade(x float64) rune {
	switch tenths := track.Nearest(x, 10); tenths {
	case 10:
		return '█'
	case 0:
		return '·'
	default:
		return '0' + rune(tenths)
	}
}
