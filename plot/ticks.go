package plot

import (
	"fmt"
	"math"
	"strings"

	"gonum.org/v1/plot"
)

// Number writes a number as people do: 50k, 2M, −0.5. It counts in thousands from least on.
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

func number(x float64) string { return Number(x, 1e3) }

// Step is the least of 1, 2 and 5 times the powers of ten that divides a range into at
// most so many parts.
func Step(width float64, parts int) float64 {
	power := math.Pow(10, math.Floor(math.Log10(width/float64(parts))))
	for _, n := range []float64{1, 2, 5} {
		if width/(n*power) <= float64(parts)+1e-9 {
			return n * power
		}
	}
	return 10 * power
}

// numbers marks the multiples of a step, of which there are at most so many.
type numbers struct{ most int }

// Ticks implements plot.Ticker.
func (m numbers) Ticks(lo, hi float64) (ticks []plot.Tick) {
	if !(hi > lo) {
		return nil
	}
	s := Step(hi-lo, m.most)
	for n := math.Ceil(lo/s - 1e-9); n*s <= hi+1e-9*s; n++ {
		ticks = append(ticks, plot.Tick{Value: n * s, Label: number(n*s + 0)}) // not −0
	}
	return ticks
}

// percents marks every twentieth per cent of 0 to 100.
type percents struct{}

// Ticks implements plot.Ticker.
func (percents) Ticks(_, _ float64) (ticks []plot.Tick) {
	for n := 0; n <= 100; n += 20 {
		ticks = append(ticks, plot.Tick{Value: float64(n), Label: fmt.Sprint(n)})
	}
	return ticks
}

// decades marks numbers by their logarithms: powers of ten, and where there are few of
// those 2 and 5 times them; within less than one all that there are. An axis with plot.LogScale would put its label off its middle.
type decades struct{}

// Ticks implements plot.Ticker.
func (decades) Ticks(lo, hi float64) (ticks []plot.Tick) {
	every := math.Ceil((hi - lo) / 7) // decades that have their numbers
	for power := math.Floor(lo); power <= hi; power++ {
		for n := 1.0; n < 10; n++ {
			x := n * math.Pow(10, power)
			t := plot.Tick{Value: math.Log10(x)}
			if n == 1 && math.Mod(power, every) == 0 || hi-lo < 2 && (n == 2 || n == 5) || hi-lo < 0.7 {
				t.Label = number(x)
			}
			if t.Value >= lo-1e-9 && t.Value <= hi+1e-9 {
				ticks = append(ticks, t)
			}
		}
	}
	return ticks
}

// cells marks about ten of the whole numbers from least on, and least itself; those of
// a downward axis are negative.
type cells struct {
	least int
	down  bool
}

// Ticks implements plot.Ticker.
func (m cells) Ticks(lo, hi float64) (ticks []plot.Tick) {
	sign := 1.0
	if m.down {
		lo, hi, sign = -hi, -lo, -1
	}
	mark := func(n float64) { ticks = append(ticks, plot.Tick{Value: sign * n, Label: fmt.Sprint(n)}) }
	least, s := float64(m.least), max(Step(hi-lo, 11), 1)
	if lo <= least && math.Mod(least, s) != 0 {
		mark(least)
	}
	for n := s * math.Ceil(math.Max(lo, least)/s); n <= hi; n += s {
		mark(n)
	}
	return ticks
}
