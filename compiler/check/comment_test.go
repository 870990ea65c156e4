package check

import "testing"

func TestCommentAbove(t *testing.T) {
	lines := []string{"// one", "//two ", "mask a {", "}", "", "// three", "", "mask b {", "// four", "mask c {"}
	for line, want := range map[int]string{1: "", 3: "one two", 8: "", 10: "four", 5: ""} {
		if got := commentAbove(lines, line); got != want {
			t.Errorf("above line %d stands %q, want %q", line, got, want)
		}
	}
}
