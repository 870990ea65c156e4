// Package scale places the marks of axes and writes their numbers, for figures (package plot) and
// pages (package serve/chart). Package runtime/track writes all other numbers that people read.
package scale

import (
	"fmt"
	"math"
	"strings"
)

// Number writes a number for people: 50k, 2M, −0.5. Numbers from least on are written in
// thousands.
func Number(x, least float64) string {
	text := fmt.Sprintf("%.3g", x)
	switch size := math.Abs(x); {
	case size >= 1e9:
		text = fmt.Sprintf("%.4gG", x/1e9)
	case size >= 1e6:
		text = fmt.Sprintf("%.4gM", x/1e6)
	case size >= least:
		text = fmt.Sprintf("%.4gk", x/1e3)
	case size >= 1e3:
		text = fmt.Sprintf("%.0f", x)
	}
	return strings.Replace(text, "-", "−", 1)
}

// A Tick is a mark of an axis. Without a text it is a small mark.
type Tick struct {
	At   float64
	Text string
}

// Step is the smallest number of the form 1, 2 or 5 times a power of ten that divides width
// into at most parts steps.
func Step(width float64, parts int) float64 {
	power := math.Pow(10, math.Floor(math.Log10(width/float64(parts))))
	for _, n := range []float64{1, 2, 5} {
		if width/(n*power) <= float64(parts)+1e-9 {
			return n * power
		}
	}
	return 10 * power
}

// Evenly marks the multiples of a step from lo to hi, with at most parts steps between them.
func Evenly(lo, hi float64, parts int, number func(x float64) string) (out []Tick) {
	if !(hi > lo) {
		return nil
	}
	s := Step(hi-lo, parts)
	for n := math.Ceil(lo/s - 1e-9); n*s <= hi+1e-9*s; n++ {
		out = append(out, Tick{n*s + 0, number(n*s + 0)}) // not −0
	}
	return out
}

// Decades marks an axis of decimal logarithms from lo to hi. It marks 1 to 9 times each
// power of ten. At most most powers of ten have their text. Within two decades 2 and 5
// times a power have theirs, and within 0.7 decades all marks do.
func Decades(lo, hi float64, most int, number func(x float64) string) (out []Tick) {
	every := math.Ceil((hi - lo) / float64(most))
	for power := math.Floor(lo); power <= hi; power++ {
		for n := 1.0; n < 10; n++ {
			x := n * math.Pow(10, power)
			t := Tick{At: math.Log10(x)}
			if n == 1 && math.Mod(power, every) == 0 || hi-lo < 2 && (n == 2 || n == 5) || hi-lo < 0.7 {
				t.Text = number(x)
			}
			if t.At >= lo-1e-9 && t.At <= hi+1e-9 {
				out = append(out, t)
			}
		}
	}
	return out
}

// Whole marks about ten whole numbers from least to hi, and least itself if lo is not above
// it. A number close after least has no mark.
func Whole(lo, hi, least float64) (out []Tick) {
	s := max(Step(math.Max(hi-lo, 1), 10), 1)
	from := math.Max(lo, least)
	if lo <= least && math.Mod(least, s) != 0 {
		out = append(out, Tick{least, fmt.Sprint(least)})
		from = math.Floor(least+s/2) + 1
	}
	for n := s * math.Ceil(from/s); n <= hi; n += s {
		out = append(out, Tick{n, fmt.Sprint(n)})
	}
	return out
}
