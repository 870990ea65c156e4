package diag

import "strings"

// Nearest returns the name in the list that a misspelt name most likely means. It returns
// "" if more than a third of the letters would change.
func Nearest(name string, names []string) string {
	best, bestCost := "", len(name)/3+1
	for _, n := range names {
		if c := distance(strings.ToLower(name), strings.ToLower(n)); c < bestCost {
			best, bestCost = n, c
		}
	}
	return best
}

// DidYouMean returns help for a misspelt name: the nearest name, or else the given words
// ("one of", "it has") and all names.
func DidYouMean(name string, names []string, otherwise string) string {
	if n := Nearest(name, names); n != "" {
		return "did you mean \"" + n + "\"?"
	}
	return otherwise + " " + strings.Join(names, ", ")
}

// distance returns the Damerau-Levenshtein distance with adjacent swaps (optimal string
// alignment), in bytes. It cuts names longer than any in the language.
func distance(a, b string) int {
	const most = 64
	a, b = a[:min(len(a), most)], b[:min(len(b), most)]
	var d [most + 1][most + 1]int
	for i := range len(a) + 1 {
		for j := range len(b) + 1 {
			if i == 0 || j == 0 {
				d[i][j] = i + j
				continue
			}
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			d[i][j] = min(d[i-1][j]+1, d[i][j-1]+1, d[i-1][j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				d[i][j] = min(d[i][j], d[i-2][j-2]+1)
			}
		}
	}
	return d[len(a)][len(b)]
}
