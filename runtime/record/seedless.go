package record

import (
	"fmt"
	"regexp"
	"strings"
)

var seedLine = regexp.MustCompile(`(?m)^\s*(?:init_)?seed\s*=.*\n`)

// Seedless is what a resolved spec says apart from comments and from its seeds, and the
// seeds.
func Seedless(spec string) (rest, seeds string) {
	var lines []string
	for _, line := range strings.SplitAfter(spec, "\n") {
		if !strings.HasPrefix(line, "//") {
			lines = append(lines, line)
		}
	}
	text := strings.Join(lines, "")
	return seedLine.ReplaceAllString(text, ""), strings.Join(seedLine.FindAllString(text, -1), "")
}

// Seeds is how a run is called after its seeds: that of all random numbers, and that of
// the initial weights where they have one of their own.
func Seeds(seed uint64, initial *uint64) string {
	if initial == nil {
		return fmt.Sprintf("seed %d", seed)
	}
	return fmt.Sprintf("seed %d, init seed %d", seed, *initial)
}
