package track

import (
	"fmt"
	"math"
	"strconv"
)

// Percent writes a fraction of 0 to 1 in per cent, as in all output for people: 1 of 53 is
// 1.89.
func Percent(x float64) string {
	n := Nearest(x, 10000)
	return fmt.Sprintf("%d.%02d", n/100, n%100)
}

// Thousands writes a number for people: 1,592,081.
func Thousands(n int) string {
	text := strconv.Itoa(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// Nearest rounds the fraction x to a number of parts, halves upwards. Only x = 1 gives all
// parts, and only x = 0 gives none.
func Nearest(x float64, parts int) int {
	switch {
	case x >= 1:
		return parts
	case !(x > 0):
		return 0
	}
	const lost = 1e-9 // rounding error of a half
	return min(max(int(math.Floor(float64(float64(parts)*x)+0.5+lost)), 1), parts-1)
}

// Nats writes a loss in nats and in bits.
func Nats(loss float64) string { return fmt.Sprintf("%.4f nats, %.4f bits", loss, loss/math.Ln2) }
