package track

import (
	"fmt"
	"math"
	"strconv"
)

// Percent writes a fraction of 0 to 1 in per cent, as everything that people read
// does: 1 of 53 is 1.89.
func Percent(x float64) string {
	n := Nearest(x, 10000)
	return fmt.Sprintf("%d.%02d", n/100, n%100)
}

// Thousands writes a number the way people read it: 1,592,081.
func Thousands(n int) string {
	text := strconv.Itoa(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// Nearest is how many of so many parts a fraction is: to the nearest, halves upwards,
// but all of them only of 1 and none only of 0.
func Nearest(x float64, parts int) int {
	switch {
	case x >= 1:
		return parts
	case !(x > 0):
		return 0
	}
	const lost = 1e-9 // in computing a half
	return min(max(int(math.Floor(float64(float64(parts)*x)+0.5+lost)), 1), parts-1)
}
