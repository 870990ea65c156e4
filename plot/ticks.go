package plot

import (
	"gonum.org/v1/plot"

	"github.com/arithlang/mlc/plot/scale"
)

func number(x float64) string { return scale.Number(x, 1e3) }

// marks are ticks as a plot has them, at sign times their places.
func marks(ticks []scale.Tick, sign float64) (out []plot.Tick) {
	for _, t := range ticks {
		out = append(out, plot.Tick{Value: sign * t.At, Label: t.Text})
	}
	return out
}

// numbers marks the multiples of a step, of which there are at most so many.
type numbers struct{ most int }

// Ticks implements plot.Ticker.
func (m numbers) Ticks(lo, hi float64) []plot.Tick {
	return marks(scale.Evenly(lo, hi, m.most, number), 1)
}

// percents marks every twentieth per cent of 0 to 100.
type percents struct{}

// Ticks implements plot.Ticker.
func (percents) Ticks(_, _ float64) []plot.Tick { return marks(scale.Evenly(0, 100, 5, number), 1) }

// decades marks numbers by their logarithms. An axis with plot.LogScale would put its label off
// its middle.
type decades struct{}

// Ticks implements plot.Ticker.
func (decades) Ticks(lo, hi float64) []plot.Tick { return marks(scale.Decades(lo, hi, 7, number), 1) }

// cells marks about ten of the whole numbers from least on, and least itself; those of
// a downward axis are negative.
type cells struct {
	least int
	down  bool
}

// Ticks implements plot.Ticker.
func (m cells) Ticks(lo, hi float64) []plot.Tick {
	if m.down {
		return marks(scale.Whole(-hi, -lo, float64(m.least)), -1)
	}
	return marks(scale.Whole(lo, hi, float64(m.least)), 1)
}
