package calibrate

import "fmt"

// A Direction (p, q) steps p cells down, p ≥ 1, and q cells to the right.
type Direction [2]int

// Tensor names the lines of a site along a direction: self.line.1.1.
func Tensor(site string, d Direction) string { return fmt.Sprintf("%s.line.%d.%d", site, d[0], d[1]) }

// Number returns the number of the line through cell (i, j).
func (d Direction) Number(i, j int) int { return d[0]*j - d[1]*i }

// Formula writes the number of a line in terms of its cells: i+j.
func (d Direction) Formula() string {
	term := func(n int, of string) string {
		if n == 1 {
			return of
		}
		return fmt.Sprintf("%d%s", n, of)
	}
	a, b := d[0], d[1]
	switch {
	case b < 0:
		return term(-b, "i") + "+" + term(a, "j")
	case b > 0:
		return term(a, "j") + "-" + term(b, "i")
	}
	return term(a, "j")
}

// Len is the number of lines of an [m, n] matrix.
func (d Direction) Len(m, n int) int { return d[0]*(n-1) + max(d[1], -d[1])*(m-1) + 1 }

// lowest is the smallest number of a line in a matrix of m rows.
func (d Direction) lowest(m int) int { return min(-d[1]*(m-1), 0) }

// extended returns the number that a line of a matrix with from columns has in a matrix with to
// columns, and whether the line exists there. With paired columns, a shorter operand may lack
// the place where the line begins.
func (d Direction) extended(number, from, to int, paired bool) (int, bool) {
	wider := d[0] * (to - from)
	if !paired {
		if d[1] > 0 {
			return number, true
		}
		return number + wider, true
	}
	longer, plus, end := d[0]*(operand(to)-operand(from)), d[0]*(operand(from)+1), d[0]*(from-1)
	switch {
	case d[1] > 0 && number < plus:
		return number, number < plus+longer
	case d[1] > 0 && number < end:
		return number + longer, number+longer < end+wider
	case d[1] <= 0 && number <= plus:
		return number + longer, true
	case d[1] <= 0:
		return number + wider, number+wider > plus+longer
	}
	return number + wider, true
}

// operand returns the width of a and b if there are so many columns ^ a + b $.
func operand(columns int) int { return (columns - 3) / 2 }
