package task_test

import (
	"strings"
	"testing"

	. "github.com/arithlang/mlc/runtime/task"
)

// TestQuote shortens what is longer than 40 characters.
func TestQuote(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"a\tb", `"a\tb"`},
		{strings.Repeat("ä", 40), `"` + strings.Repeat("ä", 40) + `"`},
		{strings.Repeat("ä", 41), `"` + strings.Repeat("ä", 37) + `…"`},
	} {
		if got := Quote(c.text); got != c.want {
			t.Errorf("%s, want %s", got, c.want)
		}
	}
}
