package command

import (
	"fmt"
	"math"
	"strings"
)

// didYouMean suggests the nearest name if at most a third of the misspelt name's letters have to
// change. Otherwise it lists all names after the given words.
func didYouMean(name string, names []string, otherwise string) string {
	best, least := "", len(name)/3+1
	for _, n := range names {
		if d := distance(strings.ToLower(name), strings.ToLower(n)); d < least {
			best, least = n, d
		}
	}
	if best != "" {
		return "did you mean \"" + best + "\"?"
	}
	return otherwise + " " + strings.Join(names, ", ")
}

// distance returns how many bytes to add, remove, replace or swap with the next one. It compares
// only the beginning of long names.
func distance(a, b string) int {
	const most = 64
	a, b = a[:min(len(a), most)], b[:min(len(b), most)]
	var d [most + 1][most + 1]int
	for i := range len(a) + 1 {
		for j := range len(b) + 1 {
			switch {
			case i == 0 || j == 0:
				d[i][j] = i + j
				continue
			case a[i-1] == b[j-1]:
				d[i][j] = d[i-1][j-1]
			default:
				d[i][j] = d[i-1][j-1] + 1
			}
			d[i][j] = min(d[i][j], d[i-1][j]+1, d[i][j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				d[i][j] = min(d[i][j], d[i-2][j-2]+1)
			}
		}
	}
	return d[len(a)][len(b)]
}

// scaled writes a number with a unit prefix: 1.5 Ginstructions/s.
func scaled(x float64, unit string) string {
	prefixes, i := []string{"", "k", "M", "G", "T", "P", "E"}, 0
	for ; math.Round(x) >= 1000 && i < len(prefixes)-1; i++ {
		x /= 1000
	}
	form := "%.3g %s%s"
	if math.Round(x) >= 1000 { // three digits would need an exponent
		form = "%.0f %s%s"
	}
	return fmt.Sprintf(form, x, prefixes[i], unit)
}
