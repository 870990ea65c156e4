package calibrate

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// Kept reports whether any head has a selected line.
func (r *Result) Kept() bool {
	return slices.ContainsFunc(r.Heads, func(h Head) bool { return !h.Transparent })
}

// String lists the selected lines of each head, one head a line of text.
func (r *Result) String() string {
	var b strings.Builder
	for n, h := range r.Heads {
		var kept []string
		for _, f := range h.Directions {
			for _, line := range f.Lines {
				if line.Kept {
					kept = append(kept, fmt.Sprintf("%s = %d (%.2f)", f.Formula, line.Number, line.Value))
				}
			}
		}
		if h.Transparent {
			kept = []string{"nothing, stays open"}
		}
		fmt.Fprintf(&b, "  head %d: %s\n", n, strings.Join(kept, ", "))
	}
	return b.String()
}

// Strongest describes the strongest line along each direction and how far it stands out, one
// head a line of text. Among n lines, a single one can be at most sqrt(n-1) standard deviations
// above the mean, if all others are equal; k equal ones can be at most sqrt((n-k)/k) above it.
func (r *Result) Strongest() string {
	var b strings.Builder
	for n, h := range r.Heads {
		var all []string
		for _, f := range h.Directions {
			all = append(all, f.strongest())
		}
		fmt.Fprintf(&b, "  head %d: %s\n", n, strings.Join(all, "; "))
	}
	return b.String()
}

func (f *Family) strongest() string {
	if len(f.Lines) == 0 {
		return f.Formula + ": no open cell"
	}
	best := f.largest()
	text := fmt.Sprintf("%s = %d with %.3g, mean %.3g", f.Formula, best.Number, best.Value, f.Mean)
	if f.Std > 0 {
		text += fmt.Sprintf(" + %.2f std (a line alone of %d has %.2f)", (best.Value-f.Mean)/f.Std, len(f.Lines), math.Sqrt(float64(len(f.Lines)-1)))
	}
	return text
}
