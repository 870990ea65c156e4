package list

import (
	"regexp"
	"strings"
)

var seedLine = regexp.MustCompile(`(?m)^\s*(?:init_)?seed\s*=.*\n`)

// Seedless splits a resolved spec, without its comments, into the lines that set seeds and
// the rest.
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
