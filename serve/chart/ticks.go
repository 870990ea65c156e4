package chart

import (
	"fmt"
	"math"

	"github.com/arithlang/mlc/plot"
)

// A tick is a mark of an axis, without a text a small one.
type tick struct {
	at   float64
	text string
}

// Number writes a number as people do: 50k, 2M, −0.5.
func Number(x float64) string { return plot.Number(x, 1e4) }

// evenly marks multiples of a step.
func evenly(lo, hi float64, parts int) (out []tick) {
	s := plot.Step(hi-lo, parts)
	for n := math.Ceil(lo/s - 1e-9); n*s <= hi+1e-9*s; n++ {
		out = append(out, tick{n*s + 0, Number(n*s + 0)}) // not −0
	}
	return out
}

// decades marks powers of ten of which lo and hi are logarithms, and where those are few
// 2 and 5 times them.
func decades(lo, hi float64) (out []tick) {
	every := math.Ceil((hi - lo) / 6)
	for power := math.Floor(lo); power <= hi; power++ {
		for n := 1.0; n < 10; n++ {
			x := n * math.Pow(10, power)
			t := tick{at: math.Log10(x)}
			if n == 1 && math.Mod(power, every) == 0 || hi-lo < 1.5 && (n == 2 || n == 5) {
				t.text = Number(x)
			}
			if t.at >= lo-1e-9 && t.at <= hi+1e-9 {
				out = append(out, t)
			}
		}
	}
	return out
}

// whole marks about ten of the numbers from lo to hi, lo among them.
func whole(lo, hi int) (out []tick) {
	s := int(max(plot.Step(math.Max(float64(hi-lo), 1), 10), 1))
	if lo%s != 0 {
		out = append(out, tick{float64(lo), fmt.Sprint(lo)})
	}
	for n := (lo + s - 1) / s * s; n <= hi; n += s {
		if 2*(n-lo) > s || n == lo {
			out = append(out, tick{float64(n), fmt.Sprint(n)})
		}
	}
	return out
}
