package plot

import (
	"gonum.org/v1/plot"

	"github.com/arithlang/mlc/plot/scale"
)

func number(x float64) string { return scale.Number(x, 1e3) }

// marks converts ticks for a plot. It multiplies their places by sign.
func marks(ticks []scale.Tick, sign float64) (out []plot.Tick) {
	for _, t := range ticks {
		out = append(out, plot.Tick{Value: sign * t.At, Label: t.Text})
	}
	return out
}

// numbers marks the multiples of a step, at most most+1 of them.
type numbers struct{ most int }

// Ticks implements plot.Ticker.
func (m numbers) Ticks(lo, hi float64) []plot.Tick {
	return marks(scale.Evenly(lo, hi, m.most, number), 1)
}

// percents marks every 20 per cent from 0 to 100.
type percents struct{}

// Ticks implements plot.Ticker.
func (percents) Ticks(_, _ float64) []plot.Tick { return marks(scale.Evenly(0, 100, 5, number), 1) }

// decades marks numbers on an axis of their logarithms. plot.LogScale would place the axis
// label off its middle.
type decades struct{}

// Ticks implements plot.Ticker.
func (decades) Ticks(lo, hi float64) []plot.Tick { return marks(scale.Decades(lo, hi, 7, number), 1) }

// cells marks about ten of the whole numbers from least on, and least itself. On a downward
// axis numbers are negative.
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
